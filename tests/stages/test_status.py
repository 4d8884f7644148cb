"""The status accounts for every attempt and every cent, as the raw lines give them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.forecasters.forecaster import Reply
from beforehand.stages.coming import coming
from beforehand.stages.status import money, status_of
from beforehand.stages.tick import next_due
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    Killed,
    LiveLeague,
    answers,
    dies,
    fails,
    in_turn,
    made_market,
    steps,
)
from tests.stages.raw_book import Line, answers_by_ask, attempts_of, lines_of, of_kind, said, sums

SIX = ("answers", "flaky", "broken", "dear", "silent", "late")


def status(league: LiveLeague) -> dict[str, Any]:
    pen, situation = league.open()
    with pen:
        now = league.clock.now()
        found = status_of(situation, now, next_due(situation, now, league.folder))
    return json.loads(json.dumps(found))


def plain_seats(folder: Path, lines: list[Line]) -> dict[str, dict[str, Any]]:
    """What the seats of a status must say, from the raw lines alone."""
    ended, money_of = answers_by_ask(lines), sums(lines)
    stated = said(folder, lines)
    found = {}
    for name in {ask["forecaster"] for ask in of_kind(lines, "ask")}:
        asks = of_kind(lines, "ask", forecaster=name)
        cells = {cell for cell in attempts_of(lines) if cell[1] == name}
        found[name] = {
            "attempts": Counter(
                ended[ask["n"]]["status"] if ask["n"] in ended else "in flight or lost"
                for ask in asks
            ),
            "asked": len(cells),
            "valid": len(cells & stated.keys()),
            "spent": money_of[name].spent,
            "standing": money_of[name].standing,
        }
    return found


def check(league: LiveLeague) -> dict[str, Any]:
    """Hold the status against the book: seats, sums, periods, each to the cent."""
    folder = league.folder / "league"
    lines, found = lines_of(folder), status(league)
    wanted = plain_seats(folder, lines)
    assert found["seats"].keys() == wanted.keys()
    for name, seat in found["seats"].items():
        plain = wanted[name]
        assert seat["attempts"] == dict(plain["attempts"]), name
        assert (seat["asked"], seat["valid"]) == (plain["asked"], plain["valid"]), name
        assert Decimal(seat["spent"]) == plain["spent"], name
        assert Decimal(seat["standing"]) == plain["standing"], name
    asks = of_kind(lines, "ask")
    assert found["attempts"] == len(asks) == found["budget"]["total"]["asks"]
    for key in ("spent", "standing"):
        total = Decimal(found["budget"]["total"][key])
        assert total == sum(Decimal(seat[key]) for seat in found["seats"].values())
        assert total == sum(Decimal(p[key]) for p in found["budget"]["periods"].values())
    weeks = sums(lines, "week")
    for name, period in found["budget"]["periods"].items():
        held = weeks.get(name)
        assert Decimal(period["spent"]) == (held.spent if held else 0)
        assert Decimal(period["standing"]) == (held.standing if held else 0)
        assert Decimal(period["over_reservation"]) == (held.over if held else 0)
        assert period["asks"] == (held.asks if held else 0)
    assert weeks.keys() <= found["budget"]["periods"].keys()
    unanswered = [ask for ask in asks if "cost" not in answers_by_ask(lines).get(ask["n"], {})]
    ended_unknown = [ask for ask in unanswered if ask["n"] in answers_by_ask(lines)]
    assert Decimal(found["budget"]["total"]["of_which_unknown_cost"]) == sum(
        (Decimal(ask["reserved"]) for ask in ended_unknown), Decimal(0)
    )
    assert found["lines"] == len(lines)
    closes = Counter(close["status"] for close in of_kind(lines, "close"))
    assert found["runs"]["ended"] == dict(closes)
    assert len(found["runs"]["not_complete"]) == sum(closes.values()) - closes["complete"]
    return found


def mixed(folder: Path) -> LiveLeague:
    """Six models that answer, fail, cost too much, say no cost and come late."""

    def broken(question: str, attempt: int) -> Reply:
        raise OSError("down")

    league = LiveLeague.begin(
        folder,
        {
            "answers": answers("0.4", "0.0071"),
            "flaky": in_turn(
                fails("rate_limited", retryable=True, cost="0"),
                fails("unparseable", cost="0.0033"),
                answers("0.2", "0.0001"),
            ),
            "broken": broken,
            "dear": answers("0.9", "0.025"),
            "silent": answers("0.5", None),
            "late": answers("0.6", "0.002"),
        },
    )
    league.models["late"].delay = 0.03
    return league


def test_every_attempt_and_every_cent_through_a_mixed_week(tmp_path: Path) -> None:
    league = mixed(tmp_path)
    check(league)
    late = steps(league.clock, "2026-01-05T11:00:01Z", answers("0.6", "0.002"))
    league.models["late"].behaviour = in_turn(late, late, answers("0.6", "0.002"))
    league.tick_at(FIRST_SLOT)
    found = check(league)
    assert set(found["seats"]) == set(SIX)
    assert found["seats"]["late"]["valid"] == 0
    league.venue.outcomes = {"m1": "yes"}
    league.play_until("2026-01-06T22:00:00Z")
    league.tick_at("2026-01-08T12:30:00Z")  # two slots were missed meanwhile
    found = check(league)
    assert found["runs"]["ended"]["missed"] >= 2
    assert found["questions"]["yes"] == 1
    assert Decimal(found["budget"]["total"]["over_reservation"]) > 0


@pytest.mark.parametrize("deaths", [1, 2, 3, 5])
def test_what_was_lost_with_its_process_is_in_the_sums_too(tmp_path: Path, deaths: int) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-a"].behaviour = in_turn(*[dies] * deaths, answers("0.3"))
    league.clock.step_to(FIRST_SLOT)
    died = 0
    while True:
        try:
            league.tick()
            break
        except Killed:
            died += 1
        found = check(league)
        assert found["seats"]["model-a"]["attempts"]["in flight or lost"] >= 1
    assert died >= min(deaths, 3)
    found = check(league)
    assert "in flight or lost" not in found["seats"]["model-a"]["attempts"]
    assert found["runs"]["open"] == []


def test_two_weeks_are_two_accounts_that_add_up(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, changes={'cap = "50.00"': 'cap = "0.09"'})
    league.tick_at(FIRST_SLOT)
    league.tick_at("2026-01-05T22:00:00Z")
    league.venue.markets = [made_market(n, closes="2026-01-15T12:00:00Z") for n in range(5, 9)]
    league.tick_at("2026-01-12T10:00:00Z")
    found = check(league)
    assert set(found["budget"]["periods"]) == {"2026-W02", "2026-W03"}
    assert found["budget"]["cap"] == "0.09"


def test_a_stop_and_its_reason_are_in_the_status(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path,
        {name: answers("0.4", "0.01") for name in MODELS},
        changes={'cap = "50.00"': 'cap = "0.03"'},
    )
    league.tick_at(FIRST_SLOT)
    found = check(league)
    (stopped,) = found["runs"]["not_complete"]
    assert stopped["status"] == "stopped_budget" and "budget" in stopped["why"]
    assert found["budget"]["periods"]["2026-W02"]["percent_of_cap"] == "100.0"


def test_what_is_due_is_named(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.tick()
    assert status(league)["next_due"] == FIRST_SLOT
    league.tick_at(FIRST_SLOT)
    # Four hours after the first pass settling is due; withheld answers are before that.
    assert FIRST_SLOT < status(league)["next_due"] <= "2026-01-05T14:00:00Z"


def test_what_comes_next_is_the_slot_the_settling_the_bodies_and_the_outcomes(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path)
    league.tick()
    first = next_of(league)
    assert first["slot"] == FIRST_SLOT
    assert first["disclosure"] == {"bodies": 0, "answers": 0, "next": None, "overdue": None}
    assert first["resolutions"] == {"awaited": 0, "ended": 0, "next_end": None}
    league.tick_at(FIRST_SLOT)
    held = next_of(league)
    lines = lines_of(league.folder / "league")
    sealed = [body for line in lines for body in line.get("bodies", ()) if body["due"]]
    due = {body["sha256"]: body["due"] for body in sealed if body["due"] > league.clock.now()}
    answers = {body["sha256"] for body in sealed if body["role"] == "answer"} & due.keys()
    assert held["slot"] == "2026-01-05T22:00:00Z"
    assert held["settlement"] == "2026-01-05T13:00:00Z"
    assert held["disclosure"]["bodies"] == len(due) > held["disclosure"]["answers"]
    assert held["disclosure"]["answers"] == len(answers) > 0
    assert held["disclosure"]["next"] == min(due.values())
    asked = len(of_kind(lines, "question"))
    assert held["resolutions"]["awaited"] == asked > 0
    assert held["resolutions"]["next_end"] > FIRST_SLOT
    league.clock.step_to("2026-01-05T22:10:00Z")
    late = next_of(league, lambda sha256: False)
    assert late["slot"] == late["settlement"] == "2026-01-05T22:10:00Z"
    assert late["disclosure"]["bodies"] == 0
    assert late["disclosure"]["overdue"] >= len(due)
    assert next_of(league, lambda sha256: True)["disclosure"]["overdue"] == 0


def next_of(league: LiveLeague, is_shown: Callable[[str], bool] | None = None) -> dict[str, Any]:
    pen, situation = league.open()
    with pen:
        return coming(situation, league.clock.now(), league.folder, is_shown)


def test_a_slot_that_waits_for_the_venue_and_a_run_that_waits_are_due_now(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.broken = True
    league.tick_at(FIRST_SLOT)
    league.clock.step_to("2026-01-05T10:10:00Z")
    assert status(league)["next_due"] == "2026-01-05T10:10:00Z"
    league.venue.broken = False
    league.models["model-a"].behaviour = in_turn(dies, answers("0.3"))
    with pytest.raises(Killed):
        league.tick()
    league.clock.step_to("2026-01-05T10:11:00Z")
    found = status(league)
    assert [run["run"] for run in found["runs"]["open"]] == ["2026-01-05T1000"]
    assert found["next_due"] == "2026-01-05T10:11:00Z"


def test_nothing_asked_is_nothing_and_no_share_of_it(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    found = check(league)
    assert found["seats"] == {} and found["attempts"] == 0
    assert found["budget"]["periods"] == {} and found["runs"]["cohorts"] == []


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0.00"),
        ("0E-10", "0.00"),
        ("1E+3", "1000.00"),
        ("0.10", "0.10"),
        ("0.0000001", "0.0000001"),
        ("12.345", "12.345"),
        ("100", "100.00"),
        ("-0.5", "-0.50"),
    ],
)
def test_money_is_exact_plain_text(amount: str, text: str) -> None:
    assert money(Decimal(amount)) == text


def test_money_of_many_places_loses_none() -> None:
    amount = "12345678901.123456789012"
    assert money(Decimal(amount)) == amount
