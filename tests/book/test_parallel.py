"""Several processes find what one finds: the same pieces, findings, roots; never a gap."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from beforehand.book.chain import PIECE_LINES, Piece
from beforehand.book.folder import DirectoryFolder
from beforehand.book.line import make_line
from beforehand.book.parallel import in_processes
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, Pieces, in_this_process
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError
from beforehand.publish.checkers import build_verify
from beforehand.records.codec import MAX_LINE_BYTES

START = instant_key("2026-01-05T12:00:00Z")
SEAM = PIECE_LINES
LARGE = 50_400

Change = Callable[[int, dict[str, Any], str], tuple[dict[str, Any], str]]


def written(lines: int, change: Change | None = None) -> list[bytes]:
    """The lines of a book; `change` may give a line other content or another prev."""
    raws, prev = [], ""
    for n in range(1, lines + 1):
        content: dict[str, Any] = {
            "at": instant_text(START + timedelta(seconds=n)),
            "kind": ("mark", "note", "ask")[n % 3],
            "run": "r1",
            "forecaster": f"é {n}" if n % 5 else '"f"',
        }
        given = prev
        if change is not None:
            content, given = change(n, content, prev)
        line = make_line(content, n, given)
        raws.append(line.raw)
        prev = line.link
    return raws


def walked(folder: Path, pieces: Pieces, sizes: set[int]) -> dict[str, Any]:
    """All that a walk says of `book.jsonl` in this folder."""
    report = Report("2026-12-31T00:00:00Z")
    chain = ChainWalk(DirectoryFolder(folder), "book.jsonl", "book", report, sizes)
    chain.walk(pieces)
    asks = list(chain.facts.rows("SELECT * FROM ask ORDER BY n"))
    chain.facts.close()
    return {
        "summary": chain.summary(),
        "findings": [(finding.step, finding.place, finding.message) for finding in report.findings],
        "more": report.more_findings,
        "roots": chain.roots,
        "prefixes": chain.prefixes,
        "tail": chain.tail,
        "asks": asks,
    }


def check_alike(folder: Path, data: bytes, sizes: set[int] | None = None) -> list[str]:
    """Walk the book both ways; the places of the findings."""
    (folder / "book.jsonl").write_bytes(data)
    lines = data.count(b"\n")
    sizes = {0, lines, lines // 2, SEAM, SEAM + 1} if sizes is None else sizes
    alone = walked(folder, in_this_process, set(sizes))
    joint = walked(folder, in_processes(2, small=0), set(sizes))
    assert joint == alone
    return [place for _, place, _ in alone["findings"]]


@pytest.mark.parametrize(
    "lines", [1, 255, 256, 257, SEAM - 1, SEAM, SEAM + 1, SEAM + 300, 2 * SEAM, 3 * SEAM + 257]
)
def test_a_sound_book_of_any_size(tmp_path: Path, lines: int) -> None:
    data = b"".join(raw + b"\n" for raw in written(lines))
    assert check_alike(tmp_path, data) == []


def test_an_empty_book(tmp_path: Path) -> None:
    assert check_alike(tmp_path, b"") == []


def test_a_tail_without_a_line_feed(tmp_path: Path) -> None:
    raws = written(SEAM)
    data = b"".join(raw + b"\n" for raw in raws) + b'{"at": "20'
    assert check_alike(tmp_path, data) == [f"book line {SEAM + 1}"]


@pytest.mark.parametrize("kind", [b'"run": "r1"', b'"at": "2', b'"prev": "', b'"link": "', b'"'])
def test_flips_around_the_seams_are_named_at_their_lines(tmp_path: Path, kind: bytes) -> None:
    raws = written(2 * SEAM + 300)
    numbers = [2, 100, SEAM - 1, SEAM, SEAM + 1, SEAM + 2, 2 * SEAM, 2 * SEAM + 1, 2 * SEAM + 300]
    for n in numbers:
        place = raws[n - 1].index(kind) + len(kind) - 1
        flipped = bytearray(raws[n - 1])
        flipped[place] ^= 1
        raws[n - 1] = bytes(flipped)
    places = check_alike(tmp_path, b"".join(raw + b"\n" for raw in raws))
    assert set(places) >= {f"book line {n}" for n in numbers}


@pytest.mark.parametrize("n", [2, SEAM, SEAM + 1, SEAM + 2, 2 * SEAM + 1])
def test_a_prev_broken_at_a_seam_is_one_finding(tmp_path: Path, n: int) -> None:
    def broken(number: int, content: dict[str, Any], prev: str) -> tuple[dict[str, Any], str]:
        return content, "0" * 64 if number == n else prev

    data = b"".join(raw + b"\n" for raw in written(2 * SEAM + 2, broken))
    assert check_alike(tmp_path, data) == [f"book line {n}"]


@pytest.mark.parametrize("n", [SEAM, SEAM + 1, SEAM + 2])
def test_time_that_runs_back_at_a_seam_is_one_finding(tmp_path: Path, n: int) -> None:
    def late(number: int, content: dict[str, Any], prev: str) -> tuple[dict[str, Any], str]:
        step = number if number < n else number - 10
        return {**content, "at": instant_text(START + timedelta(seconds=step))}, prev

    data = b"".join(raw + b"\n" for raw in written(SEAM + 5, late))
    assert check_alike(tmp_path, data) == [f"book line {n}"]


@pytest.mark.parametrize("n", [1, SEAM, SEAM + 1, SEAM + 2])
def test_a_line_that_cannot_be_read_at_a_seam_is_one_finding(tmp_path: Path, n: int) -> None:
    raws = written(SEAM + 5)
    raws[n - 1] = b"no line"
    data = b"".join(raw + b"\n" for raw in raws)
    assert check_alike(tmp_path, data) == [f"book line {n}"]


def test_lines_dropped_and_exchanged_at_a_seam(tmp_path: Path) -> None:
    raws = written(2 * SEAM)
    dropped = raws[: SEAM - 1] + raws[SEAM:]
    exchanged = [*raws[: SEAM - 1], raws[SEAM], raws[SEAM - 1], *raws[SEAM + 1 :]]
    for changed in (dropped, exchanged):
        assert check_alike(tmp_path, b"".join(raw + b"\n" for raw in changed))


def test_wanted_sizes_anywhere_in_a_row(tmp_path: Path) -> None:
    data = b"".join(raw + b"\n" for raw in written(SEAM + 700))
    sizes = {1, 2, 255, 256, 257, 1000, SEAM - 1, SEAM, SEAM + 1, SEAM + 699, SEAM + 700, 10**9}
    assert check_alike(tmp_path, data, sizes) == []


def test_a_line_over_the_limit_could_not_be_checked(tmp_path: Path) -> None:
    raws = written(SEAM)
    data = b"".join(raw + b"\n" for raw in raws) + b"x" * (MAX_LINE_BYTES + 1) + b"\n"
    (tmp_path / "book.jsonl").write_bytes(data)
    for pieces in (in_this_process, in_processes(2, small=0)):
        with pytest.raises(FormatError, match=f"line {SEAM + 1} is over the limit"):
            walked(tmp_path, pieces, set())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book large enough for several processes by itself."""
    folder = tmp_path_factory.mktemp("large")
    data = b"".join(raw + b"\n" for raw in written(LARGE))
    (folder / "book.jsonl").write_bytes(data)
    return folder


