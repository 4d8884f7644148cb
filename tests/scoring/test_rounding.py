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
BAD = [math.nan, math.inf, -math.inf, -1e-9, -5e-324, 1.0000000000000002, 1.0000001, 65.5]
VALUES = st.lists(st.one_of(st.floats(0, 1), FIVES), max_size=40)


@pytest.fixture(params=["numpy", "plain loop", *(["numba"] if fast.available() else [])])
def use_fast(request: pytest.FixtureRequest) -> Iterator[bool]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain loop":
            patch.setattr(fast, "_compiled", lambda loop: loop)
            patch.setattr(fast, "available", lambda: True)
        yield request.param != "numpy"


def adversarial(steps: int, kind: type = np.float64) -> np.ndarray:
    """Every middle and point of a grid with the float on each side, the ends, the very small."""
    marks = (np.arange(2 * steps + 1) / (2 * steps)).astype(kind)
    near = [marks, np.nextafter(marks, kind(0)), np.nextafter(marks, kind(1))]
    small = np.finfo(kind).smallest_subnormal
    ends = [0.0, -0.0, 1.0, 1e-5, 5e-5, small, np.finfo(kind).tiny, 1 - np.finfo(kind).epsneg]
    return np.concatenate([*near, np.array(ends, dtype=kind)])


def by_text(values: np.ndarray, grid: Grid) -> list[int]:
    """The definition: the shortest decimal that names a float, rounded half to even."""
    texts = [np.format_float_positional(value, unique=True) for value in values]
    return [grid.units(Decimal(text)) for text in texts]


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


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("steps", [1, 3, 7, 64, 100, 1_000, 1_024, 10_000])
def test_the_middles_and_their_neighbours_go_where_their_decimals_go(
    steps: int, kind: type
) -> None:
    values, grid = adversarial(steps, kind), Grid(steps)
    assert on_grid(values, grid).units.tolist() == by_text(values, grid)


def test_a_grid_too_fine_for_its_decimals_goes_by_their_text() -> None:
    """Middles of these grids have more digits than a float is sure of."""
    rng, kinds = np.random.default_rng(3), ((1 << 17, np.float64), (200_000, np.float32))
    for steps, kind in kinds:
        grid, values = Grid(steps), adversarial(steps, kind)
        values = np.concatenate([rng.choice(values, 20_000), values[-8:]])
        assert on_grid(values, grid).units.tolist() == by_text(values, grid)


def test_halves_go_to_the_even_point_as_written() -> None:
    values = [0.00005, 0.00015, 0.97505, 0.12345, 0.12355]
    assert on_grid(values, GRID).units.tolist() == [0, 2, 9750, 1234, 1236]
    single = on_grid(np.array(values, dtype=np.float32), GRID)
    assert single.units.tolist() == [0, 2, 9750, 1234, 1236]


def test_zero_has_no_sign_and_the_very_small_are_moved() -> None:
    found = on_grid([0.0, -0.0, 1.0], GRID)
    assert (found.units.tolist(), found.rounded, found.largest) == ([0, 0, 10_000], 0, 0.0)
    found = on_grid([5e-324, -0.0], GRID)
    assert (found.units.tolist(), found.rounded, found.largest) == ([0, 0], 1, 5e-324)


def test_single_precision_on_the_grid_is_not_rounded() -> None:
    values = (np.arange(10_001) / 10_000).astype(np.float32)
    found = on_grid(values, GRID)
    assert found.units.tolist() == list(range(10_001))
    assert (found.rounded, found.largest) == (0, 0.0)


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_probability_is_named(bad: float) -> None:
    values = [0.5, 0.25, bad, math.nan]
    with pytest.raises(FormatError, match=r"row 2: .* is not a probability from 0 to 1"):
        on_grid(values, GRID)


def test_other_columns_are_refused() -> None:
    for column in (["0.5"], [[0.5]], [True], np.array([0.5], dtype=np.float16)):
        with pytest.raises(FormatError, match="one column of floats"):
            on_grid(column, GRID)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_tally_of_raw_columns_is_the_same_however_it_is_made(
    use_fast: bool, threads: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, rng = adversarial(1_000, kind), np.random.default_rng(9)
    y, f = rng.integers(0, 2, values.size), rng.integers(0, 3, values.size)
    grid, names = Grid(1_000), ["a", "b", "c"]
    wanted = Tally.of(by_text(values, grid), y, f, names, grid)
    whole = on_grid(values, grid)
    for module in (fast, rounding):
        monkeypatch.setattr(module, "CHUNK", 1_000)
    for order in (slice(None), slice(None, None, -1), rng.permutation(values.size)):
        p = values[order]
        p.setflags(write=False)
        found = tally_of_probabilities(
            p, y[order], f[order], names, grid, threads=threads, use_fast=use_fast
        )
        assert found == (wanted, whole.rounded, whole.largest)


def test_a_count_beyond_the_small_table_is_carried(use_fast: bool) -> None:
    n = 70_000 if use_fast and fast.available() else 1_000
    p, y = np.full(n, 0.97505), np.ones(n, dtype=bool)
    p[: n // 10] = 0.5
    tally, rounded, _ = tally_of_probabilities(
        p, y, np.zeros(n, dtype=np.uint8), ["a"], GRID, use_fast=use_fast
    )
    row = tally.row("a")
    assert (row[1, 9750], row[1, 5000], row.sum()) == (n - n // 10, n // 10, n)
    assert rounded == n - n // 10


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_row_that_is_none_is_named(
    bad: float, threads: int, use_fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (fast, rounding):
        monkeypatch.setattr(module, "CHUNK", 16)
    rng = np.random.default_rng(9)
    p, y, f = np.round(rng.random(300), 6), rng.integers(0, 2, 300), rng.integers(0, 2, 300)

    def refused(told: str) -> None:
        with pytest.raises(FormatError, match=told):
            tally_of_probabilities(p, y, f, ["a", "b"], GRID, threads=threads, use_fast=use_fast)

    f[290] = -1
    refused("row 290: forecaster_index is -1, not a whole number from 0 to 1")
    y[207] = 5
    refused("row 207: happened is 5")
    p[207] = bad
    refused(r"row 207: .* is not a probability")
    f[201] = 2
    refused("row 201: forecaster_index is 2")
    p[9] = math.nan
    refused("row 9: nan is not a probability from 0 to 1")
    with pytest.raises(FormatError, match="different lengths"):
        tally_of_probabilities(p[1:], y, f, ["a", "b"], GRID)


def test_a_tally_of_no_rows(use_fast: bool) -> None:
    none = np.zeros(0)
    found = tally_of_probabilities(none, none, none, ["a"], GRID, use_fast=use_fast)
    assert found == (Tally.of([], [], [], ["a"], GRID), 0, 0.0)
