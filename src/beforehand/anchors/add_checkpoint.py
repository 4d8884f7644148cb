"""The body of `POST /add-checkpoint`, written and read (c2sp.org/tlog-witness).

A line `old SIZE`, the consistency proof as one hash a line in base64, an empty
line, and the signed checkpoint. Each line ends in LF.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from beforehand.book.checkpoint import Checkpoint, is_size, strict_base64
from beforehand.book.cosignature import note_parts
from beforehand.book.tree import HASH_BYTES
from beforehand.errors import FormatError

# Sixty-three hashes and a note of many signatures, post-quantum ones included.
MAX_REQUEST_BYTES = 64 << 10
# "The client MUST NOT send more than 63 consistency proof lines."
MAX_PROOF_LINES = 63
MAX_TREE_SIZE = (1 << 63) - 1
SIZE_MEDIA = "text/x.tlog.size"

_TOLD_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True)
class AddCheckpoint:
    """What a log asks of a witness: the size it thinks the witness has, the proof, the note."""

    old: int
    path: tuple[bytes, ...]
    note: bytes

    def data(self) -> bytes:
        """The request's body."""
        lines = [f"old {self.old}\n", *(_coded(step) for step in self.path), "\n"]
        return "".join(lines).encode("ascii") + self.note

    @classmethod
    def parse(cls, data: bytes) -> AddCheckpoint:
        """The request of a body; FormatError where a line is not as the protocol says."""
        if len(data) > MAX_REQUEST_BYTES:
            raise FormatError(f"a request over {MAX_REQUEST_BYTES} bytes")
        head, found, note = data.partition(b"\n\n")
        if not found:
            raise FormatError("no empty line stands before the checkpoint")
        try:
            first, *steps = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise FormatError("the old size and the proof are ASCII") from None
        word, _, size = first.partition(" ")
        if word != "old" or not is_size(size) or int(size) > MAX_TREE_SIZE:
            raise FormatError("the first line is not `old SIZE`")
        return cls(int(size), _steps(steps), note)

    def point(self) -> Checkpoint:
        """The checkpoint that is asked to be cosigned, its signature unchecked."""
        point = Checkpoint.parse(note_parts(self.note)[0])
        if point.size > MAX_TREE_SIZE:
            raise FormatError("a tree of more than 2^63 - 1 lines")
        return point


def _coded(step: bytes) -> str:
    return base64.b64encode(step).decode("ascii") + "\n"


def _steps(lines: Sequence[str]) -> tuple[bytes, ...]:
    if len(lines) > MAX_PROOF_LINES:
        raise FormatError(f"more than {MAX_PROOF_LINES} lines of consistency proof")
    steps = tuple(strict_base64(line) for line in lines)
    if any(len(step) != HASH_BYTES for step in steps):
        raise FormatError(f"a line of the consistency proof is not a hash of {HASH_BYTES} bytes")
    return steps


def told_size(media: str, body: bytes) -> int | None:
    """The size in a witness's "409 Conflict"; None where the answer tells none.

    >>> told_size("text/x.tlog.size", b"50\\n"), told_size("text/plain", b"50\\n")
    (50, None)
    """
    match = _TOLD_SIZE.fullmatch(body)
    return (
        int(match[1]) if media == SIZE_MEDIA and match and int(match[1]) <= MAX_TREE_SIZE else None
    )
