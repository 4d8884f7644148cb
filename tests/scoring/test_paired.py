"""Cluster means: the estimate, its interval, its refusals, and the size of its test."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beforehand.scoring.paired import MIN_CLUSTERS, cluster_mean, question_mean

VALUES = st.fractions(-1, 1, max_denominator=1000)
ROWS = st.lists(st.tuples(st.integers(0, 30), VALUES), min_size=1, max_size=120)


@given(ROWS)
def test_equals_a_plain_t_interval_on_cluster_means(rows: list[tuple[int, Fraction]]) -> None:
    ours = cluster_mean(rows)
    groups: dict[int, list[float]] = {}
    for cluster, value in rows:
        groups.setdefault(cluster, []).append(float(value))
    means = np.array([np.mean(held) for held in groups.values()])
    assert ours.mean is not None
    assert float(ours.mean) == pytest.approx(means.mean(), abs=1e-12)
    assert (ours.n, ours.clusters) == (len(rows), len(groups))
    if len(means) < MIN_CLUSTERS:
        assert ours.low is ours.high is ours.se is None
        return
    assert ours.low is not None and ours.high is not None
    if means.std() > 1e-9:
        theirs = stats.t.interval(0.95, len(means) - 1, loc=means.mean(), scale=stats.sem(means))
        assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-9)


@given(ROWS)
def test_a_against_a_is_exactly_zero_and_identical(rows: list[tuple[int, Fraction]]) -> None:
    ours = cluster_mean((cluster, value - value) for cluster, value in rows)
    assert ours.mean == 0 and ours.identical
    assert ours.se in (None, 0.0)


@given(ROWS, st.integers(1, 1000))
def test_scaling(rows: list[tuple[int, Fraction]], factor: int) -> None:
    plain, scaled = cluster_mean(rows), cluster_mean((c, v * factor) for c, v in rows)
    assert plain.mean is not None and scaled.mean == plain.mean * factor
    if plain.se is not None:
        assert scaled.se == pytest.approx(plain.se * factor, rel=1e-9)


@given(ROWS, st.randoms())
def test_row_order_changes_no_digit(rows: list[tuple[int, Fraction]], rng: random.Random) -> None:
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert cluster_mean(rows).mean == cluster_mean(shuffled).mean
    assert cluster_mean(rows).se == cluster_mean(shuffled).se


def test_a_question_asked_often_weighs_once() -> None:
    rows = [("often", Fraction(1))] * 99 + [("once", Fraction(0))]
    assert cluster_mean(rows).mean == Fraction(1, 2)


def test_nothing_has_no_mean() -> None:
    nothing = cluster_mean([])
    assert (nothing.n, nothing.clusters, nothing.mean, nothing.low) == (0, 0, None, None)
    assert not nothing.identical


def test_size_of_the_nominal_five_percent_test_with_correlated_events() -> None:
    """Eight events a question that move together: clustered 5 %, rows as independent far more."""
    rng = np.random.default_rng(20261129)
    rounds, false_alarms, naive_alarms = 2000, 0, 0
    for _ in range(rounds):
        shared = rng.normal(size=12)
        values = (shared[:, None] + rng.normal(size=(12, 8)) * 0.5) / 10
        rows = [(c, Fraction(round(v * 10**6), 10**6)) for c in range(12) for v in values[c]]
        held = cluster_mean(rows)
        assert held.low is not None and held.high is not None
        false_alarms += held.low > 0 or held.high < 0
        flat = values.ravel()
        naive_alarms += abs(flat.mean() / stats.sem(flat)) > 1.96
    assert 0.035 < false_alarms / rounds < 0.065
    assert naive_alarms / rounds > 0.25


QUESTION_ROWS = st.lists(
    st.tuples(st.integers(0, 14), st.integers(0, 2), st.integers(-9, 9)), min_size=1, max_size=80
)


@given(QUESTION_ROWS)
def test_a_question_weighs_once_and_events_are_the_clusters(
    rows: list[tuple[int, int, int]],
) -> None:
    """The mean is another module's; the error is of what each event left out changes."""
    from beforehand.scoring.clustered import clustered_mean

    values = [(event, (event, number), Fraction(value)) for event, number, value in rows]
    found = question_mean(values)
    by_question: dict[tuple[int, int], list[int]] = {}
    for event, number, value in rows:
        by_question.setdefault((event, number), []).append(value)
    scale = math.lcm(*map(len, by_question.values()))
    means = [scale * sum(held) // len(held) for held in by_question.values()]
    other = clustered_mean(means, [event for event, _ in by_question], per_one=scale)
    assert (found.n, found.questions, found.clusters) == (len(rows), len(means), other.clusters)
    assert found.mean == other.mean
    assert (found.low is None) == (other.low is None)
    if found.low is None or found.high is None or found.mean is None:
        return
    sizes = Counter(event for event, _ in by_question)
    changes = []
    for event in sizes:
        rest = question_mean([value for value in values if value[0] != event]).mean
        assert rest is not None
        changes.append(float(rest - found.mean))
    groups = len(sizes)
    se = math.sqrt((groups - 1) / groups * math.fsum(change**2 for change in changes))
    effective = len(by_question) ** 2 // sum(size**2 for size in sizes.values())
    half = float(stats.t.ppf(0.975, max(1, effective - 1))) * se
    assert found.se == pytest.approx(se, abs=1e-12)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-6, abs=1e-12)
    if len(set(sizes.values())) == 1:
        assert (found.se, found.low, found.high) == pytest.approx((other.se, other.low, other.high))


def test_one_question_an_event_is_the_t_interval_on_question_means() -> None:
    values = [(n, n, Fraction(n * n % 7)) for n in range(12)]
    plain = cluster_mean([(event, value) for event, _, value in values])
    found = question_mean(values)
    assert found.mean == plain.mean and found.se == pytest.approx(plain.se)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
