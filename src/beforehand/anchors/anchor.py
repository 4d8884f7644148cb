"""What an anchor is: it takes a checkpoint's note and gives evidence, which anyone can check.

The anchored thing is always the SHA-256 of the signed note's exact bytes, so
the note is kept beside its evidence. Pending evidence is a promise: it is
never shown as anchored, whatever its bytes hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from beforehand.errors import FormatError

if TYPE_CHECKING:
    from beforehand.anchors.trust import Trust

MAX_EVIDENCE_BYTES = 1 << 20

PENDING = "pending"
COMPLETE = "complete"

# The three results, and the exit code each has on a command line.
CHECKS = "checks"
REFUSED = "does not match or is not trusted"
UNCHECKED = "could not check"
EXIT_CODES = {CHECKS: 0, REFUSED: 1, UNCHECKED: 2}

# The ladder of trust (sealed standard, 4.1): whose word the time rests on.
OPERATOR_WORD = "1"
PUBLIC_RECORD = "2"
SIGNED_TIME = "2+"

# Digests that still bind one file. The operator chooses the file, so a digest
# with a known collision (SHA-1, RIPEMD-160 at 80 bits) binds nothing.
BINDING_DIGESTS = ("sha256", "sha384", "sha512")


@dataclass(frozen=True)
class Evidence:
    """What an anchor gave: whose, how far it is, the bytes, and their media type.

    `troubles` is what failed on the way and left it so: for the operator, and no evidence.
    """

    anchor: str
    state: str
    data: bytes
    media: str
    troubles: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.state not in (PENDING, COMPLETE):
            raise FormatError(f"evidence is {PENDING} or {COMPLETE}, not {self.state!r:.40}")
        if len(self.data) > MAX_EVIDENCE_BYTES:
            raise FormatError(
                f"evidence of {len(self.data)} bytes; the limit is {MAX_EVIDENCE_BYTES}"
            )


@dataclass(frozen=True)
class Subject:
    """What evidence should speak of, under every binding digest that is known of it."""

    digests: Mapping[str, bytes]

    @classmethod
    def of_bytes(cls, data: bytes) -> Subject:
        """A file's content."""
        return cls({name: hashlib.new(name, data).digest() for name in BINDING_DIGESTS})

    @classmethod
    def of_file(cls, path: Path) -> Subject:
        """A file, read once in parts."""
        sums = [hashlib.new(name) for name in BINDING_DIGESTS]
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                for each in sums:
                    each.update(part)
        return cls({each.name: each.digest() for each in sums})

    @classmethod
    def of_digest(cls, sha256: bytes) -> Subject:
        """Something of which only the SHA-256 is known."""
        if len(sha256) != 32:
            raise FormatError(f"a SHA-256 has 32 bytes, not {len(sha256)}")
        return cls({"sha256": sha256})

    @property
    def sha256(self) -> bytes:
        """The SHA-256."""
        return self.digests["sha256"]


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    `not_after` is the instant by which the subject existed, where the evidence
    proves one; None is "no time proved", also where the result is CHECKS.
    `claimed` is a time that rests on somebody's word alone. `excludes_not`
    says what passes this check and is wrong all the same.

    `kind` is what the evidence is by its own bytes, whatever it is called.
    `signers` are hashes of the keys that a signed time rests on: two verdicts
    that share one are one authority's. `bound` is False where all of it could
    have been arranged afterwards; what counts levels leaves that out.
    """

    result: str
    words: str
    not_after: str | None = None
    claimed: str | None = None
    level: str = OPERATOR_WORD
    excludes_not: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    kind: str = ""
    signers: tuple[str, ...] = ()
    bound: bool = True

    @property
    def exit_code(self) -> int:
        """0 checks, 1 does not match or is not trusted, 2 could not check."""
        return EXIT_CODES[self.result]

    def text(self) -> str:
        """Lines for a person, the result first."""
        lines = [f"{self.result}: {self.words}"]
        if self.result == CHECKS:
            lines.append(f"level {self.level}; existed no later than {self.not_after or 'unknown'}")
        if self.claimed is not None:
            lines.append(f"a time that is claimed and not proved: {self.claimed}")
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"does not exclude: {gap}" for gap in self.excludes_not]
        return "\n".join(lines)


def refused(words: str, *notes: str) -> Verdict:
    """The verdict of evidence that does not match, or that nobody named as trusted made."""
    return Verdict(REFUSED, words, notes=notes)


def unchecked(words: str, *notes: str) -> Verdict:
    """The verdict where nothing was found wrong and nothing was proved."""
    return Verdict(UNCHECKED, words, notes=notes)


class Anchor(Protocol):
    """A witness outside the operator. `name` is what proof lines call it.

    `submit` and `upgrade` may open connections, and raise RemoteError where
    the far side fails. `check` opens none: whatever it needs is in `trust`.
    """

    @property
    def name(self) -> str:
        """What proof lines call it."""
        ...

    def submit(self, note: bytes) -> Evidence:
        """Evidence for a signed note, fresh from the far side."""
        ...

    def upgrade(self, evidence: Evidence) -> Evidence:
        """Pending evidence completed where the far side can by now; else the same evidence."""
        ...

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What evidence proves of the note with this SHA-256, read at the instant `as_of`."""
        ...
