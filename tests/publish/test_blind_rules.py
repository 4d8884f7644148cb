"""The rules of a blind league, each as a test named by its id, against plain arithmetic."""

# ruff: noqa: N802 - a rule is found by its id, in capitals

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from beforehand.errors import FormatError
from beforehand.publish.cohorts import cohort_of
from beforehand.publish.leaderboard import LeagueScores
from beforehand.records.codec import digest, seal_json
from beforehand.records.run import Seat
from beforehand.scoring.calibration import wilson
from beforehand.scoring.exact import decimal_places

from .blind_league import (
    CLOSES,
    MODELS,
    SLOT,
    BlindBook,
    book_of,
    drawn_table,
    entry_of,
    later,
    model_seats,
    rows_of,
    slot_number,
)
from .plain import (
    HALF,
    Table,
    event_interval,
    kelly,
    on_grid,
    question_mean,
    shared_keys,
)

CAP = Fraction(1, 4)
ONE = {1: ("0.40", "0.44")}


def text(value: Fraction | None) -> str | None:
    return None if value is None else decimal_places(value, 6)


@pytest.fixture(scope="module")
def large() -> tuple[Table, LeagueScores]:
    """36 markets of 18 events, three slots, six models, one of which fails now and then."""
    table = drawn_table(36, 3, failing={"bee": 0.08}, per_event=2)
    return table, book_of(table).scores()


def one_run(answers: dict[str, str | None], *, outcome: str | None = "yes") -> LeagueScores:
    """One slot, one market at 0.42, and what each model said."""
    book = BlindBook()
    run = book.run(SLOT, ONE, seats=model_seats(answers))
    for name, p in answers.items():
        book.say(run, name, 1, p)
    book.close(run)
    if outcome:
        book.settle(1, outcome)
    return book.scores()


# ---- the crowd


def test_C1_the_crowd_is_the_middle_of_the_runs_own_prices() -> None:
    """B27: a market asked twice has two prices, and each answer meets its own."""
    book = BlindBook()
    for number, sides in enumerate((("0.40", "0.44"), ("0.80", "0.90"))):
        run = book.run(slot_number(number), {1: sides})
        for name in MODELS[:3]:
            book.say(run, name, 1, "0.5")
        book.close(run)
    book.settle(1, "yes")
    scores = book.scores()
    assert [row.units for row in rows_of(scores, "crowd")] == [4200, 8500]
    assert [(row.crowd_units, row.bid, row.ask) for row in rows_of(scores, "ant")] == [
        (4200, "0.40", "0.44"),
        (8500, "0.80", "0.90"),
    ]
    assert entry_of(scores, "ant")["gain_on_crowd"]["mean"] == text(
        (
            (Fraction(58, 100) ** 2 - Fraction(1, 4)) + (Fraction(15, 100) ** 2 - Fraction(1, 4))
        ) / 2
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sides", "read_minutes", "there"),
    [
        (("0.40", "0.50"), 0, True),
        (("0.40", "0.51"), 0, False),
        (("0.44", "0.40"), 0, False),
        (("0.40", "0.44"), -4, True),
        (("0.40", "0.44"), -5, False),
        (("0.40", "0.44"), 2, False),
    ],
)
def test_C1_a_wide_a_stale_and_a_later_price_are_no_crowd(
    sides: tuple[str, str], read_minutes: int, there: bool
) -> None:
    """The first ask stands one minute after the slot; at most five minutes before it."""
    book = BlindBook()
    run = book.run(SLOT, {1: sides}, read_at=later(SLOT, minutes=read_minutes))
    for name in MODELS:
        book.say(run, name, 1, "0.5")
    book.close(run)
    book.settle(1, "yes")
    scores = book.scores()
    row = rows_of(scores, "crowd")[0]
    assert (row.units is not None) is there
    assert (row.status, row.why) == (("counted", "") if there else ("missing", "no_price"))
    assert scores.board["shared"]["n"] == int(there)


@pytest.mark.parametrize("sides", [("0.40", None), (None, "0.44"), (None, None)])
def test_C2_one_side_is_never_a_probability(sides: tuple[str | None, str | None]) -> None:
    book = BlindBook()
    run = book.run(SLOT, {1: sides})
    book.say(run, "ant", 1, "0.5")
    book.close(run)
    book.settle(1, "no")
    scores = book.scores()
    assert rows_of(scores, "crowd")[0].units is None
    assert entry_of(scores, "ant")["gain_on_crowd"]["n"] == 0


