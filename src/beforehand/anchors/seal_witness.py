"""Witnesses of a lone seal: it stands in a log of its maker's, and they cosign that log.

The evidence holds the path from the seal's statement to a checkpoint of that
log and the cosignatures on it. A reader needs their own witnesses' keys only:
whose log it is, is the maker's word, and the cosignatures say when witnesses
saw a tree that holds the statement.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from beforehand.anchors.anchor import (
    COMPLETE,
    Evidence,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.witness import CosignedRecord, Witness, Witnesses, quorum_verdict
from beforehand.book.checkpoint import Checkpoint, VerifierKey, strict_base64
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import (
    WitnessKey,
    cosignatures,
    note_parts,
)
from beforehand.book.tree import check_inclusion, leaf_hash
from beforehand.clock import Clock
from beforehand.errors import FormatError, IntegrityError, RemoteError
from beforehand.records.codec import decode_json

KIND = "cosigned-seal"
MEDIA = "application/vnd.beforehand.cosigned-seal+json"
MAX_STEPS = 63
_KEYS = {"kind", "index", "path", "cosigned"}
_GAPS = (
    "other texts sealed beside this one, in this log or another",
    "as many witnesses as you ask for, all lying together",
)


class Log(Protocol):
    """The maker's log: `stages.seal_log.SealLog`."""

    @property
    def verifier(self) -> VerifierKey: ...

    def add(self, statement: bytes) -> int: ...

    def note(self) -> tuple[bytes, int]: ...

    def path(self, index: int, size: int) -> list[bytes]: ...

    def tree(self, size: int) -> LeafTree: ...


class SealWitnesses:
    """Several witnesses as one anchor of lone seals; `need` of them complete it."""

    name = "witness"

    def __init__(self, log: Log, witnesses: Sequence[Witness], need: int, clock: Clock) -> None:
        self._log = log
        self._witnesses = Witnesses(witnesses, need, log.verifier, log.tree, clock)

    def submit(self, note: bytes) -> Evidence:
        """The statement entered into the log, and the log's newest checkpoint cosigned."""
        return self._newest(self._log.add(note))

    def upgrade(self, evidence: Evidence) -> Evidence:
        """Fewer cosignatures than are asked for, completed where the witnesses answer by now.

        A witness that has cosigned a later tree by then is asked about that one.
        """
        if evidence.state == COMPLETE:
            return evidence
        record = SealRecord.parse(evidence.data)
        held = Evidence(self.name, evidence.state, record.cosigned, "")
        found = self._witnesses.upgrade(held)
        if found.state != COMPLETE:
            try:
                newest = self._newest(record.index)
            except RemoteError:  # nobody answers about it: what is held stays held
                newest = evidence
            if newest.state == COMPLETE:
                return newest
        if found.data == held.data:
            return evidence
        told = SealRecord(record.index, record.path, found.data)
        return Evidence(self.name, found.state, told.data(), MEDIA, found.troubles)

    def _newest(self, index: int) -> Evidence:
        """The log's newest checkpoint cosigned, and the path to it."""
        checkpoint, size = self._log.note()
        found = self._witnesses.submit(checkpoint)
        record = SealRecord(index, tuple(self._log.path(index, size)), found.data)
        return Evidence(self.name, found.state, record.data(), MEDIA, found.troubles)


@dataclass(frozen=True)
class SealRecord:
    """Where a statement stands in its maker's tree, and the cosigned checkpoint, as a record."""

    index: int
    path: tuple[bytes, ...]
    cosigned: bytes

    def data(self) -> bytes:
        """The record as JSON."""
        content = {
            "kind": KIND,
            "index": self.index,
            "path": [base64.b64encode(step).decode("ascii") for step in self.path],
            "cosigned": json.loads(self.cosigned),
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8")

    @classmethod
    def parse(cls, data: bytes) -> SealRecord:
        """The record of its JSON; FormatError where it is none."""
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("kind") != KIND or set(value) != _KEYS:
            raise FormatError("not a record of a cosigned seal")
        index, path, cosigned = value["index"], value["path"], value["cosigned"]
        if type(index) is not int or index < 0:
            raise FormatError("a cosigned seal has a number from 0")
        if (
            not isinstance(path, list)
            or len(path) > MAX_STEPS
            or not all(isinstance(step, str) for step in path)
        ):
            raise FormatError(f"the path of a cosigned seal has at most {MAX_STEPS} hashes")
        # A lone surrogate stays an escape, and is refused as what it is.
        inner = json.dumps(cosigned, sort_keys=True).encode("ascii")
        return cls(index, tuple(map(strict_base64, path)), CosignedRecord.parse(inner).data())


def check_cosigned_seal(
    data: bytes, subject: Subject, keys: Sequence[WitnessKey], need: int, as_of: str
) -> Verdict:
    """What the record proves of a statement, by the reader's own witnesses.

    The statement is in the tree of the checkpoint, and `need` of the witnesses
    cosigned that; the time is that of the `need`-th earliest.
    """
    try:
        record = SealRecord.parse(data)
        held = CosignedRecord.parse(record.cosigned)
        point = Checkpoint.parse(note_parts(held.note)[0])
        leaf = leaf_hash(subject.sha256)
        check_inclusion(record.index, point.size, leaf, list(record.path), point.root)
        if not keys:
            return unchecked("no witness is trusted, so nobody vouches for the checkpoint")
        what = f"{point.origin:.100}, which holds it as seal {record.index + 1} of {point.size}"
        found = cosignatures(held.cosigned(), keys, as_of)
        return quorum_verdict(found, len(keys), need, what, _GAPS, KIND)
    except IntegrityError as error:
        return refused(str(error))
    except FormatError as error:
        return unchecked(str(error))


def is_cosigned_seal(data: bytes) -> bool:
    """Whether these bytes say of themselves that they are such a record."""
    try:
        value = decode_json(data)
    except FormatError:
        return False
    return isinstance(value, dict) and value.get("kind") == KIND
