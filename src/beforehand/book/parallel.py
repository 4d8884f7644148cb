"""The checked pieces of a book from several processes: the same pieces, in the same order.

Each worker reads its own range of bytes from disk and gives back what one
piece says. A fixed number of pieces is under way, so memory does not grow
with the book. A worker that dies is an error, never a gap.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from pathlib import Path

from beforehand.book.chain import Piece, check_piece, cut_pieces, row_roots
from beforehand.book.folder import DirectoryFolder, Folder, read_pieces
from beforehand.book.walk import Pieces, in_this_process
from beforehand.errors import FormatError

SMALL_BOOK_LINES = 50_000


def in_processes(
    count: int, *, small: int = SMALL_BOOK_LINES, context: BaseContext | None = None
) -> Pieces:
    """The pieces of a book, checked by `count` worker processes.

    A book of fewer than `small` lines, or one that is not on disk, is checked
    in this process, which is faster there.
    """
    if count < 1:
        raise FormatError(f"{count} processes cannot check anything; give 1 or more")

    def walk(folder: Folder, name: str) -> Iterator[tuple[Piece | None, bytes]]:
        if count > 1 and isinstance(folder, DirectoryFolder) and _has_lines(folder, name, small):
            return _pieces_of_workers(folder, name, count, context or _worker_context())
        return in_this_process(folder, name)

    return walk


def _pieces_of_workers(
    folder: DirectoryFolder, name: str, count: int, context: BaseContext
) -> Iterator[tuple[Piece | None, bytes]]:
    """Hand out pieces, a few ahead of what is taken, and give the results in order."""
    under_way: deque[tuple[Future[Piece] | None, bytes]] = deque()
    root = str(folder.root)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_leave_interrupts)
    try:
        with folder.open(name) as stream:
            for offset, first_n, data in cut_pieces(stream):
                job = None
                if first_n:
                    job = pool.submit(_check_range, root, name, offset, len(data), first_n)
                under_way.append((job, data))
                if len(under_way) > 2 * count:
                    yield _finished(under_way.popleft())
        while under_way:
            yield _finished(under_way.popleft())
    except BrokenProcessPool as error:
        raise FormatError(f"{name} could not be checked: a worker died: {error}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(task: tuple[Future[Piece] | None, bytes]) -> tuple[Piece | None, bytes]:
    job, data = task
    return (None if job is None else job.result()), data


def _check_range(root: str, name: str, offset: int, size: int, first_n: int) -> Piece:
    """In a worker: check the whole lines in a range of bytes of the book."""
    with DirectoryFolder(Path(root)).open(name) as stream:
        stream.seek(offset)
        data = stream.read(size)
    if len(data) != size or not data.endswith(b"\n"):
        raise FormatError(f"{name} changed while it was read")
    piece = check_piece(data, first_n)
    piece.roots = row_roots(piece)
    return piece


def _has_lines(folder: Folder, name: str, least: int) -> bool:
    """Whether the book has at least so many lines; no more of it is read than tells."""
    count = 0
    with folder.open(name) as stream:
        for block in read_pieces(stream):
            if count >= least:
                break
            count += block.count(b"\n")
    return count >= least


def _worker_context() -> BaseContext:
    """How workers start: forked where that is safe, that is on Linux with no other thread."""
    forks = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if forks else "spawn")


def _leave_interrupts() -> None:
    """In a worker: Ctrl-C is for the parent, which then ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