def test_C1_a_run_has_its_own_snapshot_and_never_one_of_an_end() -> None:
    for moment, other in (("end", None), ("start", "2026-01-04T10")):
        book = BlindBook()
        book.run(SLOT, ONE)
        records = book.steps[0][1]
        place = next(n for n, record in enumerate(records) if record.kind == "snapshot")
        changed = {"moment": moment, **({"run": other} if other else {})}
        records[place] = replace(records[place], **changed)  # type: ignore[arg-type]
        with pytest.raises(FormatError, match=r"another run|run's end"):
            book.fold()


def test_the_price_of_the_end_flags_and_never_scores() -> None:
    """Moved by more than a tenth; a lookup where it left the band; a side alone denies nothing."""
    quotes = dict.fromkeys(range(1, 6), ("0.40", "0.44"))
    book = BlindBook()
    run = book.run(SLOT, quotes)
    for number in quotes:
        book.say(run, "ant", number, "0.5")
    book.end(
        run,
        {
            1: ("0.50", "0.54"),
            2: ("0.51", "0.54"),
            3: ("0.96", None),
            4: ("0.40", None),
        },
    )
    book.close(run)
    rows = rows_of(book.scores(), "ant")
    assert [(row.moved, row.lookup) for row in rows] == [
        (False, False),
        (True, False),
        (True, True),
        (None, None),
        (None, None),
    ]
    assert {row.crowd_units for row in rows} == {4200}


# ---- the ensemble


def test_E1_the_ensemble_is_the_plain_mean_of_the_valid() -> None:
    scores = one_run({"ant": "0.1", "bee": "0.2", "cat": "0.6", "dog": None})
    row = rows_of(scores, "ensemble")[0]
    assert Fraction(row.units or 0, 10_000) == on_grid(Fraction(3, 10)) and row.members == 3
    assert row.status == "counted"
    assert entry_of(scores, "ensemble")["reliability"]["valid"] == 1


def test_E1_below_three_members_it_fails_and_says_so() -> None:
    scores = one_run({"ant": "0.1", "bee": "0.2", "cat": None})
    row = rows_of(scores, "ensemble")[0]
    assert (row.units, row.status, row.why, row.members) == (None, "missing", "too_few_members", 2)
    told = entry_of(scores, "ensemble")["reliability"]
    assert (told["valid"], told["attempted"]) == (0, 1)
    assert told["failures"] == {"too_few_members": 1}


def test_E1_it_waits_for_the_run_and_no_entrant_moves_it() -> None:
    book = BlindBook()
    seats = (*model_seats(MODELS[:3]), Seat("stranger", "accepted"))
    run = book.run(SLOT, ONE, seats=seats)
    for name in MODELS[:3]:
        book.say(run, name, 1, "0.2")
    early = book.scores(as_of=later(SLOT, minutes=10))
    assert [(row.status, row.units) for row in rows_of(early, "ensemble")] == [("pending", None)]
    assert {row.status for row in early.rows if row.kind == "asked"} == {"sealed"}
    book.answer(run, "stranger", 1, "1")
    book.close(run)
    scores = book.scores()
    assert [row.units for row in rows_of(scores, "ensemble")] == [2000]
    assert [row.status for row in rows_of(scores, "stranger")] == ["open"]


def test_E1_a_closed_run_still_waits_for_answers_that_are_withheld() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    for name in MODELS:
        book.say(run, name, 1, None if name == "fox" else "0.2")
    book.close(run)
    early = book.scores(as_of=later(SLOT, minutes=59))
    assert [row.status for row in rows_of(early, "ensemble")] == ["pending"]
    assert [row.units for row in rows_of(book.scores(), "ensemble")] == [2000]


def test_E2_nobody_pays_for_what_is_computed() -> None:
    scores = one_run(dict.fromkeys(MODELS, "0.4"))
    assert [held["forecaster"] for held in scores.board["costs"]["forecasters"]] == sorted(MODELS)


# ---- attempts


