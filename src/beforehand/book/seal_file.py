"""A seal of its own: one text committed to without a league, in two files.

`FILE.opening` is secret until it is revealed: a sealed body (`bodies`), that is
a header with a random salt, then the text. `FILE.seal` is public at once: J of
one object and a line feed,

    format      "beforehand-seal/1"
    commitment  the SHA-256 of the opening's bytes
    at          when it was sealed, by the clock of whoever sealed it
    evidence    what others say of it: anchor, state, at, and data in base64,
                or, where an anchor has not answered yet, the reason

Anchors are given the *statement*, three lines that anybody can write from the
public file: the format, the commitment, `at`. So no anchor ever holds the
text, a stamp can be asked for again from the public file alone, and an `at`
that is changed afterwards no longer fits what was stamped.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, Self

from beforehand.book.bodies import MAX_BODY_BYTES, MAX_HEADER_BYTES, SealedBody, open_sealed
from beforehand.book.checkpoint import strict_base64
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, digest, is_digest, seal_json
from beforehand.records.shape import Choice, Instant, Optional, Table, Text

SEAL_FORMAT = "beforehand-seal/1"
SEAL_ROLE = "lone"
MAX_SEAL_BYTES = 8 << 20
MAX_SEAL_EVIDENCE = 64
MAX_OPENING_BYTES = MAX_BODY_BYTES
MAX_SEALED_BYTES = MAX_OPENING_BYTES - 2 * MAX_HEADER_BYTES

QUEUED, PENDING_STAMP, COMPLETE_STAMP = "queued", "pending", "complete"

_SEAL_KEYS = {"format", "commitment", "at", "evidence"}
_STAMP_TABLE = Table(
    {
        "anchor": Text(200, pattern=r"[a-z0-9][a-z0-9.:_-]*", words="the name of an anchor"),
        "state": Choice((QUEUED, PENDING_STAMP, COMPLETE_STAMP)),
        "at": Instant(),
        "reason": Optional(Text(400)),
        "data": Optional(Text(2 << 20)),
    }
)


@dataclass(frozen=True)
class Stamp:
    """What one anchor gave: its bytes, or, while it is queued, why it gave none yet."""

    anchor: str
    state: str
    at: str
    data: bytes = b""
    reason: str = ""

    def content(self) -> dict[str, str]:
        """The JSON object."""
        held = {"anchor": self.anchor, "state": self.state, "at": self.at}
        if self.reason:
            held["reason"] = self.reason
        if self.data:
            held["data"] = base64.b64encode(self.data).decode("ascii")
        return held

    @classmethod
    def of(cls, value: Any) -> Self:
        """The stamp of a JSON object; FormatError where its parts contradict."""
        _STAMP_TABLE.check(value, "evidence")
        data = strict_base64(value["data"]) if "data" in value else b""
        if bool(data) == (value["state"] == QUEUED):
            raise FormatError("evidence: bytes are there exactly where an anchor has answered")
        return cls(value["anchor"], value["state"], value["at"], data, value.get("reason", ""))


@dataclass(frozen=True)
class SealFile:
    """The public file: a commitment, when it was made by the sealer's clock, and the evidence."""

    commitment: str
    at: str
    stamps: tuple[Stamp, ...] = ()

    def statement(self) -> bytes:
        """What anchors are given: format, commitment, `at`, one a line."""
        return f"{SEAL_FORMAT}\n{self.commitment}\n{self.at}\n".encode("ascii")

    def data(self) -> bytes:
        """The file's bytes."""
        content = {
            "format": SEAL_FORMAT,
            "commitment": self.commitment,
            "at": self.at,
            "evidence": [stamp.content() for stamp in self.stamps],
        }
        return seal_json(content) + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The seal in a file's bytes; FormatError names what is wrong with its form."""
        if len(data) > MAX_SEAL_BYTES:
            raise FormatError(f"a seal of {len(data)} bytes; the limit is {MAX_SEAL_BYTES}")
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("format") != SEAL_FORMAT:
            raise FormatError(f"it is no seal: its format is not {SEAL_FORMAT!r}")
        if set(value) != _SEAL_KEYS:
            raise FormatError(f"a seal has the keys {', '.join(sorted(_SEAL_KEYS))}")
        if not is_digest(value["commitment"]):
            raise FormatError("commitment is not a SHA-256 in hex")
        instant_key(value["at"])
        evidence = value["evidence"]
        if not isinstance(evidence, list) or len(evidence) > MAX_SEAL_EVIDENCE:
            raise FormatError(f"evidence is not a list of at most {MAX_SEAL_EVIDENCE}")
        stamps = tuple(Stamp.of(item) for item in evidence)
        if len({stamp.anchor for stamp in stamps}) != len(stamps):
            raise FormatError("evidence: one anchor stands twice")
        return cls(value["commitment"], value["at"], stamps)

    def stamp_of(self, anchor: str) -> Stamp | None:
        """What an anchor gave so far."""
        return next((stamp for stamp in self.stamps if stamp.anchor == anchor), None)

    def stamped(self, stamp: Stamp) -> SealFile:
        """The same seal with this in the place of what the anchor gave before."""
        kept = tuple(each for each in self.stamps if each.anchor != stamp.anchor)
        return replace(self, stamps=(*kept, stamp))


def sealed_opening(content: bytes, name: str, by: str, salt: str) -> bytes:
    """The opening's bytes: what is sealed, what it is called and whose it is, behind a salt."""
    if len(content) > MAX_SEALED_BYTES:
        raise FormatError(f"{len(content)} bytes to seal; the limit is {MAX_SEALED_BYTES}")
    return SealedBody(SEAL_FORMAT, name, by, SEAL_ROLE, salt, content).data()


def read_opening(data: bytes) -> SealedBody:
    """The opening in a file's bytes; FormatError where it is none of a lone seal."""
    body = open_sealed(data)
    if (body.origin, body.role) != (SEAL_FORMAT, SEAL_ROLE):
        raise FormatError("it is a body of a league, and no opening of a lone seal")
    return body


def opened(seal: SealFile, data: bytes) -> SealedBody:
    """What was sealed; IntegrityError where these are not the bytes committed to."""
    if digest(data) != seal.commitment:
        raise IntegrityError(
            f"the opening hashes to {digest(data)}, and the seal commits to {seal.commitment}"
        )
    return read_opening(data)
