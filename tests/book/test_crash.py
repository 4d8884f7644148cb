"""A writer killed at any instant: nothing that was reported is lost, nothing half-written stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import beforehand

from .plain_chain import walked

SOURCE = Path(beforehand.__file__).resolve().parents[1]
KILLER = Path(__file__).with_name("crash_writer.py")
BOOKS, KILLS = 10, 36


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


@pytest.mark.parametrize("seed", range(BOOKS))
def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path: Path, seed: int) -> None:
    seen = kills(tmp_path, KILLS, seed)
    assert "fault" not in seen, seen
    assert seen["kills"] == KILLS
    assert seen["lines"] > KILLS
    report = walked((tmp_path / "book.jsonl").read_bytes())
    assert report.findings == []
    assert report.leagues["book.jsonl"]["lines"] == seen["lines"]


def test_there_are_hundreds_of_kills() -> None:
    assert BOOKS * KILLS >= 300


def test_a_killed_writer_leaves_no_half_written_body(tmp_path: Path) -> None:
    # such a file has no line, so nobody could ever ask for its erasure
    seen = kills(tmp_path, KILLS, BOOKS)
    assert "fault" not in seen, seen
    assert seen["left"] == 0
