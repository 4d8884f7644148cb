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
from beforehand.scoring.columns import (
    CHUNK,
    all_stated,
    first_improbable,
    improbable,
    index_column,
    outcome_column,
    same_length,
)
from beforehand.scoring.exact import Grid
from beforehand.scoring.tally import Tally, add_rows, checked_names


@dataclass(frozen=True, eq=False)
class OnGrid:
    """`units` are grid steps, uint32 [n]; `rounded` rows moved, none by more than `largest`."""

    units: NDArray[np.uint32]
    rounded: int
    largest: float


def on_grid(probabilities: ArrayLike, grid: Grid) -> OnGrid:
    """The nearest grid point of each probability, half to even; floats [n] from 0 to 1.

    FormatError names the first row, counted from 0, that is not a number from
    0 to 1: NaN, an infinity, a percentage.

    >>> found = on_grid([0.3, 0.97505, 0.12345], Grid(10_000))
    >>> found.units.tolist(), found.rounded, round(found.largest, 12)
    ([3000, 9750, 1234], 2, 5e-05)
    """
    values = _float_column(probabilities)
    begins = edges(grid, values.dtype.name)
    units = np.zeros(values.size, dtype=np.uint32)
    rounded, largest = 0, 0.0
    for start in range(0, values.size, CHUNK):
        part = values[start : start + CHUNK]
        bad = first_improbable(part)
        if bad is not None:
            raise improbable(part[bad], start + bad)
        units[start : start + CHUNK], moved, most = nearest(part, begins)
        rounded, largest = rounded + moved, max(largest, most)
    return OnGrid(units, rounded, largest if rounded else 0.0)


def nearest(values: NDArray[Any], begins: NDArray[Any]) -> tuple[NDArray[np.uint32], int, float]:
    """`(units, rounded, largest)` of values from 0 to 1, by the `edges` of their grid.

    >>> units, rounded, largest = nearest(np.array([0.5, 0.75, 1.0]), edges(Grid(2), "float64"))
    >>> units.tolist(), rounded, largest
    ([1, 2, 2], 1, 0.25)
    """
    steps, wide = begins.size - 1, values.astype(np.float64)
    units = (wide * steps).astype(np.uint32)
    units += values >= begins[units]
    points = units / steps
    rounded = int((points.astype(values.dtype) != values).sum())
    return units, rounded, float(np.abs(wide - points).max(initial=0.0))


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
    """`(tally, rounded, largest)` from raw columns, as `on_grid` and `Tally.of`, in one pass.

    Extra memory does not grow with n. FormatError names the first row that is
    not of its form, counted from 0.

    >>> said, happened = [0.61, 0.5], [1, 0]
    >>> tally, rounded, largest = tally_of_probabilities(said, happened, [0, 0], ["a"], Grid(10))
    >>> tally.row("a").nonzero()[1].tolist(), rounded, round(largest, 12)
    ([5, 6], 1, 0.01)
    """
    p = _float_column(probabilities)
    y, f = outcome_column(happened), index_column(forecaster_index)
    same_length(probabilities=p, happened=y, forecaster_index=f)
    names = checked_names(forecasters, grid)
    begins = edges(grid, p.dtype.name)
    counts = np.zeros((len(names), 2, grid.steps + 1), dtype=np.int64)
    rounded, largest = 0, 0.0
    if fast.wanted(p.size, use_fast):
        rounded, largest = fast.count_stated(p, y, f, begins, counts, threads)
    else:
        for start in range(0, p.size, CHUNK):
            said, came, who = (column[start : start + CHUNK] for column in (p, y, f))
            all_stated(said, came, who, len(names), start)
            units, moved, most = nearest(said, begins)
            add_rows(counts, (units, came, who), start)
            rounded, largest = rounded + moved, max(largest, most)
    return Tally.from_counts(counts, names, grid), rounded, largest if rounded else 0.0


@lru_cache(maxsize=8)
def edges(grid: Grid, kind: str) -> NDArray[Any]:
    """The least float of a kind that goes to each grid point after the first; 2 ends them.

    [steps + 1]. A value v and the decimal that names it lie on the same side
    of a middle m between two points, for rounding to a float keeps order: v
    goes down where it is below the float of m, up where it is above. Where it
    is that float, the decimal is m itself if m has so few digits that no
    other decimal as short has the same float; else the decimal decides.

    >>> edges(Grid(2), "float64").tolist()
    [0.25000000000000006, 0.75, 2.0]
    """
    steps = grid.steps
    middles = ((2 * np.arange(steps) + 1) / (2 * steps)).astype(kind)
    up = np.arange(steps) % 2 == 1
    if 10 ** np.finfo(kind).precision % (2 * steps):
        units = (grid.units(Decimal(np.format_float_positional(m, unique=True))) for m in middles)
        up = np.fromiter(units, dtype=np.int64, count=steps) > np.arange(steps)
    found: NDArray[Any] = np.full(steps + 1, 2, dtype=kind)
    found[:-1] = np.where(up, middles, np.nextafter(middles, found[-1]))
    found.setflags(write=False)
    return found


def _float_column(values: ArrayLike) -> NDArray[Any]:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype not in (np.float32, np.float64):
        raise FormatError(f"probabilities are one column of floats, not {found.dtype}")
    return found
