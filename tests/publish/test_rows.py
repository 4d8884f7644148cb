"""What counts, and why not: nothing imputed, nothing counted twice, nothing after the deadline."""

from __future__ import annotations

from fractions import Fraction

import pytest

from beforehand.publish.fold import LeagueFold
from beforehand.publish.leaderboard import build_board
from beforehand.publish.rows import STATUSES, Row, build_rows
from beforehand.publish.tables import table_rows
from beforehand.scoring.exact import Grid

from .made_fold import made_fold

YES_NO_VOID = {1: "yes", 2: "no", 3: "void"}


def rows_of(fold: LeagueFold, name: str) -> list[Row]:
    return [row for row in build_rows(fold) if row.forecaster == name]


def entry_of(fold: LeagueFold, name: str) -> dict[str, object]:
    board = build_board(fold, build_rows(fold))
    return next(entry for entry in board["forecasters"] if entry["forecaster"] == name)


def test_every_status_is_in_the_dictionary() -> None:
    fold = made_fold(
        [
            ("ada", {1: "0.6", 2: "0.2", 3: "0.5"}),
            ("bob", {1: None, 2: "0.3"}),
            ("ada", {1: "0.9"}),
            ("eve", {1: "1"}),
            ("bob", {3: "0.5"}),
        ],
        YES_NO_VOID,
        seats=("ada", "bob"),
        late=(4,),
    )
    said = {
        (row.forecaster, row.line, row.status) for row in build_rows(fold) if row.cell is not None
    }
    assert said == {
        ("ada", 60, "counted"),
        ("ada", 60, "void"),
        ("bob", 61, "missing"),
        ("bob", 61, "counted"),
        ("ada", 62, "not_counted"),
        ("eve", 63, "not_on_roster"),
        ("bob", 64, "late"),
    }
    elsewhere = {
        "open",
        "uncounted_run",
        "after_outcome",
        "not_asked",
        "stale",
        "pending",
        "sealed",
        "not_revealed",
    }
    assert {status for _, _, status in said} | elsewhere == set(STATUSES)


def test_a_missing_answer_has_no_number_anywhere() -> None:
    """B2, B5, V41: a refusal, a timeout, a silence is never a half, a zero or a skip."""
    fold = made_fold([("ada", {1: None, 2: None}), ("bob", {1: "0.7"})], YES_NO_VOID)
    for row in rows_of(fold, "ada"):
        assert (row.units, row.p, row.status, row.why) == (None, "", "missing", "refused")
    entry = entry_of(fold, "ada")
    assert (entry["n_stated"], entry["n_counted"], entry["n_missing"]) == (0, 0, 2)
    assert entry["brier"]["mean"] is None and entry["brier_events"] is None  # type: ignore[index]
    assert entry["coverage"] == "0.000000"
    assert entry["calibration"]["ece"] is None  # type: ignore[index]
    median = {row.question: row for row in rows_of(fold, "median")}
    assert len(median) == 1, "a pool of nobody is no forecast"


def test_the_stored_table_keeps_missing_empty() -> None:
    fold = made_fold([("ada", {1: None}), ("bob", {2: "0.7"})], {1: "yes"})
    cells = table_rows(rows_of(fold, "ada"), Grid(10_000))
    assert [cells[0][place] for place in (11, 12)] == [None, None]


def test_a_void_scores_nobody_and_changes_nothing() -> None:
    """S29, S30, V44: 50-50 is no outcome; adding a void row changes no score."""
    with_void = made_fold([("ada", {1: "0.6", 2: "0.2", 3: "0.99"})], YES_NO_VOID)
    without = made_fold([("ada", {1: "0.6", 2: "0.2"})], {1: "yes", 2: "no"})
    for key in ("brier", "brier_events", "gain", "calibration", "by_type", "n_counted"):
        assert entry_of(with_void, "ada")[key] == entry_of(without, "ada")[key]
    assert entry_of(with_void, "ada")["n_void"] == 1


def test_an_open_question_scores_nobody_whatever_the_crowd_says() -> None:
    """V11: a missing outcome is open, never a half, and never the price."""
    fold = made_fold([("ada", {1: "0.6"})], {}, crowd={1: "0.999"})
    assert [row.status for row in rows_of(fold, "ada")] == ["open"]
    assert entry_of(fold, "ada")["brier"]["mean"] is None  # type: ignore[index]


