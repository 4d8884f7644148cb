"""Faults that a hostile review of the blind board found, each held here so that it stays away."""

# ruff: noqa: N802 - a rule is found by its id, in capitals

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from beforehand.publish.leaderboard import LeagueScores
from beforehand.records.run import Seat
from beforehand.scoring.paired import cluster_mean, question_mean

from .blind_league import (
    MODELS,
    SLOT,
    BlindBook,
    book_of,
    drawn_table,
    entry_of,
    later,
    model_seats,
    rows_of,
    settle_all,
    slot_number,
    text_of,
)
from .plain import Table

GUEST = Seat("guest", "accepted")


def ranks(scores: LeagueScores) -> dict[str, int | None]:
    return {entry["forecaster"]: entry["rank"] for entry in scores.board["forecasters"]}


def with_guest(table: Table, said: dict[tuple[str, int], str], asked: int | None = None) -> Any:
    """A table's league with an entrant who says `said`; the budget stops after `asked` markets."""
    book = BlindBook()
    for slot in sorted({slot for slot, _ in table.quotes}):
        quotes = {
            q: (text_of(bid), text_of(ask))
            for (at, q), (bid, ask) in sorted(table.quotes.items())
            if at == slot
        }
        run = book.run(slot, quotes, events=table.events, seats=(*model_seats(), GUEST))
        for number in list(quotes)[:asked]:
            for name in MODELS:
                p = table.said[name][slot, number]
                book.say(run, name, number, None if p is None else text_of(p))
        for number in quotes:
            if (slot, number) in said:
                book.answer(run, "guest", number, said[slot, number])
        book.close(run, "complete" if asked is None else "stopped_budget")
    settle_all(book, table)
    return book.scores()


def test_S5_an_entrant_who_answers_what_the_budget_stopped_unranks_nobody() -> None:
    table = drawn_table(100, 1, seed=3)
    every = dict.fromkeys(table.quotes, "0.5")
    alone, beside = with_guest(table, {}, 40), with_guest(table, every, 40)
    assert beside.board["shared"]["n"] == alone.board["shared"]["n"] == 40
    assert beside.board["shared"]["sha256"] == alone.board["shared"]["sha256"]
    known = {name: rank for name, rank in ranks(alone).items() if rank is not None}
    assert known and {n: r for n, r in ranks(beside).items() if n in known} == known
    assert beside.board["cohorts"][0]["shared"] == alone.board["cohorts"][0]["shared"]


def test_S5_an_entrant_cannot_choose_by_silence_on_what_models_are_compared() -> None:
    table = drawn_table(40, 1, seed=3)
    keys = sorted(table.quotes)
    alone = with_guest(table, {})
    silent = with_guest(table, dict.fromkeys(keys[8:], "0.5"))
    told = entry_of(silent, "guest")
    assert told["reliability"]["share"] == "0.800000"
    assert silent.board["shared"]["sha256"] == alone.board["shared"]["sha256"]
    for name in (*MODELS, "crowd", "ensemble"):
        assert entry_of(silent, name)["gain"] == entry_of(alone, name)["gain"]
    assert "guest" not in silent.board["shared"]["forecasters"]


def test_B26_an_entrant_who_can_see_the_price_takes_no_rank_among_the_blind() -> None:
    table = drawn_table(60, 1, seed=3)
    alone, later_price = with_guest(table, {}), {}
    for key, (bid, ask) in table.quotes.items():
        middle = (bid + ask) / 2
        moved = middle + (bool(table.outcomes[key[1]]) - middle) / 4
        later_price[key] = text_of(Fraction(round(moved * 10_000), 10_000))
    scores = with_guest(table, later_price)
    guest = entry_of(scores, "guest")
    assert guest["rank"] is None and "may have seen the price" in guest["why_unranked"]
    assert float(guest["gain"]["mean"]) > 0 and guest["gain"]["n"] == 60
    better = [
        entry
        for entry in scores.board["forecasters"]
        if entry["rank"] and Fraction(entry["gain"]["mean"]) > Fraction(guest["gain"]["mean"])
    ]
    assert guest["why_unranked"].endswith(f"it would stand at place {len(better) + 1}")
    for name in (*MODELS, "crowd", "ensemble"):
        assert entry_of(scores, name)["rank"] == entry_of(alone, name)["rank"] is not None


def test_L1_an_entrants_answers_to_what_nobody_was_asked_make_up_for_no_silence() -> None:
    table = drawn_table(20, 1, seed=3)
    keys = sorted(table.quotes)
    told = entry_of(with_guest(table, dict.fromkeys(keys[5:], "0.5"), 10), "guest")
    assert (told["reliability"]["valid"], told["reliability"]["attempted"]) == (5, 10)


@pytest.mark.parametrize(("minutes", "attempted"), [(10, 1), (60, 1), (61, 2)])
def test_L1_an_entrant_is_silent_only_once_the_deadline_is_past(
    minutes: int, attempted: int
) -> None:
    book = BlindBook()
    run = book.run(SLOT, dict.fromkeys((1, 2, 3), ("0.40", "0.44")), seats=(*model_seats(), GUEST))
    for name in MODELS:
        for number in (1, 2):
            book.say(run, name, number, "0.5")
    book.answer(run, "guest", 1, None, failure="refused")
    close = book.close(run)
    at = later(SLOT, minutes=minutes)
    _, records, bodies = book.steps[-1]
    book.steps[-1] = (at, [type(records[0])(**{**vars(records[0]), "at": at})], bodies)
    assert close
    assert entry_of(book.scores(), "guest")["reliability"]["attempted"] == attempted


