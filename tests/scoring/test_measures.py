"""Scores and bins of a tally row against fractions and scikit-learn, and the laws they keep."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from beforehand.errors import FormatError
from beforehand.scoring.calibration import calibration_bins, calibration_error
from beforehand.scoring.exact import Grid
from beforehand.scoring.measures import (
    base_rate,
    bins,
    brier,
    ece,
    folded,
    log_loss,
    row_of,
    sharpness,
    spherical,
)
from beforehand.scoring.rules import Counts
from tests.scoring import plain_measures as plain

GRID = Grid(10_000)
ROW = st.tuples(st.integers(0, GRID.steps), st.integers(0, 1))
ROWS = st.lists(ROW, min_size=1, max_size=60)
Rows = list[tuple[int, int]]


def fractions(rows: Rows) -> list[tuple[Fraction, int]]:
    return [(GRID.probability(units), y) for units, y in rows]


def turned(counts: Counts) -> Counts:
    """The same questions asked the other way round."""
    return np.ascontiguousarray(counts[::-1, ::-1])


@given(ROWS)
def test_scores_equal_scikit_learn_and_fractions(rows: Rows) -> None:
    counts = row_of(rows, GRID)
    p, y = np.array([units / GRID.steps for units, _ in rows]), [y for _, y in rows]
    ours = brier(counts, GRID)
    assert ours == plain.brier(fractions(rows))
    assert float(ours) == pytest.approx(brier_score_loss(y, p, labels=[0, 1]), abs=1e-12)
    held = np.clip(p, 1e-4, 1 - 1e-4)
    theirs = sklearn_log_loss(y, held, labels=[0, 1])
    assert log_loss(counts, GRID).value == pytest.approx(theirs, abs=1e-12)


@given(ROWS)
def test_log_loss_is_the_exact_mean_rounded_once(rows: Rows) -> None:
    found = log_loss(row_of(rows, GRID), GRID)
    given_ = [min(max(u if y else GRID.steps - u, 1), GRID.steps - 1) for u, y in rows]
    assert found.value == pytest.approx(
        math.fsum(-math.log(g / GRID.steps) for g in given_) / len(rows), rel=1e-14
    )
    assert found.n == len(rows)
    assert found.clamped == sum(u in (0, GRID.steps) for u, _ in rows)


@given(ROWS)
def test_spherical(rows: Rows) -> None:
    losses = []
    for units, y in rows:
        p = units / GRID.steps
        losses.append(1 - (p if y else 1 - p) / math.hypot(p, 1 - p))
    assert spherical(row_of(rows, GRID), GRID) == pytest.approx(np.mean(losses), abs=1e-12)


@given(ROWS, st.integers(1, 40))
def test_bins_and_error_are_those_of_calibration(rows: Rows, count: int) -> None:
    counts = row_of(rows, GRID)
    theirs = calibration_bins([(units, bool(y)) for units, y in rows], GRID, count)
    assert bins(counts, GRID, count) == theirs
    assert ece(counts, GRID, count) == calibration_error(theirs, GRID)
    assert ece(counts, GRID, count) == plain.ece(fractions(rows), count)
    assert sum(item.n for item in theirs) == len(rows)


@given(ROWS)
def test_sharpness_and_base_rate(rows: Rows) -> None:
    found = sharpness(row_of(rows, GRID), GRID)
    wanted = sum((abs(p - Fraction(1, 2)) for p, _ in fractions(rows)), Fraction(0))
    assert found is not None
    assert found.mean == 2 * wanted / len(rows) and found.k == 100 * found.mean
    assert base_rate(row_of(rows, GRID), GRID) == Fraction(sum(y for _, y in rows), len(rows))


@given(ROWS)
def test_turning_yes_and_no_around_changes_no_score(rows: Rows) -> None:
    counts = row_of(rows, GRID)
    for measure in (brier, log_loss, spherical, sharpness, folded):
        assert measure(counts, GRID) == measure(turned(counts), GRID)  # type: ignore[operator]


@given(ROWS, st.integers(2, 1 << 45))
def test_all_rows_many_times_over_change_no_mean(rows: Rows, factor: int) -> None:
    """Also past the number of rows at which the fast sums stop being exact."""
    counts = row_of(rows, GRID)
    for measure in (brier, spherical, sharpness, ece, base_rate):
        assert measure(counts * factor, GRID) == measure(counts, GRID)  # type: ignore[operator]
    assert log_loss(counts * factor, GRID).value == log_loss(counts, GRID).value


@given(ROWS)
def test_folded_bins(rows: Rows) -> None:
    found = folded(row_of(rows, GRID), GRID)
    half = GRID.steps // 2
    sides = [(max(u, GRID.steps - u), y if u > half else 1 - y) for u, y in rows if u != half]
    for item, low, high in zip(
        found.bins, (5000, 6000, 7000, 8000), (6000, 7000, 8000, 10_001), strict=True
    ):
        held = [(u, y) for u, y in sides if low <= u < high]
        assert (item.n, item.yes) == (len(held), sum(y for _, y in held))
        assert item.sum_units == sum(u for u, _ in held)
        assert (item.low, item.high) == (low, min(high, GRID.steps))
    assert found.left_out == len(rows) - len(sides)


def test_folded_on_an_odd_grid_has_no_half() -> None:
    found = folded(row_of([(1, 0), (2, 1)], Grid(3)), Grid(3), [Fraction(1, 2), Fraction(1)])
    assert [(item.n, item.yes, item.sum_units) for item in found.bins] == [(2, 2, 4)]
    assert found.left_out == 0


def test_nothing_has_no_measure() -> None:
    counts = row_of([], GRID)
    for measure in (brier, spherical, sharpness, ece, base_rate):
        assert measure(counts, GRID) is None  # type: ignore[operator]
    empty = log_loss(counts, GRID)
    assert (empty.value, empty.n, empty.clamped) == (None, 0, 0)
    assert [item.n for item in bins(counts, GRID)] == [0] * 10
    assert folded(counts, GRID).left_out == 0


def test_an_unclamped_log_loss_may_be_infinite() -> None:
    none = Fraction(0)
    assert log_loss(row_of([(0, 1)], GRID), GRID, none).value == math.inf
    assert log_loss(row_of([(GRID.steps, 0)], GRID), GRID, none).value == math.inf
    assert log_loss(row_of([(GRID.steps, 1), (0, 0)], GRID), GRID, none).value == 0


def test_always_half_reads_a_quarter() -> None:
    counts = row_of([(5000, 0), (5000, 1), (5000, 1)], GRID)
    assert brier(counts, GRID) == Fraction(1, 4)
    assert log_loss(counts, GRID).value == math.log(2)
    assert sharpness(counts, GRID).k == 0  # type: ignore[union-attr]


def test_what_is_no_row_of_this_grid_is_refused() -> None:
    good = row_of([(1, 1)], GRID)
    for bad in (good.astype(np.int32), good[:, :-1], good[:1]):
        for measure in (brier, log_loss, spherical, sharpness, ece, folded, base_rate):
            with pytest.raises(FormatError, match="a row of a tally"):
                measure(bad, GRID)  # type: ignore[operator]
    for count in (0, GRID.steps + 1):
        with pytest.raises(FormatError, match="bins"):
            ece(good, GRID, count)
    for edges in ([Fraction(1, 2)], [Fraction(1, 2), Fraction(1, 4), Fraction(1)], [0, 1]):
        with pytest.raises(FormatError, match="edges"):
            folded(good, GRID, edges)  # type: ignore[arg-type]
    for row in ((-1, 1), (1, 2)):
        with pytest.raises(FormatError, match="no row"):
            row_of([row], GRID)