def contexts() -> list[BaseContext]:
    return [multiprocessing.get_context(name) for name in multiprocessing.get_all_start_methods()]


@pytest.mark.parametrize("context", contexts(), ids=lambda context: context.get_start_method())
def test_a_killed_worker_is_an_error(large: Path, context: BaseContext) -> None:
    pieces = in_processes(2, context=context)(DirectoryFolder(large), "book.jsonl")
    piece, _ = next(pieces)
    assert piece is not None
    victim = multiprocessing.active_children()[0]
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(FormatError, match="could not be checked: a worker died"):
        list(pieces)
    assert multiprocessing.active_children() == []


def test_a_walk_given_up_leaves_no_worker(large: Path) -> None:
    pieces = in_processes(2)(DirectoryFolder(large), "book.jsonl")
    next(pieces)
    assert multiprocessing.active_children()
    pieces.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_a_book_cut_while_it_is_read_could_not_be_checked(large: Path, tmp_path: Path) -> None:
    book = tmp_path / "book.jsonl"
    book.write_bytes((large / "book.jsonl").read_bytes())
    pieces = in_processes(2)(DirectoryFolder(tmp_path), "book.jsonl")
    next(pieces)
    os.truncate(book, 1000)
    with pytest.raises(FormatError, match="changed while it was read"):
        list(pieces)


