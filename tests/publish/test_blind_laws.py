"""What must hold of every blind board, whatever was answered; and the ensemble's analysis."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beforehand.publish.leaderboard import LeagueScores
from beforehand.scoring.exact import decimal_places

from .blind_league import MODELS, BlindBook, blind_declaration, book_of, drawn_table, entry_of
from .plain import Table, correlation, event_interval, mean_of_subsets, question_mean, shared_keys

LOW_BAR = blind_declaration(
    events="min_events = 30=>min_events = 3",
    clusters="min_clusters_interval = 10=>min_clusters_interval = 3",
    shared="shared_min = 30=>shared_min = 3",
)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
UNIT = st.integers(0, 10_000).map(lambda units: Fraction(units, 10_000))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Two slots, up to six markets of up to four events, four models with failures."""
    questions = range(1, draw(st.integers(2, 6)) + 1)
    keys = [
        (slot, q) for slot in ("2026-01-05T10:00:00Z", "2026-01-05T22:00:00Z") for q in questions
    ]
    said = {
        name: {key: draw(st.none() | UNIT) for key in keys} for name in ("ant", "bee", "cat", "dog")
    }
    quotes = {}
    for key in keys:
        bid = draw(st.integers(0, 9_900))
        quotes[key] = (Fraction(bid, 10_000), Fraction(bid + draw(st.integers(0, 100)), 10_000))
    outcomes = {q: draw(st.sampled_from([True, False, None])) for q in questions}
    events = {q: f"e{draw(st.integers(0, 3))}" for q in questions}
    return Table(said, quotes, outcomes, events)


def scored(table: Table) -> LeagueScores:
    return book_of(table, declaration=LOW_BAR).scores()


def measures(entry: dict[str, Any]) -> dict[str, Any]:
    """All of an entry but its own name."""
    return {k: v for k, v in entry.items() if k not in ("forecaster", "label", "identity")}


def text(value: Fraction | None) -> str | None:
    return None if value is None else decimal_places(value, 6)


@FEW
@given(tables())
def test_the_board_is_what_plain_arithmetic_says(table: Table) -> None:
    scores = scored(table)
    for name in table.said:
        if all(p is None for p in table.said[name].values()):
            continue
        gains = {key: table.gain(p, key) for key, p in table.valid(name).items()}
        assert entry_of(scores, name)["gain_on_crowd"]["mean"] == text(question_mean(gains))
    for row in scores.rows:
        if row.forecaster == "ensemble" and row.status == "counted":
            number = int(
                next(q for q, o in table.outcomes.items() if _id(scores, q) == row.question)
            )
            assert Fraction(row.units or 0, 10_000) == table.ensemble(table.said)[row.slot, number]
    for place in ("gain", "gain_on_crowd"):
        crowd = entry_of(scores, "crowd")[place]
        assert crowd["mean"] in (None, "0.000000") and crowd["identical"] is (crowd["n"] > 0)
    assert entry_of(scores, "crowd")["paper"]["total"] in (None, "0.000000")


def _id(scores: LeagueScores, number: int) -> str:
    """The id of a question by its number: they were asked in order."""
    return list(dict.fromkeys(row.question for row in scores.rows))[number - 1]


@FEW
@given(tables(), st.permutations(["ant", "bee", "cat", "dog"]))
def test_permuting_the_forecasters_changes_nothing(table: Table, order: list[str]) -> None:
    first = scored(table)
    moved = copy.deepcopy(table)
    moved.said = {name: table.said[name] for name in order}
    second = scored(moved)
    one = {e["forecaster"]: e for e in first.board["forecasters"]}
    other = {e["forecaster"]: e for e in second.board["forecasters"]}
    assert one == other
    for key in ("shared", "costs", "events_resolved"):
        held = (first.board[key], second.board[key])
        for side in held:
            if key == "shared":
                side["forecasters"] = sorted(side["forecasters"])
        assert held[0] == held[1]


@FEW
@given(tables())
def test_a_void_question_changes_no_score(table: Table) -> None:
    plain = scored(table)
    book = book_of(table, declaration=LOW_BAR)
    run = book.run("2026-01-06T10:00:00Z", {99: ("0.40", "0.44")})
    for name in ("ant", "bee", "cat", "dog"):
        book.say(run, name, 99, "0.9")
    book.close(run)
    book.settle(99, "void", at="2026-01-21T00:00:00Z")
    scores = book.scores()
    for entry in plain.board["forecasters"]:
        other = entry_of(scores, entry["forecaster"])
        for key in ("brier", "gain_on_crowd", "calibration", "by_type", "views", "paper"):
            assert entry[key] == other[key]