def test_A3_the_first_valid_answer_counts_and_every_attempt_is_kept() -> None:
    """B31: fail, fail, answered: the cost of three, one forecast."""
    book = BlindBook()
    run = book.run(SLOT, ONE)
    first = book.ask(run, "ant", 1)
    book.answer(run, "ant", 1, ask_line=first, failure="transport", cost=None)
    second = book.ask(run, "ant", 1, attempt=2, why="retry", again=first)
    book.answer(run, "ant", 1, ask_line=second, failure="unparseable", cost="0.002")
    third = book.ask(run, "ant", 1, attempt=3, why="reask", again=second)
    book.answer(run, "ant", 1, "0.7", ask_line=third, cost="0.003")
    book.close(run)
    book.settle(1, "yes")
    scores = book.scores()
    rows = rows_of(scores, "ant")
    assert [(r.status, r.p, r.attempt, r.attempts) for r in rows] == [("counted", "0.7", 3, 3)]
    assert [(a.standing, a.status, a.brier_units) for a in scores.attempts] == [
        ("retried", "transport", None),
        ("retried", "unparseable", None),
        ("counts", "answered", 9_000_000),
    ]
    assert [str(a.charged) for a in scores.attempts] == ["1/100", "1/500", "3/1000"]
    costs = scores.board["costs"]
    assert (costs["spent"], costs["standing"], costs["committed"]) == ("0.005", "0.01", "0.015")
    told = entry_of(scores, "ant")["reliability"]
    assert (told["valid"], told["attempted"], told["first_try"]) == (1, 1, 0)


def test_A3_nothing_counts_after_a_valid_answer() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    line = book.say(run, "ant", 1, "0.7")
    again = book.ask(run, "ant", 1, attempt=2, why="retry", again=line)
    book.answer(run, "ant", 1, "0.99", ask_line=again)
    # A second reply to an ask is none, nor is an answer that nobody asked for.
    book.answer(run, "ant", 1, "0.98", ask_line=line)
    book.answer(run, "ant", 1, "0.97")
    book.close(run)
    book.settle(1, "yes")
    scores = book.scores()
    assert [(r.p, r.status) for r in rows_of(scores, "ant")] == [
        ("0.7", "counted"),
        ("0.97", "not_asked"),
    ]
    assert [a.standing for a in scores.attempts] == ["counts", "out", "out"]
    assert entry_of(scores, "ant")["n_counted"] == 1


def test_D1_an_ask_without_an_answer_is_visible_and_its_reservation_stands() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    book.ask(run, "ant", 1)
    waiting = book.scores()
    assert [row.status for row in rows_of(waiting, "ant")] == ["pending"]
    assert waiting.attempts[0].standing == "waiting"
    assert waiting.board["costs"]["standing"] == "0.01"
    book.close(run)
    closed = book.scores()
    assert [(r.status, r.why) for r in rows_of(closed, "ant")] == [("missing", "not_answered")]
    assert closed.board["costs"]["standing"] == "0.01"
    assert entry_of(closed, "ant")["reliability"]["failures"] == {"not_answered": 1}


def test_U1_money_adds_up_by_run_cohort_and_forecaster(large: tuple[Table, LeagueScores]) -> None:
    _, scores = large
    board = scores.board
    asks = len(scores.attempts)
    assert asks == 36 * 3 * 6
    assert Decimal(board["costs"]["spent"]) == asks * Decimal("0.004")
    for part in (board["runs"], board["cohorts"], board["costs"]["forecasters"]):
        for key in ("spent", "standing", "committed"):
            assert sum(Decimal(held[key]) for held in part) == Decimal(board["costs"][key])


# ---- time


@pytest.mark.parametrize(
    ("sealed", "received", "status"),
    [(60, 60, "open"), (61, 60, "late"), (60, 61, "late"), (61, 30, "late")],
)
def test_T2_late_by_the_seal_or_by_the_arrival(sealed: int, received: int, status: str) -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    line = book.ask(run, "ant", 1)
    at, got = later(SLOT, minutes=sealed), later(SLOT, minutes=received)
    book.answer(run, "ant", 1, "0.5", ask_line=line, at=at, received_at=got)
    scores = book.scores()
    assert [row.status for row in rows_of(scores, "ant")] == [status]
    assert entry_of(scores, "ant")["reliability"]["valid"] == int(status == "open")


def test_T2_after_the_market_closed_is_late() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE, closes={1: later(SLOT, minutes=1)})
    book.say(run, "ant", 1, "0.5")
    assert [row.status for row in rows_of(book.scores(), "ant")] == ["late"]


