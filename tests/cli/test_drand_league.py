"""A league that declares drand as its beacon, verified as a reader does it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from beforehand.testing.mutants_events import declared
from beforehand.testing.mutants_files import Operator
from beforehand.testing.mutants_kinds import SAID, Mutant
from beforehand.testing.mutants_league import Draft
from tests.anchors.test_drand import DRAND, beacon, rounds

from .conftest import beforehand


def published(folder: Path, said: dict[str, Any], year: str = "2026") -> Path:
    """The corpus's live league, with this round in every run line, its lines dated in a year."""

    def change(draft: Draft) -> None:
        declared("margin_minutes = 120\n", 'margin_minutes = 120\nbeacon = "drand"\n')(draft)
        for line in draft.of_kind("run"):
            line["beacon"] = said
        for line in draft.lines:
            line["at"] = year + line["at"][4:]

    files = Mutant("beacon", 12, SAID, "a beacon", lines=change).build(1, Operator.of(1))
    for name, data in files.items():
        path = folder / "public" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder / "public"


def verified(folder: Path, public: Path) -> dict[str, Any]:
    run = beforehand("verify", public, "--trust", folder / "trust", "--json")
    told: dict[str, Any] = json.loads(run.stdout)
    return told


@pytest.fixture
def trust(tmp_path: Path) -> Path:
    place = tmp_path / "trust" / "drand"
    place.mkdir(parents=True)
    return place


def test_a_real_round_bounds_the_runs_from_below(tmp_path: Path, trust: Path) -> None:
    said = beacon(rounds("quicknet")[0])
    public = published(tmp_path, said)
    told = verified(tmp_path, public)
    assert sum("give its network's /info" in line for line in told["not_checked"]) == 4
    shutil.copy(DRAND / "quicknet.json", trust)
    told = verified(tmp_path, public)
    assert [each for each in told["findings"] if each["step"] == 10] == []
    assert not any("drand" in line for line in told["not_checked"])
    brackets = told["leagues"]["corpus"]["brackets"]
    assert {each["not_before"] for each in brackets.values()} == {"2023-08-23T15:09:27Z"}


def test_attack_a_made_up_round_and_a_round_of_another_network(tmp_path: Path, trust: Path) -> None:
    shutil.copy(DRAND / "quicknet.json", trust)
    said = beacon(rounds("quicknet")[0])
    value = said["value"][:-1] + ("0" if said["value"][-1] != "0" else "1")
    for bad in ({**said, "value": value}, beacon(rounds("default")[1])):
        told = verified(tmp_path, published(tmp_path, bad))
        found = [each["message"] for each in told["findings"] if each["step"] == 10]
        assert len(found) == 4
        assert all("of no network that you pinned" in each for each in found)


def test_attack_at_outside_the_bracket_from_a_beacon(tmp_path: Path, trust: Path) -> None:
    """Back-dated by years: caught by the round, which nobody could know before it was signed."""
    shutil.copy(DRAND / "quicknet.json", trust)
    said = beacon(rounds("quicknet")[0])
    told = verified(tmp_path, published(tmp_path, said, "2022"))
    found = [each["message"] for each in told["findings"] if each["step"] == 10]
    assert len(found) == 4
    assert all("is before its beacon, which is of 2023-08-23T15:09:27Z" in each for each in found)
