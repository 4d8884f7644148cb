"""Where a book is kept while it is written: one writer, nothing lost, nothing half-written.

Order on every append: bodies (file and folder synced), then the lines in one
write, then the sync of the book, then the return. A line is in the book when
its LF is; what stands after the last LF never was, and is cut off at the next
opening, once the lines before it are found sound. Nothing else is ever cut.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from beforehand.book.bodies import body_path, check_body
from beforehand.book.chain import check_piece, cut_pieces, seam_findings
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.line import Line, make_line
from beforehand.book.reader import BOOK_NAME, CHECKPOINTS_NAME, BookReader
from beforehand.book.tiles import TILE_WIDTH
from beforehand.book.tree import Frontier, line_leaf
from beforehand.clock import instant_key
from beforehand.errors import ConflictError, FormatError, IntegrityError
from beforehand.records.codec import digest
from beforehand.records.kinds import decode
from beforehand.records.record import BodyRef, Unknown
from beforehand.records.shape import Listed

LOCK_NAME = "book.lock"
PART_SUFFIX = ".part"
SYNCED_AT_ONCE = 8
OPEN_AT_ONCE = 512

_BODIES = Listed(BodyRef.shape, most=2000)


class FileStore(BookReader):
    """A book in a folder: `book.jsonl`, `bodies/`, `checkpoints/`, one lock.

    Opening locks the book (and a lock file, for other programs to see) for as
    long as the store lives: a second writer waits `wait` seconds, then gets
    ConflictError. The whole chain is checked at opening, and the book against
    its last checkpoint; one that fails is left as it is and never appended to.
    """

    def __init__(self, folder: Path, *, wait: float = 0.0) -> None:
        super().__init__(folder)
        fresh = _make_folder(folder)
        until = time.monotonic() + wait
        self._file: BinaryIO | None = None
        self._lock = _take_lock(folder / LOCK_NAME, until)
        try:
            self._file = os.fdopen(_take_lock(folder / BOOK_NAME, until), "r+b", buffering=0)
            self._load()
            self.cut = _cut_to(self._file, self._bytes)
            _remove_parts(folder)
            if self.size == 0:
                for each in (folder, *(made.parent for made in fresh)):
                    sync_folder(each)
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        """Check every whole line and take up the state: size, last link, last time, tree."""
        self.size, self.last_link, self.last_at, self._bytes = 0, "", "", 0
        self._frontier = Frontier()
        stamped = max(self.checkpoint_sizes(), default=0)
        root = b""
        with (self.folder / BOOK_NAME).open("rb") as stream:
            for _, first_n, data in cut_pieces(stream, TILE_WIDTH):
                if first_n == 0:
                    break  # the tail
                piece = check_piece(data, first_n)
                for n, _, message in seam_findings(piece, self.last_link, self.last_at):
                    raise IntegrityError(f"{self.folder / BOOK_NAME} line {n}: {message}")
                for leaf in piece.leaves:
                    self._frontier.append(leaf)
                    if self._frontier.size == stamped:
                        root = self._frontier.root()
                self.size += piece.lines
                self._bytes += len(data)
                self.last_link = piece.last_link
                self.last_at = piece.last_at or self.last_at
        if stamped:
            self._check_stamped(stamped, root)

    def _check_stamped(self, size: int, root: bytes) -> None:
        """IntegrityError unless the book goes on from its last checkpoint."""
        path = self.folder / CHECKPOINTS_NAME / str(size)
        if size > self.size:
            raise IntegrityError(
                f"{self.folder / BOOK_NAME} has {self.size} whole lines, and {path} was signed "
                f"over {size}: put the whole book back before anything is appended"
            )
        try:
            point = Checkpoint.parse(path.read_text("utf-8").rpartition("\n\n")[0] + "\n")
        except (FormatError, UnicodeDecodeError):
            return  # not a note of ours: the verification says what it is
        if point.root != root:
            raise IntegrityError(
                f"the first {size} lines of {self.folder / BOOK_NAME} are not those that {path} "
                "was signed over: put that book back before anything is appended"
            )

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

        All or, where the write fails, none: a failed write is cut back, and
        where that fails too, the store is closed. FormatError for content that
        must not be written, before anything is.
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
            _check_record(content)
            prev = line.link
            lines.append(line)
        given = {digest(data): data for data in bodies}
        self._check_bodies(lines, given)
        write_all_synced({self.folder / body_path(sha256): data for sha256, data in given.items()})
        self._write(lines, at)
        return lines

    def _check_bodies(self, lines: Sequence[Line], given: dict[str, bytes]) -> None:
        """Every body a line names is given now or kept already, and none is given in vain."""
        named = {body["sha256"] for line in lines for body in line.content.get("bodies", ())}
        for sha256, data in given.items():
            check_body(data, sha256)
            if sha256 not in named:
                raise FormatError(f"no line of this batch names the body {sha256}")
        for sha256 in named - given.keys():
            self.read_body(sha256)

    def _write(self, lines: Sequence[Line], at: str) -> None:
        """Write and sync the lines and take up the state behind them, or leave both as before."""
        file = self._file
        if file is None or not lines:
            return
        before = self._frontier, self.size, self.last_link, self.last_at, self._bytes
        data = b"".join(line.raw + b"\n" for line in lines)
        frontier = self._frontier.copy()
        for line in lines:
            frontier.append(line_leaf(line.raw))
        try:
            # First, for whoever asks the time meanwhile: a line may be read before it is synced.
            self.last_at = at
            file.seek(self._bytes)
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
            self._frontier, self.size = frontier, self.size + len(lines)
            self.last_link = lines[-1].link
            self._bytes += len(data)
        except BaseException:
            self._frontier, self.size, self.last_link, self.last_at, self._bytes = before
            self._cut_back(file)
            raise

    def _cut_back(self, file: BinaryIO) -> None:
        """Undo a write that failed; where that fails too, nothing more is appended."""
        try:
            file.truncate(self._bytes)
            os.fsync(file.fileno())
        except BaseException:
            self.close()
            raise

    def has_checkpoint(self, size: int) -> bool:
        """Whether a checkpoint over so many lines is kept."""
        return (self.folder / CHECKPOINTS_NAME / str(size)).is_file()

    def keep_checkpoint(self, size: int, note: bytes) -> None:
        """Keep a signed checkpoint; another note for the same size is never put in its place."""
        if not 0 < size <= self.size:
            raise FormatError(
                f"a checkpoint of {size} lines says nothing of a book of {self.size}: not kept"
            )
        path = self.folder / CHECKPOINTS_NAME / str(size)
        if not path.is_file():
            write_synced(path, note)


def _check_time(content: dict[str, Any], last_at: str) -> str:
    at = content.get("at")
    key = instant_key(at)  # type: ignore[arg-type]
    if last_at and key < instant_key(last_at):
        raise FormatError(f"at {at} is before the last line's {last_at}")
    return str(at)


def _check_record(content: dict[str, Any]) -> None:
    """FormatError for a line that its readers could not read: they would find it for ever."""
    record = decode(content)
    if isinstance(record, Unknown) and "bodies" in content:
        _BODIES.check(content["bodies"], "bodies")


def _take_lock(path: Path, until: float) -> int:
    """The handle of a file that nobody else has locked; ConflictError where not in time."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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


