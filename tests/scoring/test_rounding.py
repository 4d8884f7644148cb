"""Columns of doubles onto the grid, as the decimal text they were written from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring import fast, rounding
from beforehand.scoring.exact import Grid
from beforehand.scoring.rounding import on_grid, tally_of_probabilities
from beforehand.scoring.tally import Tally

GRID = Grid(10_000)
FIVES = st.integers(0, 200_000).map(lambda k: k / 200_000)  # halves of a step among them
VALUES = st.lists(st.one_of(st.floats(0, 1), FIVES), max_size=40)


@pytest.fixture(params=["numpy", "plain loop", *(["numba"] if fast.available() else [])])
def use_fast(request: pytest.FixtureRequest) -> Iterator[bool]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain loop":
            patch.setattr(fast, "_compiled", lambda loop: loop)
            patch.setattr(fast, "available", lambda: True)
        yield request.param != "numpy"


@given(VALUES, st.sampled_from([1, 3, 7, 100, 10_000, 1_000_000]))
def test_every_value_goes_where_its_decimal_goes(values: list[float], steps: int) -> None:
    grid = Grid(steps)
    found = on_grid(np.array(values, dtype=np.float64), grid)
    wanted = [grid.units(Decimal(repr(value))) for value in values]
    assert found.units.tolist() == wanted
    moved = [
        abs(Fraction(value) - Fraction(units, steps))
        for value, units in zip(values, wanted, strict=True)
        if value != units / steps
    ]
    assert found.rounded == len(moved)
    assert found.largest == pytest.approx(
        float(max(moved, default=Fraction(0))), rel=1e-9, abs=1e-16
    )


def test_every_form_gives_the_same(use_fast: bool) -> None:
    rng = np.random.default_rng(8)
    values = np.concatenate(
        [np.round(rng.random(2000), 5), rng.random(2000), np.arange(10_001) / 10_000]
    )
    found = on_grid(values, GRID, use_fast=use_fast)
    assert found.units.tolist() == [GRID.units(Decimal(repr(v))) for v in values.tolist()]
    assert found.units[-10_001:].tolist() == list(range(10_001))
    assert found.rounded == sum(v != u / 10_000 for v, u in zip(values, found.units, strict=True))


def test_halves_go_to_the_even_point_as_written() -> None:
    values = [0.00005, 0.00015, 0.97505, 0.12345, 0.12355]
    assert on_grid(values, GRID).units.tolist() == [0, 2, 9750, 1234, 1236]
    single = on_grid(np.array(values, dtype=np.float32), GRID)
    assert single.units.tolist() == [0, 2, 9750, 1234, 1236]


def test_single_precision_on_the_grid_is_not_rounded() -> None:
    values = (np.arange(10_001) / 10_000).astype(np.float32)
    found = on_grid(values, GRID)
    assert found.units.tolist() == list(range(10_001)) and found.rounded == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1e-9, 1.0000001, 65.5])
def test_what_is_no_probability_is_named(bad: float, use_fast: bool) -> None:
    values = [0.5, 0.25, bad, math.nan]
    with pytest.raises(FormatError, match=r"row 2: .* is not a probability from 0 to 1"):
        on_grid(values, GRID, use_fast=use_fast)
    with pytest.raises(FormatError, match="row 12: "):
        on_grid(values, GRID, use_fast=use_fast, start=10)


def test_other_columns_are_refused() -> None:
    for column in (["0.5"], [[0.5]], [True], np.array([0.5], dtype=np.float16)):
        with pytest.raises(FormatError, match="one column of floats"):
            on_grid(column, GRID)


def test_the_tally_of_raw_columns(use_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "_STRETCH", 64)
    monkeypatch.setattr(rounding, "CHUNK", 16)
    rng = np.random.default_rng(9)
    p, y, f = np.round(rng.random(300), 6), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    tally, rounded, largest = tally_of_probabilities(p, y, f, ["a", "b"], GRID, use_fast=use_fast)
    whole = on_grid(p, GRID)
    assert tally == Tally.of(whole.units, y, f, ["a", "b"], GRID)
    assert (rounded, largest) == (whole.rounded, whole.largest)
    y[200] = 5
    with pytest.raises(FormatError, match="row 200: happened is 5"):
        tally_of_probabilities(p, y, f, ["a", "b"], GRID, use_fast=use_fast)
    with pytest.raises(FormatError, match="different lengths"):
        tally_of_probabilities(p[1:], y, f, ["a", "b"], GRID)
