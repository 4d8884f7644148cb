"""Cox's recalibration against scipy's optimiser and a plain sandwich, and where it has no fit."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize

from beforehand.errors import FormatError
from beforehand.scoring.cox import cox, cox_clustered
from beforehand.scoring.exact import Grid
from beforehand.scoring.measures import row_of

GRID = Grid(10_000)
ROWS = st.lists(
    st.tuples(st.integers(0, GRID.steps), st.integers(0, 1), st.integers(0, 14)),
    min_size=1,
    max_size=80,
)
Rows = list[tuple[int, int, int]]


def plain_fit(units: list[int], happened: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The maximum of the likelihood by a general optimiser, with its design and residuals."""
    p = np.clip(np.array(units) / GRID.steps, 1e-4, 1 - 1e-4)
    design = np.column_stack([np.ones(len(p)), np.log(p / (1 - p))])
    y = np.array(happened, dtype=float)

    def negative(beta: np.ndarray) -> float:
        at = design @ beta
        return float((np.logaddexp(0, at) - y * at).sum())

    def slope(beta: np.ndarray) -> np.ndarray:
        return design.T @ (1 / (1 + np.exp(-(design @ beta))) - y)

    found = optimize.minimize(negative, [0.0, 1.0], jac=slope, method="BFGS", tol=1e-9)
    return found.x, design, y - 1 / (1 + np.exp(-(design @ found.x)))


@given(ROWS)
def test_the_fit_is_the_maximum_of_the_likelihood(rows: Rows) -> None:
    found = cox(row_of([row[:2] for row in rows], GRID), GRID)
    assume(found.slope is not None and abs(found.slope) < 20)
    beta, design, _ = plain_fit([u for u, _, _ in rows], [y for _, y, _ in rows])
    assume(np.linalg.cond(design) < 1e6)
    assert (found.intercept, found.slope) == pytest.approx(tuple(beta), rel=1e-4, abs=1e-4)


@given(ROWS)
def test_clustered_errors_equal_a_plain_sandwich(rows: Rows) -> None:
    units, happened, cluster = ([row[k] for row in rows] for k in range(3))
    found = cox_clustered(units, happened, cluster, GRID, least=2)
    groups, n = len(set(cluster)), len(rows)
    assert found.clusters == groups
    assume(found.slope is not None and abs(found.slope) < 20 and groups > 1)
    beta = np.array([found.intercept, found.slope])
    p = np.clip(np.array(units) / GRID.steps, 1e-4, 1 - 1e-4)
    design = np.column_stack([np.ones(n), np.log(p / (1 - p))])
    chance = 1 / (1 + np.exp(-(design @ beta)))
    score = design * (np.array(happened) - chance)[:, None]
    sums = np.array([score[np.array(cluster) == group].sum(axis=0) for group in set(cluster)])
    bread = np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))
    assume(np.linalg.cond(bread) < 1e6)
    factor = groups / (groups - 1) * (n - 1) / (n - 2)
    covariance = bread @ sums.T @ sums @ bread * factor
    assert found.factor is not None and float(found.factor) == pytest.approx(factor)
    assert found.se_intercept == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-5, abs=1e-6)
    assert found.se_slope == pytest.approx(covariance[1, 1] ** 0.5, rel=1e-5, abs=1e-6)


@given(ROWS, st.randoms())
def test_row_order_and_names_of_clusters_change_no_bit(rows: Rows, rng: random.Random) -> None:
    shuffled = [(u, y, 20 - c) for u, y, c in rows]
    rng.shuffle(shuffled)
    ours, theirs = (
        cox_clustered(*([row[k] for row in held] for k in range(3)), GRID)
        for held in (rows, shuffled)
    )
    assert (ours.intercept, ours.slope, ours.factor) == (
        theirs.intercept,
        theirs.slope,
        theirs.factor,
    )
    if ours.se_slope is not None:
        assert ours.se_slope == pytest.approx(theirs.se_slope, rel=1e-12)