def test_the_crowd_is_the_price_of_the_runs_own_snapshot_and_nothing_where_there_is_none() -> None:
    fold = made_fold([("ada", {1: "0.6", 2: "0.5"})], YES_NO_VOID, crowd={1: "0.42"})
    crowd = rows_of(fold, "crowd")
    assert [(row.units, row.line) for row in crowd] == [(4200, 50)]
    assert [row.crowd_units for row in rows_of(fold, "ada")] == [4200, None]


def test_the_first_well_formed_answer_by_the_deadline_counts_once() -> None:
    fold = made_fold([("ada", {1: None}), ("ada", {1: "0.6"}), ("ada", {1: "0.9"})], {1: "yes"})
    assert [(row.line, row.status) for row in rows_of(fold, "ada")] == [
        (60, "missing"),
        (61, "counted"),
        (62, "not_counted"),
    ]
    assert entry_of(fold, "ada")["n_counted"] == 1


def test_an_uncounted_run_is_shown_and_counts_for_nobody() -> None:
    fold = made_fold([("ada", {1: "0.6"})], {1: "yes"}, counted=False)
    assert {row.status for row in build_rows(fold)} == {"uncounted_run"}
    assert entry_of(fold, "ada")["n_counted"] == 0


def test_the_others_median_leaves_oneself_out() -> None:
    fold = made_fold(
        [("a", {1: "0.1"}), ("b", {1: "0.3"}), ("c", {1: "0.8"}), ("d", {1: "0.9"})], {1: "yes"}
    )
    others = {row.forecaster: (row.others_units, row.others_n) for row in build_rows(fold)}
    assert others["a"] == (8000, 3)
    assert others["d"] == (3000, 3)
    assert others["median"] == (5500, 4)
    alone = made_fold([("a", {1: "0.1"})], {1: "yes"})
    assert [(r.others_units, r.others_n) for r in rows_of(alone, "a")] == [(None, 0)]
    assert entry_of(alone, "a")["gain"]["n"] == 0  # type: ignore[index]


def test_the_median_against_the_median_is_identical() -> None:
    """B25, S26: nobody is better than themselves."""
    fold = made_fold([("a", {1: "0.1"}), ("b", {1: "0.3"})], YES_NO_VOID)
    gain = entry_of(fold, "median")["gain"]
    assert gain["identical"] is True and gain["mean"] == "0.000000"  # type: ignore[index]
    crowd = made_fold([("a", {1: "0.1"})], YES_NO_VOID, crowd={1: "0.2", 2: "0.9"})
    assert entry_of(crowd, "crowd")["gain_on_crowd"]["mean"] == "0.000000"  # type: ignore[index]


def test_derived_forecasters_are_what_they_say() -> None:
    fold = made_fold([("a", {1: "0.1", 2: "0.2"}), ("b", {1: "0.4"})], {1: "yes", 2: "no"})
    first = {row.forecaster: row for row in reversed(build_rows(fold))}
    assert Fraction(first["mean"].p) == Fraction(1, 4)
    assert Fraction(first["median"].p) == Fraction(1, 4)
    assert first["always_half"].p == "0.5"
    assert Fraction(first["base_rate"].p) == Fraction(1, 2)
    assert all(
        row.cell is None and row.kind == "derived" for row in first.values() if row.cell is None
    )


def test_a_correction_takes_the_outcomes_place_and_rescores() -> None:
    """S32, V8: a reversed resolution rescores; the old line stays in the book."""
    from beforehand.publish.fold import _correct
    from beforehand.records.resolution import Correction

    fold = made_fold([("ada", {1: "0.9"}), ("bob", {1: "0.9"})], {1: "yes"})
    assert entry_of(fold, "ada")["brier_events"] == "0.010000"
    correction = Correction(
        at="2026-01-03T00:00:00Z", lines=(81,), what="outcome", source="s", reason="r", outcome="no"
    )
    _correct(fold, 90, correction)
    assert entry_of(fold, "ada")["brier_events"] == "0.810000"
    assert rows_of(fold, "ada")[0].resolution_line == 90


