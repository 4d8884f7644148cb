"""Where a book is kept while it is written: one writer, nothing lost, nothing half-written.

Order on every append: bodies (file and folder synced), then the lines in one
write, then the sync of the book, then the return. A line is in the book when
its LF is; what stands after the last LF never was, and is cut off at the next
opening. Nothing else is ever cut.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

from beforehand.book.bodies import body_path, check_body
from beforehand.book.chain import check_piece, cut_pieces
from beforehand.book.line import Line, make_line
from beforehand.book.reader import BOOK_NAME, CHECKPOINTS_NAME, BookReader
from beforehand.book.tiles import TILE_WIDTH
from beforehand.book.tree import Frontier, line_leaf
from beforehand.clock import instant_key
from beforehand.errors import ConflictError, FormatError, IntegrityError
from beforehand.records.codec import digest

LOCK_NAME = "book.lock"


class Store(Protocol):
    """What a book is appended to."""

    size: int

    def append(
        self, expected_size: int, contents: Sequence[dict[str, Any]], bodies: Sequence[bytes] = ()
    ) -> list[Line]:
        """Append lines, their bodies first; ConflictError unless the book has `expected_size`."""

    def root(self) -> bytes:
        """The tree's root over all lines."""

    def lines(self) -> Iterator[bytes]:
        """Every line's bytes, without the LF."""

    def read_body(self, sha256: str) -> bytes:
        """The bytes of a body; FormatError where it is not kept."""


class FileStore(BookReader):
    """A book in a folder: `book.jsonl`, `bodies/`, `checkpoints/`, one lock.

    Opening takes the lock for as long as the store lives: a second writer
    waits `wait` seconds, then gets ConflictError. The whole chain is checked
    at opening; a book that fails is never appended to.
    """

    def __init__(self, folder: Path, *, wait: float = 0.0) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(folder / LOCK_NAME, wait)
        self._file: BinaryIO | None = None
        try:
            path = folder / BOOK_NAME
            created = not path.exists()
            self._file = path.open("r+b" if not created else "w+b", buffering=0)
            if created:
                sync_folder(folder)
            self.cut = _cut_tail(self._file)
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        """Check every line and take up the state: size, last link, last time, tree."""
        self.size, self.last_link, self.last_at = 0, "", ""
        self._frontier = Frontier()
        with (self.folder / BOOK_NAME).open("rb") as stream:
            for _, first_n, data in cut_pieces(stream, TILE_WIDTH):
                piece = check_piece(data, first_n)
                if piece.first_prev != self.last_link:
                    piece.findings.insert(0, (first_n, "prev", "prev is not the link before"))
                if piece.findings:
                    n, _, message = piece.findings[0]
                    raise IntegrityError(f"{self.folder / BOOK_NAME} line {n}: {message}")
                for leaf in piece.leaves:
                    self._frontier.append(leaf)
                self.size += piece.lines
                self.last_link = piece.last_link
                self.last_at = piece.last_at or self.last_at
        self._bytes = (self.folder / BOOK_NAME).stat().st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def root(self) -> bytes:
        return self._frontier.root()

    def append(
        self, expected_size: int, contents: Sequence[dict[str, Any]], bodies: Sequence[bytes] = ()
    ) -> list[Line]:
        """Append lines, their bodies first, with one sync; give the lines as stored.

        All or, where the write fails, none: a failed write is cut back.
        FormatError for content that must not be written, before anything is.
        """
        if self._file is None:
            raise ConflictError("the book is closed")
        if expected_size != self.size:
            raise ConflictError(
                f"the book has {self.size} lines, not {expected_size}: read it again"
            )
        lines, at = [], self.last_at
        prev = self.last_link
        for number, content in enumerate(contents, self.size + 1):
            at = _check_time(content, at)
            line = make_line(content, number, prev)
            prev = line.link
            lines.append(line)
        given = {digest(data): data for data in bodies}
        self._check_bodies(lines, given)
        for sha256, data in given.items():
            self._write_body(sha256, data)
        self._write(b"".join(line.raw + b"\n" for line in lines))
        for line in lines:
            self._frontier.append(line_leaf(line.raw))
        self.size += len(lines)
        self.last_link, self.last_at = prev, at
        return lines

    def _check_bodies(self, lines: Sequence[Line], given: dict[str, bytes]) -> None:
        """Every body a line names is given now or kept already, and none is given in vain."""
        named = {body["sha256"] for line in lines for body in line.content.get("bodies", ())}
        for sha256, data in given.items():
            check_body(data, sha256)
            if sha256 not in named:
                raise FormatError(f"no line of this batch names the body {sha256}")
        for sha256 in named - given.keys():
            if not (self.folder / body_path(sha256)).is_file():
                raise FormatError(f"the body {sha256} is named and neither given nor kept")

    def _write_body(self, sha256: str, data: bytes) -> None:
        path = self.folder / body_path(sha256)
        if path.is_file() and path.stat().st_size == len(data):
            return
        write_synced(path, data)

    def _write(self, data: bytes) -> None:
        file = self._file
        if file is None or not data:
            return
        file.seek(self._bytes)
        try:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(self._bytes)
            os.fsync(file.fileno())
            raise
        self._bytes += len(data)

    def keep_checkpoint(self, size: int, note: bytes) -> None:
        """Keep a signed checkpoint; another note for the same size is never put in its place."""
        path = self.folder / CHECKPOINTS_NAME / str(size)
        if not path.is_file():
            write_synced(path, note)


def _check_time(content: dict[str, Any], last_at: str) -> str:
    at = content.get("at")
    key = instant_key(at)  # type: ignore[arg-type]
    if last_at and key < instant_key(last_at):
        raise FormatError(f"at {at} is before the last line's {last_at}")
    return str(at)


def _take_lock(path: Path, wait: float) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    until = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(lock)
                raise ConflictError(
                    f"another writer holds {path.parent}; try again later"
                ) from None
            time.sleep(0.02)


def _cut_tail(file: BinaryIO) -> int:
    """Cut what stands after the last LF; how many bytes that was."""
    size = file.seek(0, os.SEEK_END)
    end = size
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        file.truncate(end)
        os.fsync(file.fileno())
    return size - end


def write_synced(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and sync it and the folders that name it."""
    fresh = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)
    for folder in fresh:
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
