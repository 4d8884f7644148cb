"""Faults that a hostile review of the live stages found, each held here so that it stays away."""

# ruff: noqa: N802 - a rule is found by its id, in capitals

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.forecasters.forecaster import Reply
from beforehand.forecasters.sealed import ChangedPlugin
from beforehand.sources.market import Listing
from beforehand.stages.replies import kept
from beforehand.stages.seating import ROSTER_FILE
from tests.stages.live_world import FIRST_SLOT, LiveLeague, answers, made_market, steps
from tests.stages.raw_book import lines_of, of_kind

MONDAY = "2026-01-12T10:00:00Z"
# Holds one question's asks at a time: 3 models at 0.01 each, 0.004 charged.
NARROW = {'cap = "50.00"': 'cap = "0.045"'}


def test_C1_a_question_that_waited_for_money_is_first_asked_at_a_fresh_price(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, changes=NARROW)
    league.models["model-a"].behaviour = steps(league.clock, "2026-01-05T10:08:00Z", answers("0.3"))
    league.tick_at(FIRST_SLOT)
    lines = lines_of(tmp_path / "league")
    first: dict[str, dict[str, str]] = {}
    for ask in of_kind(lines, "ask"):
        first.setdefault(ask["questions"][0], ask)
    assert sorted(ask["at"] for ask in first.values()) == [FIRST_SLOT, "2026-01-05T10:08:00Z"]
    for question, ask in first.items():
        read = [
            quote["read_at"]
            for snapshot in of_kind(lines, "snapshot", moment="start")
            for quote in snapshot["quotes"]
            if quote["question"] == question and snapshot["n"] < ask["n"]
        ]
        assert read[-1] == ask["at"], "the crowd of a question is as old as its first ask"


def test_C1_a_question_whose_price_cannot_be_read_anew_is_not_paid_for(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, changes=NARROW)

    def breaks(question: str, attempt: int) -> Reply:
        league.venue.broken = True
        return steps(league.clock, "2026-01-05T10:08:00Z", answers("0.3"))(question, attempt)

    league.models["model-a"].behaviour = breaks
    done = league.tick_at(FIRST_SLOT)
    lines = lines_of(tmp_path / "league")
    assert done.calls == 3 and len(of_kind(lines, "ask")) == 3
    assert "1 question skipped" in of_kind(lines, "close")[0]["why"]


def test_a_market_without_a_closing_time_does_not_keep_the_slot_from_opening(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=3)
    endless = replace(made_market(0), closes="", expected="2026-01-08T12:00:00Z")
    league.venue.markets.insert(0, endless)
    held = Listing(tuple(league.venue.markets))

    async def listing() -> Listing:
        return replace(held, evidence=league.venue._evidence("listing"))

    league.venue.listing = listing  # type: ignore[method-assign]
    done = league.tick_at(FIRST_SLOT)
    assert done.problems == [] and done.calls == 6
    league.tick_at("2026-01-06T10:00:00Z")


def test_what_a_listing_says_of_its_own_faults_is_told(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.problems = ("page 2: not sorted",)
    league.venue.warnings = tuple(f"event {n} contradicts itself" for n in range(7))
    done = league.tick_at(FIRST_SLOT)
    assert done.calls == 6 and done.opened
    assert done.problems[0] == f"slot {FIRST_SLOT}: listing, problem: page 2: not sorted"
    assert [each.partition(": ")[2] for each in done.problems[-2:]] == [
        "listing, warning: event 4 contradicts itself",
        "listing: 2 more warnings, in the pool",
    ]


def test_a_slot_is_not_opened_on_half_a_listing_while_it_can_wait(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.complete, league.venue.problems = False, ("page 3: HTTP 500",)
    done = league.tick_at(FIRST_SLOT)
    assert done.opened == [] and done.calls == 0
    assert f"slot {FIRST_SLOT}: listing, problem: page 3: HTTP 500" in done.problems
    assert "is read again" in done.problems[-1]
    assert not of_kind(lines_of(tmp_path / "league"), "run")
    league.venue.complete, league.venue.problems = True, ()
    done = league.tick_at("2026-01-05T10:01:00Z")
    assert done.opened == ["2026-01-05T1000"] and done.problems == []
    assert league.tick_at("2026-01-05T10:02:00Z").opened == []
    assert len(of_kind(lines_of(tmp_path / "league"), "run")) == 1


def test_half_a_listing_that_stays_so_is_opened_on_while_there_is_time_to_ask(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.complete = False
    for minute in (0, 5, 14):
        assert league.tick_at(f"2026-01-05T10:{minute:02}:00Z").opened == []
    done = league.tick_at("2026-01-05T10:15:00Z")
    assert done.opened == ["2026-01-05T1000"] and done.calls == 6
    assert done.problems == [f"slot {FIRST_SLOT}: the venue's listing is incomplete"]
    assert done.closed == {"2026-01-05T1000": "complete"}


def test_what_a_settlement_leaves_unclear_is_told(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes["m1"] = "yes"
    league.venue.doubts = {"m1": ("Gamma says 1/0, the CLOB 0/1",), "m2": ("found nowhere",)}
    done = league.tick_at("2026-01-05T15:00:00Z")
    assert done.settled is not None and done.settled.resolved == 1
    assert "market m1: Gamma says 1/0, the CLOB 0/1" in done.problems
    assert "market m2: found nowhere" in done.problems


def test_a_plugin_that_changed_answers_nothing_and_the_others_go_on(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-c"] = ChangedPlugin("model-c")  # type: ignore[assignment]
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {"2026-01-05T1000": "complete"}
    ended = of_kind(lines_of(tmp_path / "league"), "answer", forecaster="model-c")
    assert [(each["status"], each["detail"]) for each in ended] == [
        ("model_mismatch", "plugin_changed")
    ] * 2
    answered = of_kind(lines_of(tmp_path / "league"), "answer", status="answered")
    assert {each["forecaster"] for each in answered} == {"model-a", "model-b"}


def test_L1_no_reply_can_say_that_it_was_never_asked() -> None:
    for status in ("budget", "answered"):
        reply = kept(Reply(status, "0.5"))
        assert reply.status == ("internal" if status == "budget" else "answered")


def roster_text(model: str) -> str:
    models = "".join(
        f'\n[[models]]\nforecaster = "{name}"\nvia = "plugin"\nplugin = "made-up"\n'
        f'model = "{held}"\nprice_ask = "0.01"\n'
        for name, held in (("model-a", model), ("model-b", "made-up/model-b"))
    )
    return f'format = "beforehand-roster/1"\n{models}'


@pytest.mark.parametrize(
    ("model", "begun"), [("made-up/model-a", True), ("made-up/model-a-2", False)]
)
def test_A2_a_name_never_comes_to_stand_for_another_model(
    tmp_path: Path, model: str, begun: bool
) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.markets = [made_market(n, closes="2026-01-15T21:00:00Z") for n in range(1, 3)]
    league.tick_at("2026-01-10T10:00:00Z")
    (tmp_path / ROSTER_FILE).write_text(roster_text(model), encoding="utf-8")
    done = league.tick_at(MONDAY)
    assert bool(done.opened) is begun
    assert bool(done.unready) is not begun
    if not begun:
        assert "made-up/model-a-2 a name of its own" in done.unready[0]
