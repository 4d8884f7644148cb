"""Columns of rows as arrays: their checks, and the packed form that a tally reads fastest.

A row that is not of its form is named by its number, counted from 0, and
never repaired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid

CHUNK = 1 << 20
"""Rows that are worked on at once: extra memory stays a few times this many words."""

_KINDS = {"b": "booleans", "iu": "whole numbers", "biu": "booleans, or 0 and 1", "u": "uint16"}


def column(values: ArrayLike, name: str, kinds: str) -> NDArray[Any]:
    """The array of a column, one dimension, its numpy type of one of these kinds.

    >>> column([True, False], "counted", "b").size
    2
    """
    found = np.asarray(values)
    if found.ndim != 1:
        raise FormatError(f"{name} has one dimension, not {found.ndim}")
    if not found.size and found.dtype.kind not in kinds:
        return np.zeros(0, dtype=np.int64 if "i" in kinds else bool)
    if found.dtype.kind not in kinds:
        raise FormatError(f"{name} holds {_KINDS[kinds]}, not {found.dtype}")
    return found


def unit_column(values: ArrayLike) -> NDArray[Any]:
    """Grid steps: a column of a whole-number type."""
    return column(values, "units", "iu")


def outcome_column(values: ArrayLike) -> NDArray[Any]:
    """Outcomes: booleans or whole numbers; labels, texts and fractions are not guessed at."""
    return column(values, "happened", "biu")


def index_column(values: ArrayLike) -> NDArray[Any]:
    """Places in a list: a column of a whole-number type."""
    return column(values, "an index", "iu")


def same_length(**columns: NDArray[Any] | None) -> None:
    """FormatError unless all columns that are there have one length."""
    sizes = {name: held.size for name, held in columns.items() if held is not None}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise FormatError(f"columns of different lengths: {told}")


def outside(name: str, value: int, most: int, row: int) -> FormatError:
    """The error for the first value of a column that is outside its range.

    >>> str(outside("units", 101, 100, 7))
    'row 7: units is 101, not a whole number from 0 to 100'
    """
    return FormatError(f"row {row}: {name} is {value}, not a whole number from 0 to {most}")


def within(values: NDArray[Any], name: str, most: int, start: int = 0) -> None:
    """FormatError naming the first row whose value is not from 0 to `most`."""
    all_within({name: (values, most)}, start)


def all_within(
    columns: Mapping[str, tuple[NDArray[Any], int]],
    start: int = 0,
    places: NDArray[np.int64] | None = None,
) -> None:
    """FormatError naming the first row, and in it the first column, not from 0 to its most.

    Rows are counted from `start`; `places` says which they are where some were left out.

    >>> all_within({"units": (np.array([5, 101]), 100), "happened": (np.array([2, 1]), 1)})
    Traceback (most recent call last):
    beforehand.errors.FormatError: row 0: happened is 2, not a whole number from 0 to 1
    """
    firsts = {
        name: int(np.flatnonzero((values < 0) | (values > most))[0])
        for name, (values, most) in columns.items()
        if values.size and (values.min() < 0 or values.max() > most)
    }
    if firsts:
        name = min(firsts, key=firsts.__getitem__)
        first, (values, most) = firsts[name], columns[name]
        row = first if places is None else int(places[first])
        raise outside(name, int(values[first]), most, start + row)


def all_stated(
    values: NDArray[Any],
    happened: NDArray[Any],
    index: NDArray[Any],
    forecasters: int,
    start: int = 0,
) -> None:
    """FormatError naming the first row, counted from `start`, that no tally can count.

    Its probability is no number from 0 to 1 (NaN, an infinity, a percentage),
    or its outcome or its forecaster is outside its range.

    >>> all_stated(np.array([0.5, 65.0]), np.array([1, 7]), np.array([0, 0]), 1)
    Traceback (most recent call last):
    beforehand.errors.FormatError: row 1: 65.0 is not a probability from 0 to 1
    """
    bad = first_improbable(values)
    before = slice(0, values.size if bad is None else bad)
    limits = {
        "happened": (happened[before], 1),
        "forecaster_index": (index[before], forecasters - 1),
    }
    all_within(limits, start)
    if bad is not None:
        raise improbable(values[bad], start + bad)


def first_improbable(values: NDArray[Any]) -> int | None:
    """The place of the first value that is not a number from 0 to 1."""
    inside = (values >= 0) & (values <= 1)
    return None if inside.all() else int(inside.argmin())


def improbable(value: Any, row: int) -> FormatError:
    """The error for a value that is no probability."""
    return FormatError(f"row {row}: {value!s} is not a probability from 0 to 1")


def pack(
    units: ArrayLike,
    happened: ArrayLike,
    forecaster_index: ArrayLike,
    forecasters: int,
    grid: Grid,
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """`(packed, offsets)` of rows in any order, for `Tally.of_packed`: the one-off ingest.

    `packed` is uint16 [n], 2 * units + happened, forecaster after forecaster
    and in each the order of the rows; `offsets` int64 [forecasters + 1].
    FormatError names the first row outside its range; steps <= 32,767.

    >>> packed, offsets = pack([60, 75, 60], [1, 1, 0], [0, 1, 0], 2, Grid(100))
    >>> packed.tolist(), offsets.tolist()
    ([121, 120, 151], [0, 2, 3])
    """
    if 2 * grid.steps + 1 >= 1 << 16:
        raise FormatError(f"a grid of {grid.steps} steps does not fit in 16 bits")
    u, y, f = unit_column(units), outcome_column(happened), index_column(forecaster_index)
    same_length(units=u, happened=y, forecaster_index=f)
    sizes = np.zeros(forecasters, dtype=np.int64)
    for start in range(0, u.size, CHUNK):
        part = slice(start, start + CHUNK)
        all_within(
            {
                "units": (u[part], grid.steps),
                "happened": (y[part], 1),
                "forecaster_index": (f[part], forecasters - 1),
            },
            start,
        )
        sizes += np.bincount(f[part].astype(np.int64), minlength=forecasters)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    packed = np.empty(u.size, dtype=np.uint16)
    nexts = offsets[:-1].copy()
    for start in range(0, u.size, CHUNK):
        part = slice(start, start + CHUNK)
        order = np.argsort(f[part], kind="stable")
        words = (u[part].astype(np.uint16) * 2 + y[part].astype(np.uint16))[order]
        cuts = np.bincount(f[part].astype(np.int64), minlength=forecasters)
        begin = 0
        for place in np.flatnonzero(cuts):
            size = int(cuts[place])
            packed[nexts[place] : nexts[place] + size] = words[begin : begin + size]
            nexts[place] += size
            begin += size
    return packed, offsets
