"""Faults of statistics seen in the field, each kept out by name.

The ids are those of `tests/known_faults.toml`, which says in words what was seen.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from beforehand.errors import FormatError
from beforehand.scoring.compare import paired, sessions_in_time
from beforehand.scoring.cox import cox_clustered
from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp, isotonic
from beforehand.scoring.measures import bins, brier, ece, log_loss, row_of
from beforehand.scoring.rounding import on_grid
from beforehand.scoring.rules import Counts
from beforehand.scoring.tally import Tally
from beforehand.scoring.verdict import verdict

GRID = Grid(10_000)
ALTERNATING = [10_000, -9_000] * 18  # the series 1, -0.9, ... over 36 sessions


def row(p: list[float], y: list[int]) -> Counts:
    return row_of([(round(q * GRID.steps), x) for q, x in zip(p, y, strict=True)], GRID)


def test_s1_a_perfect_forecaster_of_one_outcome_scores_zero() -> None:
    assert brier(row([1, 1, 1], [1, 1, 1]), GRID) == 0
    assert brier(row([0, 0, 0], [0, 0, 0]), GRID) == 0
    assert brier(row([0, 0, 0, 0], [1, 1, 1, 1]), GRID) == 1


@pytest.mark.parametrize("labels", [["yes", "no"], [1, 2], [-1, 1], [1.0, 0.0], [0.5, 0.5]])
def test_s2_the_outcome_is_never_guessed_from_labels(labels: list[object]) -> None:
    with pytest.raises(FormatError, match="happened"):
        Tally.of([5000, 5000], labels, [0, 0], ["a"], GRID)


def test_s3_log_loss_of_certainty_given_in_single_precision_is_a_number() -> None:
    units = on_grid(np.array([1.0], dtype=np.float32), GRID).units
    counts = Tally.of(units, [0], [0], ["a"], GRID).row("a")
    found = log_loss(counts, GRID, Fraction(float(np.finfo(np.float32).eps)))
    assert found.value == pytest.approx(15.942385152878742, abs=1e-12)
    assert log_loss(counts, GRID).value == pytest.approx(-math.log(1e-4), abs=1e-14)


def test_s4_the_clamp_is_stated_and_clamped_rows_are_counted() -> None:
    certain, wrong = row([1], [1]), row([0], [1])
    assert log_loss(certain, GRID, Fraction(0)).value == 0
    assert log_loss(wrong, GRID, Fraction(0)).value == math.inf
    for clamp, value in (("1e-6", 13.815510557964274), ("1e-15", 34.538776394910684)):
        found = log_loss(wrong, GRID, Decimal(clamp))
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.clamped, found.clamp) == (1, Fraction(Decimal(clamp)))
    assert log_loss(row([0, 0.0001, 0.9999, 1], [0, 0, 1, 1]), GRID).clamped == 2


def test_s5_a_probability_of_one_is_in_the_last_bin() -> None:
    assert ece(row([0.95, 1], [1, 0]), GRID) == Fraction("0.475")
    assert ece(row([1] * 5, [0] * 5), GRID) == 1


def test_s6_a_probability_of_zero_is_in_the_first_bin() -> None:
    assert ece(row([0, 0.45], [1, 0]), GRID) == Fraction("0.725")


def test_s7_every_hundredth_is_in_the_bin_it_is_written_in() -> None:
    for k in range(101):
        found = bins(row([k / 100], [1]), GRID)
        assert [item.n for item in found].index(1) == min(k // 10, 9)


def test_s8_the_gap_is_to_the_mean_stated_in_the_bin() -> None:
    assert ece(row([0, 0, 1, 1], [0, 0, 1, 1]), GRID) == 0
    assert ece(row([0.04, 0.06] * 10, [1] + [0] * 19), GRID) == 0


def test_s9_a_constant_forecaster_keeps_its_error() -> None:
    counts = row([0.5] * 5, [1, 1, 1, 1, 0])
    for count in (1, 2, 10, 20):
        assert ece(counts, GRID, count) == Fraction(3, 10)
    found = corp(counts, GRID)
    assert found is not None and (found.mcb, found.dsc) == (Fraction(9, 100), 0)


@pytest.mark.parametrize("count", [1, 3, 7, 10, 13, 100])
def test_s10_every_row_is_in_one_bin_and_the_last_is_visited(count: int) -> None:
    counts = row([k / 1000 for k in range(1001)], [k % 2 for k in range(1001)])
    found = bins(counts, GRID, count)
    assert sum(item.n for item in found) == 1001
    assert sum(item.yes for item in found) == 500
    assert found[-1].n > 0 and found[-1].high == GRID.steps


def test_s11_ties_change_no_number_of_bins_and_the_used_ones_are_reported() -> None:
    tied = row([0.2] * 50 + [0.7] * 50, [0, 1] * 50)
    assert len(bins(tied, GRID, 10)) == 10
    five, distinct = murphy(tied, GRID, 5), murphy(tied, GRID, "distinct")
    assert five is not None and distinct is not None
    assert (five.bins, distinct.bins) == (2, 2)


def test_s12_empty_bins_are_kept_in_their_place() -> None:
    found = bins(row([0.05, 0.95], [0, 1]), GRID)
    assert [item.n for item in found] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert [item.low for item in found] == list(range(0, 10_000, 1000))


def test_s13_a_bin_for_every_forecast_is_asked_for_by_name_and_fixed_bins_close() -> None:
    """1,000 forecasts that all differ: distinct bins give the noise to rel and res."""
    rng = np.random.default_rng(13)
    units = rng.permutation(10_000)[:1000]
    happened = (rng.random(1000) < units / GRID.steps).astype(int)
    counts = row_of(list(zip(units.tolist(), happened.tolist(), strict=True)), GRID)
    fixed, distinct = murphy(counts, GRID), murphy(counts, GRID, "distinct")
    assert fixed is not None and distinct is not None
    assert distinct.res == distinct.unc and distinct.rel == brier(counts, GRID)
    assert float(fixed.rel) < 0.01 and fixed.res < fixed.unc
    assert fixed.brier == brier(counts, GRID) and fixed.wbv > 0


def test_s14_without_bins_calibration_does_not_take_the_whole_score() -> None:
    rng = np.random.default_rng(14)
    units = rng.permutation(10_000)[:1000]
    happened = (rng.random(1000) < units / GRID.steps).astype(int)
    found = corp(row_of(list(zip(units.tolist(), happened.tolist(), strict=True)), GRID), GRID)
    assert found is not None and found.score == found.mcb - found.dsc + found.unc
    assert found.mcb < found.score / 10 and found.dsc > found.unc / 4
    assert len(found.curve) < 60


def test_s15_the_rest_of_three_terms_is_not_bounded_by_the_spread_within_bins() -> None:
    counts = row([0.60, 0.69] * 5, [0, 1] * 5)
    found = murphy(counts, GRID)
    assert found is not None
    three = found.unc + found.rel - found.res
    assert brier(counts, GRID) - three == Fraction("-0.042975")  # type: ignore[operator]
    assert found.wbv == Fraction("0.002025") and found.wbc == Fraction("0.045")
    assert found.brier == brier(counts, GRID)


@pytest.mark.parametrize("horizon", [1, 2, 4])
def test_s16_a_long_run_variance_is_never_below_zero(horizon: int) -> None:
    zero = [0] * len(ALTERNATING)
    found = sessions_in_time(zero, ALTERNATING, range(36), per_one=10_000, horizon=horizon)
    assert found.reason is None and found.se is not None and found.se > 0
    assert 0 <= found.p <= 1  # type: ignore[operator]


def test_s17_the_horizon_of_a_test_is_never_changed() -> None:
    zero = [0] * len(ALTERNATING)
    asked = sessions_in_time(zero, ALTERNATING, range(36), per_one=10_000, horizon=4)
    assert (asked.horizon, asked.df, asked.reason) == (4, 2, None)
    refused = sessions_in_time(zero, ALTERNATING, range(36), per_one=10_000, horizon=60)
    assert refused.horizon == 60 and refused.p is None and refused.reason
    short = sessions_in_time([0] * 12, ALTERNATING[:12], range(12), per_one=10_000, horizon=2)
    assert short.horizon == 2 and short.p is None and "needs 30" in str(short.reason)


def test_s18_no_floor_under_the_variance_of_small_losses() -> None:
    zero = [0] * len(ALTERNATING)
    for rule in (paired, sessions_in_time):
        large, small = (
            rule(zero, ALTERNATING, range(36), per_one=per_one) for per_one in (10**4, 10**16)
        )
        assert small.p == pytest.approx(large.p, rel=1e-12)
        assert small.se == pytest.approx(large.se * 1e-12, rel=1e-12)  # type: ignore[operator]


def test_s19_identical_forecasters_are_called_identical() -> None:
    losses = list(range(40))
    for rule in (paired, sessions_in_time):
        found = rule(losses, losses, range(40), per_one=10_000)
        assert found.identical and (found.gain, found.se, found.p) == (0.0, 0.0, None)
        assert verdict(found, margin=0.01).word == "identical"


def test_s21_the_estimator_is_named_with_its_parameters() -> None:
    zero = [0] * len(ALTERNATING)
    found = sessions_in_time(zero, ALTERNATING, range(36), per_one=10_000, horizon=2)
    assert found.estimator == "equal-weighted cosine t, nu = floor(S / 14), centred"
    assert paired(zero, ALTERNATING, range(36), per_one=1).estimator == "t on cluster means"


def test_s22_no_weight_is_lost_to_a_division_of_whole_numbers() -> None:
    """Each of the nu coefficients weighs 1 / nu: leaving any one out changes the variance."""
    losses = [(7 * k * k) % 31 for k in range(36)]
    found = sessions_in_time([0] * 36, losses, range(36), per_one=1)
    x, nu = np.array(losses, dtype=float), 36 // 12
    cosines = np.cos(np.pi * np.outer(np.arange(1, nu + 1), np.arange(36) + 0.5) / 36)
    parts = 2 / 36 * (cosines @ x) ** 2 / nu
    assert nu == found.df == 3 and (parts > 0.01).all()
    assert found.se == pytest.approx(math.sqrt(parts.sum() / 36), rel=1e-12)


def test_s23_the_factor_of_clustered_errors_is_published() -> None:
    rng = np.random.default_rng(23)
    units, session = rng.integers(500, 9500, 480), np.repeat(np.arange(40), 12)
    happened = rng.random(480) < units / GRID.steps
    found = cox_clustered(units, happened, session, GRID)
    assert found.factor == Fraction(40, 39) * Fraction(479, 478)
    assert "CR1" in found.errors and found.clusters == 40


def test_s26_a_forecaster_against_itself_has_no_error() -> None:
    rng = np.random.default_rng(26)
    losses, cluster = rng.integers(0, 10**8, 5000), rng.integers(0, 200, 5000)
    found = paired(losses, losses.copy(), cluster, per_one=10**8)
    assert (found.gain, found.se, found.low, found.high) == (0.0, 0.0, 0.0, 0.0)
    assert found.identical


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_s34_what_is_not_finite_is_an_error_with_its_row_and_never_a_dropped_row(
    bad: float,
) -> None:
    with pytest.raises(FormatError, match="row 3: "):
        on_grid([0.1, 0.2, 0.3, bad, 0.5], GRID)
    with pytest.raises(FormatError, match="whole numbers"):
        paired([0.0, bad], [1.0, 2.0], [0, 1], per_one=1)
    counts = row([0.3] * 3, [1, 0, 1])
    assert isotonic(counts * (1 << 40), GRID)[0].share == Fraction(2, 3)
    assert brier(counts * (1 << 50), GRID) == brier(counts, GRID)
