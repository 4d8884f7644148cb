"""Exact scores against exact fractions and an independent library; the laws they must keep."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid, decimal_places, mean, median

GRID = Grid(10_000)
UNITS = st.integers(0, GRID.steps)


def test_grid_of_a_declared_step() -> None:
    assert Grid.of(Decimal("0.0001")) == GRID
    assert Grid.of(Decimal("0.01")).steps == 100
    for step in ("0.0003", "0", "-0.1", "2"):
        with pytest.raises(FormatError, match="grid step"):
            Grid.of(Decimal(step))


@pytest.mark.parametrize(
    ("text", "units"),
    [("0", 0), ("1", 10_000), ("0.00005", 0), ("0.00015", 2), ("0.97505", 9750), ("0.3", 3000)],
)
def test_half_to_even(text: str, units: int) -> None:
    assert GRID.units(Decimal(text)) == units


@pytest.mark.parametrize("text", ["-0.0001", "1.0001", "70"])
def test_what_is_no_probability_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="not a probability"):
        GRID.units(Decimal(text))


@given(st.lists(st.tuples(UNITS, st.booleans()), min_size=1, max_size=200))
def test_brier_equals_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    ours = mean(GRID.brier(GRID.brier_units(units, y)) for units, y in rows)
    p = np.array([units / GRID.steps for units, _ in rows])
    theirs = brier_score_loss([int(y) for _, y in rows], p, labels=[0, 1])
    assert ours is not None
    assert float(ours) == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.tuples(UNITS, st.booleans()), min_size=2, max_size=50), st.randoms())
def test_row_order_changes_no_digit(rows: list[tuple[int, bool]], random: object) -> None:
    shuffled = rows[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sum(GRID.brier_units(*row) for row in rows) == sum(
        GRID.brier_units(*row) for row in shuffled
    )


@given(UNITS, st.booleans())
def test_flipping_yes_and_no_leaves_brier_unchanged(units: int, y: bool) -> None:
    assert GRID.brier_units(units, y) == GRID.brier_units(GRID.steps - units, not y)


@given(UNITS, UNITS)
def test_expected_brier_is_least_at_the_true_probability(truth: int, said: int) -> None:
    def expected(units: int) -> int:
        return truth * GRID.brier_units(units, True) + (GRID.steps - truth) * GRID.brier_units(
            units, False
        )

    assert expected(truth) <= expected(said)
    assert expected(truth) < expected(said) or truth == said


def test_perfect_and_worst_with_one_class_present() -> None:
    assert mean([GRID.brier_units(10_000, True)] * 3) == 0
    assert GRID.brier(GRID.brier_units(10_000, False)) == 1


def test_a_statistic_of_nothing_is_none() -> None:
    assert mean([]) is None
    assert median([]) is None


@given(st.lists(st.fractions(0, 1, max_denominator=10_000), min_size=1, max_size=40))
def test_median_equals_numpy(values: list[Fraction]) -> None:
    ours = median(values)
    assert ours is not None
    assert float(ours) == pytest.approx(float(np.median([float(v) for v in values])), abs=1e-15)


@given(st.fractions(-3, 3, max_denominator=100_000), st.integers(0, 8))
def test_decimal_places_is_half_to_even(value: Fraction, places: int) -> None:
    quantum = Decimal(1).scaleb(-places)
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    text = decimal_places(value, places)
    assert abs(Fraction(text) - value) <= Fraction(quantum) / 2
    if Fraction(exact) == value:
        assert Decimal(text) == exact.quantize(quantum)
    assert text != "-0" and not (text.startswith("-") and Fraction(text) == 0)
