"""Sealing one text without a league, having it stamped, and opening it later.

Order: the opening (secret, never overwritten), the seal without evidence, then
one anchor after another, each answer kept as it comes. Killed anywhere, what
is on disk is true, and the same command, or `restamp`, goes on from there.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from beforehand.anchors.anchor import (
    CHECKS,
    COMPLETE,
    EXIT_CODES,
    PENDING,
    REFUSED,
    UNCHECKED,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.ots_check import check_ots
from beforehand.anchors.ots_file import MAGIC
from beforehand.anchors.seal_witness import check_cosigned_seal, is_cosigned_seal
from beforehand.anchors.trust import Trust
from beforehand.book.bodies import SALT_BYTES, SealedBody
from beforehand.book.cosignature import WitnessKey
from beforehand.book.seal_file import (
    MAX_OPENING_BYTES,
    MAX_SEAL_BYTES,
    QUEUED,
    SealFile,
    Stamp,
    opened,
    read_opening,
    sealed_opening,
)
from beforehand.book.store import sync_folder, write_synced
from beforehand.clock import Clock, instant_key
from beforehand.errors import BeforehandError, FormatError, IntegrityError, RuleError
from beforehand.records.codec import digest

SEAL_SUFFIX, OPENING_SUFFIX = ".seal", ".opening"
MAX_REASON_CHARS = 300

Progress = Callable[[Stamp], None]


class Asked(Protocol):
    """What a seal asks of an anchor: to take a statement, and to complete a promise."""

    @property
    def name(self) -> str:
        """What the seal calls it."""

    def submit(self, note: bytes) -> Evidence:
        """Evidence, fresh from the far side."""

    def upgrade(self, evidence: Evidence) -> Evidence:
        """Pending evidence completed where the far side can by now."""


def seal_path(path: Path) -> Path:
    """Where the public file of what is sealed lies."""
    return path.with_name(path.name + SEAL_SUFFIX)


def opening_path(seal: Path) -> Path:
    """Where the secret file beside a public one lies."""
    return seal.with_name(seal.name.removesuffix(SEAL_SUFFIX) + OPENING_SUFFIX)


def seal_content(content: bytes, path: Path, clock: Clock, by: str = "") -> SealFile:
    """Commit to a text: write `path`.opening and `path`.seal.

    RuleError where either is there already, except that an opening of this
    very text without a seal is taken up: its writer was stopped in between.
    """
    target = seal_path(path)
    if target.exists():
        raise RuleError(
            f"{target} is there already: a seal is never overwritten; "
            "ask its anchors again with --upgrade, or seal another text under another name"
        )
    data = sealed_opening(content, path.name, by, secrets.token_hex(SALT_BYTES))
    place = opening_path(target)
    if place.exists():
        data = _taken_up(place, data)
    else:
        write_new(place, data)
    seal = SealFile(digest(data), clock.now())
    write_synced(target, seal.data())
    return seal


def _taken_up(place: Path, wanted: bytes) -> bytes:
    """An opening that was written and not yet committed to, where it says what is wanted."""
    held = read_limited(place, MAX_OPENING_BYTES)
    one, other = read_opening(held), read_opening(wanted)
    if (one.content, one.run, one.forecaster) != (other.content, other.run, other.forecaster):
        raise RuleError(f"{place} is there already, of something else: it is never overwritten")
    return held


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file, for its owner alone unless `mode` says more; whole, and never over another."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    except FileExistsError:
        raise RuleError(f"{path} is there already: it is never overwritten") from None
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def read_limited(path: Path, limit: int) -> bytes:
    """A file's bytes; FormatError where it is over `limit`."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"{path} is over the limit of {limit} bytes")
    return data


def read_seal(path: Path) -> SealFile:
    """The seal kept at `path`."""
    try:
        return SealFile.parse(read_limited(path, MAX_SEAL_BYTES))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def restamp(
    path: Path, anchors: Sequence[Asked], clock: Clock, told: Progress | None = None
) -> SealFile:
    """Ask every anchor that has not answered, upgrade every promise, keep what each gives.

    An anchor that fails stays queued, or stays pending, with its reason. What
    comes late bears the time it was given.
    """
    seal = read_seal(path)
    for anchor in anchors:
        stamp = _asked(anchor, seal, clock)
        if stamp is None:
            continue
        seal = seal.stamped(stamp)
        write_synced(path, seal.data())
        if told is not None:
            told(stamp)
    return seal