def test_T2_an_end_that_was_past_at_the_slot_says_nothing() -> None:
    """B12: a market that goes on trading past its end date is asked, and is not stale at once."""
    book = BlindBook()
    run = book.run(SLOT, ONE, closes={1: later(SLOT, days=-68)})
    book.say(run, "ant", 1, "0.5")
    assert [row.status for row in rows_of(book.scores(), "ant")] == ["open"]


def test_T4_what_was_sealed_after_the_outcome_does_not_count() -> None:
    """By the line of the outcome and by its instant; decided before the run is nobody's failure."""
    book = BlindBook()
    run = book.run(SLOT, {1: ("0.40", "0.44"), 2: ("0.40", "0.44"), 3: ("0.40", "0.44")})
    for number in (1, 2, 3):
        book.ask(run, "ant", number)
    asked = list(book.fold().asks)
    book.answer(run, "ant", 1, "0.9", ask_line=asked[0])
    book.settle(2, "yes", at=later(SLOT, minutes=3))
    book.answer(run, "ant", 2, "0.9", ask_line=asked[1], at=later(SLOT, minutes=3))
    book.answer(run, "ant", 3, "0.9", ask_line=asked[2], at=later(SLOT, minutes=3))
    book.settle(1, "yes", instant=later(SLOT, minutes=2))
    book.settle(3, "yes", instant=later(SLOT, minutes=-60))
    scores = book.scores()
    assert [row.status for row in rows_of(scores, "ant")] == ["after_outcome"] * 3
    assert [row.status for row in rows_of(scores, "crowd")] == [
        "counted",
        "counted",
        "after_outcome",
    ]
    told = entry_of(scores, "ant")["reliability"]
    assert (told["attempted"], told["failures"]) == (2, {"after_outcome": 2})


def test_T4_void_scores_nobody_and_a_correction_rescores() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    for name in MODELS:
        book.say(run, name, 1, "0.7")
    book.close(run)
    line = book.settle(1, "void")
    assert {row.status for row in book.scores().rows} == {"void"}
    book.correct(line, "yes", "2026-01-21T00:00:00Z")
    scores = book.scores()
    assert {row.status for row in scores.rows} == {"counted"}
    assert entry_of(scores, "ant")["brier"]["mean"] == "0.090000"
    assert rows_of(scores, "ant")[0].resolution_line == book.lines


def test_T5_stale_after_the_declared_days_and_open_again_when_it_resolves() -> None:
    book = BlindBook()
    run = book.run(SLOT, {1: ("0.40", "0.44"), 2: ("0.40", "0.44")})
    for name in MODELS:
        book.say(run, name, 1, "0.7")
        book.say(run, name, 2, "0.7")
    book.close(run)
    book.settle(2, "no", at=later(CLOSES, days=30))
    assert {row.status for row in rows_of(book.scores(), "ant")} == {"open", "counted"}
    book.correct(book.lines, "no", later(CLOSES, days=30, seconds=1))
    stale = book.scores()
    assert {row.status for row in rows_of(stale, "ant")} == {"stale", "counted"}
    assert entry_of(stale, "ant")["n_stale"] == 1
    assert entry_of(stale, "ant")["reliability"]["valid"] == 2
    assert stale.board["cohorts"][0]["state"] == "complete"
    book.settle(1, "yes", at=later(CLOSES, days=40))
    assert {row.status for row in rows_of(book.scores(), "ant")} == {"counted"}


# ---- cohorts


def test_H1_a_cohort_is_the_iso_week_of_the_slot() -> None:
    assert cohort_of("2026-01-04T22:00:00Z") == "2026-W01"
    assert cohort_of("2026-01-05T10:00:00Z") == "2026-W02"
    assert cohort_of("2027-01-03T22:00:00Z") == "2026-W53"
    book = BlindBook()
    for slot in (SLOT, "2026-01-11T22:00:00Z", "2026-01-12T10:00:00Z"):
        run = book.run(slot, ONE)
        book.say(run, "ant", 1, "0.5")
        book.close(run)
    scores = book.scores()
    assert [row.cohort for row in rows_of(scores, "ant")] == ["2026-W02", "2026-W02", "2026-W03"]
    assert [(c["cohort"], c["runs"], c["lineups"]) for c in scores.board["cohorts"]] == [
        ("2026-W02", 2, 1),
        ("2026-W03", 1, 1),
    ]


