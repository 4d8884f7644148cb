"""The replay: run twice it does once, killed at any moment it resumes, and the book is the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from beforehand.book.folder import DirectoryFolder
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.book.verify import verify_book
from beforehand.cli.replay import replay
from beforehand.records.codec import BOOKKEEPING, decode_json

RUN = """
import sys
from pathlib import Path
from beforehand.cli.replay import replay
folder = Path(sys.argv[1])
replay(folder / "league", folder / "clock", lambda step, done, total: None).store.close()
"""


def quiet(step: str, done: int, total: int) -> None:
    return


def said(folder: Path) -> list[dict[str, object]]:
    """What the lines say, without keys and links, which differ between two runs."""
    held = []
    for raw in BookReader(folder / "league").lines():
        value = decode_json(raw)
        held.append({k: v for k, v in value.items() if k not in (*BOOKKEEPING, "key", "recovery")})
    return held


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    replay(folder / "league", folder / "clock", quiet).store.close()
    return folder


def test_the_book_holds_the_round(whole: Path) -> None:
    report = verify_book(
        DirectoryFolder(whole / "league"), "book.jsonl", Options(as_of="2026-11-29T00:00:00Z")
    )
    assert report.findings == []
    kinds = report.leagues["book.jsonl"]["kinds"]
    assert kinds == {
        "answer": 40,
        "league": 1,
        "question": 957,
        "resolution": 578,
        "roster": 1,
        "run": 1,
        "segment": 1,
        "snapshot": 1,
    }


def test_run_twice_it_does_once(whole: Path) -> None:
    before = (whole / "league" / "book.jsonl").read_bytes()
    replay(whole / "league", whole / "clock", quiet).store.close()
    assert (whole / "league" / "book.jsonl").read_bytes() == before


def test_every_fact_is_sealed_before_what_it_must_precede(whole: Path) -> None:
    kinds = [str(line["kind"]) for line in said(whole)]
    first = {kind: kinds.index(kind) for kind in set(kinds)}
    last = {kind: len(kinds) - 1 - kinds[::-1].index(kind) for kind in set(kinds)}
    order = ("league", "segment", "question", "snapshot", "roster", "run", "answer", "resolution")
    for earlier, later in pairwise(order):
        assert last[earlier] < first[later]


@pytest.mark.slow
def test_killed_at_random_moments_it_resumes_to_the_same_book(whole: Path, tmp_path: Path) -> None:
    rng = random.Random(20261129)
    kills = 0
    for attempt in range(60):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)])
        # Starting Python and reading the round take about 0.4 s; the rest is the replay.
        until = time.monotonic() + rng.uniform(0.2, 1.2) + attempt * 0.1
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        if process.wait() == 0:
            break
    else:
        pytest.fail("the replay never came to its end")
    assert kills >= 1
    assert said(tmp_path) == said(whole)


def test_resumed_from_every_checkpoint_it_says_the_same(whole: Path, tmp_path: Path) -> None:
    """Cut the book at a few line ends, as a kill between two appends leaves it, and go on."""
    lines = list(BookReader(whole / "league").lines())
    for place, size in enumerate((1, 2, 500, 959, 961, 962, 980, 1002, 1300)):
        folder = tmp_path / str(place)
        league = folder / "league"
        league.mkdir(parents=True)
        (league / "book.jsonl").write_bytes(b"".join(line + b"\n" for line in lines[:size]))
        (league / "bodies").symlink_to(whole / "league" / "bodies")
        (league / "keys").symlink_to(whole / "league" / "keys")
        at = str(decode_json(lines[size - 1])["at"])
        (folder / "clock").write_text(at + "\n")
        replay(league, folder / "clock", quiet).store.close()
        assert said(folder) == said(whole), size