def _asked(anchor: Asked, seal: SealFile, clock: Clock) -> Stamp | None:
    """What an anchor says now; None where it has said all it can."""
    held = seal.stamp_of(anchor.name)
    if held is not None and held.state == COMPLETE:
        return None
    try:
        if held is None or held.state == QUEUED:
            found = anchor.submit(seal.statement())
        else:
            found = anchor.upgrade(Evidence(anchor.name, PENDING, held.data, ""))
            if found.data == held.data:
                return None
    except BeforehandError as error:  # whoever must act, the text is sealed and the anchor waits
        reason = "".join(c if c.isprintable() else " " for c in str(error))[:MAX_REASON_CHARS]
        if held is not None and held.state != QUEUED:
            return Stamp(held.anchor, held.state, held.at, held.data, reason)
        return Stamp(anchor.name, QUEUED, clock.now(), reason=reason or "no answer")
    return Stamp(anchor.name, found.state, clock.now(), found.data)


# ---- opening


@dataclass(frozen=True)
class Revealed:
    """What a seal and its opening show.

    `body` is what was sealed, None where `result` is not CHECKS; `problem`
    says why. `verdicts` are by anchor.
    """

    seal: SealFile
    result: str
    body: SealedBody | None
    problem: str
    verdicts: tuple[tuple[str, Verdict], ...]

    @property
    def not_after(self) -> str | None:
        """The earliest instant that a piece of evidence proves the seal existed by."""
        proved = [each.not_after for _, each in self.verdicts if each.result == CHECKS]
        return min((time for time in proved if time), key=instant_key, default=None)

    @property
    def exit_code(self) -> int:
        """0 it is what was sealed, 1 it is not or its evidence is false, 2 could not check.

        Evidence that nobody could check leaves the time open, and nothing else.
        """
        false = any(each.result == REFUSED for _, each in self.verdicts)
        return EXIT_CODES[REFUSED if false else self.result]


def reveal(
    seal: SealFile,
    opening: bytes | None,
    trust: Trust,
    as_of: str,
    witnesses: Sequence[WitnessKey] = (),
    quorum: int = 1,
) -> Revealed:
    """Check an opening against its seal, and the seal's evidence as far as the reader's trust goes.

    `quorum` of the reader's `witnesses` make a time.
    """
    known = _Known(trust, as_of, tuple(witnesses), quorum)
    verdicts = tuple((stamp.anchor, _verdict(seal, stamp, known)) for stamp in seal.stamps)
    if opening is None:
        return Revealed(seal, UNCHECKED, None, "the opening is not there", verdicts)
    try:
        return Revealed(seal, CHECKS, opened(seal, opening), "", verdicts)
    except IntegrityError as error:
        return Revealed(seal, REFUSED, None, str(error), verdicts)
    except FormatError as error:
        # These are the bytes committed to, and they were never a sealed text.
        return Revealed(seal, REFUSED, None, f"what was sealed is no opening: {error}", verdicts)


@dataclass(frozen=True)
class _Known:
    """What one reader judges evidence by."""

    trust: Trust
    as_of: str
    witnesses: tuple[WitnessKey, ...]
    quorum: int


def _verdict(seal: SealFile, stamp: Stamp, known: _Known) -> Verdict:
    if stamp.state == QUEUED:
        return unchecked(f"queued: it has not answered ({stamp.reason}), and no time is proved")
    verdict = _check(stamp, Subject.of_bytes(seal.statement()), known)
    if verdict.result != CHECKS:
        return verdict
    if stamp.state == PENDING:
        return unchecked("its file says pending, so it is not shown as anchored: upgrade it")
    if verdict.not_after is not None and instant_key(verdict.not_after) < instant_key(seal.at):
        ahead = f"whoever sealed it says {seal.at}: that clock was ahead, and proves nothing"
        return replace(verdict, notes=(*verdict.notes, ahead))
    return verdict


def _check(stamp: Stamp, subject: Subject, known: _Known) -> Verdict:
    trust, as_of = known.trust, known.as_of
    if is_cosigned_seal(stamp.data):
        return check_cosigned_seal(stamp.data, subject, known.witnesses, known.quorum, as_of)
    if not stamp.data.startswith(MAGIC):
        return check_bytes(stamp.data, subject, trust, as_of)
    try:  # a promise that is said to be complete is false, and not merely unchecked
        complete = stamp.state == COMPLETE
        return check_ots(stamp.data, subject, trust.bitcoin, as_of, complete=complete)
    except RuleError as error:
        return unchecked(str(error))