def _cut_to(file: BinaryIO, end: int) -> int:
    """Cut what stands after the last whole line; how many bytes that was."""
    size = file.seek(0, os.SEEK_END)
    if end < size:
        file.truncate(end)
        os.fsync(file.fileno())
    return size - end


def _remove_parts(folder: Path) -> None:
    """Remove what a killed writer left half written: no line names it."""
    for pattern in ("bodies/*", CHECKPOINTS_NAME):
        for part in folder.glob(f"{pattern}/.*{PART_SUFFIX}"):
            part.unlink()


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; the fresh ones, innermost first."""
    fresh = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return fresh


def write_synced(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and sync it and the folders that name it."""
    fresh = _make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}{PART_SUFFIX}")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    for folder in fresh:
        sync_folder(folder.parent)


def write_all_synced(files: Mapping[Path, bytes]) -> None:
    """Write many files, each whole or not at all, and sync them side by side.

    File systems gather syncs that wait at the same time into one, so that a
    thousand of them take hardly longer than a few.
    """
    items = list(files.items())
    if len(items) < SYNCED_AT_ONCE:
        for path, data in items:
            write_synced(path, data)
        return
    with ThreadPoolExecutor(SYNCED_AT_ONCE) as pool:
        for start in range(0, len(items), OPEN_AT_ONCE):
            _write_some(items[start : start + OPEN_AT_ONCE], pool)


def _write_some(items: Sequence[tuple[Path, bytes]], pool: ThreadPoolExecutor) -> None:
    fresh = [folder for path, _ in items for folder in _make_folder(path.parent)]
    parts = [path.with_name(f".{path.name}.{os.getpid()}{PART_SUFFIX}") for path, _ in items]
    try:
        for part, (_, data) in zip(parts, items, strict=True):
            part.write_bytes(data)
        list(pool.map(_sync_file, parts))
        for part, (path, _) in zip(parts, items, strict=True):
            part.replace(path)
    except BaseException:
        for part in parts:
            part.unlink(missing_ok=True)
        raise
    named = [path.parent for path, _ in items] + [folder.parent for folder in fresh]
    list(pool.map(sync_folder, dict.fromkeys(named)))


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
