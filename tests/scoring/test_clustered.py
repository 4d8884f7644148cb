"""The plain mean with clustered errors: against statsmodels' formula by hand, and its laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beforehand.scoring.clustered import clustered_mean

ROWS = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 10_000)), min_size=1, max_size=100)


@given(ROWS)
def test_equals_the_sandwich_by_hand(rows: list[tuple[int, int]]) -> None:
    cluster = np.array([c for c, _ in rows])
    loss = np.array([v for _, v in rows])
    ours = clustered_mean(loss, cluster, per_one=10_000)
    values = loss / 10_000
    assert ours.mean == Fraction(int(loss.sum()), len(rows) * 10_000)
    groups = np.unique(cluster)
    assert ours.clusters == len(groups)
    if len(groups) < 10:
        assert ours.low is None
        return
    residuals = np.array([(values[cluster == g] - values.mean()).sum() for g in groups])
    g = len(groups)
    se = np.sqrt(g / (g - 1) * (residuals**2).sum()) / len(rows)
    assert ours.se == pytest.approx(se, abs=1e-12)
    half = stats.t.ppf(0.975, g - 1) * se
    assert (ours.low, ours.high) == pytest.approx((values.mean() - half, values.mean() + half))


@given(ROWS, st.randoms())
def test_row_order_changes_no_digit(rows: list[tuple[int, int]], random: object) -> None:
    shuffled = rows[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = clustered_mean([v for _, v in rows], [c for c, _ in rows], per_one=7)
    second = clustered_mean([v for _, v in shuffled], [c for c, _ in shuffled], per_one=7)
    assert first == second


def test_with_one_row_a_cluster_it_is_the_plain_t_interval() -> None:
    loss = np.arange(20) ** 2
    ours = clustered_mean(loss, range(20), per_one=400)
    theirs = stats.t.interval(0.95, 19, loc=(loss / 400).mean(), scale=stats.sem(loss / 400))
    assert (ours.low, ours.high) == pytest.approx(theirs)


def test_nothing_has_no_mean() -> None:
    nothing = clustered_mean([], [], per_one=1)
    assert (nothing.n, nothing.mean, nothing.low) == (0, None, None)
