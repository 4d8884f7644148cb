"""Better, equivalent, undecided: consistent with the intervals, and what it would take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beforehand.errors import FormatError
from beforehand.scoring.compare import paired, sessions_in_time
from beforehand.scoring.distribution import (
    LARGE,
    normal_quantile,
    t_above,
    t_quantile,
    t_two_sided,
)
from beforehand.scoring.multiplicity import benjamini_hochberg, holm
from beforehand.scoring.paired import MIN_CLUSTERS
from beforehand.scoring.power import (
    clusters_needed,
    design_effect,
    detectable,
    detectable_by,
    rows_needed,
)
from beforehand.scoring.verdict import tost, verdict

GAINS = st.lists(st.integers(-1000, 1000), min_size=10, max_size=80)
P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def compared(gains: list[int], rule: Any = paired) -> Any:
    losses = [1000 + gain for gain in gains]
    return rule([1000] * len(gains), losses, range(len(gains)), per_one=10_000)


@given(GAINS, st.integers(-1000, 1000), st.floats(0.001, 0.2))
def test_the_word_follows_the_intervals(gains: list[int], shift: int, margin: float) -> None:
    found = compared([gain + shift for gain in gains])
    told = verdict(found, margin=margin)
    if found.identical:
        assert (told.word, told.within_margin) == ("identical", True)
        return
    if found.reason:
        assert told.word == "undecided" and told.reason == found.reason
        return
    wide = stats.t.ppf(0.95, found.df) * found.se
    inside = -margin < found.gain - wide and found.gain + wide < margin
    if abs(abs(found.gain) + wide - margin) > 1e-9:
        assert told.within_margin == inside == (told.tost_p < 0.05)
    if found.low > 0:
        assert told.word == "better"
    elif found.high < 0:
        assert told.word == "worse"
    else:
        assert told.word == ("equivalent" if told.within_margin else "undecided")
    assert told.effect == margin and told.more == max(0, told.needed - found.clusters)


def test_a_difference_may_be_shown_and_small() -> None:
    found = compared([10, 12] * 50)
    told = verdict(found, margin=0.01)
    assert told.word == "better" and told.within_margin
    assert told.needed == MIN_CLUSTERS and told.more == 0


def test_without_a_margin_nothing_is_equivalent() -> None:
    rng = np.random.default_rng(2)
    found = compared(rng.integers(-1000, 1000, 40).tolist())
    told = verdict(found)
    assert told.word == "undecided" and told.tost_p is told.within_margin is None
    assert told.effect == abs(found.gain) and told.needed > 40


def test_tost_equals_two_one_sided_t_tests() -> None:
    rng = np.random.default_rng(4)
    gains = rng.normal(0.002, 0.01, 40)
    low = stats.ttest_1samp(gains, -0.01, alternative="greater").pvalue
    high = stats.ttest_1samp(gains, 0.01, alternative="less").pvalue
    ours = tost(gains.mean(), stats.sem(gains), 39, 0.01)
    assert ours == pytest.approx(max(low, high), rel=1e-9)


def test_with_the_needed_clusters_the_power_is_reached() -> None:
    """Simulated: at the number asked for, about 80 % of seasons find the true gain."""
    rng = np.random.default_rng(5)
    needed = clusters_needed(0.02, 0.006)
    draws = rng.normal(0.006, 0.02, (4000, needed))
    p = stats.ttest_1samp(draws, 0, axis=1).pvalue
    assert 0.775 < np.mean(p < 0.05) < 0.825
    assert needed == 90
    exact = stats.nct.sf(stats.t.ppf(0.975, needed - 1), needed - 1, 0.3 * math.sqrt(needed))
    assert exact == pytest.approx(0.8, abs=0.01)


def test_sessions_in_time_need_more_than_independent_clusters() -> None:
    rng = np.random.default_rng(6)
    gains = rng.integers(-900, 1000, 126).tolist()
    clusters, sessions = (
        verdict(compared(gains, rule), 0.01) for rule in (paired, sessions_in_time)
    )
    assert clusters.detectable < sessions.detectable or sessions.needed != clusters.needed
    needed = sessions.needed
    found = compared(gains, sessions_in_time)
    for count, reached in ((needed, True), (needed - 1, False)):
        nu = count // 12
        limit = stats.t.ppf(0.975, nu) + stats.t.ppf(0.8, nu)
        assert (limit * found.deviation <= 0.01 * math.sqrt(count)) == reached


def test_the_least_detectable_difference() -> None:
    wanted = (stats.t.ppf(0.975, 29) + stats.t.ppf(0.8, 29)) * 0.004
    assert detectable(0.004, 29) == pytest.approx(wanted, rel=1e-9)
    assert detectable(0.004, 29, power=0.5) == pytest.approx(stats.t.ppf(0.975, 29) * 0.004)
    assert detectable_by(0.01, 400) == pytest.approx(2.801585 * 0.005, rel=1e-6)
    assert rows_needed(0.01, 0.0025) == pytest.approx(2.801585**2 * 25, rel=1e-6)


def test_what_has_no_verdict_or_number_is_refused() -> None:
    found = compared([1, 2] * 10)
    for margin in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(FormatError, match="margin"):
            verdict(found, margin)
    with pytest.raises(FormatError, match="above 0"):
        tost(0.1, 0.0, 9, 0.1)
    for deviation, effect in ((1.0, 0.0), (math.inf, 1.0), (-1.0, 1.0)):
        with pytest.raises(FormatError, match="number of clusters"):
            clusters_needed(deviation, effect)
    with pytest.raises(FormatError, match="would be needed"):
        clusters_needed(1.0, 1e-9)
    with pytest.raises(FormatError, match="power"):
        detectable(1.0, 9, power=1.0)
    with pytest.raises(FormatError, match="sides"):
        rows_needed(1.0, 1.0, sides=3)
    with pytest.raises(FormatError, match="clusters of"):
        design_effect(0.5, 0.1)


def test_a_gain_of_nothing_is_undecided() -> None:
    told = verdict(paired([], [], [], per_one=1))
    assert told.word == "undecided" and told.reason


@pytest.mark.parametrize("df", [LARGE, LARGE + 1, 5000, 10**6, 10**9])
def test_many_degrees_of_freedom_equal_scipy(df: int) -> None:
    for level in (0.5, 0.6, 0.9, 0.95, 0.999):
        assert t_quantile(level, df) == pytest.approx(stats.t.ppf((1 + level) / 2, df), rel=1e-11)
    for t in (0.0, 0.01, 0.7, 1.96, 4.0, 9.0):
        assert t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-8, abs=1e-13)


@pytest.mark.parametrize("df", [1, 2, 9, 60, 999])
@pytest.mark.parametrize("t", [-40.0, -2.0, 0.0, 0.3, 2.5, 40.0])
def test_tails_equal_scipy(df: int, t: float) -> None:
    assert t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-13)
    assert t_above(t, df) == pytest.approx(stats.t.sf(t, df), abs=1e-13)
    assert t_two_sided(math.inf, df) == 0


def test_the_normal_quantile() -> None:
    for probability in (0.001, 0.2, 0.5, 0.8, 0.975, 0.9999):
        wanted = stats.norm.ppf(probability)
        assert normal_quantile(probability) == pytest.approx(wanted, rel=1e-13, abs=1e-15)
    for probability in (0.0, 1.0):
        with pytest.raises(FormatError, match="probability"):
            normal_quantile(probability)


@given(P_VALUES)
def test_adjusted_p_values(values: list[float]) -> None:
    family, rate = holm(values), benjamini_hochberg(values)
    if values:
        theirs = stats.false_discovery_control(values)
        assert rate == pytest.approx(theirs.tolist(), rel=1e-12, abs=1e-300)
    for place, value in enumerate(values):
        assert value * (1 - 1e-12) <= rate[place] <= family[place] * (1 + 1e-12) <= 1 + 1e-9
        # Holm by its definition: rejected at a level if every smaller one is.
        smaller = sorted(values)[: sorted(values).index(value) + 1]
        steps = [min(1.0, p * (len(values) - rank)) for rank, p in enumerate(smaller)]
        assert family[place] == max(steps)


def test_what_is_no_p_value_is_refused() -> None:
    for bad in ([0.1, 1.2], [-0.1], [math.nan]):
        for rule in (holm, benjamini_hochberg):
            with pytest.raises(FormatError, match="p-value"):
                rule(bad)
