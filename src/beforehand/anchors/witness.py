"""Witnesses as an anchor: each checkpoint is cosigned by k of the n that the league names.

A witness cosigns one history of an origin only, so a quorum of them excludes a
second book (c2sp.org/tlog-witness, tlog-cosignature). What a witness did not
cosign it did not see: an outage leaves this level unreached until the next
cosignature, which bears its own time and no earlier one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from beforehand.anchors.add_checkpoint import AddCheckpoint, told_size
from beforehand.anchors.anchor import (
    CHECKS,
    COMPLETE,
    PENDING,
    SIGNED_TIME,
    Evidence,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.transport import Answer, exchange
from beforehand.anchors.trust import Trust
from beforehand.book.checkpoint import Checkpoint, VerifierKey, strict_base64
from beforehand.book.cosignature import (
    Cosignature,
    NoteLine,
    WitnessKey,
    attach_lines,
    check_cosignature,
    check_witness_keys,
    cosignature_instant,
    cosignatures,
    note_line,
    note_parts,
    quorum_time,
)
from beforehand.clock import Clock, instant_key
from beforehand.errors import BeforehandError, FormatError, IntegrityError, RemoteError, RuleError
from beforehand.records.codec import decode_json

MEDIA = "application/vnd.beforehand.cosigned+json"
KIND = "cosigned"
SECONDS = 10.0
MAX_TRIES = 4
# How far a witness's clock may stand from ours, in seconds.
MAX_SKEW = 300
_RECORD_KEYS = {"kind", "note", "lines"}

_GAPS = (
    "as many witnesses as were asked for, all lying together",
    "a book under another origin or another key",
)


class Tree(Protocol):
    """Where consistency proofs come from: `book.consistency.LeafTree`, or anything like it."""

    def path(self, old: int, new: int) -> list[bytes]: ...


@dataclass(frozen=True)
class Witness:
    """A witness that others run: its address and its pinned key."""

    url: str
    key: WitnessKey


class Witnesses:
    """Several witnesses as one anchor; `need` of them make the level.

    `tree` gives the book's tree of at least a size, for the consistency proof
    from whatever size a witness has. `log` is the book's own key: a witness
    that shares it is none. `sizes` says what each witness, by name, is known to
    have cosigned: one that tells less has lost its state.
    """

    NAME = "witness"

    def __init__(
        self,
        witnesses: Sequence[Witness],
        need: int,
        log: VerifierKey,
        tree: Callable[[int], Tree],
        clock: Clock,
        name: str = NAME,
        seconds: float = SECONDS,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.keys = tuple(witness.key for witness in witnesses)
        check_witness_keys(self.keys)
        if not 1 <= need <= len(witnesses):
            raise RuleError(f"{need} of {len(witnesses)} witnesses cannot be asked for")
        if any(key.public == log.public for key in self.keys):
            raise RuleError("the book's own key cannot be its witness")
        self.witnesses, self.need, self.log = tuple(witnesses), need, log
        self.tree, self.clock, self.name, self.seconds = tree, clock, name, seconds
        self._sizes = dict(sizes or {})

    def submit(self, note: bytes) -> Evidence:
        """The note's cosignatures; RemoteError where no witness gave one.

        Fewer than are asked for are pending evidence: `upgrade` asks the rest.
        """
        return self._collect(note, ())

    def upgrade(self, evidence: Evidence) -> Evidence:
        """Pending evidence with the cosignatures that can be had by now; else the same."""
        if evidence.state == COMPLETE:
            return evidence
        record = CosignedRecord.parse(evidence.data)
        return self._collect(record.note, record.lines)

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the cosignatures prove of the note, by the witnesses this anchor was made with."""
        if evidence.state != COMPLETE:
            return unchecked("pending: fewer witnesses cosigned than are asked for")
        subject = Subject.of_digest(digest)
        return check_cosigned(evidence.data, subject, self.keys, self.need, as_of)

    def cosigned_note(self, note: bytes) -> bytes:
        """The note with the lines of the witnesses that answer, ready to be published."""
        return CosignedRecord.parse(self.submit(note).data).cosigned()

    def _collect(self, note: bytes, held: Sequence[NoteLine]) -> Evidence:
        point = Checkpoint.open(note, self.log)
        text = note_parts(note)[0]
        missing = [
            witness
            for witness in self.witnesses
            if not any(check_cosignature(text, line, witness.key) for line in held)
        ]
        lines, failures = list(held), []
        # One made for all, so that they do not read the book at the same time.
        tree = self.tree(point.size)
        with ThreadPoolExecutor(max(1, len(missing))) as pool:
            for answer in pool.map(lambda w: self._ask(w, note, point, tree), missing):
                if isinstance(answer, NoteLine):
                    lines.append(answer)
                else:
                    failures.append(answer)
        if not lines:
            raise RemoteError(
                "; ".join(map(str, failures)), retryable=any(e.retryable for e in failures)
            )
        state = COMPLETE if len(lines) >= self.need else PENDING
        troubles = tuple(str(error) for error in failures)
        return Evidence(
            self.name, state, CosignedRecord(note, tuple(lines)).data(), MEDIA, troubles
        )

    def _ask(
        self, witness: Witness, note: bytes, point: Checkpoint, tree: Tree
    ) -> NoteLine | RemoteError:
        """One witness's line, or why there is none: one that fails does not stop the others."""
        try:
            line = self._cosign(witness, note, point, tree)
        except RemoteError as error:
            return error
        except BeforehandError as error:
            return RemoteError(f"{witness.key.name}: {error}", retryable=False)
        self._sizes[witness.key.name] = point.size
        return line

    def _cosign(self, witness: Witness, note: bytes, point: Checkpoint, tree: Tree) -> NoteLine:
        """Ask from the size the witness is thought to have, then from the one it tells."""
        name = witness.key.name
        known = self._sizes.get(name, 0)
        old, url = known, witness.url.rstrip("/") + "/add-checkpoint"
        for _ in range(MAX_TRIES):
            if old > point.size:
                raise RemoteError(
                    f"{name} has cosigned {old} lines already; this checkpoint, of {point.size}, "
                    "is covered by the next cosignature",
                    retryable=False,
                )
            path = tuple(tree.path(old, point.size))
            answer = exchange(url, AddCheckpoint(old, path, note).data(), seconds=self.seconds)
            told = told_size(answer.headers.get("content-type", ""), answer.body)
            if answer.status != 409 or told is None or told == old:
                return self._line_of(answer, witness, note)
            if told < known:
                # It signed `known` before: its state was lost, or set back.
                raise RemoteError(
                    f"{name} cosigned {known} lines before and says {told} now: do not rely on it",
                    retryable=False,
                )
            old = told
        raise RemoteError(f"{name} told another size {MAX_TRIES} times", retryable=True)

    def _line_of(self, answer: Answer, witness: Witness, note: bytes) -> NoteLine:
        """The witness's own line in its answer; lines of keys that were not pinned are dropped."""
        if answer.status == 422:
            raise RemoteError(
                f"{witness.key.name} holds another book under this origin, and refused this one",
                retryable=False,
            )
        text, now = note_parts(note)[0], instant_key(self.clock.now()).timestamp()
        for written in _text_lines(answer.expect(200)):
            line = note_line(written)
            found = check_cosignature(text, line, witness.key)
            if found is None:
                continue
            if abs(found.timestamp - now) > MAX_SKEW:
                raise IntegrityError(
                    f"its cosignature is dated {cosignature_instant(found.timestamp)}, "
                    f"more than {MAX_SKEW} s from our time"
                )
            return line
        raise RemoteError(f"{witness.key.name} answered without its cosignature", retryable=False)


