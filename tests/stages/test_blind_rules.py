"""The rules of a blind league that its stages keep, each test named by the rule's id.

The ids are those of the specification's table of rules. Parsing (P), scores
(S), the ensemble (E) and the board (L, V) are kept elsewhere and tested there.
"""

# ruff: noqa: N802 - the ids of the rules and faults are written as they are

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from beforehand.errors import ConflictError, RemoteError
from beforehand.forecasters.forecaster import BlindQuestion, Reply
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.sources.market import Market
from beforehand.stages.opening import open_slot
from beforehand.stages.seating import ROSTER_FILE
from beforehand.stages.settling import settle
from beforehand.stages.slots import later
from beforehand.stages.status import status_of
from beforehand.stages.tick import due_slots
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    Behaviour,
    Killed,
    LiveLeague,
    answers,
    dies,
    fails,
    in_turn,
    made_market,
    steps,
)
from tests.stages.raw_book import (
    answers_by_ask,
    attempts_of,
    body_of,
    cell_of,
    lines_of,
    of_kind,
    said,
)

SECOND_SLOT = "2026-01-05T22:00:00Z"
RUN = "2026-01-05T1000"


def book(league: LiveLeague) -> Path:
    return league.folder / "league"


def read(league: LiveLeague) -> list[dict]:
    return lines_of(book(league))


def pool_of(league: LiveLeague, run: str = RUN) -> dict:
    (snapshot,) = of_kind(read(league), "snapshot", run=run, moment="start")
    return json.loads(body_of(book(league), snapshot, "pool"))


def one_model(behaviour: Behaviour, *, price: str = "0.01") -> dict[str, Behaviour]:
    """The behaviour for one model among two that answer."""
    return {"model-a": behaviour, "model-b": answers("0.4"), "model-c": answers("0.5")}


def whys(league: LiveLeague, forecaster: str = "model-a") -> list[list[str]]:
    """By question, what each attempt of a forecaster was."""
    return [
        [ask["why"] for ask, _ in held]
        for cell, held in attempts_of(read(league)).items()
        if cell[1] == forecaster
    ]


# ---- M: what is asked


def test_M1_the_shipped_league_selects_by_the_written_defaults() -> None:
    select = Declaration.parse(shipped()["blind"], "blind").content["questions"]["select"]
    assert (select["min_hours"], select["max_hours"]) == (24, 8 * 24)
    assert (select["price_low"], select["price_high"]) == ("0.05", "0.95")
    assert (select["max_spread"], select["markets"]) == ("0.10", 12)
    assert (select["per_event"], select["per_topic"]) == (1, 3)


