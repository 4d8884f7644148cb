"""Bins of whole steps, Wilson's interval, calibration error: the field's usual mistakes absent."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.scoring.calibration import calibration_bins, calibration_error, wilson
from beforehand.scoring.exact import Grid

GRID = Grid(10_000)
ROWS = st.lists(st.tuples(st.integers(0, GRID.steps), st.booleans()), max_size=100)


def ece(rows: list[tuple[float, int]]) -> float | None:
    units = [(round(p * GRID.steps), bool(y)) for p, y in rows]
    value = calibration_error(calibration_bins(units, GRID), GRID)
    return None if value is None else float(value)


def test_every_hundredth_falls_where_it_is_written() -> None:
    """0.3, 0.6 and 0.7 are below the binary edges of ten equal bins, and not below ours."""
    for k in range(101):
        bins = calibration_bins([(k * 100, True)], GRID)
        assert [item.n for item in bins].index(1) == min(k // 10, 9)


def test_one_stays_in_the_last_bin() -> None:
    assert ece([(0.95, 1), (1.0, 0)]) == pytest.approx(0.475)


def test_zero_is_kept() -> None:
    assert ece([(0.0, 1), (0.45, 0)]) == pytest.approx(0.725)


def test_wrong_with_certainty_is_one() -> None:
    assert ece([(1.0, 0)] * 5) == 1


def test_a_constant_forecast_is_compared_with_the_share() -> None:
    assert ece([(0.5, 1)] * 4 + [(0.5, 0)]) == pytest.approx(0.3)


def test_the_gap_is_to_the_mean_stated_not_to_the_middle_of_the_bin() -> None:
    assert ece([(0.0, 0), (1.0, 1)]) == 0


def test_empty_bins_are_kept_and_nothing_has_no_error() -> None:
    bins = calibration_bins([], GRID)
    assert [item.n for item in bins] == [0] * 10
    assert calibration_error(bins, GRID) is None


@given(ROWS, st.integers(1, 40))
def test_every_row_is_counted_once(rows: list[tuple[int, bool]], count: int) -> None:
    bins = calibration_bins(rows, GRID, count)
    assert sum(item.n for item in bins) == len(rows)
    assert sum(item.yes for item in bins) == sum(y for _, y in rows)
    for units, _ in rows:
        places = [i for i, b in enumerate(bins) if b.low <= units < b.high]
        assert places or units == GRID.steps


@given(ROWS)
def test_error_lies_between_0_and_1(rows: list[tuple[int, bool]]) -> None:
    value = calibration_error(calibration_bins(rows, GRID), GRID)
    assert value is None or Fraction(0) <= value <= 1


@pytest.mark.parametrize(
    ("yes", "n", "low", "high"),
    [(7, 10, 0.396776, 0.892209), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0)],
)
def test_wilson_published_values(yes: int, n: int, low: float, high: float) -> None:
    assert wilson(yes, n) == pytest.approx((low, high), abs=1e-5)


def test_wilson_equals_scipy() -> None:
    from scipy.stats import binomtest

    for yes, n in ((3, 17), (50, 100), (1, 578)):
        theirs = binomtest(yes, n).proportion_ci(0.95, method="wilson")
        assert wilson(yes, n) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert wilson(0, 0) is None
