"""Declaring a league: line 1, and the segment its statistics stay within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beforehand.book.checkpoint import MAX_NOTE_BYTES, Checkpoint
from beforehand.book.key_history import key_history
from beforehand.book.reader import BOOK_NAME
from beforehand.book.store import FileStore
from beforehand.clock import Clock
from beforehand.errors import FormatError, RuleError
from beforehand.leagues import methodology
from beforehand.records.codec import BOOKKEEPING, MAX_LINE_BYTES, decode_json, digest
from beforehand.records.declaration import Declaration, missing_features
from beforehand.records.kinds import decode
from beforehand.records.league import League, Segment
from beforehand.stages.contracts import check_profile
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen, open_body
from beforehand.stages.rotation import KEY_NAME, RECOVERY_NAME, settled_key


def open_league(folder: Path, declaration: Declaration, clock: Clock) -> Pen:
    """The pen of a league's folder, its keys made where there are none yet.

    RuleError, before anything is made, where this version cannot run the league.
    """
    check_runs(declaration)
    if _is_begun(folder):
        return reopen_league(folder, clock)  # a book that was begun has its key: none is made
    key = SigningKey.keep(declaration.origin, folder / KEY_NAME)
    return Pen(FileStore(folder), clock, key)


def reopen_league(folder: Path, clock: Clock, *, wait: float = 0.0) -> Pen:
    """The pen of a league that was declared before; nothing is made where there is none.

    Where another has it, it is waited for so many seconds; then ConflictError.
    """
    if not (folder / BOOK_NAME).is_file():
        raise RuleError(f"{folder} holds no declared league")
    store = FileStore(folder, wait=wait)
    try:
        first = next(iter(store.lines()), None)
        if first is None:
            raise RuleError(f"{folder} holds no declared league")
        if not isinstance(decode(_content(first)), League):
            raise RuleError(f"{folder} does not begin with a league line")
        return Pen(store, clock, settled_key(folder, key_history(store.lines())))
    except BaseException:
        store.close()
        raise


def _is_begun(folder: Path) -> bool:
    """Whether a book there has its first line."""
    path = folder / BOOK_NAME
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.readline(MAX_LINE_BYTES + 1).endswith(b"\n")


def _content(raw: bytes) -> dict[str, Any]:
    return {key: item for key, item in decode_json(raw).items() if key not in BOOKKEEPING}


def check_runs(declaration: Declaration) -> None:
    """RuleError where the league declares what this version cannot run, or no question states."""
    missing = missing_features(declaration)
    if missing:
        raise RuleError(
            f"{declaration.name} cannot be started by this version: " + " ".join(missing)
        )
    check_profile(declaration)


def declare(
    pen: Pen,
    declaration: Declaration,
    folder: Path,
    plugins: Sequence[Mapping[str, str]] = (),
    predecessor: bytes | None = None,
) -> None:
    """Seal the declaration's very bytes and open its segment; done once, then a no-op.

    `plugins` are the distribution, version and hash of every plugin it names,
    `predecessor` the last checkpoint of a book that ended and that this one follows.

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
        line = _league_line(pen, declaration, recovery, plugins)
        if predecessor is not None:
            line = _following(line, predecessor)
        bodies = [declaration.data, *([] if predecessor is None else [predecessor])]
        pen.write(lambda at: [_dated(line, at)], bodies)
        held = [record for _, record in pen.records()]
    league = held[0]
    if not isinstance(league, League) or _in_force(held) != declaration.sha256:
        raise RuleError(
            "the book was begun under another declaration; a change needs a new segment: "
            "beforehand declare --segment"
        )
    if not any(isinstance(record, Segment) for record in held):
        text = methodology_text(declaration)
        pen.write(lambda at: [segment_line(declaration, text, at)], [text])


def methodology_text(declaration: Declaration) -> bytes:
    """The text of its methodology version; RuleError where this version knows none."""
    try:
        return methodology(declaration.methodology)
    except KeyError:
        raise RuleError(
            f"{declaration.name} declares methodology {declaration.methodology}, which this "
            "version does not know"
        ) from None


def segment_line(declaration: Declaration, text: bytes, at: str) -> Segment:
    """The line of a declaration's segment, with the text of its methodology."""
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
    """The declaration in force: the last segment's own, else the one that the first line seals."""
    sha256 = _in_force([record for _, record in pen.records()])
    return Declaration.parse(pen.store.read_body(sha256), "declaration")


def plugins_of(pen: Pen) -> tuple[Any, ...]:
    """The plugins that were sealed with the declaration in force."""
    return _declaring([record for _, record in pen.records()]).plugins


def _declaring(held: Sequence[Any]) -> League | Segment:
    """The line that seals the declaration in force."""
    if not held or not isinstance(held[0], League):
        raise RuleError("the book does not begin with a league line")
    found: League | Segment = held[0]
    for record in held:
        if isinstance(record, Segment) and record.declaration_sha256 is not None:
            found = record
    return found


def _in_force(held: Sequence[Any]) -> str:
    return str(_declaring(held).declaration_sha256)


def _league_line(
    pen: Pen,
    declaration: Declaration,
    recovery: SigningKey,
    plugins: Sequence[Mapping[str, str]],
) -> League:
    """The first line; its time is put in when it is written."""
    return League(
        at="",
        bodies=(open_body("declaration", declaration.data, ""),),
        league=declaration.name,
        origin=declaration.origin,
        key=pen.key.verifier.text(),
        recovery=digest(recovery.verifier.public),
        declaration_sha256=declaration.sha256,
        plugins=tuple(dict(plugin) for plugin in plugins),
    )


def _following(line: League, predecessor: bytes) -> League:
    """The first line of a book that follows another, by the other's last checkpoint.

    RuleError for the same origin: one origin has one book.
    """
    if len(predecessor) > MAX_NOTE_BYTES:
        raise FormatError(
            f"a checkpoint of {len(predecessor)} bytes; the limit is {MAX_NOTE_BYTES}"
        )
    try:
        text = predecessor.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"the checkpoint is not UTF-8 at byte {error.start}") from None
    point = Checkpoint.parse(text.rpartition("\n\n")[0] + "\n")
    if point.origin == line.origin:
        raise RuleError(
            f"{line.origin} has a book already, and its end ends the origin: declare another one"
        )
    return replace(
        line,
        bodies=(*line.bodies, open_body("predecessor", predecessor, "")),
        successor_of={"origin": point.origin, "size": point.size, "root": point.root.hex()},
    )


def _dated(line: League, at: str) -> League:
    return replace(line, at=at, bodies=tuple(replace(body, due=at) for body in line.bodies))