@pytest.mark.parametrize("shuffle", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_answers_changes_no_score(shuffle: tuple[int, ...]) -> None:
    answers = [("a", {1: "0.1", 2: "0.7"}), ("b", {1: "0.45"}), ("c", {2: "0.2", 1: "0.9"})]
    plain = made_fold(answers, YES_NO_VOID)
    moved = made_fold([answers[place] for place in shuffle], YES_NO_VOID)
    for name in ("a", "b", "c", "median", "mean"):
        first, second = entry_of(plain, name), entry_of(moved, name)
        for key in ("brier", "gain", "coverage", "calibration"):
            assert first[key] == second[key]


def test_flipping_yes_and_no_leaves_every_score_unchanged() -> None:
    answers = [("a", {1: "0.1", 2: "0.7"}), ("b", {1: "0.45", 2: "0.5"})]
    flipped = [
        (name, {q: str(1 - __import__("decimal").Decimal(str(p))) for q, p in said.items()})
        for name, said in answers
    ]
    plain = made_fold(answers, {1: "yes", 2: "no"})
    other = made_fold(flipped, {1: "no", 2: "yes"})
    for name in ("a", "b", "median", "mean"):
        for key in ("brier", "gain", "brier_events"):
            assert entry_of(plain, name)[key] == entry_of(other, name)[key]


def test_a_rank_needs_events_and_an_interval() -> None:
    fold = made_fold([("a", {1: "0.1"}), ("b", {1: "0.3"})], {1: "yes"})
    board = build_board(fold, build_rows(fold))
    assert all(entry["rank"] is None and entry["why_unranked"] for entry in board["forecasters"])
    assert board["shared"]["n"] == 0 and board["shared"]["brier"] is None


def many(count: int) -> LeagueFold:
    """Two forecasters on `count` questions, one always nearer to the truth."""
    numbers = range(1, count + 1)
    good = {n: "0.8" if n % 2 else "0.3" for n in numbers}
    poor = {n: "0.6" if n % 2 else "0.5" for n in numbers}
    outcomes = {n: "yes" if n % 2 else "no" for n in numbers}
    return made_fold([("good", good), ("poor", poor)], outcomes, questions=count)


def test_the_shared_set_is_printed_from_its_least_size_with_its_hash() -> None:
    """B24: one set, its size and its hash, or no number."""
    under, enough = many(29), many(30)
    small = build_board(under, build_rows(under))["shared"]
    assert small["n"] == 29 and small["brier"] is None
    whole = build_board(enough, build_rows(enough))["shared"]
    assert whole["n"] == 30 and set(whole["brier"]) == {"good", "poor"}
    assert whole["sha256"] != small["sha256"]


def test_the_better_forecaster_ranks_first_and_equals_share_a_rank() -> None:
    fold = many(12)
    board = build_board(fold, build_rows(fold))
    ranked = [(e["rank"], e["forecaster"]) for e in board["forecasters"] if e["rank"]]
    assert ranked == [(1, "good"), (2, "poor")]
    numbers = range(1, 13)
    same = [(name, dict.fromkeys(numbers, "0.4")) for name in ("x", "y")]
    tied = made_fold(same, dict.fromkeys(numbers, "yes"), questions=12)
    board = build_board(tied, build_rows(tied))
    assert [(e["rank"], e["gain"]["identical"]) for e in board["forecasters"] if e["rank"]] == [
        (1, True),
        (1, True),
    ]


def test_always_half_reads_a_quarter() -> None:
    """S28: whatever is adjusted beside it, the plain score of always-0.5 is 0.25."""
    fold = made_fold([("a", {1: "0.1"})], {1: "yes", 2: "no"})
    assert entry_of(fold, "always_half")["brier"]["mean"] == "0.250000"  # type: ignore[index]


def test_a_question_asked_at_many_dates_weighs_once() -> None:
    """V43: rows of one source question are one cluster."""
    from dataclasses import replace

    fold = made_fold([("a", {1: "1", 2: "0", 3: "0"})], {1: "yes", 2: "yes", 3: "yes"})
    ids = list(fold.questions)
    for name in ids[1:]:
        line, question = fold.questions[name]
        fold.questions[name] = (line, replace(question, cluster="made-up:one"))
    brier = entry_of(fold, "a")["brier"]
    assert (brier["n"], brier["clusters"], brier["mean"]) == (3, 2, "0.500000")  # type: ignore[index]
    assert entry_of(fold, "a")["brier_events"] == "0.666667"


@pytest.mark.parametrize("settled_at", [60, 90])
def test_an_answer_sealed_after_its_outcome_does_not_count(settled_at: int) -> None:
    """By the order of the book, and by the day the outcome is dated."""
    from dataclasses import replace

    fold = made_fold([("ada", {1: "1", 2: "0.5"})], {1: "yes", 2: "no"})
    first = next(iter(fold.settled))
    if settled_at == 60:
        fold.settled[first] = replace(fold.settled[first], first_line=59)
    else:
        fold.settled[first] = replace(fold.settled[first], instant="2026-01-01")
    assert [row.status for row in rows_of(fold, "ada")] == ["after_outcome", "counted"]
    assert entry_of(fold, "ada")["n_counted"] == 1


def test_a_question_the_run_did_not_ask_is_shown_and_not_counted() -> None:
    from dataclasses import replace

    fold = made_fold([("ada", {1: "0.6", 3: "0.5"})], {1: "yes", 3: "yes"})
    line, run = fold.runs["run-1"]
    fold.runs["run-1"] = (line, replace(run, question_lines=(3, 4)))
    assert [row.status for row in rows_of(fold, "ada")] == ["counted", "not_asked"]
    assert entry_of(fold, "ada")["coverage"] == "0.500000"


def test_coverage_counts_what_counts() -> None:
    """Late, doubled and uninvited answers raise nobody's coverage."""
    fold = made_fold(
        [("ada", {1: "0.6"}), ("ada", {1: "0.7"}), ("ada", {2: "0.5"}), ("eve", {1: "1"})],
        YES_NO_VOID,
        seats=("ada",),
        late=(2,),
    )
    entry = entry_of(fold, "ada")
    assert (entry["n_stated"], entry["n_out"], entry["coverage"]) == (1, 2, "0.333333")
    assert entry_of(fold, "eve")["coverage"] == "0.000000"


def test_the_gain_over_the_average_is_the_others_mean_loss_minus_ones_own() -> None:
    fold = made_fold([("a", {1: "0.5"}), ("b", {1: "0.8"}), ("c", {1: "0.6"})], {1: "yes"})
    entry = entry_of(fold, "a")
    assert entry["others_brier"] == "0.100000"
    assert entry["gain_on_average"]["mean"] == "-0.150000"  # type: ignore[index]
    total = sum(
        Fraction(entry_of(fold, name)["gain_on_average"]["mean"])  # type: ignore[index]
        for name in ("a", "b", "c")
    )
    assert total == 0


def test_what_the_fold_refuses() -> None:
    """A second resolution, a second segment, a doubled seat, a derived forecaster's name."""
    from beforehand.errors import FormatError
    from beforehand.publish.fold import _correct, _take
    from beforehand.records.league import Segment
    from beforehand.records.resolution import Correction, Resolution
    from beforehand.records.run import Roster, Seat

    fold = made_fold([("a", {1: "0.5"})], {1: "yes"})
    at = "2026-01-03T00:00:00Z"
    name = next(iter(fold.settled))
    roster = Roster(at=at, run="r", seats=(), deadline=at, retry="n", counted_run="o")
    for record, said in (
        (
            Resolution(
                at=at, question=name, outcome="no", instant="2026-01-02", source="s", final="f"
            ),
            "second resolution",
        ),
        (
            Segment(at=at, segment="t", methodology="2", time="live", why="w", counted=True),
            "names its declaration",
        ),
        (replace_seats(roster, Seat("x", "accepted"), Seat("x", "accepted")), "two seats"),
        (replace_seats(roster, Seat("median", "accepted")), "derived forecaster"),
    ):
        with pytest.raises(FormatError, match=said):
            _take(fold, 99, record, lambda sha256: None)
    lost = Correction(at=at, lines=(7,), what="w", source="s", reason="r", outcome="no")
    with pytest.raises(FormatError, match="names no line"):
        _correct(fold, 99, lost)


def replace_seats(roster: object, *seats: object) -> object:
    from dataclasses import replace

    return replace(roster, seats=seats)  # type: ignore[type-var]
