"""The edges that no rule of the table covers, each as the specification settles it."""

# ruff: noqa: N802 - the ids of the rules and faults are written as they are

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from beforehand.errors import FormatError, RemoteError, RuleError
from beforehand.forecasters.forecaster import BlindQuestion, Reply, Request
from beforehand.stages.health import conditions
from beforehand.stages.settling import settle
from beforehand.stages.slots import later
from beforehand.stages.status import status_of
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
)
from tests.stages.raw_book import (
    Line,
    answers_by_ask,
    attempts_of,
    body_of,
    lines_of,
    of_kind,
    said,
)

RUN = "2026-01-05T1000"
SECOND_SLOT = "2026-01-05T22:00:00Z"


def book(league: LiveLeague) -> Path:
    return league.folder / "league"


def read(league: LiveLeague) -> list[Line]:
    return lines_of(book(league))


def out_of_credit(question: str, attempt: int) -> Reply:
    """What a client makes of 402."""
    return Reply(
        "auth_or_credit", raw=b"{}", cost=Decimal(0), detail="http_402", out_of_credit=True
    )


def ends(league: LiveLeague, forecaster: str) -> Counter[str]:
    return Counter(
        line["status"] for line in of_kind(read(league), "answer", forecaster=forecaster)
    )


def health(league: LiveLeague) -> dict[str, str]:
    """The conditions that an operator is told of, by kind, with their severity."""
    pen, situation = league.open()
    with pen:
        found = conditions(pen.records(), situation.declaration, league.clock.now())
    return {each.kind: each.severity for each in found}


# ---- questions


