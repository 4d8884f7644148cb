"""The loss tables: correctly rounded, the same on every machine, proper at every grid point."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid
from beforehand.scoring.logarithms import BITS, logarithm, logarithms
from beforehand.scoring.rules import RULES, Rule, declared_clamp, loss, loss_table, unit_table

GRID = Grid(10_000)
UNITS = st.integers(0, GRID.steps)

# Little-endian int64, outcome no first: a book's cluster sums are made with these very numbers.
SHA256 = {
    "brier": "dabb974e69188727f05ff6592206324682ff5db68922e12a0c3c3a38026a81fd",
    "log": "35b6bb08df575bcbe1a42fcc03e6c2da3ad843c95b9b98054ca847cd73fd825b",
    "spherical": "2bd9deab4f82ebdc3686c30f25c8b1dbdf78a596310e11c34856b63b1a3d5845",
}
PRECISE = decimal.Context(prec=60)


def decimal_loss(rule: Rule, given: int, steps: int) -> Decimal:
    """The loss where `given` of `steps` went to what happened, at 60 digits."""
    if rule == "brier":
        return PRECISE.divide(Decimal((steps - given) ** 2), Decimal(steps * steps))
    if rule == "log":
        held = Decimal(min(max(given, 1), steps - 1))
        return -PRECISE.ln(PRECISE.divide(held, Decimal(steps)))
    norm = PRECISE.sqrt(Decimal(given**2 + (steps - given) ** 2))
    return PRECISE.subtract(Decimal(1), PRECISE.divide(Decimal(given), norm))


@pytest.mark.parametrize("rule", RULES)
def test_every_entry_is_the_correctly_rounded_value(rule: Rule) -> None:
    table = loss_table(rule, GRID)
    for units in range(GRID.steps + 1):
        wanted = float(decimal_loss(rule, units, GRID.steps))
        assert table.losses[1, units] == table.losses[0, GRID.steps - units] == wanted


@pytest.mark.parametrize("rule", RULES)
def test_whole_units_are_the_nearest(rule: Rule) -> None:
    table = unit_table(rule, GRID)
    for units in range(0, GRID.steps + 1, 7):
        exact = decimal_loss(rule, units, GRID.steps) * table.per_one
        assert int(table.units[1, units]) == int(exact.to_integral_value(context=PRECISE))


@pytest.mark.parametrize("rule", RULES)
def test_the_hash_of_the_table(rule: Rule) -> None:
    assert unit_table(rule, GRID).sha256() == SHA256[rule]


@given(st.sampled_from(RULES), UNITS, st.booleans())
def test_scalar_and_table_agree_to_the_bit(rule: Rule, units: int, happened: bool) -> None:
    ours = loss(rule, units, happened, GRID)
    assert ours == loss_table(rule, GRID).losses[int(happened), units]
    if rule == "brier":
        assert ours == float(GRID.brier(GRID.brier_units(units, happened)))


@given(st.sampled_from(RULES), UNITS, st.booleans())
def test_turning_the_question_around_changes_no_loss(rule: Rule, units: int, y: bool) -> None:
    assert loss(rule, units, y, GRID) == loss(rule, GRID.steps - units, not y, GRID)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", [2, 10, 100, 1000])
def test_expected_loss_is_least_at_the_true_probability(rule: Rule, steps: int) -> None:
    """For every truth on the grid and every statement on it, in whole units."""
    table = unit_table(rule, Grid(steps), Fraction(1, 10 * steps)).units.astype(object)
    for truth in range(0, steps + 1, max(1, steps // 50)):
        expected = truth * table[1] + (steps - truth) * table[0]
        assert expected[truth] == expected.min()
        if rule != "log" or steps < 1000:  # 2^-32 is coarse beside a step of 0.001 squared
            assert (expected == expected[truth]).sum() == 1


@given(st.sampled_from(RULES), UNITS, UNITS)
def test_propriety_on_the_declared_grid(rule: Rule, truth: int, said: int) -> None:
    table = loss_table(rule, GRID, Fraction(1, 10**6))

    def expected(units: int) -> Fraction:
        yes, no = (Fraction(float(table.losses[y, units])) for y in (1, 0))
        return truth * yes + (GRID.steps - truth) * no

    assert expected(truth) <= expected(said)


@given(
    st.sampled_from(RULES),
    st.lists(st.tuples(UNITS, st.integers(0, 1), st.integers(0, 1 << 50)), max_size=30),
)
def test_totals_are_exact(rule: Rule, cells: list[tuple[int, int, int]]) -> None:
    """Also where the rows are so many that doubles could not hold the sum."""
    table, counts = loss_table(rule, GRID), np.zeros((2, GRID.steps + 1), dtype=np.int64)
    for units, y, n in cells:
        counts[y, units] = n
    wanted = Fraction(0)
    for y, units in zip(*np.nonzero(counts), strict=True):
        one = Fraction(float(table.losses[y, units]))
        if rule == "brier":
            one = GRID.brier(GRID.brier_units(int(units), bool(y)))
        wanted += int(counts[y, units]) * one
    assert table.total(counts) == wanted


def test_logarithms_of_two_makings_agree() -> None:
    made = logarithms(GRID.steps)
    for k in range(1, GRID.steps + 1, 13):
        assert abs(made[k] - logarithm(Fraction(k))) < 1 << (BITS - 228)
    assert made[2] / 2**BITS == math.log(2)


def test_logarithms_have_limits() -> None:
    for upto in (0, 1_000_001):
        with pytest.raises(FormatError, match="logarithms are made"):
            logarithms(upto)
    for value in (Fraction(0), Fraction(-1), Fraction(1, 10**101)):
        with pytest.raises(FormatError, match="no logarithm"):
            logarithm(value)


def test_the_clamp_is_declared_and_bounded() -> None:
    assert declared_clamp(GRID) == Fraction(1, 10_000)
    assert declared_clamp(GRID, Decimal("0.001")) == Fraction(1, 1000)
    for clamp in (Fraction(1, 2), Fraction(-1, 100), Decimal(1)):
        with pytest.raises(FormatError, match="clamp"):
            declared_clamp(GRID, clamp)


@pytest.mark.parametrize("clamp", [Fraction(1, 10**6), Fraction(15, 100_000), Fraction(1, 100)])
def test_a_clamp_off_the_grid_holds_its_own_value(clamp: Fraction) -> None:
    table = loss_table("log", GRID, clamp)
    assert table.losses[1, 0] == pytest.approx(-math.log(clamp), rel=1e-15)
    assert table.losses[1, GRID.steps] == pytest.approx(-math.log1p(-clamp), rel=1e-12)
    inside = math.floor(clamp * GRID.steps) + 1
    assert table.losses[1, inside] == pytest.approx(-math.log(inside / GRID.steps), rel=1e-15)
    assert (np.diff(table.losses[1]) <= 0).all()


def test_without_a_clamp_a_loss_may_be_infinite_and_has_no_whole_units() -> None:
    assert loss("log", 0, True, GRID, Fraction(0)) == math.inf
    assert loss("log", GRID.steps, True, GRID, Fraction(0)) == 0
    table = loss_table("log", GRID, Fraction(0))
    assert table.losses[1, 0] == table.losses[0, GRID.steps] == math.inf
    with pytest.raises(FormatError, match="whole units"):
        unit_table("log", GRID, Fraction(0))


def test_rows_of_losses() -> None:
    found = unit_table("brier", GRID).rows(np.array([6200, 6200]), np.array([True, False]))
    assert found.tolist() == [GRID.brier_units(6200, True), GRID.brier_units(6200, False)]


def test_what_is_no_rule_or_no_grid_point_is_refused() -> None:
    with pytest.raises(FormatError, match="no scoring rule"):
        loss_table("accuracy", GRID)  # type: ignore[arg-type]
    for units in (-1, GRID.steps + 1):
        with pytest.raises(FormatError, match="grid steps"):
            loss("brier", units, True, GRID)


def test_tables_cannot_be_written_to() -> None:
    for array in (
        unit_table("log", GRID).units,
        loss_table("log", GRID).losses,
        loss_table("log", GRID).limbs,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
