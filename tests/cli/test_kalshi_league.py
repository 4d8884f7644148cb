"""A league on the other venue: asked, settled and published over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.league_folder import LeagueFolder
from beforehand.clock import SimulatedClock
from beforehand.stages.slots import later

from .conftest import beforehand
from .live_replicas import written_league

SLOT = "2026-01-05T10:00:00Z"


@pytest.fixture
def league(tmp_path: Path) -> Iterator[Path]:
    """A league of three models on Kalshi's markets, declared just before its first slot."""
    with written_league(tmp_path) as (folder, replicas):
        file = folder / "declaration.toml"
        text = file.read_text().replace('from = "polymarket"', 'from = "kalshi"')
        assert 'from = "kalshi"' in text
        file.write_text(text)
        settings = folder / "settings.toml"
        lines = [
            line
            for line in settings.read_text().splitlines()
            if not line.startswith(("gamma", "clob"))
        ]
        lines.insert(lines.index("[venue]") + 1, f'kalshi = "{replicas.kalshi}"')
        settings.write_text("\n".join(lines) + "\n")
        done = beforehand("declare", folder)
        assert done.returncode == 0, done.stdout + done.stderr
        yield folder


def status(folder: Path) -> dict[str, Any]:
    run = beforehand("status", folder, "--json")
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def test_a_slot_is_asked_settled_and_verified(league: Path) -> None:
    clock = SimulatedClock(league / "clock")
    clock.step_to(SLOT)
    run = beforehand("tick", league)
    assert run.returncode == 0, run.stdout + run.stderr
    told = status(league)
    assert told["runs"]["ended"] == {"complete": 1}
    asked = told["questions"]["asked"]
    assert asked > 0 and told["attempts"] >= 3 * asked
    for day in range(1, 12, 3):
        clock.step_to(later(SLOT, days=day, hours=1))
        beforehand("tick", league)
    told = status(league)
    questions = told["questions"]
    assert questions["yes"] + questions["no"] > 0, questions
    public = LeagueFolder.at(league).public
    verified = beforehand("verify", public, "--as-of", clock.now())
    assert verified.returncode == 0, verified.stdout
    book = (league / "league" / "book.jsonl").read_text(encoding="utf-8").splitlines()
    held = [line for line in map(json.loads, book) if line["kind"] == "question"]
    assert len(held) >= asked and {line["source"] for line in held} == {"kalshi"}