def trial_and_stop() -> LeagueScores:
    """A run that does not count, then one that the budget stopped after the first of two."""
    book = BlindBook()
    trial = book.run(SLOT, {1: ("0.40", "0.44")}, counted=False)
    stopped = book.run(slot_number(1), dict.fromkeys((2, 3), ("0.40", "0.44")))
    for run, number in ((trial, 1), (stopped, 2)):
        for name in MODELS:
            book.say(run, name, number, "0.9")
        book.close(run, "complete" if run == trial else "stopped_budget")
    never = book.run(slot_number(2), {4: ("0.40", "0.44")})
    book.close(never, "stopped_budget")
    for number in (1, 2):
        book.settle(number, "yes")
    return book.scores()


def test_coverage_is_of_what_was_asked_and_not_of_trials_and_budget_stops() -> None:
    scores = trial_and_stop()
    assert scores.board["events"] == 1
    for name in ("ant", "crowd", "ensemble"):
        assert entry_of(scores, name)["coverage"] == "1.000000"


def test_H2_a_trial_run_has_no_failed_forecasts() -> None:
    (cohort,) = trial_and_stop().board["cohorts"]
    assert (cohort["forecasts"], cohort["scored"], cohort["failed"]) == (6, 6, 0)


def moved_end(*, edited: bool) -> LeagueScores:
    """Market 1 asked in two slots and market 2 in one; the venue moves the first one's end."""
    book = BlindBook()
    said = {1: "0.9", 2: "0.1"}
    run = book.run(SLOT, dict.fromkeys(said, ("0.40", "0.44")))
    for name in MODELS:
        for number, p in said.items():
            book.say(run, name, number, p)
    book.close(run)
    old = book.ids[1]
    if edited:
        del book.ids[1]
    again = book.run(slot_number(1), {1: ("0.40", "0.44")}, closes={1: later(SLOT, days=16)})
    for name in MODELS:
        book.say(again, name, 1, "0.9")
    book.close(again)
    for number in (1, 2):
        book.settle(number, "yes")
    if edited:
        book.ids[1] = old
        book.settle(1, "yes")
    return book.scores()


def test_S4_a_market_whose_end_the_venue_moves_still_weighs_once() -> None:
    plain, edited = moved_end(edited=False), moved_end(edited=True)
    assert len({row.question for row in rows_of(edited, "ant")}) == 3
    assert edited.board["shared"]["questions"] == plain.board["shared"]["questions"] == 2
    for key in ("gain_on_crowd", "brier", "questions"):
        assert entry_of(edited, "ant")[key] == entry_of(plain, "ant")[key]
    assert edited.board["analysis"]["questions"] == 2
    assert edited.board["analysis"]["curve"] == plain.board["analysis"]["curve"]


def test_the_base_rate_takes_a_market_once_however_often_it_is_edited() -> None:
    book = BlindBook()
    run = book.run(SLOT, dict.fromkeys((1, 2), ("0.40", "0.44")))
    for number in (1, 2):
        for name in MODELS:
            book.say(run, name, number, "0.5")
    book.close(run)
    book.settle(2, "no")
    old = book.ids.pop(1)
    again = book.run(slot_number(1), {1: ("0.40", "0.44")}, closes={1: later(SLOT, days=16)})
    for name in MODELS:
        book.say(again, name, 1, "0.5")
    book.close(again)
    book.settle(1, "yes")
    book.ids[1] = old
    book.settle(1, "yes")
    assert {row.p for row in rows_of(book.scores(), "base_rate")} == {"0.5"}


def test_S5_the_set_of_a_league_without_entrants_is_as_before() -> None:
    scores = book_of(drawn_table(32, 2, failing={"bee": 0.1})).scores()
    assert scores.board["shared"]["forecasters"] == list(MODELS)


@pytest.mark.parametrize("sizes", [(1,) * 9 + (21,), (1,) * 29 + (14,), (14, 14) + (1,) * 20])
def test_S4_the_interval_holds_where_one_event_has_most_of_the_questions(
    sizes: tuple[int, ...],
) -> None:
    rng = random.Random(11)
    missed, rounds = 0, 400
    for _ in range(rounds):
        values = []
        for event, size in enumerate(sizes):
            common = rng.gauss(0, 0.7)
            values += [
                (event, (event, n), Fraction(round(1000 * (common + rng.gauss(0, 0.7))), 1000))
                for n in range(size)
            ]
        held = question_mean(values)
        assert held.low is not None and held.high is not None
        missed += not held.low <= 0 <= held.high
    assert missed / rounds <= 0.08, "a 95 % interval misses about one time in twenty"


def test_S4_with_events_of_one_size_it_is_the_t_interval_on_their_means() -> None:
    rng = random.Random(3)
    values = [(e, (e, n), Fraction(rng.randrange(100), 100)) for e in range(12) for n in range(3)]
    own, means = question_mean(values), cluster_mean([(e, v) for e, _, v in values])
    assert own.mean == means.mean
    assert (own.se, own.low, own.high) == pytest.approx((means.se, means.low, means.high))


def test_S5_no_loss_on_the_shared_set_is_shown_of_a_part_of_it() -> None:
    table = drawn_table(40, 1, failing={"dog": 0.5}, seed=3)
    scores = book_of(table).scores()
    dog = entry_of(scores, "dog")
    assert dog["rank"] is None and dog["gain"]["n"] < scores.board["shared"]["n"]
    assert dog["brier_shared"] is None
    assert entry_of(scores, "ant")["brier_shared"] is not None
