"""Paired comparisons: exact sums, t on cluster means, the cosine rule, and what they refuse."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from beforehand.errors import FormatError
from beforehand.scoring.clusters import MAX_CLUSTERS, cluster_sums
from beforehand.scoring.compare import freedom, long_run_variance, paired, sessions_in_time
from beforehand.scoring.paired import MIN_CLUSTERS, cluster_mean

LOSS = st.integers(0, 10_000)
ROWS = st.lists(st.tuples(LOSS, LOSS, st.integers(0, 30)), min_size=1, max_size=150)
SEASON = st.lists(st.tuples(LOSS, LOSS), min_size=30, max_size=150)
Rows = list[tuple[int, int, int]]


def columns(rows: Rows) -> list[list[int]]:
    return [[row[k] for row in rows] for k in range(3)]


@given(ROWS)
def test_equals_the_exact_cluster_mean_and_scipy(rows: Rows) -> None:
    found = paired(*columns(rows), per_one=10_000)
    exact = cluster_mean((c, Fraction(b - a, 10_000)) for a, b, c in rows)
    assert exact.mean is not None
    assert found.gain == pytest.approx(float(exact.mean), abs=1e-15)
    assert (found.n, found.clusters, found.identical) == (exact.n, exact.clusters, exact.identical)
    if exact.clusters < MIN_CLUSTERS:
        assert found.low is found.high is found.se is found.p is None and found.reason
        return
    if found.reason or found.identical:
        return
    assert (found.se, found.low, found.high) == pytest.approx(
        (exact.se, exact.low, exact.high), abs=1e-12
    )
    groups: dict[int, list[float]] = {}
    for a, b, c in rows:
        groups.setdefault(c, []).append((b - a) / 10_000)
    means = [float(np.mean(held)) for held in groups.values()]
    assume(np.std(means) > 1e-9)
    assert found.p == pytest.approx(stats.ttest_1samp(means, 0).pvalue, abs=1e-9)


@given(ROWS)
def test_a_against_a_is_exactly_zero_and_identical(rows: Rows) -> None:
    a, _, c = columns(rows)
    for found in (paired(a, a, c, per_one=10_000), sessions_in_time(a, a, c, per_one=10_000)):
        assert found.identical and found.gain == 0.0
        assert found.se in (None, 0.0) and found.p is None


@given(ROWS, st.randoms())
def test_row_order_and_names_of_clusters_change_no_bit(rows: Rows, rng: random.Random) -> None:
    shuffled = [(a, b, 40 - c) for a, b, c in rows]
    rng.shuffle(shuffled)
    assert paired(*columns(rows), per_one=10_000) == paired(*columns(shuffled), per_one=10_000)


@given(ROWS)
def test_exchanging_the_two_turns_the_sign(rows: Rows) -> None:
    a, b, c = columns(rows)
    ours, theirs = paired(a, b, c, per_one=10_000), paired(b, a, c, per_one=10_000)
    assert ours.gain == -theirs.gain if theirs.gain else ours.gain == 0
    assert (ours.se, ours.p) == (theirs.se, theirs.p)


@given(SEASON, st.integers(1, 1000))
def test_scaling_all_losses_changes_no_test(season: list[tuple[int, int]], factor: int) -> None:
    a, b = ([row[k] for row in season] for k in range(2))
    scaled = [[value * factor for value in held] for held in (a, b)]
    for rule in (paired, sessions_in_time):
        once = rule(a, b, range(len(a)), per_one=10_000)
        small = rule(a, b, range(len(a)), per_one=10**10)
        large = rule(*scaled, range(len(a)), per_one=10_000)
        assert once.reason == small.reason == large.reason
        if once.p is not None:
            assert small.p == pytest.approx(once.p, rel=1e-9, abs=1e-13)
            assert large.p == pytest.approx(once.p, rel=1e-9, abs=1e-13)
            assert large.se == pytest.approx(once.se * factor, rel=1e-9)  # type: ignore[operator]


@given(SEASON, st.integers(1, 5))
def test_the_cosine_variance_is_that_of_its_formula(
    season: list[tuple[int, int]], horizon: int
) -> None:
    a, b = ([row[k] for row in season] for k in range(2))
    found = sessions_in_time(a, b, range(len(a)), per_one=10_000, horizon=horizon)
    size, nu = len(a), len(a) // (2 * horizon + 10)
    if nu < 2:
        assert found.se is None and f"needs {4 * horizon + 20}" in str(found.reason)
        return
    assume(found.reason is None and not found.identical)
    x = (np.array(b) - np.array(a)) / 10_000
    cosines = np.cos(np.pi * np.outer(np.arange(1, nu + 1), np.arange(size) + 0.5) / size)
    variance = (2 / size * (cosines @ x) ** 2).mean() / size
    assert found.se == pytest.approx(variance**0.5, rel=1e-6, abs=1e-9)
    assert found.df == nu and found.gain == pytest.approx(x.mean(), abs=1e-12)
    half = stats.t.ppf(0.975, nu) * found.se
    assert (found.low, found.high) == pytest.approx((found.gain - half, found.gain + half))


def test_degrees_of_freedom_of_the_rule() -> None:
    wanted = {(1, 30): 2, (1, 50): 4, (1, 126): 10, (5, 126): 6, (5, 250): 12, (5, 500): 25}
    wanted |= {(21, 126): 2, (21, 250): 4, (21, 500): 9, (21, 103): 0, (1, 29): 0, (1, 10): 0}
    for (horizon, sessions), nu in wanted.items():
        assert freedom(sessions, horizon) == nu
    assert freedom(12) == 11 and freedom(0) == 0


def test_too_few_sessions_have_a_gain_and_no_interval() -> None:
    for sessions, horizon in ((1, 1), (29, 1), (103, 21), (39, 5)):
        losses = [k % 7 for k in range(sessions)]
        found = sessions_in_time(
            losses, [3] * sessions, range(sessions), per_one=10, horizon=horizon
        )
        assert found.gain is not None and found.reason is not None
        assert found.se is found.low is found.p is found.df is None


def test_the_measured_size_is_returned_beside_the_interval() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 10_000, (2, 126))
    found = sessions_in_time(a, b, np.arange(126), per_one=10_000, horizon=5)
    assert found.size is not None
    assert (found.size.horizon, found.size.clusters, found.size.df) == (5, 126, found.df)
    assert 0.046 <= found.size.low <= found.size.high <= 0.056
    clusters = paired(a, b, np.arange(126), per_one=10_000)
    assert clusters.size is not None and clusters.size.low == 0.049
    assert "cosine" in found.estimator and "cluster means" in clusters.estimator


def test_one_difference_everywhere_has_no_spread_to_judge_by() -> None:
    found = paired([1] * 30, [4] * 30, range(30), per_one=10)
    assert found.gain == 0.3 and found.p is found.se is found.low is None
    assert "no spread" in str(found.reason) and not found.identical


def test_nothing_has_no_gain() -> None:
    for found in (paired([], [], [], per_one=1), sessions_in_time([], [], [], per_one=1)):
        assert (found.n, found.clusters, found.gain, found.identical) == (0, 0, None, False)


def test_a_question_asked_often_weighs_once() -> None:
    found = paired([0] * 100, [10] * 99 + [0], [0] * 99 + [1], per_one=10)
    assert found.gain == 0.5


def test_a_million_rows_of_their_own_cluster() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1 << 36, (2, 1_000_000))
    found = paired(a, b, np.arange(1_000_000), per_one=1 << 32)
    theirs = stats.ttest_1samp((b - a) / 2**32, 0)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()), rel=1e-9)


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 9)), max_size=50))
def test_cluster_sums_are_exact(rows: list[tuple[int, int]]) -> None:
    values, index = ([row[k] for row in rows] for k in range(2))
    found = cluster_sums(values, index)
    wanted = {c: [v for v, k in rows if k == c] for c in sorted(set(index))}
    assert found.ids.tolist() == list(wanted)
    assert found.sums.tolist() == [sum(held) for held in wanted.values()]
    assert found.sizes.tolist() == [len(held) for held in wanted.values()]
    means = [float(Fraction(sum(held), len(held) * 3)) for held in wanted.values()]
    assert found.means(3).tolist() == means


def test_cluster_sums_stay_exact_where_doubles_do_not() -> None:
    values = np.full(5000, 2**50 - 1, dtype=np.int64)
    found = cluster_sums(np.concatenate([values, -values[:1], [1]]), [0] * 5001 + [1])
    assert found.sums.tolist() == [4999 * (2**50 - 1), 1]
    assert found.means(7)[0] == float(Fraction(4999 * (2**50 - 1), 5001 * 7))
    with pytest.raises(FormatError, match=r"2\^63"):
        cluster_sums(np.full(5000, 2**60, dtype=np.int64), [0] * 5000)


def test_what_cannot_be_compared_is_refused() -> None:
    for change, told in (
        ({"loss_a": [0.5]}, "whole numbers"),
        ({"loss_b": [1, 2]}, "different lengths"),
        ({"cluster_index": [-1]}, "cluster numbers"),
        ({"cluster_index": [MAX_CLUSTERS]}, "cluster numbers"),
        ({"loss_a": np.array([2**63], dtype=np.uint64)}, "2\\^62"),
        ({"per_one": 0}, "1 unit or more"),
    ):
        good = {"loss_a": [1], "loss_b": [2], "cluster_index": [0], "per_one": 1}
        with pytest.raises(FormatError, match=told):
            paired(**(good | change))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="horizon"):
        sessions_in_time([1], [2], [0], per_one=1, horizon=0)
    with pytest.raises(FormatError, match="coefficients"):
        long_run_variance(np.array([1.0, 2.0]), 2)