def test_M1_the_pool_and_the_reason_of_every_market_left_out_stand_before_the_first_ask(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=0, changes={"per_topic = 3": "per_topic = 1"})
    market = made_market(1)
    league.venue.markets = [
        market,
        replace(made_market(2), topic=market.topic),
        replace(made_market(3), event=market.event),
        replace(made_market(4), bid=Decimal("0.02"), ask=Decimal("0.04")),
        replace(made_market(5), bid=Decimal("0.40"), ask=Decimal("0.51")),
        made_market(6, closes="2026-01-06T09:59:59Z"),
        made_market(7, closes="2026-01-13T10:00:01Z"),
        replace(made_market(8), accepting=False),
        replace(made_market(9), closed=True),
        made_market(10),
        made_market(11),
    ]
    league.tick_at(FIRST_SLOT)
    lines, pool = read(league), pool_of(league)
    assert [each["id"] for each in pool["chosen"]] == ["m1", "m10"]
    reasons = {each["id"]: each["reason"] for each in pool["dropped"]}
    assert set(reasons) == {f"m{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)}
    assert reasons["m2"] == "per_topic" and reasons["m3"] == "per_event"
    assert reasons["m4"] == "price" and reasons["m5"] == "spread"
    assert reasons["m6"] == reasons["m7"] == "horizon" and reasons["m11"] == "full"
    assert pool["rules"]["markets"] == 2
    (snapshot,) = of_kind(lines, "snapshot", moment="start")
    assert snapshot["n"] < min(ask["n"] for ask in of_kind(lines, "ask"))


def test_M1_the_choice_is_made_once_a_slot_and_a_restart_keeps_it(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, one_model(in_turn(dies, answers("0.3"))))
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    before = of_kind(read(league), "run")[0]["questions"]
    league.venue.markets = [replace(m, volume_24h=Decimal(10 ** (9 - n))) for n, m in
                            enumerate(reversed(league.venue.markets))]  # fmt: skip
    league.tick()
    assert league.venue.listed == 1
    (run,) = of_kind(read(league), "run")
    assert run["questions"] == before
    assert {cell[2] for cell in said(book(league), read(league))} == set(before)


def test_M3_an_edit_at_the_venue_is_another_text_and_old_forecasts_keep_theirs(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.markets = [replace(league.venue.markets[0], description="Drawn twice now.")]
    league.tick_at(SECOND_SLOT)
    lines = read(league)
    old, new = of_kind(lines, "question")
    for line, words in ((old, "Drawn from an urn. YES if it is."), (new, "Drawn twice now.")):
        text = json.loads(body_of(book(league), line, "text"))
        assert text["description"] == words
        assert text["question"] == "Will number 1 be drawn?"
        assert text["closes"] == "2026-01-08T12:00:00Z"
        assert line["contract"]["text_sha256"] == line["bodies"][0]["sha256"]
    asked = {ask["run"]: ask["questions"] for ask in of_kind(lines, "ask")}
    assert asked == {RUN: [old["question"]], "2026-01-05T2200": [new["question"]]}
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T16:00:00Z")
    settled = {line["question"]: line["outcome"] for line in of_kind(read(league), "resolution")}
    assert settled == {old["question"]: "yes", new["question"]: "yes"}


def test_M3_an_unedited_market_is_one_question_in_every_slot(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    # Prices, volume and flags are no text.
    league.venue.markets = [
        replace(league.venue.markets[0], bid=Decimal("0.70"), ask=Decimal("0.74"))
    ]
    league.tick_at(SECOND_SLOT)
    assert len(of_kind(read(league), "question")) == 1
    assert len(of_kind(read(league), "run")) == 2


def test_M3_an_edit_during_a_round_changes_nothing_in_it(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, one_model(in_turn(dies, answers("0.3"))), markets=1)
    seen: list[BlindQuestion] = []
    model = league.models["model-a"]
    made = type(model).request

    def request(question: BlindQuestion, *, reask: bool = False) -> object:
        seen.append(question)
        return made(model, question, reask=reask)

    model.request = request  # type: ignore[method-assign,assignment]
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    league.venue.markets = [replace(league.venue.markets[0], description="Edited meanwhile.")]
    league.tick()
    assert len(seen) == 2 and seen[0] == seen[1]


# ---- B: blind


def test_B1_what_a_model_is_given_has_no_place_for_a_price(tmp_path: Path) -> None:
    names = {field.name for field in fields(BlindQuestion)}
    assert not names & {"price", "bid", "ask", "mid", "last", "crowd", "odds", "volume"}
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    for model in league.models.values():
        for call in model.calls:
            assert not any(number in call for number in ("0.40", "0.44", "0.42", "42%", "42c"))
    for ask in of_kind(read(league), "ask"):
        assert "0.4" not in json.dumps({k: v for k, v in ask.items() if k != "reserved"})


@pytest.mark.parametrize(
    "words", ["Traders put it at 42%.", "Bookmakers offer 5/2 on it.", "It trades at 42 cents."]
)
def test_B1_a_text_that_gives_the_price_away_is_said_and_not_asked(
    tmp_path: Path, words: str
) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.venue.markets[0] = replace(league.venue.markets[0], description=words)
    league.tick_at(FIRST_SLOT)
    dropped = {each["id"]: each for each in pool_of(league)["dropped"]}
    assert "text" in dropped["m1"]["said"]
    assert not any("number 1" in call for call in league.models["model-a"].calls)


def test_B2_a_leak_is_a_flag_on_the_answer_and_drops_nothing(tmp_path: Path) -> None:
    def leaky(question: str, attempt: int) -> Reply:
        reply = answers("0.7")(question, attempt)
        return replace(reply, leaks=("venue_name",), citations=("https://a.test", "https://b.test"))

    league = LiveLeague.begin(tmp_path, one_model(leaky), markets=1)
    league.tick_at(FIRST_SLOT)
    flagged = {line["forecaster"]: line for line in of_kind(read(league), "answer")}
    assert flagged["model-a"]["leak_flag"] is True
    assert flagged["model-a"]["leaks"] == ["venue_name"]
    assert flagged["model-a"]["citations"] == 2
    assert flagged["model-b"]["leak_flag"] is False
    assert len(said(book(league), read(league))) == 3


# ---- C: the crowd's price


def test_C1_a_slots_snapshot_holds_what_its_crowd_price_follows_from(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.depths["m1"] = ("0.60", "0.66")
    league.tick_at(SECOND_SLOT)
    lines = read(league)
    first, second = of_kind(lines, "snapshot", moment="start")
    (quote,) = first["quotes"]
    assert (quote["bid"], quote["ask"], quote["read_at"]) == ("0.40", "0.44", FIRST_SLOT)
    (quote,) = second["quotes"]
    # Never an earlier round's price.
    assert (quote["bid"], quote["ask"], quote["read_at"]) == ("0.60", "0.66", SECOND_SLOT)
    assert any(body["role"] == "snapshot" for body in first["bodies"])


def test_C1_a_market_too_wide_in_its_own_depth_is_not_asked(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=3)
    league.venue.depths["m1"] = ("0.40", "0.51")  # the listing still says 0.40 to 0.44
    league.venue.depths["m2"] = ("0.40", "0.50")
    league.tick_at(FIRST_SLOT)
    assert [each["id"] for each in pool_of(league)["chosen"]] == ["m2", "m3"]


@pytest.mark.parametrize(("restart", "fresh"), [("2026-01-05T10:05:00Z", False),
                                                ("2026-01-05T10:05:01Z", True)])  # fmt: skip
def test_C1_a_price_over_five_minutes_older_than_the_first_call_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: str, fresh: bool
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    with monkeypatch.context() as patch:
        patch.setattr("beforehand.stages.tick.Asking.ask_all", killed_before_asking)
        with pytest.raises(Killed):
            league.tick_at(FIRST_SLOT)
    league.venue.depths["m1"] = ("0.60", "0.66")
    league.tick_at(restart)
    lines = read(league)
    assert len(said(book(league), lines)) == 3, "the market was to be asked, at a fresh price"
    last = of_kind(lines, "snapshot", moment="start")[-1]
    wanted = ("0.60", restart) if fresh else ("0.40", FIRST_SLOT)
    assert (last["quotes"][0]["bid"], last["quotes"][0]["read_at"]) == wanted
    first_call = min(of_kind(lines, "ask"), key=lambda ask: ask["n"])
    assert last["n"] < first_call["n"]


async def killed_before_asking(self: object) -> None:
    raise Killed


@pytest.mark.parametrize("depth", [("0.40", None), (None, "0.44"), (None, None)])
def test_C2_a_one_sided_quote_is_never_a_price(
    tmp_path: Path, depth: tuple[str | None, str | None]
) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.venue.depths["m1"] = depth
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    asked = {question for ask in of_kind(lines, "ask") for question in ask["questions"]}
    (quote,) = of_kind(lines, "snapshot", moment="start")[0]["quotes"]
    assert asked == {quote["question"]}
    reasons = {each["id"]: each["reason"] for each in pool_of(league)["dropped"]}
    assert reasons == {"m1": "one_sided"}


# ---- A: asking


def test_A1_what_was_sent_is_what_was_sealed_and_was_sealed_before(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    seen: list[tuple[str, set[str]]] = []

    def looks(name: str) -> Behaviour:
        def reply(question: str, attempt: int) -> Reply:
            lines = read(league)
            sealed = {
                body_of(book(league), ask, "ask").decode()
                for ask in of_kind(lines, "ask", forecaster=name)
            }
            seen.append((league.models[name].calls[-1], sealed))
            return answers("0.4")(question, attempt)

        return reply

    for name, model in league.models.items():
        model.behaviour = looks(name)
    league.tick_at(FIRST_SLOT)
    assert len(seen) == 6
    for sent, sealed in seen:
        assert sent in sealed


def test_A2_an_answer_names_the_model_asked_for_and_the_model_that_served(tmp_path: Path) -> None:
    def swapped(question: str, attempt: int) -> Reply:
        return Reply(
            "model_mismatch",
            raw=b"{}",
            served_model="other/model",
            provider="cheap",
            cost=Decimal("0.002"),
        )

    league = LiveLeague.begin(tmp_path, one_model(swapped), markets=1)
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (line,) = of_kind(lines, "answer", forecaster="model-a")
    assert line["status"] == "model_mismatch"
    assert (line["requested_model"], line["served_model"]) == ("made-up/model-a", "other/model")
    assert line["provider"] == "cheap" and line["cost"] == "0.002"
    assert "p" not in line["cells"][0]
    (line,) = of_kind(lines, "answer", forecaster="model-b")
    assert line["served_model"] == "made-up/model-b"


def failing(status: str) -> Behaviour:
    return fails(status, retryable=status in ("timeout", "transport", "rate_limited"))


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ("timeout", ["first", "retry", "retry"]),
        ("transport", ["first", "retry", "retry"]),
        ("rate_limited", ["first", "retry", "retry"]),
        ("unparseable", ["first", "reask"]),
        ("out_of_range", ["first", "reask"]),
        ("empty", ["first", "reask"]),
        ("truncated", ["first", "reask"]),
        ("refused", ["first"]),
        ("auth_or_credit", ["first"]),
        ("model_mismatch", ["first"]),
        ("internal", ["first"]),
    ],
)
def test_A3_what_follows_a_failure(tmp_path: Path, first: str, wanted: list[str]) -> None:
    league = LiveLeague.begin(tmp_path, one_model(failing(first)))
    league.tick_at(FIRST_SLOT)
    assert whys(league) == [wanted, wanted]
    lines = read(league)
    for held in attempts_of(lines).values():
        assert [ask["attempt"] for ask, _ in held] == list(range(1, len(held) + 1))
        assert all(answer is not None for _, answer in held)
        for (before, _), (ask, _) in pairwise(held):
            assert ask["again"] == before["n"]
    assert Counter(len(calls) for calls in whys(league, "model-b")) == {1: 2}
    # Nothing is due any more: a tick later adds nothing.
    league.tick()
    assert read(league) == lines


@pytest.mark.parametrize("first", ["timeout", "transport", "rate_limited", "unparseable", "empty"])
def test_A3_the_first_valid_answer_counts_and_nothing_is_asked_after_it(
    tmp_path: Path, first: str
) -> None:
    league = LiveLeague.begin(
        tmp_path, one_model(in_turn(failing(first), answers("0.3"), answers("0.9"))), markets=1
    )
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert [p for cell, p in said(book(league), lines).items() if cell[1] == "model-a"] == ["0.3"]
    assert len(whys(league)[0]) == 2
    ended = answers_by_ask(lines)
    costs = [ended[ask["n"]]["cost"] for ask in of_kind(lines, "ask", forecaster="model-a")]
    assert costs == ["0", "0.004"]


def test_A3_a_re_ask_is_marked_in_the_text_and_in_the_line(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path, one_model(in_turn(fails("unparseable"), answers("0.3"))), markets=1
    )
    league.tick_at(FIRST_SLOT)
    first, second = of_kind(read(league), "ask", forecaster="model-a")
    assert (first["why"], second["why"]) == ("first", "reask")
    assert json.loads(body_of(book(league), second, "ask"))["reask"] is True
    assert json.loads(body_of(book(league), first, "ask"))["reask"] is False


def test_A3_retries_and_re_asks_have_limits_of_their_own(tmp_path: Path) -> None:
    mixed = in_turn(
        failing("timeout"), fails("unparseable"), failing("timeout"), fails("unparseable")
    )
    league = LiveLeague.begin(tmp_path, one_model(mixed), markets=1)
    league.tick_at(FIRST_SLOT)
    (held,) = whys(league)
    assert held.count("reask") == 1
    assert len(held) - held.count("reask") <= 3


def test_A3_a_retry_keeps_to_the_same_deadline(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    late = steps(league.clock, "2026-01-05T11:00:01Z", fails("timeout", retryable=True))
    league.models["model-a"].behaviour = in_turn(late, answers("0.9"))
    league.tick_at(FIRST_SLOT)
    assert len(league.models["model-a"].calls) == 1
    assert whys(league) == [["first"]]


def test_A3_a_retry_whose_wait_ends_after_the_deadline_is_not_sent(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)

    def limited(question: str, attempt: int) -> Reply:
        return Reply("rate_limited", raw=b"no", cost=Decimal(0), retryable=True, retry_after=0.6)

    league.models["model-a"].behaviour = in_turn(limited, answers("0.9"))
    # While model-a is waited for, the deadline passes.
    league.let_wait("model-b", "model-a")
    league.models["model-b"].behaviour = steps(league.clock, "2026-01-05T11:00:01Z", answers("0.5"))
    league.tick_at(FIRST_SLOT)
    assert len(league.models["model-a"].calls) == 1, "paid for after the deadline"


def test_A3_a_failure_that_is_not_to_be_tried_again_stays_so_after_a_restart(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.models["model-a"].behaviour = fails("transport", retryable=False)
    league.let_wait("model-b", "model-a")
    league.models["model-b"].behaviour = in_turn(dies, answers("0.5"))
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    assert of_kind(read(league), "answer", forecaster="model-a")
    league.tick()
    assert whys(league) == [["first"]]


def test_E2_derived_forecasters_are_never_called_and_cost_nothing(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert {ask["forecaster"] for ask in of_kind(lines, "ask")} == set(MODELS)
    assert {line["forecaster"] for line in of_kind(lines, "answer")} == set(MODELS)


# ---- T: time


def test_T1_second_start_is_a_no_op(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    assert league.tick_at(FIRST_SLOT).opened == [RUN]
    before = read(league)
    calls = {name: len(model.calls) for name, model in league.models.items()}
    for instant in (FIRST_SLOT, "2026-01-05T10:01:00Z", "2026-01-05T11:30:00Z"):
        done = league.tick_at(instant)
        assert (done.opened, done.missed, done.calls) == ([], [], 0)
    assert read(league) == before
    assert {name: len(model.calls) for name, model in league.models.items()} == calls


def test_T1_opening_a_slot_that_is_begun_seals_nothing(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.clock.step_to(FIRST_SLOT)
    pen, situation = league.open()
    with pen:
        (slot,) = due_slots(situation, FIRST_SLOT)

        async def twice() -> list[object]:
            opened = []
            for _ in range(2):
                run = await open_slot(pen, situation, league.venue, slot, league.folder)
                opened.append(run)
            return opened

        first, second = asyncio.run(twice())
        assert first is not None and second is None
    assert len(of_kind(read(league), "run")) == 1


def test_T1_a_cell_is_answered_once(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.play_until("2026-01-06T12:00:00Z")
    lines = read(league)
    valid = Counter(
        cell_of(ask)
        for ask in of_kind(lines, "ask")
        if answers_by_ask(lines)[ask["n"]]["status"] == "answered"
    )
    assert len(valid) == 3 * 2 * 3 and set(valid.values()) == {1}
    slots = [run["slot"] for run in of_kind(lines, "run")]
    assert len(slots) == len(set(slots)) == 3


def test_T1_a_restart_fills_only_what_is_missing(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = in_turn(dies, answers("0.5"))
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    before, asked = said(book(league), read(league)), attempts_of(read(league))
    assert len(before) >= 2
    while True:  # model-c dies once for each question
        with suppress(Killed):
            league.tick()
            break
    lines = read(league)
    after = said(book(league), lines)
    assert len(after) == 6 and after.items() >= before.items()
    for cell in before:
        assert attempts_of(lines)[cell] == asked[cell]
    assert sum(len(model.calls) for model in league.models.values()) <= len(of_kind(lines, "ask"))


@pytest.mark.parametrize(
    ("instant", "begins"),
    [
        ("2026-01-05T10:59:59Z", True),
        ("2026-01-05T11:00:01Z", False),
        ("2026-01-05T12:00:00Z", False),
    ],
)
def test_T1_a_slot_begins_within_its_grace_or_is_missed(
    tmp_path: Path, instant: str, begins: bool
) -> None:
    league = LiveLeague.begin(tmp_path)
    done = league.tick_at(instant)
    assert (done.opened, done.missed) == (([RUN], []) if begins else ([], [RUN]))
    lines = read(league)
    closes = of_kind(lines, "close")
    assert [close["status"] for close in closes] == (["complete"] if begins else ["missed"])
    assert closes[0]["slot"] == FIRST_SLOT
    assert bool(of_kind(lines, "ask")) == begins


def test_T1_missed_slots_are_each_said_once_and_never_backfilled(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    done = league.tick_at("2026-01-07T11:30:00Z")
    wanted = [f"2026-01-0{day}T{hour}00" for day in (5, 6) for hour in (10, 22)]
    wanted.append("2026-01-07T1000")
    assert done.missed == wanted and len(done.problems) >= len(wanted)
    before = read(league)
    assert [close["run"] for close in of_kind(before, "close", status="missed")] == wanted
    assert not of_kind(before, "ask") and not of_kind(before, "run")
    assert league.tick().missed == []
    assert read(league) == before
    assert league.tick_at("2026-01-07T22:00:00Z").opened == ["2026-01-07T2200"]


def test_T1_a_venue_that_comes_back_within_the_grace_is_asked_about(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.broken = True
    done = league.tick_at(FIRST_SLOT)
    assert (done.opened, done.missed) == ([], []) and done.problems
    assert [line["kind"] for line in read(league)] == ["league", "segment"]
    league.venue.broken = False
    assert league.tick_at("2026-01-05T10:40:00Z").opened == [RUN]
    assert len(said(book(league), read(league))) == 6


def test_T1_a_venue_that_is_away_through_the_grace_is_a_missed_slot(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.broken = True
    for instant in (FIRST_SLOT, "2026-01-05T10:59:00Z"):
        assert league.tick_at(instant).missed == []
    assert league.tick_at("2026-01-05T11:00:01Z").missed == [RUN]
    league.venue.broken = False
    assert league.tick_at("2026-01-05T11:01:00Z").opened == []


def test_T1_a_slot_stays_missed_in_the_book_though_the_next_one_is_interrupted(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, one_model(in_turn(dies, answers("0.3"))))
    with pytest.raises(Killed):
        league.tick_at("2026-01-05T22:01:00Z")  # nothing ticked at ten
    league.tick_at("2026-01-05T22:02:00Z")
    league.tick_at("2026-01-06T10:00:00Z")
    ends = {close["slot"]: close["status"] for close in of_kind(read(league), "close")}
    assert ends.get(FIRST_SLOT) == "missed", "a slot that never ran is nowhere to be seen"


@pytest.mark.parametrize(
    ("instant", "status"),
    [
        ("2026-01-05T11:00:00Z", "answered"),
        ("2026-01-05T11:00:01Z", "late"),
        ("2026-01-05T19:00:00Z", "late"),
    ],
)
def test_T2_an_answer_after_the_deadline_is_late(tmp_path: Path, instant: str, status: str) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = steps(league.clock, instant, answers("0.9"))
    league.tick_at(FIRST_SLOT)
    (line,) = of_kind(read(league), "answer", forecaster="model-c")
    assert (line["status"], line["received_at"], line["cost"]) == (status, instant, "0.004")
    late = status == "late"
    assert (line.get("cells") == [{"question": line["cells"][0]["question"], "missing": "late"}]
            if late else True)  # fmt: skip
    assert len(said(book(league), read(league))) == (2 if late else 3)
    assert whys(league, "model-c") == [["first"]]


def test_T2_an_answer_after_the_market_closed_is_late(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=0, changes={"min_hours = 24": "min_hours = 0"})
    league.venue.markets = [made_market(1, closes="2026-01-05T10:20:00Z")]
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = steps(league.clock, "2026-01-05T10:20:01Z", answers("0.9"))
    league.tick_at(FIRST_SLOT)
    ends = {line["forecaster"]: line["status"] for line in of_kind(read(league), "answer")}
    assert ends == {"model-a": "answered", "model-b": "answered", "model-c": "late"}


def test_T2_nothing_is_asked_of_a_market_that_has_closed(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=0, changes={"min_hours = 24": "min_hours = 0"})
    league.venue.markets = [made_market(1, closes="2026-01-05T10:20:00Z")]
    late = steps(league.clock, "2026-01-05T10:20:01Z", fails("timeout", retryable=True))
    league.models["model-c"].behaviour = in_turn(late, answers("0.9"))
    league.tick_at(FIRST_SLOT)
    assert len(league.models["model-c"].calls) == 1, "an answer to it can only be late"


def test_T2_a_clock_that_steps_back_makes_no_late_answer_timely(tmp_path: Path) -> None:
    """The book's own time is past the deadline, so the answer came after it."""
    league = LiveLeague.begin(tmp_path, markets=1)

    def back(question: str, attempt: int) -> Reply:
        (tmp_path / "clock").write_text("2026-01-05T10:30:00Z\n", encoding="ascii")
        return answers("0.9")(question, attempt)

    league.let_wait("model-b", "model-a")
    league.models["model-b"].behaviour = steps(league.clock, "2026-01-05T11:10:00Z", answers("0.8"))
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = back
    league.tick_at(FIRST_SLOT)
    ends = {line["forecaster"]: line["status"] for line in of_kind(read(league), "answer")}
    assert ends == {"model-a": "answered", "model-b": "late", "model-c": "late"}


ASKED_UNTIL = "2026-01-05T10:05:00Z"


def asked_league(tmp_path: Path, closes: list[str]) -> LiveLeague:
    """A league that asked markets with these ends in its first slot, and will ask no other."""
    changes = {
        'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 10 5 1 *"]',
        "markets = 2": f"markets = {len(closes)}",
        "per_topic = 3": "per_topic = 99",
    }
    league = LiveLeague.begin(
        tmp_path, markets=0, changes={"markets = 12": "markets = 2"} | changes
    )
    league.venue.markets = [made_market(n, closes=end) for n, end in enumerate(closes, 1)]
    league.tick_at(FIRST_SLOT)
    assert len(of_kind(read(league), "question")) == len(closes)
    league.venue.looked_up.clear()
    return league


def outcomes(league: LiveLeague) -> dict[str, str]:
    """The outcome of each settled market as first sealed, by market id."""
    lines = read(league)
    markets = {q["question"]: q["contract"]["market"] for q in of_kind(lines, "question")}
    return {markets[line["question"]]: line["outcome"] for line in of_kind(lines, "resolution")}


def test_T3_a_pass_is_idempotent(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"] * 3)
    league.venue.outcomes = {"m1": "yes", "m2": "no"}
    league.tick_at("2026-01-08T12:00:00Z")
    before = read(league)
    assert outcomes(league) == {"m1": "yes", "m2": "no"}
    pen, situation = league.open()
    with pen:
        for _ in range(3):
            asyncio.run(settle(pen, situation, league.venue, "2026-01-08T12:00:00Z"))
    assert read(league) == before
    for hours in range(4, 80, 4):
        league.tick_at(later("2026-01-08T12:00:00Z", hours=hours))
    assert read(league) == before


@pytest.mark.parametrize(
    "fault", [RemoteError("500", retryable=True), RemoteError("gone"), ValueError("a drift")]
)
def test_T3_a_market_that_fails_does_not_stop_the_rest(tmp_path: Path, fault: Exception) -> None:
    ends = [f"2026-01-08T12:00:{n:02}Z" for n in range(10)]
    league = asked_league(tmp_path, ends)
    league.venue.outcomes = {f"m{n}": "yes" for n in range(1, 11)}
    league.venue.faults = {"m1": fault, "m5": fault}
    try:
        done = league.tick_at("2026-01-08T13:00:00Z")
    except ValueError:
        pytest.fail("one market ended the whole pass")
    assert set(outcomes(league)) == {f"m{n}" for n in range(1, 11)} - {"m1", "m5"}
    assert done.settled is not None and set(done.settled.failed) == {"m1", "m5"}
    assert sum("m1" in problem or "m5" in problem for problem in done.problems) == 2
    league.venue.faults = {}
    league.tick_at("2026-01-08T17:00:00Z")
    assert len(outcomes(league)) == 10


def test_T3_the_longest_waiting_is_looked_up_first(tmp_path: Path) -> None:
    ends = ["2026-01-09T12:00:00Z", "2026-01-07T12:00:00Z", "2026-01-08T12:00:00Z"]
    league = asked_league(tmp_path, ends)
    league.tick_at("2026-01-10T17:00:00Z")
    assert league.venue.looked_up == ["m2", "m3", "m1"]


def test_T3_a_pass_comes_every_few_hours_and_not_at_every_tick(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    at = "2026-01-08T12:00:00Z"
    league.tick_at(at)
    passes = len(league.venue.looked_up)
    assert passes == 1
    for minutes in range(10, 24 * 60, 10):
        league.tick_at(later(at, minutes=minutes))
    assert 5 <= len(league.venue.looked_up) <= 7


def test_T3_a_market_that_ends_before_its_date_is_settled_by_the_next_passes(
    tmp_path: Path,
) -> None:
    """The venue's flags decide; its end date is a hint that may lie months out."""
    league = asked_league(tmp_path, ["2026-01-12T12:00:00Z"])
    league.tick_at("2026-01-06T05:00:00Z")
    league.venue.outcomes["m1"] = "yes"
    for hours in (4, 8):
        league.tick_at(later("2026-01-06T05:00:00Z", hours=hours))
    assert outcomes(league) == {"m1": "yes"}


@pytest.mark.parametrize("state", ["open", "closed", "proposed", "disputed"])
def test_T4_what_is_not_final_stays_open(tmp_path: Path, state: str) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.venue.states["m1"] = state
    league.venue.outcomes["m1"] = "yes"
    for day in range(1, 20):
        league.tick_at(later("2026-01-08T13:00:00Z", days=day))
    assert outcomes(league) == {}
    del league.venue.states["m1"]
    league.tick_at("2026-01-29T13:00:00Z")
    assert outcomes(league) == {"m1": "yes"}


def test_T4_an_even_payout_or_a_cancelled_market_is_void(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.venue.outcomes["m1"] = "void"
    league.tick_at("2026-01-08T12:00:00Z")
    assert outcomes(league) == {"m1": "void"}


def corrections(league: LiveLeague) -> list[str]:
    return [line["outcome"] for line in of_kind(read(league), "correction")]


@pytest.mark.parametrize("change", ["yes", "void"])
def test_T4_a_changed_word_is_a_correction_and_the_old_one_stays(
    tmp_path: Path, change: str
) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.venue.outcomes["m1"] = "no"
    league.tick_at("2026-01-08T12:00:00Z")
    before = read(league)
    league.venue.outcomes["m1"] = change
    for hours in range(4, 52, 4):
        league.tick_at(later("2026-01-08T12:00:00Z", hours=hours))
    lines = read(league)
    assert lines[: len(before)] == before and outcomes(league) == {"m1": "no"}
    (correction,) = of_kind(lines, "correction")
    (resolution,) = of_kind(lines, "resolution")
    assert correction["outcome"] == change and correction["lines"] == [resolution["n"]]
    assert correction["bodies"], "its evidence is kept"
    pen, situation = league.open()
    with pen:
        assert [held.outcome for held in situation.outcomes.values()] == [change]


def test_T4_a_word_that_changes_twice_is_corrected_twice(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    for day, outcome in ((8, "yes"), (10, "no"), (12, "yes"), (14, "yes")):
        league.venue.outcomes["m1"] = outcome
        for hour in (1, 13):
            league.tick_at(f"2026-01-{day:02}T{hour:02}:00:00Z")
    assert outcomes(league) == {"m1": "yes"} and corrections(league) == ["no", "yes"]


def test_T4_a_final_word_is_asked_for_again_for_seven_days_and_then_no_more(
    tmp_path: Path,
) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T12:00:00Z")
    league.venue.looked_up.clear()
    days = set()
    for hours in range(4, 24 * 12, 4):
        at = later("2026-01-08T12:00:00Z", hours=hours)
        league.tick_at(at)
        if league.venue.looked_up:
            days.add(at[:10])
        league.venue.looked_up.clear()
    assert {f"2026-01-{day:02}" for day in range(9, 15)} <= days
    assert max(days) <= "2026-01-16"


def test_T4_a_league_that_ticks_only_at_its_slots_sees_a_changed_word_too(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T22:00:00Z")
    assert outcomes(league) == {"m1": "yes"}
    league.venue.outcomes["m1"] = "no"
    for day in range(9, 15):
        for hour in (10, 22):
            league.tick_at(f"2026-01-{day:02}T{hour}:00:00Z")
    assert corrections(league) == ["no"]


def stale(league: LiveLeague, now: str) -> tuple[int, int]:
    """How many questions are stale, and how many open, by the status."""
    pen, situation = league.open()
    with pen:
        counts = status_of(situation, now, None)["questions"]
    return counts["stale"], counts["open"]


def test_T5_what_never_resolves_is_stale_and_opens_again_when_it_does(tmp_path: Path) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    assert stale(league, "2026-02-07T11:59:59Z") == (0, 1)
    assert stale(league, "2026-02-07T12:00:01Z") == (1, 0)
    for day in range(40):
        league.tick_at(later("2026-01-08T13:00:00Z", days=day))
    assert outcomes(league) == {}
    league.venue.outcomes["m1"] = "no"
    for hours in range(4, 52, 4):
        league.tick_at(later("2026-02-20T01:00:00Z", hours=hours))
    assert outcomes(league) == {"m1": "no"}
    assert stale(league, "2026-02-23T00:00:00Z") == (0, 0)


def test_T5_a_stale_market_is_seen_by_a_league_that_ticks_only_at_its_slots(
    tmp_path: Path,
) -> None:
    league = asked_league(tmp_path, ["2026-01-08T12:00:00Z"])
    league.tick_at("2026-02-20T10:00:00Z")
    league.venue.outcomes["m1"] = "no"
    for day in range(21, 26):
        for hour in (10, 22):
            league.tick_at(f"2026-02-{day}T{hour}:00:00Z")
    assert outcomes(league) == {"m1": "no"}


# ---- H: cohorts


def roster_text(*names: str) -> str:
    models = "".join(
        f'\n[[models]]\nforecaster = "{name}"\nvia = "plugin"\nplugin = "made-up"\n'
        f'model = "made-up/{name}"\nprice_ask = "0.01"\n'
        for name in names
    )
    return f'format = "beforehand-roster/1"\n{models}'


def seats(league: LiveLeague) -> dict[str, list[str]]:
    return {
        roster["run"]: [seat["forecaster"] for seat in roster["seats"]]
        for roster in of_kind(read(league), "roster")
    }


def test_H1_a_changed_lineup_waits_for_the_next_week(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.markets = [made_market(n, closes="2026-01-13T21:00:00Z") for n in range(1, 5)]
    league.tick_at("2026-01-05T22:00:00Z")
    (tmp_path / ROSTER_FILE).write_text(roster_text("model-a", "model-b"), encoding="utf-8")
    league.tick_at("2026-01-06T22:00:00Z")
    league.tick_at("2026-01-11T22:00:00Z")  # Sunday
    league.tick_at("2026-01-12T10:00:00Z")  # Monday
    found = seats(league)
    first = ("2026-01-05T2200", "2026-01-06T2200", "2026-01-11T2200")
    assert [found[run] for run in first] == [list(MODELS)] * 3
    assert found["2026-01-12T1000"] == ["model-a", "model-b"]


def test_H1_a_roster_file_that_is_broken_or_gone_in_mid_week_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / ROSTER_FILE).write_text(roster_text("model-a", "model-b"), encoding="utf-8")
    league = LiveLeague.begin(tmp_path)
    league.tick_at(FIRST_SLOT)
    (tmp_path / ROSTER_FILE).write_text("no roster at all", encoding="utf-8")
    league.tick_at(SECOND_SLOT)
    (tmp_path / ROSTER_FILE).unlink()
    league.tick_at("2026-01-06T10:00:00Z")
    assert list(seats(league).values()) == [["model-a", "model-b"]] * 3


def test_H1_the_week_comes_from_the_slot_though_its_first_slots_were_missed(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.markets = [made_market(n, closes="2026-01-14T12:00:00Z") for n in range(1, 5)]
    league.tick_at("2026-01-11T22:00:00Z")
    (tmp_path / ROSTER_FILE).write_text(roster_text("model-b"), encoding="utf-8")
    # Monday's slots pass unseen; the new week begins all the same.
    league.tick_at("2026-01-13T10:00:00Z")
    assert seats(league)["2026-01-13T1000"] == ["model-b"]
    pen, situation = league.open()
    with pen:
        runs = status_of(situation, "2026-01-13T12:00:00Z", None)["runs"]
    assert runs["cohorts"] == ["2026-W02", "2026-W03"]


def test_H1_week_53_is_a_cohort_of_its_own(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.markets = [made_market(n, closes="2027-01-07T12:00:00Z") for n in range(1, 5)]
    for at in ("2026-12-31T10:00:00Z", "2027-01-03T22:00:00Z", "2027-01-04T10:00:00Z"):
        league.tick_at(at)
    pen, situation = league.open()
    with pen:
        assert set(situation.ledger.accounts) == {"2026-W53", "2027-W01"}


# ---- U: money; test_money.py has the rest


def test_U1_a_market_is_asked_of_all_models_or_of_none(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path,
        {name: answers("0.4", "0.01") for name in MODELS},
        changes={'cap = "50.00"': 'cap = "0.05"'},
    )
    league.tick_at(FIRST_SLOT)
    asked = Counter(ask["questions"][0] for ask in of_kind(read(league), "ask"))
    assert list(asked.values()) == [3]


def test_U2_a_run_that_meets_the_cap_says_so_and_the_next_week_opens(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path,
        {name: answers("0.4", "0.01") for name in MODELS},
        changes={'cap = "50.00"': 'cap = "0.05"'},
    )
    done = league.tick_at(FIRST_SLOT)
    assert done.closed == {RUN: "stopped_budget"} and any(
        "budget" in each for each in done.problems
    )
    (close,) = of_kind(read(league), "close")
    assert "budget" in close["why"]
    league.venue.markets = [made_market(n, closes="2026-01-15T12:00:00Z") for n in range(1, 5)]
    done = league.tick_at("2026-01-12T10:00:00Z")
    assert done.opened == ["2026-01-12T1000"] and done.calls == 3


# ---- D: what is kept


def test_D1_every_attempt_is_kept_whole(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, one_model(in_turn(fails("unparseable"), answers("0.3"))))
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (roster,) = of_kind(lines, "roster")
    lineup = json.loads(body_of(book(league), roster, "lineup"))
    assert [model["price_ask"] for model in lineup["models"]] == ["0.01"] * 3
    assert len(of_kind(lines, "ask")) == len(of_kind(lines, "answer")) == 8
    sent = Counter(call for model in league.models.values() for call in model.calls)
    assert (
        Counter(body_of(book(league), ask, "ask").decode() for ask in of_kind(lines, "ask")) == sent
    )
    for ask in of_kind(lines, "ask"):
        assert Decimal(ask["reserved"]) == Decimal("0.01")
    for line in of_kind(lines, "answer"):
        assert body_of(book(league), line, "reply")
        assert {"received_at", "latency_ms", "cost", "served_model", "requested_model"} <= set(line)
        assert line["ask_line"] < line["n"]


def test_D1_the_book_only_grows(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, one_model(in_turn(dies, fails("timeout", retryable=True),
                                                          answers("0.3"))))  # fmt: skip
    league.venue.outcomes = {"m1": "yes"}
    before = b""
    for at in (FIRST_SLOT, FIRST_SLOT, SECOND_SLOT, "2026-01-08T12:00:00Z", "2026-01-09T01:00:00Z"):
        with suppress(Killed):
            league.tick_at(at)
        data = (book(league) / "book.jsonl").read_bytes()
        assert data.startswith(before)
        before = data


def test_D2_every_instant_is_utc_and_says_so(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.venue.outcomes = {"m1": "yes", "m2": "no"}
    league.play_until("2026-01-08T17:00:00Z")

    def instants(value: object) -> list[str]:
        if isinstance(value, dict):
            return [found for each in value.values() for found in instants(each)]
        if isinstance(value, list):
            return [found for each in value for found in instants(each)]
        stamped = isinstance(value, str) and value[:4].isdigit() and value[10:11] == "T"
        return [value] if stamped and len(value) > 15 else []

    found = [each for line in read(league) for each in instants(line)]
    assert len(found) > 100
    for each in found:
        assert each.endswith("Z")
        assert datetime.fromisoformat(each.replace("Z", "+00:00")).utcoffset() == timedelta(0)


def test_T1_a_second_process_is_kept_out_while_one_is_at_work(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    league.clock.step_to(FIRST_SLOT)
    pen, _ = league.open()
    with pen, pytest.raises(ConflictError):
        league.tick()
    assert league.tick().opened == [RUN]


def test_B17_one_market_an_event_and_no_ask_holds_another_markets_text(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=0, changes={"per_topic = 3": "per_topic = 99"})

    def market(number: int, event: str) -> Market:
        return replace(made_market(number, event=event), description=f"The text of {number}.")

    league.venue.markets = [market(1, "e1"), market(2, "e1"), market(3, "e3"), market(4, "e1")]
    league.tick_at(FIRST_SLOT)
    assert [each["id"] for each in pool_of(league)["chosen"]] == ["m1", "m3"]
    for model in league.models.values():
        assert len(model.calls) == 2
        for call in model.calls:
            assert sum(f"number {n} be" in call for n in range(1, 5)) == 1


def test_M1_a_slot_without_an_eligible_market_asks_nobody_and_is_no_failure(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=0)
    league.venue.markets = [replace(made_market(1), bid=Decimal("0.98"), ask=Decimal("0.99"))]
    done = league.tick_at(FIRST_SLOT)
    assert done.opened == [RUN] and done.calls == 0
    assert [each["reason"] for each in pool_of(league)["dropped"]] == ["price"]
    assert not done.failed, "nothing was asked, so nothing failed"