def test_H2_a_cohort_is_complete_when_its_week_is_over_and_nothing_is_open() -> None:
    book = BlindBook()
    run = book.run(SLOT, ONE)
    book.say(run, "ant", 1, "0.5")
    book.say(run, "bee", 1, None)
    book.close(run)
    assert book.scores().board["cohorts"][0]["state"] == "running"
    early = book.settle(1, "yes", at="2026-01-08T00:00:00Z")
    assert book.scores().board["cohorts"][0]["state"] == "running"
    book.correct(early, "yes", "2026-01-12T00:00:00Z")
    cohort = book.scores().board["cohorts"][0]
    assert (cohort["state"], cohort["scored"], cohort["failed"]) == ("complete", 1, 1)

    late = BlindBook()
    late.say(late.run(SLOT, ONE), "ant", 1, "0.5")
    late.close("2026-01-05T10")
    late.run("2026-01-12T10:00:00Z", {1: ("0.40", "0.44")})
    assert late.scores().board["cohorts"][0]["state"] == "settling"


# ---- scores


def test_S1_the_brier_loss_is_the_one_outcome_form(large: tuple[Table, LeagueScores]) -> None:
    table, scores = large
    for name in MODELS:
        valid = table.valid(name)
        losses = {key: table.loss(p, key) for key, p in valid.items()}
        entry = entry_of(scores, name)
        assert entry["brier"]["mean"] == text(question_mean(losses))
        assert entry["brier_events"] == text(sum(losses.values(), Fraction(0)) / len(losses))


def test_S3_no_calibration_error_below_thirty_rows() -> None:
    for questions, there in ((29, False), (30, True)):
        scores = book_of(drawn_table(questions, 1, MODELS[:3])).scores()
        assert (entry_of(scores, "ant")["calibration"]["ece"] is not None) is there


def test_S4_skill_weighs_a_market_once_with_events_as_clusters(
    large: tuple[Table, LeagueScores],
) -> None:
    """On each one's own rows and on the shared set, with a t interval by event."""
    table, scores = large
    keys = set(shared_keys(table, MODELS))
    for name in (*MODELS, "ensemble"):
        held = table.ensemble(MODELS) if name == "ensemble" else table.valid(name)
        gains = {key: table.gain(p, key) for key, p in held.items()}
        for own, place in (
            (gains, "gain_on_crowd"),
            ({key: value for key, value in gains.items() if key in keys}, "gain"),
        ):
            told = entry_of(scores, name)[place]
            assert told["mean"] == text(question_mean(own))
            se, low, high = event_interval(own, table)
            for key, value in (("se", se), ("low", low), ("high", high)):
                assert float(told[key]) == pytest.approx(value, abs=2e-6)
            assert (told["n"], told["questions"], told["clusters"]) == (len(own), 36, 18)


def test_S4_a_market_asked_fourteen_times_weighs_once() -> None:
    keys = [*((slot_number(n), 1) for n in range(14)), (SLOT, 2)]
    said: dict[str, dict[tuple[str, int], Fraction | None]] = {
        name: {key: Fraction(key[1], 2) for key in keys} for name in MODELS[:3]
    }
    quotes = {key: (Fraction(4, 10), Fraction(4, 10)) for key in said["ant"]}
    table = Table(said, quotes, {1: True, 2: True})
    entry = entry_of(book_of(table).scores(), "ant")
    once = (table.gain(Fraction(1, 2), (SLOT, 1)) + table.gain(Fraction(1), (SLOT, 2))) / 2
    assert entry["gain"]["mean"] == text(once)
    assert (entry["gain"]["n"], entry["gain"]["questions"]) == (15, 2)


def test_S4_the_crowd_gains_exactly_nothing_on_itself(large: tuple[Table, LeagueScores]) -> None:
    """B25: nobody is better than themselves."""
    crowd = entry_of(large[1], "crowd")
    for place in ("gain", "gain_on_crowd"):
        assert crowd[place]["identical"] is True
        assert [crowd[place][key] for key in ("mean", "se", "low", "high")] == ["0.000000"] * 4
    assert crowd["paper"]["total"] == "0.000000" and crowd["paper"]["staked"] == 0


