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
from itertools import cycle
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue

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
    under_way: deque[tuple[_Worker | None, bytes]] = deque()
    root = str(folder.root)
    workers: list[_Worker] = []
    try:
        for _ in range(count):
            workers.append(_Worker(name, context, [worker.pipe for worker in workers]))
        for worker in workers:  # only now: a process is not forked beside threads
            worker.listen()
        turn = cycle(workers)
        with folder.open(name) as stream:
            for offset, first_n, data in cut_pieces(stream):
                given = next(turn) if first_n else None
                if given is not None:
                    given.give((root, name, offset, len(data), first_n))
                under_way.append((given, data))
                if len(under_way) > 2 * count:
                    yield _finished(under_way.popleft())
        while under_way:
            yield _finished(under_way.popleft())
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that checks pieces, with a pipe of its own.

    Nobody else holds the far end of the pipe, so a worker that dies, even
    amid a message, is the end of the pipe and never a wait. A thread takes
    what comes as it comes, so that no worker waits for the parent's own work.
    """

    def __init__(self, name: str, context: BaseContext, pipes: list[Connection]) -> None:
        self.name = name
        self.pipe, far = context.Pipe()
        self._done: SimpleQueue[Piece | BaseException] = SimpleQueue()
        self._listener: threading.Thread | None = None
        inherited = [*pipes, self.pipe] if context.get_start_method() == "fork" else []
        # mypy knows no Process of a context that is chosen at run time
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_check_ranges, args=(far, inherited), daemon=True
        )
        self._process.start()
        far.close()

    def listen(self) -> None:
        """Begin to take results."""
        self._listener = threading.Thread(target=self._take, daemon=True)
        self._listener.start()

    def _take(self) -> None:
        while True:
            try:
                self._done.put(self.pipe.recv())
            except Exception:  # the pipe ended, or what came is no result: never a wait
                self._done.put(self._died())
                return

    def give(self, task: tuple[str, str, int, int, int]) -> None:
        """Ask for one piece; FormatError where the worker is gone."""
        try:
            self.pipe.send(task)
        except OSError as error:
            raise self._died() from error

    def result(self) -> Piece:
        """The next piece, in the order they were given; whatever the worker raised is raised."""
        result = self._done.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def _died(self) -> FormatError:
        return FormatError(f"{self.name} could not be checked: a worker died")

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        if self._listener is not None:  # it ends with the far end of the pipe
            self._listener.join()
        self.pipe.close()


def _finished(task: tuple[_Worker | None, bytes]) -> tuple[Piece | None, bytes]:
    """The next piece."""
    worker, data = task
    return (None if worker is None else worker.result()), data


def _check_ranges(pipe: Connection, inherited: list[Connection]) -> None:
    """In a worker: check what is asked for until nobody asks; Ctrl-C is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(_check_range(*task))
        except Exception as error:
            pipe.send(error)


def _check_range(root: str, name: str, offset: int, size: int, first_n: int) -> Piece:
    """Check the whole lines in a range of bytes of the book."""
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
