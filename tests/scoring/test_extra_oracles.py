"""Second opinions from libraries that the test environment need not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from beforehand.scoring.compare import long_run_variance, paired, sessions_in_time
from beforehand.scoring.cox import cox, cox_clustered
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp
from beforehand.scoring.measures import brier, log_loss, rows_of
from beforehand.scoring.multiplicity import benjamini_hochberg, holm
from beforehand.scoring.power import clusters_needed
from beforehand.scoring.rules import Counts
from beforehand.scoring.tally import Tally
from beforehand.scoring.verdict import tost

GRID = Grid(10_000)
N = 3000


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grid steps, outcomes and clusters of an overconfident forecaster."""
    rng = np.random.default_rng(20261129)
    truth = np.clip(rng.beta(1.2, 1.2, N), 0.01, 0.99)
    odds = 1.4 * np.log(truth / (1 - truth)) + rng.normal(0, 0.5, N)
    units = np.clip(np.rint(GRID.steps / (1 + np.exp(-odds))), 1, 9999).astype(np.int64)
    return units, (rng.random(N) < truth).astype(np.int64), rng.integers(0, 60, N)


def row(data: tuple[np.ndarray, ...]) -> Counts:
    return Tally.of(data[0], data[1], np.zeros(N, dtype=int), ["a"], GRID).row("a")


def oracle(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is a further oracle, not in the test extra")


def test_scoringrules_agrees_on_scores(data: tuple[np.ndarray, ...]) -> None:
    rules, counts = oracle("scoringrules"), row(data)
    p, y = data[0] / GRID.steps, data[1]
    assert rows_of(counts) == N
    assert float(brier(counts, GRID)) == pytest.approx(rules.brier_score(y, p).mean(), abs=1e-12)  # type: ignore[arg-type]
    assert log_loss(counts, GRID).value == pytest.approx(rules.log_score(y, p).mean(), abs=1e-12)


def test_model_diagnostics_agrees_on_corp(data: tuple[np.ndarray, ...]) -> None:
    scoring, found = oracle("model_diagnostics.scoring"), corp(row(data), GRID)
    theirs = scoring.decompose(
        y_obs=data[1].astype(float),
        y_pred=data[0] / GRID.steps,
        scoring_function=scoring.SquaredError(),
    )
    assert found is not None
    for ours, name in (
        (found.mcb, "miscalibration"),
        (found.dsc, "discrimination"),
        (found.unc, "uncertainty"),
        (found.score, "score"),
    ):
        assert float(ours) == pytest.approx(float(theirs[name][0]), abs=1e-12)


def test_statsmodels_agrees_on_the_fit_and_both_errors(data: tuple[np.ndarray, ...]) -> None:
    api = oracle("statsmodels.api")
    p = data[0] / GRID.steps
    model = api.Logit(data[1], api.add_constant(np.log(p / (1 - p))))
    plain, ours = model.fit(disp=0, tol=1e-12), cox(row(data), GRID)
    assert (ours.intercept, ours.slope) == pytest.approx(tuple(plain.params), abs=1e-9)
    assert (ours.se_intercept, ours.se_slope) == pytest.approx(tuple(plain.bse), abs=1e-9)
    clustered = model.fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds={"groups": data[2]})
    found = cox_clustered(*data, GRID)
    assert (found.se_intercept, found.se_slope) == pytest.approx(tuple(clustered.bse), abs=1e-8)


def test_statsmodels_agrees_on_equivalence_and_families() -> None:
    weights, multi = oracle("statsmodels.stats.weightstats"), oracle("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    gains = rng.integers(-200, 240, 60)
    found = paired(gains * 0, gains, np.arange(60), per_one=10_000)
    assert found.gain is not None and found.se is not None and found.df is not None
    theirs = weights.DescrStatsW(gains / 10_000).ttost_mean(-0.01, 0.01)[0]
    assert tost(found.gain, found.se, found.df, 0.01) == pytest.approx(theirs, rel=1e-9, abs=1e-14)
    p = rng.random(40) ** 2
    for ours, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert ours(p.tolist()) == pytest.approx(multi.multipletests(p, method=method)[1].tolist())


def test_statsmodels_agrees_on_how_many_clusters() -> None:
    power = oracle("statsmodels.stats.power")
    for deviation, effect in ((0.02, 0.01), (0.062, 0.0105), (0.3, 0.02)):
        exact = power.TTestPower().solve_power(effect / deviation, power=0.8, alpha=0.05)
        assert clusters_needed(deviation, effect) == pytest.approx(exact, rel=0.02, abs=1.5)


def test_arch_agrees_on_the_long_run_variance_of_a_persistent_series() -> None:
    """Two estimators of one number: near each other where both have much data."""
    covariance = oracle("arch.covariance.kernel")
    rng = np.random.default_rng(2)
    shocks, series = rng.standard_normal(20_000), np.zeros(20_000)
    for t in range(1, series.size):
        series[t] = 0.5 * series[t - 1] + shocks[t]
    theirs = float(covariance.Bartlett(series, bandwidth=100).cov.long_run.item())
    assert long_run_variance(series, 300) == pytest.approx(theirs, rel=0.25)
    assert theirs == pytest.approx(4.0, rel=0.25)
    whole = np.rint(series * 1000).astype(np.int64)
    found = sessions_in_time(whole * 0, whole, np.arange(whole.size), per_one=1000)
    assert found.se == pytest.approx((4.0 / whole.size) ** 0.5, rel=0.2)
