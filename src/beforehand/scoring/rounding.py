"""Columns of probabilities onto the declared grid, with what that moved.

A double is read as the shortest decimal that names it, which is what was
written: 0.97505 on a grid of 10,000 steps is exactly between two points and
goes to the even one, though the double is a little below. Nothing else is
changed: what is not a probability is refused with its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring import fast
from beforehand.scoring.columns import CHUNK, index_column, outcome_column, same_length
from beforehand.scoring.exact import Grid
from beforehand.scoring.tally import Tally

_STRETCH = 8 * CHUNK


@dataclass(frozen=True, eq=False)
class OnGrid:
    """`units` are grid steps, uint32 [n]; `rounded` rows moved, at most by `largest`."""

    units: NDArray[np.uint32]
    rounded: int
    largest: float


def on_grid(
    probabilities: ArrayLike, grid: Grid, *, use_fast: bool | None = None, start: int = 0
) -> OnGrid:
    """The nearest grid point of each probability, half to even; floats [n] from 0 to 1.

    FormatError names the first row, counted from `start`, that is not a number
    from 0 to 1: NaN, an infinity, a percentage.

    >>> found = on_grid([0.3, 0.97505, 0.12345], Grid(10_000))
    >>> found.units.tolist(), found.rounded, round(found.largest, 12)
    ([3000, 9750, 1234], 2, 5e-05)
    """
    values = np.asarray(probabilities)
    if values.ndim != 1 or values.dtype not in (np.float32, np.float64):
        raise FormatError(f"probabilities are one column of floats, not {values.dtype}")
    known = _points(grid, values.dtype.name)
    near = max(1e-6, 4 * grid.steps * float(np.finfo(values.dtype).eps))
    units = np.zeros(values.size, dtype=np.uint32)
    rounded, largest = 0, 0.0
    for begin in range(0, values.size, CHUNK):
        part = np.ascontiguousarray(values[begin : begin + CHUNK])
        make = fast.nearest if fast.wanted(values.size, use_fast) else nearest
        found, off, halves, bad = make(part, known, near)
        if bad >= 0:
            told = f"row {start + begin + bad}: {part[bad]!s} is not a probability from 0 to 1"
            raise FormatError(told)
        if halves.size:
            said, place = np.unique(part[halves], return_inverse=True)
            found[halves] = np.array([_decided(value, grid) for value in said])[place]
        units[begin : begin + CHUNK] = found
        if off:
            rounded += off
            moved = np.abs(part.astype(np.float64) - found / grid.steps)
            largest = max(largest, float(moved[known[found] != part].max()))
    return OnGrid(units, rounded, largest)


def nearest(
    values: NDArray[Any], known: NDArray[Any], near: float
) -> tuple[NDArray[np.uint32], int, NDArray[np.int64], int]:
    """`(units, off, halves, bad)`: nearest grid points of values [n] on the points `known`.

    `off` values are not on the grid; `halves` are the places of those within
    `near` steps of the middle between two points, which the caller decides;
    `bad` is the first place that is no probability, or -1.

    >>> units, off, halves, bad = nearest(np.array([0.5, 0.75]), np.array([0.0, 0.5, 1.0]), 1e-6)
    >>> off, halves.tolist(), bad
    (1, [1], -1)
    """
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        return np.zeros(0, np.uint32), 0, np.zeros(0, np.int64), int(wrong.argmax())
    at = values.astype(np.float64) * (known.size - 1) + 0.5
    units = at.astype(np.uint32)
    off = known[units] != values
    halves = np.flatnonzero(off & (np.abs(at - np.rint(at)) < near))
    return units, int(off.sum()), halves, -1


def tally_of_probabilities(
    probabilities: ArrayLike,
    happened: ArrayLike,
    forecaster_index: ArrayLike,
    forecasters: Sequence[str],
    grid: Grid,
    *,
    threads: int = 2,
    use_fast: bool | None = None,
) -> tuple[Tally, int, float]:
    """`(tally, rounded, largest)` from raw columns, as `on_grid` and `Tally.of`; memory bounded.

    >>> said, happened = [0.61, 0.5], [1, 0]
    >>> tally, rounded, largest = tally_of_probabilities(said, happened, [0, 0], ["a"], Grid(10))
    >>> tally.row("a").nonzero()[1].tolist(), rounded, round(largest, 12)
    ([5, 6], 1, 0.01)
    """
    p, y, f = np.asarray(probabilities), outcome_column(happened), index_column(forecaster_index)
    same_length(probabilities=p, happened=y, forecaster_index=f)
    use_fast = fast.wanted(p.size, use_fast)
    whole = Tally.of([], [], [], forecasters, grid)
    rounded, largest = 0, 0.0
    for start in range(0, p.size, _STRETCH):
        part = slice(start, start + _STRETCH)
        held = on_grid(p[part], grid, use_fast=use_fast, start=start)
        whole += Tally.of(
            held.units,
            y[part],
            f[part],
            forecasters,
            grid,
            threads=threads,
            use_fast=use_fast,
            start=start,
        )
        rounded, largest = rounded + held.rounded, max(largest, held.largest)
    return whole, rounded, largest


@lru_cache(maxsize=8)
def _points(grid: Grid, kind: str) -> NDArray[Any]:
    """The grid points as floats of one kind: each the nearest to its decimal."""
    found: NDArray[Any] = (np.arange(grid.steps + 1) / grid.steps).astype(kind)
    found.setflags(write=False)
    return found


def _decided(value: Any, grid: Grid) -> int:
    """The grid point of a value close to a half, by the shortest decimal that names it."""
    return grid.units(Decimal(np.format_float_positional(value, unique=True)))