def test_S5_everyone_is_compared_on_exactly_one_set(large: tuple[Table, LeagueScores]) -> None:
    table, scores = large
    keys = shared_keys(table, MODELS)
    shared = scores.board["shared"]
    assert 0 < len(keys) < 36 * 3
    ids = dict(zip(range(1, 37), scores_ids(scores), strict=True))
    listed = sorted([slot[:13], ids[q]] for slot, q in keys)
    assert shared["n"] == len(keys) and shared["questions"] == 36
    assert shared["sha256"] == digest(seal_json(listed))
    assert {entry_of(scores, name)["gain"]["n"] for name in (*MODELS, "crowd", "ensemble")} == {
        len(keys)
    }
    assert set(shared["brier"]) == {*MODELS, "crowd", "ensemble"}


def scores_ids(scores: LeagueScores) -> list[str]:
    """Question ids in the order they were first asked."""
    return list(dict.fromkeys(row.question for row in scores.rows if row.run == "2026-01-05T10"))


def test_S5_one_row_less_is_one_row_less_for_all() -> None:
    """B24: every N falls by one."""
    table = drawn_table(32, 1)
    whole = book_of(table).scores()
    table.said["cat"][SLOT, 7] = None
    less = book_of(table).scores()
    for name in (*MODELS, "crowd", "ensemble"):
        one, other = entry_of(whole, name)["gain"]["n"], entry_of(less, name)["gain"]["n"]
        assert (one, other) == (32, 31)
    assert whole.board["shared"]["sha256"] != less.board["shared"]["sha256"]


def test_S5_an_unreliable_model_is_listed_and_shrinks_nothing() -> None:
    """Below 80 % no rank; at exactly 80 % it takes one and makes the set smaller."""
    for failures, ranked, size in ((9, False, 40), (8, True, 32)):
        table = drawn_table(40, 1)
        for question in range(1, failures + 1):
            table.said["dog"][SLOT, question] = None
        scores = book_of(table).scores()
        dog = entry_of(scores, "dog")
        assert (dog["rank"] is not None) is ranked
        assert scores.board["shared"]["n"] == size
        assert ("dog" in scores.board["shared"]["forecasters"]) is ranked
        if not ranked:
            assert dog["why_unranked"] == (
                "valid answers to 77.5 % of what was asked; a rank needs 80 %"
            )
            assert dog["gain_on_crowd"]["n"] == 31 and dog["gain"]["n"] == 31


def test_S5_a_model_that_joins_late_shrinks_nothing() -> None:
    table = drawn_table(32, 3)
    for key in [key for key in table.said["fox"] if key[0] != slot_number(2)]:
        del table.said["fox"][key]
    scores = book_of(table).scores()
    assert scores.board["shared"]["n"] == 96
    assert entry_of(scores, "fox")["why_unranked"].startswith("asked in 33.3 % of the resolved")
    assert entry_of(scores, "fox")["gain_on_crowd"]["n"] == 32
    assert entry_of(scores, "ant")["rank"] is not None


def test_S6_failures_filled_in_stand_apart_and_change_no_rank() -> None:
    table = drawn_table(32, 2, failing={"bee": 0.15})
    scores = book_of(table).scores()
    own = {key: table.gain(p, key) for key, p in table.valid("bee").items()}
    failed = [key for key, p in table.said["bee"].items() if p is None]
    as_crowd = own | dict.fromkeys(failed, Fraction(0))
    as_half = own | {key: table.gain(HALF, key) for key in failed}
    told = entry_of(scores, "bee")["sensitivity"]
    assert told["imputed"] == len(failed) > 0
    assert told["failures_as_crowd"]["mean"] == text(question_mean(as_crowd))
    assert told["failures_as_half"]["mean"] == text(question_mean(as_half))
    assert entry_of(scores, "bee")["gain_on_crowd"]["mean"] == text(question_mean(own))


def test_S8_a_rank_needs_thirty_markets_and_equals_share_one() -> None:
    for questions in (29, 30):
        table = drawn_table(questions, 2)
        table.said["bee"] = dict(table.said["ant"])
        scores = book_of(table).scores()
        ranks = {e["forecaster"]: e["rank"] for e in scores.board["forecasters"]}
        if questions == 29:
            assert set(ranks.values()) == {None}
            why = entry_of(scores, "ant")["why_unranked"]
            assert why == "fewer than 30 resolved questions in the shared set"
            assert scores.board["shared"]["brier"] is None
        else:
            assert ranks["ant"] == ranks["bee"]
            held = sorted(rank for rank in ranks.values() if rank is not None)
            assert len(held) == 8 and ranks["always_half"] is None is ranks["base_rate"]
            gains = [
                (entry["rank"], Fraction(entry["gain"]["mean"]))
                for entry in scores.board["forecasters"]
                if entry["rank"]
            ]
            assert gains == sorted(gains, key=lambda held: (held[0], -held[1]))


