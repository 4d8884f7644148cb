"""The main job: `beforehand demo` does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from .conftest import START, Demo, beforehand


def test_it_prints_the_three_reproduced_numbers(demo: Demo) -> None:
    for n, theirs, ours in (
        ("521", "0.122", "0.1223"),
        ("54", "0.082", "0.0819"),
        ("575", "0.102", "0.1021"),
    ):
        assert re.search(rf"│\s+{n} │\s+{theirs} │ {ours} │", demo.printed), demo.printed


def test_each_column_of_the_board_is_explained(demo: Demo) -> None:
    said = " ".join(demo.printed.split())
    for legend in (
        "Cover: the share of all questions asked",
        "Others: the median of the others,",
        "Gain: the",
    ):
        assert legend in said
    assert "no resolved event in common: a table on shared events takes 30" in said


def test_it_verifies_itself_and_names_the_line_it_changed(demo: Demo) -> None:
    assert "sound" in demo.printed
    line = re.search(r"line (\d+) of", demo.printed)
    assert line is not None
    assert f"book.jsonl line {line.group(1)}: the content hashes to" in demo.printed
    assert f"refused: the verifier names line {line.group(1)}" in demo.printed


def test_the_tampered_copy_differs_in_one_digit(demo: Demo) -> None:
    name = "api/v1/human-2024-07/book.jsonl"
    first = (demo.public / name).read_bytes()
    second = (demo.folder / "tampered" / name).read_bytes()
    places = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    assert len(places) == 1
    assert chr(first[places[0]]).isdigit() and chr(second[places[0]]).isdigit()


def test_the_board_ranks_from_100_resolved_events_up(demo: Demo) -> None:
    board = json.loads((demo.public / "api/v1/human-2024-07/leaderboard.json").read_bytes())
    entries = {entry["forecaster"]: entry for entry in board["forecasters"]}
    ranked = [entry for entry in entries.values() if entry["rank"] is not None]
    assert len(ranked) == 15
    assert all(entry["n_counted"] >= 100 and entry["kind"] == "accepted" for entry in ranked)
    gains = [float(entry["gain"]["mean"]) for entry in ranked]
    assert gains == sorted(gains, reverse=True)
    assert entries["sf37"]["n_counted"] == 4 and entries["sf37"]["gain"]["low"] is None
    crowd = entries["crowd"]
    assert (crowd["rank"], crowd["label"], crowd["n_counted"]) == (None, "crowd at freeze", 57)
    assert set(crowd["by_type"]["types"]) == {"market"}
    assert entries["median"]["gain"]["identical"] is True
    assert board["shared"] == {**board["shared"], "n": 0, "brier": None}
    assert board["rounding"] == {"most": "0.00005000", "moved": 26, "stated": 7693}


@pytest.mark.parametrize("script", ["verify.py", "recount.py"])
def test_the_published_checkers_pass_on_it(demo: Demo, script: str) -> None:
    run = subprocess.run(
        [sys.executable, "-I", str(demo.public / "api/v1" / script), str(demo.public)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_used_folder_is_refused_unless_forced_and_foreign_files_always(
    demo: Demo, tmp_path: Path
) -> None:
    before = sorted(path.name for path in demo.folder.iterdir())
    run = beforehand("demo", "--no-serve", "--dir", demo.folder)
    assert run.returncode == 2 and "--force" in run.stderr
    assert sorted(path.name for path in demo.folder.iterdir()) == before
    (tmp_path / "thesis.txt").write_text("mine")
    run = beforehand("demo", "--no-serve", "--dir", tmp_path, "--force")
    assert run.returncode == 2 and "did not make" in run.stderr
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    run = beforehand("demo", "--no-serve", "--dir", tmp_path / "thesis.txt")
    assert run.returncode == 2 and "is a file" in run.stderr


def test_forced_it_starts_over_and_keeps_what_is_not_its_own(demo: Demo, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "again"
    folder.mkdir()
    shutil.copy(demo.folder / "beforehand-demo.txt", folder)
    (folder / "league").mkdir()
    (folder / "league" / "book.jsonl").write_bytes(b"half a li")
    (folder / "mine.txt").write_text("mine")
    run = beforehand("demo", "--no-serve", "--dir", folder, "--force")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (folder / "mine.txt").read_text() == "mine"


def test_serving_ends_the_demo_on_loopback(demo: Demo) -> None:
    """The real server, asked over a real socket, stopped by its id."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", START, "serve", str(demo.public)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        printed = ""
        while "http://127.0.0.1:" not in printed:
            printed = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", printed)
        assert address is not None
        with urllib.request.urlopen(address.group(), timeout=10) as reply:
            assert b"human-2024-07" in reply.read()
        run = beforehand("verify", address.group())
        assert run.returncode == 0, run.stdout + run.stderr
        assert "not checked: files beside the listed ones" in run.stdout
    finally:
        process.terminate()
        process.wait(timeout=10)