@FEW
@given(tables())
def test_a_forecaster_and_its_copy_are_identical(table: Table) -> None:
    table.said["bee"] = dict(table.said["ant"])
    scores = scored(table)
    first, second = entry_of(scores, "ant"), entry_of(scores, "bee")
    assert measures(first) == measures(second)


# ---- the ensemble and its parts


@pytest.fixture(scope="module")
def parts() -> tuple[Table, dict[str, Any]]:
    table = drawn_table(33, 2, failing={"dog": 0.1}, per_event=2, seed=11)
    return table, book_of(table).scores().board["analysis"]


def test_the_curve_is_the_mean_over_every_subset(parts: tuple[Table, dict[str, Any]]) -> None:
    table, analysis = parts
    keys = shared_keys(table, MODELS)
    assert analysis["models"] == list(MODELS) and analysis["n"] == len(keys)
    for point in analysis["curve"]:
        assert point["brier"] == text(mean_of_subsets(table, MODELS, point["size"]))
    assert [point["subsets"] for point in analysis["curve"]] == [6, 15, 20, 15, 6, 1]


def test_correlations_and_the_effective_number(parts: tuple[Table, dict[str, Any]]) -> None:
    table, analysis = parts
    held = [(pair, correlation(table, pair["a"], pair["b"])) for pair in analysis["correlations"]]
    assert len(held) == 15
    for pair, own in held:
        assert float(pair["r"]) == pytest.approx(own, abs=1e-6)
    average = sum(own for _, own in held) / 15
    assert float(analysis["mean_correlation"]) == pytest.approx(average, abs=1e-6)
    assert float(analysis["n_eff"]) == pytest.approx(6 / (1 + 5 * average), abs=1e-5)


def test_the_ensemble_against_the_mean_model_the_best_and_the_crowd(
    parts: tuple[Table, dict[str, Any]],
) -> None:
    table, analysis = parts
    keys, ensemble = shared_keys(table, MODELS), table.ensemble(MODELS)
    losses = {
        name: {key: table.loss(table.valid(name)[key], key) for key in keys} for name in MODELS
    }
    best = min(MODELS, key=lambda name: (question_mean(losses[name]), name))
    assert analysis["best"]["forecaster"] == best
    assert analysis["best"]["brier"] == text(question_mean(losses[best]))
    assert "hindsight" in analysis["best"]["label"]
    told = analysis["ensembles"]["ensemble"]
    own = {key: table.loss(ensemble[key], key) for key in keys}
    against = {
        "over_mean_model": {
            key: sum((losses[name][key] for name in MODELS), Fraction(0)) / 6 for key in keys
        },
        "over_best_model": losses[best],
        "over_crowd": {key: table.loss(table.crowd(key), key) for key in keys},
    }
    for place, other in against.items():
        gains = {key: other[key] - own[key] for key in keys}
        assert told[place]["mean"] == text(question_mean(gains))
        assert float(told[place]["low"]) == pytest.approx(event_interval(gains, table)[1], abs=2e-6)
    assert "hindsight" in told["over_best_model"]["label"]


def test_too_little_in_common_has_no_correlation() -> None:
    analysis = book_of(drawn_table(9, 1)).scores().board["analysis"]
    assert {pair["r"] for pair in analysis["correlations"]} == {None}
    assert analysis["correlations"][0]["why"] == "fewer than 10 common questions"
    assert (analysis["n_eff"], analysis["pairs_undefined"]) == (None, 15)
    assert analysis["n_eff_why"] == "no pair of models has a correlation of errors"


def test_one_model_alone_has_no_effective_number() -> None:
    board = book_of(drawn_table(12, 1, ("ant",))).scores().board
    assert board["analysis"]["n_eff_why"] == "fewer than two models"
    assert len(board["analysis"]["curve"]) == 1


def test_a_league_that_has_only_been_declared_has_a_board() -> None:
    board = BlindBook().scores().board
    assert (board["state"], board["forecasters"], board["runs"]) == ("awaiting", [], [])
    assert board["analysis"]["models"] == [] and board["costs"]["committed"] == "0.00"