def _text_lines(body: bytes) -> list[str]:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("the answer is not UTF-8") from None
    if not text.endswith("\n"):
        raise FormatError("the answer does not end with a line feed")
    return text[:-1].split("\n")


@dataclass(frozen=True)
class CosignedRecord:
    """A note and the cosignatures that were collected for it."""

    note: bytes
    lines: tuple[NoteLine, ...]

    def data(self) -> bytes:
        """The record as JSON."""
        record = {
            "kind": KIND,
            "note": base64.b64encode(self.note).decode("ascii"),
            "lines": [line.text().rstrip("\n") for line in self.lines],
        }
        return json.dumps(record, sort_keys=True, ensure_ascii=False).encode("utf-8")

    @classmethod
    def parse(cls, data: bytes) -> CosignedRecord:
        """The record of its JSON; FormatError where it is none."""
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("kind") != KIND or set(value) != _RECORD_KEYS:
            raise FormatError("not a record of cosignatures")
        note, lines = value["note"], value["lines"]
        if not isinstance(note, str) or not isinstance(lines, list):
            raise FormatError("a record of cosignatures has a note and lines")
        if not all(isinstance(line, str) for line in lines):
            raise FormatError("a cosignature line is a text")
        record = cls(strict_base64(note), tuple(note_line(line) for line in lines))
        record.cosigned()  # the lines fit on the note
        return record

    def cosigned(self) -> bytes:
        """The note with the lines at its end."""
        return attach_lines(self.note, self.lines)


def check_cosigned(
    data: bytes, subject: Subject, keys: Sequence[WitnessKey], need: int, as_of: str
) -> Verdict:
    """What a record of cosignatures proves of a signed note, by the reader's own witnesses.

    The time is that of the `need`-th earliest: so many had seen it by then.
    """
    try:
        record = CosignedRecord.parse(data)
    except FormatError as error:
        return unchecked(str(error))
    if Subject.of_bytes(record.note).sha256 != subject.sha256:
        return refused("the cosignatures are on another note")
    try:
        found = cosignatures(record.cosigned(), keys, as_of)
        return quorum_verdict(found, len(keys), need, "it", _GAPS)
    except IntegrityError as error:
        return refused(str(error))
    except FormatError as error:
        return unchecked(str(error))


def quorum_verdict(
    found: Sequence[Cosignature],
    keys: int,
    need: int,
    what: str,
    gaps: tuple[str, ...],
    kind: str = "",
) -> Verdict:
    """What the cosignatures of `found` among `keys` witnesses prove of `what` they cosigned.

    The time is that of the `need`-th earliest; where fewer cosigned, nothing is
    checked. `gaps` are what stays open. FormatError for a quorum of nobody.
    """
    words = f"{len(found)} of {keys} witnesses cosigned {what}, {need} are asked for"
    notes = tuple(f"{each.name}: {cosignature_instant(each.timestamp)}" for each in found)
    time = quorum_time(found, need)
    if time is None:
        return unchecked(words, *notes)
    return Verdict(
        CHECKS,
        words,
        cosignature_instant(time),
        level=SIGNED_TIME,
        excludes_not=gaps,
        notes=notes,
        kind=kind,
    )