def test_the_base_rate_takes_every_resolved_question_once() -> None:
    table = Table(
        {name: {(slot_number(n), 1): HALF for n in range(3)} for name in MODELS[:3]}, {}, {}
    )
    for name in MODELS[:3]:
        table.said[name] |= {(SLOT, 2): HALF, (SLOT, 3): HALF}
    table.quotes = dict.fromkeys(table.said["ant"], (Fraction(4, 10), Fraction(4, 10)))
    table.outcomes = {1: True, 2: False, 3: False}
    scores = book_of(table).scores()
    assert {row.units for row in rows_of(scores, "base_rate")} == {3333}


# ---- leaks


def test_B2_skill_stands_for_all_answers_and_for_those_without_a_leak() -> None:
    book = BlindBook()
    run = book.run(SLOT, {1: ("0.40", "0.44"), 2: ("0.40", "0.44")})
    for name in MODELS[:3]:
        leaks = {"leak_flag": True, "leaks": ("venue", "odds")} if name == "ant" else {}
        book.say(run, name, 1, "0.5", leak_flag=leaks.pop("leak_flag", False), **leaks)
        book.say(run, name, 2, "0.9", leak_flag=False, citations=4)
    book.close(run)
    book.settle(1, "no")
    book.settle(2, "yes")
    scores = book.scores()
    views = entry_of(scores, "ant")["views"]
    assert (views["examined"], views["flagged"], views["unflagged"]["n"]) == (2, 1, 1)
    assert views["unflagged"]["mean"] == text(Fraction(58, 100) ** 2 - Fraction(1, 100))
    assert [row.leak for row in rows_of(scores, "ensemble")] == [True, False]
    assert entry_of(scores, "ensemble")["views"]["flagged"] == 1
    assert scores.attempts[0].answer is not None
    assert scores.attempts[0].answer.leaks == ("venue", "odds")


# ---- paper money


def test_K1_capped_kelly_at_the_prices_on_offer(large: tuple[Table, LeagueScores]) -> None:
    table, scores = large
    for name in (*MODELS, "ensemble"):
        held = table.ensemble(MODELS) if name == "ensemble" else table.valid(name)
        profits = {
            key: kelly(p, *table.quotes[key], bool(table.outcomes[key[1]]), CAP)
            for key, p in held.items()
        }
        told = entry_of(scores, name)["paper"]
        total = sum(profits.values(), Fraction(0))
        turned = sum((abs(value) for value in profits.values()), Fraction(0))
        most = max(abs(value) for value in profits.values())
        assert told["total"] == text(total)
        assert told["largest_share"] == text(most / turned)
        assert told["staked"] == sum(value != 0 for value in profits.values())
        assert "never the headline" in told["label"]


@pytest.mark.parametrize("sides", [("0.01", "0.03"), ("0.97", "0.99")])
def test_K1_no_stake_at_a_crowd_that_is_sure(sides: tuple[str, str]) -> None:
    book = BlindBook()
    run = book.run(SLOT, {1: sides})
    book.say(run, "ant", 1, "0.5")
    book.close(run)
    book.settle(1, "yes")
    paper = entry_of(book.scores(), "ant")["paper"]
    assert (paper["total"], paper["staked"], paper["largest_share"]) == ("0.000000", 0, None)


# ---- reliability


def test_L1_valid_of_what_was_asked(large: tuple[Table, LeagueScores]) -> None:
    table, scores = large
    for name in MODELS:
        valid = sum(p is not None for p in table.said[name].values())
        told = entry_of(scores, name)["reliability"]
        assert (told["valid"], told["attempted"]) == (valid, 108)
        assert told["share"] == text(Fraction(valid, 108))
        bar = wilson(valid, 108)
        assert bar is not None
        assert float(told["wilson_low"]) == pytest.approx(bar[0], abs=1e-6)
        assert float(told["wilson_high"]) == pytest.approx(bar[1], abs=1e-6)


