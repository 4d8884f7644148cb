"""Declaring a league: line 1, and the segment its statistics stay within."""

from __future__ import annotations

from pathlib import Path

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.reader import BOOK_NAME
from beforehand.book.store import FileStore
from beforehand.clock import Clock
from beforehand.errors import RuleError
from beforehand.leagues import methodology
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration, missing_features
from beforehand.records.league import League, Segment
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen, open_body

KEY_NAME = "keys/signing.pem"
RECOVERY_NAME = "keys/recovery.pem"


def open_league(folder: Path, declaration: Declaration, clock: Clock) -> Pen:
    """The pen of a league's folder, its keys made where there are none yet.

    RuleError, before anything is made, where this version cannot run the league.
    """
    check_runs(declaration)
    key = SigningKey.keep(declaration.origin, folder / KEY_NAME)
    return Pen(FileStore(folder), clock, key)


def reopen_league(folder: Path, clock: Clock) -> Pen:
    """The pen of a league that was declared before; nothing is made where there is none."""
    if not (folder / BOOK_NAME).is_file():
        raise RuleError(f"{folder} holds no declared league")
    store = FileStore(folder)
    try:
        first = next(iter(store.lines()), None)
        if first is None:
            raise RuleError(f"{folder} holds no declared league")
        pen = Pen(store, clock, SigningKey.load("", folder / KEY_NAME))
        league = pen.records()[0][1]
        if not isinstance(league, League):
            raise RuleError(f"{folder} does not begin with a league line")
        pen.key = SigningKey.load(league.origin, folder / KEY_NAME)
        if pen.key.verifier != VerifierKey.parse(league.key):
            raise RuleError(f"the key in {folder} is not the one the book names")
    except BaseException:
        store.close()
        raise
    return pen


def check_runs(declaration: Declaration) -> None:
    """RuleError where the league declares what this version cannot run."""
    missing = missing_features(declaration)
    if missing:
        raise RuleError(
            f"{declaration.name} cannot be started by this version: " + " ".join(missing)
        )


def declare(pen: Pen, declaration: Declaration, folder: Path) -> None:
    """Seal the declaration's very bytes and open its segment; done once, then a no-op.

    RuleError where the league declares what this version cannot run, where
    its time is not the clock's, or where the book was begun under another
    declaration.
    """
    check_runs(declaration)
    if declaration.simulated != pen.clock.simulated:
        declared = "simulated" if declaration.simulated else "live"
        raise RuleError(f"{declaration.name} declares {declared} time, and the clock is not that")
    held = [record for _, record in pen.records()]
    if not held:
        recovery = SigningKey.keep(declaration.origin, folder / RECOVERY_NAME)
        pen.write(lambda at: [_league_line(pen, declaration, recovery, at)], [declaration.data])
        held = [record for _, record in pen.records()]
    league = held[0]
    if not isinstance(league, League) or league.declaration_sha256 != declaration.sha256:
        raise RuleError(
            "the book was begun under another declaration; a change needs a new segment"
        )
    if not any(isinstance(record, Segment) for record in held):
        text = _methodology(declaration)
        pen.write(lambda at: [_segment_line(declaration, text, at)], [text])


def _methodology(declaration: Declaration) -> bytes:
    try:
        return methodology(declaration.methodology)
    except KeyError:
        raise RuleError(
            f"{declaration.name} declares methodology {declaration.methodology}, which this "
            "version does not know"
        ) from None


def _segment_line(declaration: Declaration, text: bytes, at: str) -> Segment:
    return Segment(
        at=at,
        bodies=(open_body("methodology", text, at),),
        segment=declaration.segment,
        methodology=declaration.methodology,
        time="simulated" if declaration.simulated else "live",
        why=declaration.why,
        counted=True,
    )


def declaration_of(pen: Pen) -> Declaration:
    """The declaration that the book's first line seals."""
    league = pen.records()[0][1]
    if not isinstance(league, League):
        raise RuleError("the book does not begin with a league line")
    return Declaration.parse(pen.store.read_body(league.declaration_sha256), "declaration")


def _league_line(pen: Pen, declaration: Declaration, recovery: SigningKey, at: str) -> League:
    return League(
        at=at,
        bodies=(open_body("declaration", declaration.data, at),),
        league=declaration.name,
        origin=declaration.origin,
        key=pen.key.verifier.text(),
        recovery=digest(recovery.verifier.public),
        declaration_sha256=declaration.sha256,
    )
