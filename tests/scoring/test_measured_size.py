"""The measured sizes, measured again: how often a nominal 5 % test finds what is not there.

The simulation is written here and shares no code with the rule but the
formula; one test holds the two together.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, signal, stats

from beforehand.scoring.compare import freedom, long_run_variance
from beforehand.scoring.measured_size import (
    CLUSTERS,
    SESSIONS,
    MeasuredSize,
    measured_size,
    measured_size_of_clusters,
)

SEASONS = 20_000
WARM_UP = 60
# Four standard errors of a share near 0.05 in 20,000 seasons, and the table's own rounding.
MARGIN = 4 * math.sqrt(0.05 * 0.95 / SEASONS) + 0.0005
PROCESSES = (("normal", 0.0), ("normal", 0.5), ("t3", 0.2), ("skewed", 0.0), ("skewed", 0.5))


def shocks(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> np.ndarray:
    if kind == "normal":
        return rng.standard_normal(shape)
    if kind == "t3":
        return rng.standard_t(3, shape)
    return rng.exponential(size=shape) - 1


def seasons(cell: MeasuredSize, kind: str, correlation: float, count: int = SEASONS) -> np.ndarray:
    """Gains of `count` seasons without any difference, [count, sessions].

    Each session's is the sum over its horizon of shocks with this autocorrelation.
    """
    seed = [cell.horizon, cell.clusters, round(10 * correlation), len(kind)]
    rng = np.random.default_rng([20261129, *seed])
    length = cell.clusters + cell.horizon - 1 + WARM_UP
    made = signal.lfilter([1], [1, -correlation], shocks(rng, kind, (count, length)), axis=1)
    summed = np.cumsum(np.pad(made[:, WARM_UP:], ((0, 0), (1, 0))), axis=1)
    return summed[:, cell.horizon :] - summed[:, : -cell.horizon]


def variances(gains: np.ndarray, nu: int) -> np.ndarray:
    """The equal-weighted cosine estimate of each season, by its sum."""
    size = gains.shape[1]
    places = np.outer(np.arange(1, nu + 1), np.arange(size) + 0.5) * np.pi / size
    return (gains @ np.cos(places).T) ** 2 @ np.full(nu, 2 / (size * nu))


def false_alarms(gains: np.ndarray, nu: int) -> float:
    se = np.sqrt(variances(gains, nu) / gains.shape[1])
    return float(np.mean(np.abs(gains.mean(axis=1)) > stats.t.ppf(0.975, nu) * se))


def named(cell: MeasuredSize) -> str:
    return f"h{cell.horizon}-S{cell.clusters}"


@pytest.mark.parametrize("cell", SESSIONS, ids=named)
def test_the_simulation_and_the_rule_have_one_formula(cell: MeasuredSize) -> None:
    gains = seasons(cell, "normal", 0.2, count=5)
    theirs = variances(gains, cell.df)
    for row, wanted in zip(gains, theirs, strict=True):
        assert long_run_variance(row, cell.df) == pytest.approx(wanted, rel=1e-9)
    assert freedom(cell.clusters, cell.horizon) == cell.df


@pytest.mark.slow
@pytest.mark.parametrize("cell", SESSIONS, ids=named)
def test_sizes_of_the_rule_for_sessions(cell: MeasuredSize) -> None:
    assert cell.skewed_low is not None and cell.skewed_high is not None
    for kind, correlation in PROCESSES:
        size = false_alarms(seasons(cell, kind, correlation), cell.df)
        low, high = cell.low, cell.high
        if kind == "skewed":
            low, high = cell.skewed_low, cell.skewed_high
        assert low - MARGIN < size < high + MARGIN, (kind, correlation, size)


@pytest.mark.parametrize("cell", SESSIONS, ids=named)
def test_power_of_the_rule_for_sessions(cell: MeasuredSize) -> None:
    """Where the plain t of independent sessions has 80 %, by the noncentral t."""

    def power(df: int, shift: float) -> float:
        limit = stats.t.ppf(0.975, df)
        return float(stats.nct.sf(limit, df, shift) + stats.nct.cdf(-limit, df, shift))

    plain = cell.clusters - 1
    shift = optimize.brentq(lambda at: power(plain, at) - 0.8, 1.0, 5.0)
    assert cell.power == pytest.approx(power(cell.df, shift), abs=0.02)


def test_limits_of_the_rule() -> None:
    """Stronger autocorrelation than 0.5 is beyond what the rule was chosen for, and said so."""
    cell = next(held for held in SESSIONS if named(held) == "h1-S126")
    for correlation, most in ((0.7, 0.070), (0.8, 0.092)):
        size = false_alarms(seasons(cell, "normal", correlation), cell.df)
        assert 0.05 < size < most + MARGIN


def correlated_events(rng: np.random.Generator, seasons_: int, clusters: int) -> np.ndarray:
    """Cluster means of 12 paired gains; outcomes by a Gaussian copula of 0.4, tilts shared."""
    shape = (seasons_, clusters, 12)

    def deviation() -> np.ndarray:
        shared, own = rng.standard_normal((*shape[:2], 1)), rng.standard_normal(shape)
        return 0.08 * math.sqrt(0.5) * (shared + own)

    truth = np.clip(rng.normal(0.5, 0.12, shape), 0.05, 0.95)
    common = math.sqrt(0.4) * rng.standard_normal((*shape[:2], 1))
    hidden = common + math.sqrt(0.6) * rng.standard_normal(shape)
    happened = stats.norm.ppf(truth) > -hidden
    one, other = (np.clip(truth + deviation(), 0.01, 0.99) for _ in range(2))
    return np.asarray(((one - happened) ** 2 - (other - happened) ** 2).mean(axis=2))


def rejections(means: np.ndarray) -> float:
    return float(np.mean(stats.ttest_1samp(means, 0, axis=1).pvalue < 0.05))


@pytest.mark.slow
@pytest.mark.parametrize("cell", CLUSTERS, ids=lambda cell: f"G{cell.clusters}")
def test_sizes_of_t_on_cluster_means(cell: MeasuredSize) -> None:
    rng = np.random.default_rng([20261129, cell.clusters])
    size = rejections(correlated_events(rng, 4000, cell.clusters))
    assert cell.low == pytest.approx(size, abs=4 * math.sqrt(0.05 * 0.95 / 4000) * math.sqrt(2))
    if cell.skewed_high is not None:
        skewed = rejections(rng.exponential(size=(SEASONS, cell.clusters)) - 1)
        assert 0.06 < skewed < cell.skewed_high + MARGIN


def test_the_cell_that_speaks_for_a_comparison() -> None:
    assert measured_size(1, 29) is None and measured_size(22, 500) is None
    assert measured_size(2, 100) is None
    for horizon, sessions, wanted in ((1, 30, (1, 30)), (1, 10**6, (1, 126)), (2, 126, (5, 126))):
        cell = measured_size(horizon, sessions)
        assert cell is not None and (cell.horizon, cell.clusters) == wanted
    assert measured_size_of_clusters(4) is None
    wide = measured_size_of_clusters(10**6)
    assert wide is not None and wide.clusters == 126