def test_few_pieces_are_under_way(large: Path) -> None:
    """The book is not read far ahead of what is taken, so memory does not grow with it."""
    read = 0

    class Watched(DirectoryFolder):
        def open(self, name: str) -> BinaryIO:
            stream = super().open(name)
            plain = stream.read

            def counting(size: int = -1) -> bytes:
                nonlocal read
                data = plain(size)
                read += len(data)
                return data

            stream.read = counting  # type: ignore[method-assign]
            return stream

    pieces = in_processes(2, small=0)(Watched(large), "book.jsonl")
    taken = 0
    for count, (_, data) in enumerate(pieces, 1):
        taken += len(data)
        if count == 3:
            break
    pieces.close()  # type: ignore[attr-defined]
    assert read - taken < 8 * len(data)


class MemoryFolder:
    """A folder that is nowhere on disk."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def names(self) -> list[str]:
        return ["book.jsonl"]

    def has(self, name: str) -> bool:
        return name == "book.jsonl"

    def open(self, name: str) -> BinaryIO:
        return BytesIO(self.data)


def numbers(pieces: Iterator[tuple[Piece | None, bytes]]) -> list[tuple[int, int]]:
    return [(piece.first_n, piece.lines) for piece, _ in pieces if piece is not None]


def test_what_is_not_on_disk_or_small_is_checked_here(large: Path, tmp_path: Path) -> None:
    data = (large / "book.jsonl").read_bytes()
    there = in_processes(2)(MemoryFolder(data), "book.jsonl")
    next(there)
    assert multiprocessing.active_children() == []
    assert len(numbers(there)) == LARGE // PIECE_LINES
    (tmp_path / "book.jsonl").write_bytes(b"".join(raw + b"\n" for raw in written(300)))
    small = in_processes(2)(DirectoryFolder(tmp_path), "book.jsonl")
    next(small)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("count", [0, -1])
def test_no_process_checks_nothing(count: int) -> None:
    with pytest.raises(FormatError, match="processes"):
        in_processes(count)


@pytest.mark.parametrize("spawned", [False, True], ids=["the platform's way", "spawned"])
def test_the_joined_script_checks_in_two_processes(
    large: Path, tmp_path: Path, spawned: bool
) -> None:
    text = build_verify().decode("utf-8")
    if spawned:
        assert text.count('sys.platform == "linux"') == 1
        text = text.replace('sys.platform == "linux"', 'sys.platform == "nowhere"')
    script = tmp_path / "verify.py"
    script.write_text(text, encoding="utf-8")
    answers = []
    for processes in ("1", "2"):
        command = [sys.executable, "-I", script, large / "book.jsonl", "--json"]
        run = subprocess.run(
            [*map(str, command), "--processes", processes, "--as-of", "2026-12-31T00:00:00Z"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert run.returncode == 0, run.stderr
        answers.append(run.stdout)
    assert answers[0] == answers[1]
    assert f'"lines": {LARGE}' in answers[0]
