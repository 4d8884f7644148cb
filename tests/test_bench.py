"""`beforehand bench verify` measures a real book; how fast is not for a test to say."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from beforehand.book.report import Report
from beforehand.cli import bench
from beforehand.cli.bench import app

runner = CliRunner()


def test_the_json_names_the_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = runner.invoke(app, ["verify", "--lines", "2000", "--repeats", "2", "--json"])
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    assert (said["lines"], said["repeats"], said["right"]) == (2000, 2, True)
    assert 280 * 2000 < said["bytes"] <= 300 * 2000
    assert said["one_process"]["goal"] == 0.35
    assert said["two_processes"]["goal"] == 0.6
    for name in ("floor", "one_process", "two_processes"):
        assert len(said[name]["seconds"]) == 2
        assert said[name]["lines_per_second"] > 0
    for name in ("one_process", "two_processes"):
        assert said[name]["ratio"] > 0
        assert said[name]["ratio_median"] > 0
        assert len(said[name]["ratios"]) == 2
    assert list(tmp_path.iterdir()) == [], "the book is removed"


def test_the_table_shows_ratios_and_goals() -> None:
    run = runner.invoke(app, ["verify", "--lines", "50", "--repeats", "1"], env={"COLUMNS": "140"})
    assert run.exit_code == 0, run.output
    for word in ("floor", "one process", "two processes", "ratio", "0.35", "0.60", "lines/s"):
        assert word in run.output


@pytest.mark.parametrize("width", [300, 301, 1000, 9000])
def test_lines_have_the_length_asked_for(tmp_path: Path, width: int) -> None:
    path = tmp_path / "book.jsonl"
    bench.write_book(path, 20, width)
    assert {len(line) for line in path.read_bytes().splitlines(keepends=True)[1:]} == {width}
    found = bench.walk_chain(path, bench.in_this_process)
    assert (found["lines"], found["findings"]) == (20, [])


@pytest.mark.parametrize(
    "arguments", [("--lines", "0"), ("--bytes", "20"), ("--repeats", "0"), ("--lines", "many")]
)
def test_bad_input_is_exit_code_2(arguments: tuple[str, str]) -> None:
    assert runner.invoke(app, ["verify", *arguments]).exit_code == 2


def test_a_wrong_result_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finds(Report):
        def __init__(self, as_of: str) -> None:
            super().__init__(as_of)
            self.find(3, "book line 1", "made up")

    monkeypatch.setattr(bench, "Report", Finds)
    run = runner.invoke(app, ["verify", "--lines", "50", "--repeats", "1"])
    assert run.exit_code == 1
    assert "fault" in run.output


def test_a_place_that_cannot_be_written_is_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bench, "write_book", full)
    run = runner.invoke(app, ["verify", "--lines", "50"])
    assert run.exit_code == 2
    assert "No space left" in " ".join(run.output.split())


def test_the_help_has_an_example() -> None:
    run = runner.invoke(app, ["verify", "--help"], env={"COLUMNS": "120"})
    assert run.exit_code == 0
    assert "Example: beforehand bench verify" in run.output
