"""A writer killed at any instant: nothing that was reported is lost, nothing half-written stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import beforehand

from .plain_chain import walked

SOURCE = Path(beforehand.__file__).resolve().parents[1]
KILLER = Path(__file__).with_name("crash_writer.py")
BOOKS, KILLS = 12, 40


def kills(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill a writer `count` times over one book, checking after each; what was seen."""
    done = subprocess.run(
        [sys.executable, "-S", str(KILLER), str(folder), str(count), str(seed)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def folder(seed: int, tmp_path: Path) -> Iterator[Path]:
    """On a disk, where syncing takes most of the time, or in memory, where the rest does."""
    memory = Path("/dev/shm")
    if seed % 2 and memory.is_dir():
        with TemporaryDirectory(prefix="beforehand-crash-", dir=memory) as name:
            yield Path(name)
    else:
        yield tmp_path


@pytest.mark.parametrize("seed", range(BOOKS))
def test_a_killed_writer_loses_nothing_that_it_reported(folder: Path, seed: int) -> None:
    seen = kills(folder, KILLS, seed)
    assert "fault" not in seen, seen
    assert seen["kills"] == KILLS
    assert seen["lines"] > KILLS
    report = walked((folder / "book.jsonl").read_bytes())
    assert report.findings == []
    assert report.leagues["book.jsonl"]["lines"] == seen["lines"]


def test_there_are_hundreds_of_kills() -> None:
    assert BOOKS * KILLS >= 300


def test_a_killed_writer_leaves_no_half_written_body(tmp_path: Path) -> None:
    # such a file has no line, so nobody could ever ask for its erasure
    seen = kills(tmp_path, KILLS, BOOKS)
    assert "fault" not in seen, seen
    assert seen["left"] == 0