def test_a_question_asked_in_many_slots_is_one_question_of_one_event(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.play_until("2026-01-07T10:00:00Z")
    lines = read(league)
    (question,) = of_kind(lines, "question")
    assert question["cluster"] == "polymarket:e1"
    assert [run["questions"] for run in of_kind(lines, "run")] == [[question["question"]]] * 5
    assert len(of_kind(lines, "snapshot", moment="start")) == 5


def test_markets_of_one_event_share_a_cluster(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=0, changes={"per_event = 1": "per_event = 2"})
    league.venue.markets = [made_market(1, event="e"), made_market(2, event="e")]
    league.tick_at(FIRST_SLOT)
    assert {q["cluster"] for q in of_kind(read(league), "question")} == {"polymarket:e"}


def test_a_market_whose_event_has_begun_is_not_asked(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=0)
    league.venue.markets = [
        replace(made_market(1), event_at="2026-01-05T09:59:00Z"),
        replace(made_market(2), event_at="2026-01-05T10:01:00Z"),
    ]
    league.tick_at(FIRST_SLOT)
    (question,) = of_kind(read(league), "question")
    assert question["contract"]["market"] == "m2"


@pytest.mark.parametrize("closed", [True, False])
def test_a_market_past_its_end_date_goes_on_until_the_venue_says_so(
    tmp_path: Path, closed: bool
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.states["m1"] = "closed" if closed else "open"
    for day in range(9, 29):
        league.tick_at(f"2026-01-{day:02}T12:30:00Z")
    assert not of_kind(read(league), "resolution")
    del league.venue.states["m1"]
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-29T12:30:00Z")
    assert [line["outcome"] for line in of_kind(read(league), "resolution")] == ["yes"]


def test_a_market_is_settled_by_the_id_that_was_sealed(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    # A sibling of the same event, under the old market's very words.
    league.venue.markets = [replace(league.venue.markets[0], id="m9")]
    league.venue.outcomes = {"m9": "no"}
    league.tick_at("2026-01-08T13:00:00Z")
    assert set(league.venue.looked_up) == {"m1"}
    assert not of_kind(read(league), "resolution")


# ---- prices


def test_a_price_that_moves_during_the_round_is_kept_and_the_crowd_stays_the_start(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)

    def moves(question: str, attempt: int) -> Reply:
        league.venue.depths["m1"] = ("0.70", "0.74")
        return answers("0.5")(question, attempt)

    league.models["model-b"].behaviour = moves
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (start,) = of_kind(lines, "snapshot", moment="start")
    (end,) = of_kind(lines, "snapshot", moment="end")
    (run,) = of_kind(lines, "run")
    assert run["snapshot_line"] == start["n"]
    assert (start["quotes"][0]["bid"], end["quotes"][0]["bid"]) == ("0.40", "0.70")
    assert end["n"] > max(line["n"] for line in of_kind(lines, "answer"))


def test_a_price_that_cannot_be_read_at_the_end_still_ends_the_round(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)

    def breaks(question: str, attempt: int) -> Reply:
        league.venue.faults["m1"] = RemoteError("500", retryable=True)
        return answers("0.5")(question, attempt)

    league.models["model-b"].behaviour = breaks
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {RUN: "complete"}
    (end,) = of_kind(read(league), "snapshot", moment="end")
    assert len(end["quotes"]) == 1


def test_a_market_without_a_crowd_price_is_left_out_before_any_money_is_spent(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.venue.faults["m1"] = RemoteError("no book", retryable=True)
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (snapshot,) = of_kind(lines, "snapshot", moment="start")
    pool = json.loads(body_of(book(league), snapshot, "pool"))
    assert [each["id"] for each in pool["chosen"]] == ["m2"]
    (left_out,) = pool["dropped"]
    assert (left_out["id"], left_out["reason"]) == ("m1", "depth_unread")
    assert len(of_kind(lines, "ask")) == 3


def test_one_drifted_book_does_not_stop_the_slot(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.venue.faults["m1"] = ValueError("a price that is none")
    try:
        league.tick_at(FIRST_SLOT)
    except ValueError:
        pytest.fail("one market ended the whole tick")
    assert len(of_kind(read(league), "ask")) == 3


# ---- models that fail


def test_a_provider_that_is_out_for_a_round_fails_its_own_rows_alone(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-b"].behaviour = fails("transport", retryable=True)
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {RUN: "complete"} and not done.failed
    assert ends(league, "model-b") == {"transport": 6}
    assert ends(league, "model-a") == ends(league, "model-c") == {"answered": 2}
    for line in of_kind(read(league), "answer", forecaster="model-b"):
        assert line["cells"][0]["missing"] == "transport" and "p" not in line["cells"][0]


def test_B2_without_a_provider_there_is_no_number_anywhere(tmp_path: Path) -> None:
    def gone(question: str, attempt: int) -> Reply:
        raise ConnectionResetError("nobody there")

    league = LiveLeague.begin(tmp_path, dict.fromkeys(MODELS, gone))
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert of_kind(lines, "answer") and not said(book(league), lines)
    for line in of_kind(lines, "answer"):
        assert all("p" not in cell and cell["missing"] for cell in line["cells"])
        assert not any(body["role"] == "answer" for body in line.get("bodies", ()))
    pen, situation = league.open()
    with pen:
        seats = status_of(situation, league.clock.now(), None)["seats"]
    assert {seat["valid"] for seat in seats.values()} == {0}


def test_B33_where_every_model_fails_the_round_failed_and_says_so(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, dict.fromkeys(MODELS, fails("refused")))
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {RUN: "failed"} and done.failed and done.problems
    assert health(league)["run_failed"] == "critical"


def test_B33_where_every_call_meets_an_empty_account_the_round_is_not_green(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, dict.fromkeys(MODELS, out_of_credit))
    done = league.tick_at(FIRST_SLOT)
    assert done.closed[RUN] in ("failed", "stopped_budget")
    assert "402" in of_kind(read(league), "close")[0]["why"]
    assert "critical" in health(league).values()
    assert done.failed, "the exit code of an all-failed round"


def test_an_empty_account_stops_the_round_at_once(tmp_path: Path) -> None:
    """Twelve markets and three models are 36 first calls; the first 402 is enough."""
    league = LiveLeague.begin(
        tmp_path,
        dict.fromkeys(MODELS, out_of_credit),
        markets=12,
        changes={"markets = 12": "markets = 12 ", "per_topic = 3": "per_topic = 12"},
    )
    league.tick_at(FIRST_SLOT)
    calls = sum(len(model.calls) for model in league.models.values())
    assert calls < 36, "ground through every call of the round"


def test_after_an_empty_account_nothing_is_tried_again_in_the_round(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-a"].behaviour = out_of_credit
    league.let_wait("model-b", "model-a")
    league.models["model-b"].behaviour = fails("timeout", retryable=True)
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {RUN: "stopped_budget"}
    assert len(league.models["model-b"].calls) <= 2
    # What was in flight is kept, and the next slot is opened as ever.
    assert all(answer for held in attempts_of(read(league)).values() for _, answer in held)
    league.models["model-a"].behaviour = answers("0.3")
    assert league.tick_at(SECOND_SLOT).opened == ["2026-01-05T2200"]


def test_a_stop_at_an_empty_account_is_still_seen_when_the_process_dies_before_the_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-a"].behaviour = out_of_credit

    async def dead(*given: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("beforehand.stages.tick.close_run", dead)
        with pytest.raises(Killed):
            league.tick_at(FIRST_SLOT)
    calls = {name: len(model.calls) for name, model in league.models.items()}
    league.tick()
    (close,) = of_kind(read(league), "close")
    assert close["status"] == "stopped_budget" and "402" in close["why"]
    assert {name: len(model.calls) for name, model in league.models.items()} == calls


BAD_REPLIES = {
    "answered without a number": Reply("answered", None, b"x"),
    "a number over one": Reply("answered", "1.5", b"x"),
    "a number with a sign": Reply("answered", "+0.5", b"x"),
    "no number at all": Reply("answered", "probably", b"x"),
    "an exponent": Reply("answered", "5e-1", b"x"),
    "a status of its own": Reply("tired", None, b"x"),
    "a failure of many words": Reply("unparseable!", None, b"x"),
    "a negative cost": Reply("answered", "0.5", b"x", cost=Decimal("-1")),
    "a cost that is no number": Reply("answered", "0.5", b"x", cost=Decimal("NaN")),
    "an endless cost": Reply("answered", "0.5", b"x", cost=Decimal("Infinity")),
    "a cost of many places": Reply("answered", "0.5", b"x", cost=Decimal("1E-50")),
    "an empty served model": Reply("answered", "0.5", b"x", served_model=""),
    "an endless served model": Reply("answered", "0.5", b"x", served_model="m" * 5000),
    "an endless provider": Reply("answered", "0.5", b"x", provider="p" * 5000),
    "an empty provider": Reply("answered", "0.5", b"x", provider=""),
    "a lone surrogate": Reply("answered", "0.5", b"x", provider="\ud800"),
    "a leak of many words": Reply("answered", "0.5", b"x", leaks=("w" * 50,)),
    "a hundred leaks": Reply("answered", "0.5", b"x", leaks=tuple(f"w{n}" for n in range(100))),
    "time that ran backwards": Reply("answered", "0.5", b"x", latency_ms=-1),
    "a rationale no UTF-8 can say": Reply("answered", "0.5", b"x", rationale="\ud800"),
}


@pytest.mark.parametrize("words", BAD_REPLIES)
def test_B4_a_bad_reply_fails_its_own_answer_and_never_the_round(
    tmp_path: Path, words: str
) -> None:
    """An operator's own scaffold may return anything at all."""

    def bad(question: str, attempt: int) -> Reply:
        return BAD_REPLIES[words] if "number 1" in question else answers("0.3")(question, attempt)

    league = LiveLeague.begin(tmp_path)
    league.models["model-a"].behaviour = bad
    try:
        done = league.tick_at(FIRST_SLOT)
    except Exception as error:
        pytest.fail(f"the whole round ended: {type(error).__name__}: {str(error)[:200]}")
    assert done.closed == {RUN: "complete"}
    lines = read(league)
    assert len(answers_by_ask(lines)) == len(of_kind(lines, "ask"))
    found = said(book(league), lines)
    assert len(found) >= 5 and [cell[1] for cell in found].count("model-a") >= 1
    for probability in found.values():
        assert re.fullmatch(r"0(\.\d+)?|1(\.0+)?", probability or ""), (
            f"sealed as valid: {probability}"
        )


@pytest.mark.parametrize("fault", [FormatError("4001 characters"), KeyError("setting")])
def test_B4_a_question_that_one_model_cannot_be_asked_does_not_end_the_round(
    tmp_path: Path, fault: Exception
) -> None:
    league = LiveLeague.begin(tmp_path)
    model = league.models["model-a"]
    made = type(model).request

    def request(question: BlindQuestion, *, reask: bool = False) -> Request:
        if "number 1" in question.question:
            raise fault
        return made(model, question, reask=reask)

    model.request = request  # type: ignore[method-assign]
    try:
        done = league.tick_at(FIRST_SLOT)
    except type(fault):
        pytest.fail("the whole round ended")
    assert done.closed and set(done.closed.values()) <= {"complete"}
    assert {cell[1] for cell in said(book(league), read(league))} == set(MODELS)


def test_B5_a_missing_answer_is_no_answer_in_the_status(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.models["model-a"].behaviour = fails("empty")
    league.tick_at(FIRST_SLOT)
    pen, situation = league.open()
    with pen:
        seat = status_of(situation, league.clock.now(), None)["seats"]["model-a"]
    assert (seat["asked"], seat["valid"], seat["attempts"]) == (2, 0, {"empty": 4})


@pytest.mark.parametrize("probability", ["0", "1", "0.0", "1.000", "0.00001"])
def test_exactly_zero_or_one_is_an_answer_and_kept_as_it_was_given(
    tmp_path: Path, probability: str
) -> None:
    league = LiveLeague.begin(tmp_path, dict.fromkeys(MODELS, answers(probability)), markets=1)
    league.tick_at(FIRST_SLOT)
    assert set(said(book(league), read(league)).values()) == {probability}


def test_B32_the_answers_of_many_calls_at_once_go_through_one_pen(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path,
        markets=40,
        changes={"markets = 12": "markets = 40", "per_topic = 3": "per_topic = 99"},
    )
    for place, model in enumerate(league.models.values()):
        model.delay = 0.01 * place
    done = league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert done.calls == 120 and len(said(book(league), lines)) == 120
    assert len(answers_by_ask(lines)) == 120


# ---- settling beside other things


def held_open(tmp_path: Path) -> LiveLeague:
    """A league whose process died in the first slot: model-a has not answered."""
    league = LiveLeague.begin(
        tmp_path,
        {**dict.fromkeys(MODELS, answers("0.4")), "model-a": in_turn(dies, answers("0.3"))},
    )
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    return league


def settle_now(league: LiveLeague, now: str) -> None:
    pen, situation = league.open()
    with pen:
        asyncio.run(settle(pen, situation, league.venue, now))


def test_nothing_is_asked_of_a_market_that_was_settled_before_the_deadline(
    tmp_path: Path,
) -> None:
    league = held_open(tmp_path)
    league.venue.outcomes = {"m1": "yes"}
    league.clock.step_to("2026-01-06T00:30:00Z")
    settle_now(league, "2026-01-06T00:30:00Z")
    assert len(of_kind(read(league), "resolution")) == 1
    calls = len(league.models["model-a"].calls)
    league.tick()
    assert not any("number 1" in call for call in league.models["model-a"].calls[calls:])


def test_two_settlers_one_after_the_other_seal_one_resolution(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes = {"m1": "yes", "m2": "no"}
    league.clock.step_to("2026-01-08T12:00:00Z")
    for _ in range(3):
        settle_now(league, "2026-01-08T12:00:00Z")
    assert len(of_kind(read(league), "resolution")) == 2


def test_a_settler_that_is_killed_half_way_is_followed_by_one_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    league = LiveLeague.begin(
        tmp_path,
        markets=12,
        changes={"markets = 12": "markets = 12 ", "per_topic = 3": "per_topic = 12"},
    )
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes = {f"m{n}": "yes" for n in range(1, 13)}
    league.venue.faults = {"m9": Killed()}
    with pytest.raises(Killed):
        league.tick_at("2026-01-08T12:00:00Z")
    first = len(of_kind(read(league), "resolution"))
    assert 0 < first < 12
    league.venue.faults = {}
    league.tick()
    assert len(of_kind(read(league), "resolution")) == 12


def test_a_void_after_scoring_is_a_correction(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T13:00:00Z")
    league.venue.outcomes["m1"] = "void"
    league.tick_at("2026-01-09T01:00:00Z")
    lines = read(league)
    assert [line["outcome"] for line in of_kind(lines, "resolution")] == ["yes"]
    assert [line["outcome"] for line in of_kind(lines, "correction")] == ["void"]


def test_a_word_that_is_disputed_again_stands_until_the_venue_gives_another(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T13:00:00Z")
    league.venue.states["m1"] = "disputed"
    league.tick_at("2026-01-10T01:00:00Z")
    assert not of_kind(read(league), "correction")
    league.venue.states.clear()
    league.venue.outcomes["m1"] = "no"
    league.tick_at("2026-01-12T01:00:00Z")
    assert [line["outcome"] for line in of_kind(read(league), "correction")] == ["no"]


def test_settling_goes_on_while_the_venue_lists_nothing(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes["m1"] = "yes"
    league.venue.markets = []
    for hours in range(0, 24, 4):
        league.tick_at(later("2026-01-08T12:00:00Z", hours=hours))
    assert len(of_kind(read(league), "resolution")) == 1


# ---- the window of a crash


def test_a_paid_call_is_in_the_book_though_the_process_died_before_its_reply(
    tmp_path: Path,
) -> None:
    league = held_open(tmp_path)
    lines = read(league)
    sealed = Counter(body_of(book(league), ask, "ask").decode() for ask in of_kind(lines, "ask"))
    for model in league.models.values():
        for call in model.calls:
            assert sealed[call] == 1
    league.tick()
    lines = read(league)
    assert len(of_kind(lines, "answer")) == len(of_kind(lines, "ask"))
    for held in attempts_of(lines).values():
        for (ask, answer), (again, _) in pairwise(held):
            assert answer is not None and answer["status"] == "not_answered"
            assert (again["why"], again["again"]) == ("resumed", ask["n"])
    assert len(said(book(league), lines)) == 6


def test_a_run_that_lost_its_process_past_the_deadline_is_closed_and_asks_nothing_more(
    tmp_path: Path,
) -> None:
    league = held_open(tmp_path)
    calls = sum(len(model.calls) for model in league.models.values())
    done = league.tick_at("2026-01-05T11:00:01Z")
    assert list(done.closed) == [RUN] and done.calls == 0
    assert sum(len(model.calls) for model in league.models.values()) == calls
    lines = read(league)
    assert len(of_kind(lines, "answer")) == len(of_kind(lines, "ask"))


def test_a_run_that_cannot_go_on_does_not_stop_later_slots(tmp_path: Path) -> None:
    """A model that is broken in one run is broken in that run."""
    league = held_open(tmp_path)
    world = league.world()
    seat, given = world.seat, []

    def once_broken(lineup: object) -> object:
        given.append(lineup)
        if len(given) == 1:
            raise RuleError("the key of model-a is not set")
        return seat(lineup)  # type: ignore[arg-type]

    world.seat = once_broken  # type: ignore[assignment]
    league.world = lambda: world  # type: ignore[method-assign]
    try:
        done = league.tick_at(SECOND_SLOT)
    except RuleError:
        pytest.fail("the tick ended before the slot that was due")
    assert done.opened == ["2026-01-05T2200"]
