"""Lines about the book itself: proofs from outside, releases, bodies erased or revealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from beforehand.records.record import Record
from beforehand.records.shape import Choice, Digest, Integer, Name, Optional, Shape, Text


@dataclass(frozen=True, kw_only=True)
class ProofLine(Record):
    """Evidence from an anchor that a checkpoint existed; pending is never complete.

    `failed` is no evidence: the anchor gave none for long, after so many
    `attempts`, and `reason` is the last that was said. What comes later has
    its own line.
    """

    kind: ClassVar[str] = "proof"
    own: ClassVar[Mapping[str, Shape]] = {
        "anchor": Name(),
        "checkpoint_size": Integer(1),
        "state": Choice(("pending", "complete", "failed")),
        "reason": Optional(Text(400)),
        "attempts": Optional(Integer(1)),
    }

    anchor: str
    checkpoint_size: int
    state: str
    reason: str | None = None
    attempts: int | None = None


@dataclass(frozen=True, kw_only=True)
class Release(Record):
    """A frozen publication: its manifest and the lines it covers."""

    kind: ClassVar[str] = "release"
    own: ClassVar[Mapping[str, Shape]] = {
        "release": Name(),
        "manifest_sha256": Digest(),
        "lines": Integer(1),
    }

    release: str
    manifest_sha256: str
    lines: int


@dataclass(frozen=True, kw_only=True)
class Revealed(Record):
    """A body that no time made due is public from this line on; the verifier then demands it."""

    kind: ClassVar[str] = "revealed"
    own: ClassVar[Mapping[str, Shape]] = {
        "line": Integer(1),
        "body_sha256": Digest(),
        "why": Text(400),
    }

    line: int
    body_sha256: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Erased(Record):
    """A body dropped on request; the line that named it stays."""

    kind: ClassVar[str] = "erased"
    own: ClassVar[Mapping[str, Shape]] = {
        "line": Integer(1),
        "body_sha256": Digest(),
        "why": Text(400),
    }

    line: int
    body_sha256: str
    why: str
