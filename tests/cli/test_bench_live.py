"""`beforehand bench live`, with a few calls; how fast they are is not for a test to say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from beforehand.cli import bench_live
from beforehand.cli.bench import app

WORDS = ("live", "--calls", "8", "--seconds", "0.2")
runner = CliRunner()


def test_every_answer_is_sealed_and_each_goal_is_said_to_be_met_or_not() -> None:
    run = runner.invoke(app, [*WORDS, "--json"])
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    assert said["calls"] == said["valid"] == 8
    assert said["slowest_s"] >= 0.2 and said["wall_s"] >= said["slowest_s"]
    assert set(said["met"]) == set(said["goals"])
    for name, met in said["met"].items():
        assert met == (said[name] < said["goals"][name])


def loaded(monkeypatch: pytest.MonkeyPatch, valid: int, wall: float) -> Any:
    async def load(*_: object) -> bench_live.Load:
        return bench_live.Load(8, valid, wall, 1.0, 1.5, 90.0)

    monkeypatch.setattr(bench_live, "_load", load)
    return runner.invoke(app, WORDS, env={"COLUMNS": "300"})


def test_a_goal_that_is_not_met_is_said_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    run = loaded(monkeypatch, 8, 1.3)
    assert run.exit_code == 0
    assert "wall_ratio under 1.2 not met" in run.output
    assert "cpu_ms_a_call under 2 met" in run.output


def test_a_missed_answer_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(monkeypatch, 7, 1.0).exit_code == 1
