"""A run is stamped before the next one begins, also where one tick does both."""

from __future__ import annotations

from pathlib import Path

import pytest

from beforehand.stages.pen import Pen
from beforehand.stages.tick import World

from .live_world import LiveLeague, of_kind
from .test_blind_rules import FIRST_SLOT, read


def hooked(league: LiveLeague, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> list[int]:
    """The sizes at which the world was asked to sign and submit."""
    sizes: list[int] = []
    made = league.world

    def stamp(pen: Pen) -> list[str]:
        sizes.append(pen.checkpoint().size)
        return said

    def world() -> World:
        fresh = made()
        fresh.stamp = stamp
        return fresh

    monkeypatch.setattr(league, "world", world)
    return sizes


def test_what_is_not_signed_yet_is_stamped_before_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    league = LiveLeague.begin(tmp_path)
    sizes = hooked(league, monkeypatch, ["anchor git over 9 lines: away"])
    assert league.tick_at(FIRST_SLOT).opened == ["2026-01-05T1000"]
    assert sizes == [], "nothing was answered before the first run"
    done = league.tick_at("2026-01-05T22:00:00Z")
    assert done.opened == ["2026-01-05T2200"], "a stamp that fails holds up no run"
    assert "anchor git over 9 lines: away" in done.problems
    lines = read(league)
    last = max(line["n"] for line in of_kind(lines, "answer", run="2026-01-05T1000"))
    (begun,) = (line["n"] for line in of_kind(lines, "run", run="2026-01-05T2200"))
    (size,) = sizes
    assert last <= size < begun


def test_a_run_that_was_signed_already_is_not_stamped_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    league = LiveLeague.begin(tmp_path)
    sizes = hooked(league, monkeypatch, [])
    league.tick_at(FIRST_SLOT)
    pen, _ = league.open()
    with pen:
        pen.checkpoint()
    league.tick_at("2026-01-05T22:00:00Z")
    assert sizes == []


def test_attack_a_slot_that_is_opened_after_its_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A venue that answers late fills no slot: nothing is sealed, and the slot was missed."""
    league = LiveLeague.begin(tmp_path)
    made = league.world

    def slow() -> dict[str, object]:
        league.clock.step_to("2026-01-05T11:01:00Z")
        return {"source": "drand", "number": 1, "value": "00"}

    def world() -> World:
        fresh = made()
        fresh.beacon = slow
        return fresh

    monkeypatch.setattr(league, "world", world)
    done = league.tick_at("2026-01-05T10:59:00Z")
    assert not done.opened and "only after the slot's grace" in done.problems[0]
    assert not of_kind(read(league), "run")
    monkeypatch.setattr(league, "world", made)
    assert league.tick_at("2026-01-05T11:02:00Z").missed == ["2026-01-05T1000"]
