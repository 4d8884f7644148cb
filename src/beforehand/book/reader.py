"""Reading a kept book: its lines, bodies and checkpoints, without a lock and without a pen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from beforehand.book.bodies import body_path
from beforehand.book.chain import cut_pieces
from beforehand.book.checkpoint import is_size
from beforehand.book.tiles import TILE_WIDTH
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import is_digest

BOOK_NAME = "book.jsonl"
CHECKPOINTS_NAME = "checkpoints"


class BookReader:
    """A book in a folder: `book.jsonl`, `bodies/`, `checkpoints/`.

    A book only grows, so a reader beside a writer sees a prefix of it; an
    unterminated tail is not there yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lines(self) -> Iterator[bytes]:
        """Every line's bytes, without the LF."""
        with (self.folder / BOOK_NAME).open("rb") as stream:
            for _, first_n, data in cut_pieces(stream, TILE_WIDTH):
                if first_n:
                    yield from data.split(b"\n")[:-1]

    def read_body(self, sha256: str) -> bytes:
        """The bytes of a body; FormatError where it is not kept."""
        if not is_digest(sha256):
            raise FormatError(f"{sha256!r:.80} names no body: give a SHA-256 in lower-case hex")
        path = self.folder / body_path(sha256)
        if not path.is_file():
            raise FormatError(f"the body {sha256} is not kept in {self.folder}")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise IntegrityError(f"{path} does not hash to its name")
        return data

    def has_body(self, sha256: str) -> bool:
        """Whether the bytes of a body are kept; what they hash to is not looked at."""
        return is_digest(sha256) and (self.folder / body_path(sha256)).is_file()

    def checkpoints(self) -> dict[int, bytes]:
        """Every kept checkpoint by its size, smallest first."""
        folder = self.folder / CHECKPOINTS_NAME
        return {size: (folder / str(size)).read_bytes() for size in self.checkpoint_sizes()}

    def checkpoint_sizes(self) -> list[int]:
        """The size of every kept checkpoint, smallest first."""
        folder = self.folder / CHECKPOINTS_NAME
        names = [path.name for path in folder.glob("[0-9]*")]
        return sorted(int(name) for name in names if is_size(name))