@given(ROWS)
def test_turning_yes_and_no_around_keeps_the_slope_and_turns_the_intercept(rows: Rows) -> None:
    held = [row[:2] for row in rows]
    ours = cox(row_of(held, GRID), GRID)
    theirs = cox(row_of([(GRID.steps - u, 1 - y) for u, y in held], GRID), GRID)
    assert ours.reason == theirs.reason
    if ours.slope is not None and ours.intercept is not None and abs(ours.slope) < 100:
        assert theirs.slope == pytest.approx(ours.slope, rel=1e-6, abs=1e-6)
        assert theirs.intercept == pytest.approx(-ours.intercept, rel=1e-6, abs=1e-6)


def test_a_recalibrated_forecaster_has_intercept_0_and_slope_1() -> None:
    rng = np.random.default_rng(7)
    truth = rng.random(200_000)
    happened = (rng.random(truth.size) < truth).astype(int)
    odds = np.log(truth / (1 - truth))
    for slope in (0.5, 1.0, 2.0):
        said = np.rint(GRID.steps / (1 + np.exp(-odds * slope))).astype(int)
        found = cox_clustered(said, happened, np.arange(said.size), GRID)
        assert found.slope is not None and found.se_slope is not None
        assert found.slope == pytest.approx(1 / slope, abs=4 * found.se_slope + 0.01)
        assert found.intercept == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no rows"),
        ([(20, 1), (80, 1)], "all rows have one outcome"),
        ([(20, 0), (80, 0)], "all rows have one outcome"),
        ([(50, 0), (50, 1)], "all rows have one probability"),
        ([(0, 0), (10_000, 1)], "a threshold separates yes from no"),
        ([(10_000, 0), (0, 1)], "a threshold separates yes from no"),
        ([(2000, 0), (5000, 0), (5000, 1), (8000, 1)], "a threshold separates yes from no"),
    ],
)
def test_no_finite_fit_has_a_reason_and_no_numbers(
    rows: list[tuple[int, int]], reason: str
) -> None:
    for found in (
        cox(row_of(rows, GRID), GRID),
        cox_clustered([u for u, _ in rows], [y for _, y in rows], range(len(rows)), GRID),
    ):
        assert found.reason == reason
        assert found.intercept is found.slope is found.se_intercept is found.se_slope is None


def test_two_points_that_the_clamp_makes_one_have_no_slope() -> None:
    assert cox(row_of([(0, 0), (1, 1)], GRID), GRID).reason == "all rows have one probability"


def test_certain_forecasts_are_held_at_the_clamp_and_counted() -> None:
    rows = [(0, 0), (0, 1), (10_000, 1), (10_000, 0), (10_000, 1), (3000, 0)]
    found = cox(row_of(rows, GRID), GRID)
    assert found.clamped == 5 and found.clamp == Fraction(1, 10_000)
    held = [(min(max(u, 1), 9999), y) for u, y in rows]
    same = cox(row_of(held, GRID), GRID)
    assert (found.intercept, found.slope, same.clamped) == (same.intercept, same.slope, 0)
    wide = cox(row_of(rows, GRID), GRID, Fraction(1, 200))
    assert wide.slope != found.slope and wide.clamped == 5
    off_grid = cox(row_of([*rows, (1, 0)], GRID), GRID, Fraction(15, 100_000))
    assert off_grid.clamped == 6
    with pytest.raises(FormatError, match="clamp above 0"):
        cox(row_of(rows, GRID), GRID, Fraction(0))


def test_few_clusters_give_the_fit_without_errors() -> None:
    units, happened = [2000, 2000, 8000, 8000] * 9, [0, 1, 1, 0] * 9
    found = cox_clustered(units, happened, [k // 4 for k in range(36)], GRID)
    assert found.clusters == 9 and found.slope is not None
    assert found.se_slope is found.se_intercept is found.factor is None


def test_rows_outside_their_range_are_named() -> None:
    for rows, told in (
        (([10_001], [1], [0]), "units is 10001"),
        (([1], [2], [0]), "happened is 2"),
        (([1], [1], [-1]), "cluster numbers"),
        (([1, 2], [1], [0]), "different lengths"),
    ):
        with pytest.raises(FormatError, match=told):
            cox_clustered(*rows, GRID)