def test_L1_missed_slots_and_the_budget_are_no_attempts_and_a_timeout_is() -> None:
    book = BlindBook()
    run = book.run(SLOT, dict.fromkeys((1, 2, 3), ("0.40", "0.44")))
    book.say(run, "ant", 1, "0.5")
    line = book.ask(run, "ant", 2)
    book.answer(run, "ant", 2, ask_line=line, failure="budget", cost="0")
    book.close(run, "stopped_budget", "the cap of the cohort is reached")
    missed = "2026-01-05T22"
    book.close(missed, "missed", "nobody was there")
    third = book.run("2026-01-06T10:00:00Z", {1: ("0.40", "0.44")})
    book.say(third, "ant", 1, None)
    book.close(third)
    scores = book.scores()
    told = entry_of(scores, "ant")["reliability"]
    assert (told["valid"], told["attempted"]) == (1, 2)
    assert told["failures"] == {"timeout": 1}
    runs = [(r["run"], r["status"], r["valid"], r["failed"]) for r in scores.board["runs"]]
    assert runs == [
        (run, "stopped_budget", 1, 0),
        (missed, "missed", 0, 0),
        (third, "complete", 0, 1),
    ]
    assert scores.board["runs"][2]["silent"] == ["ant"]
    assert scores.board["cohorts"][0]["missed"] == 1
    # The third question was never asked: nobody's forecast stands on it, not the crowd's either.
    assert len({row.question for row in scores.rows if row.run == run}) == 2


def test_L1_an_entrant_is_asked_by_the_roster_and_silence_counts() -> None:
    book = BlindBook()
    seats = (*model_seats(MODELS[:3]), Seat("stranger", "accepted"))
    run = book.run(SLOT, dict.fromkeys((1, 2), ("0.40", "0.44")), seats=seats)
    for name in MODELS[:3]:
        for number in (1, 2):
            book.say(run, name, number, "0.5")
    book.answer(run, "stranger", 1, "0.5")
    book.close(run)
    told = entry_of(book.scores(), "stranger")["reliability"]
    assert (told["valid"], told["attempted"]) == (1, 2)
    assert told["failures"] == {"not_answered": 1}


def test_V1_without_an_outcome_there_is_no_number() -> None:
    scores = one_run(dict.fromkeys(MODELS, "0.4"), outcome=None)
    assert scores.board["state"] == "awaiting"
    for entry in scores.board["forecasters"]:
        for place in ("brier", "gain", "gain_on_crowd"):
            assert [entry[place][key] for key in ("mean", "se", "low", "high")] == [None] * 4
        assert entry["paper"]["total"] is None and entry["calibration"]["ece"] is None
        assert entry["brier_shared"] is None and entry["rank"] is None
    analysis = scores.board["analysis"]
    assert (analysis["curve"], analysis["n_eff"], analysis["best"]) == ([], None, None)
    assert scores.board["shared"]["brier"] is None
    assert "base_rate" not in {row.forecaster for row in scores.rows}


def test_every_ensemble_carries_its_size_correlation_and_effective_number(
    large: tuple[Table, LeagueScores],
) -> None:
    pool = entry_of(large[1], "ensemble")["pool"]
    assert pool["n"] == 6
    assert pool["mean_correlation"] is not None and pool["n_eff"] is not None
    few = one_run(dict.fromkeys(MODELS, "0.4"))
    pool = entry_of(few, "ensemble")["pool"]
    assert pool["n_eff"] is None
    assert pool["n_eff_why"] == "no pair of models has a correlation of errors"


def test_C1_a_price_on_which_too_little_was_traded_is_no_crowd() -> None:
    from dataclasses import replace

    from beforehand.publish.crowd import crowd_prices
    from beforehand.publish.rules import Rules
    from beforehand.records.snapshot import Quote
    from tests.stages.live_world import live_declaration

    rules = Rules.of(live_declaration())
    assert rules.min_volume == 500
    at = "2026-01-05T10:00:00Z"
    quote = Quote("evc1:" + "0" * 64, at, bid="0.40", ask="0.44", volume="500")
    asked = {quote.question: at}
    assert crowd_prices({quote.question: quote}, rules, asked, at)
    for volume in ("499.99", None):
        thin = replace(quote, volume=volume)
        assert not crowd_prices({quote.question: thin}, rules, asked, at)
