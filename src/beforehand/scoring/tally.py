"""The additive summary of forecasts: how often each grid point met each outcome.

`Tally.of(rows) + Tally.of(more)` is the tally of all of them, to the last
bit, in any order, on any number of threads or machines. On a grid the counts
are sufficient for every score and decomposition of `measures`, `decompose`,
`isotonic` and `cox`: 20 forecasters on a grid of 10,000 steps take 3.2 MB,
however many rows there were.

A row is one forecast of one forecaster whose outcome is yes or no. A void, an
open question or a missing answer is no row: leave it out, or name the rows
that count with `counted`, and whatever stands in the others is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring import fast
from beforehand.scoring.columns import (
    CHUNK,
    all_within,
    column,
    index_column,
    outcome_column,
    outside,
    same_length,
    unit_column,
)
from beforehand.scoring.exact import Grid
from beforehand.scoring.rules import Counts

MAX_STEPS = 1_000_000
MAX_ROWS = 1 << 53
"""Of one forecaster; whole numbers up to here are exact in a double as well."""

_PACKED = 1 << 16


@dataclass(frozen=True, eq=False)
class Tally:
    """`counts` is int64 [forecasters, 2, steps + 1]: outcome no or yes, then grid point.

    Read-only. Equal to another tally with the same grid, the same forecasters
    in any order, and the same counts.
    """

    grid: Grid
    forecasters: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def from_counts(cls, counts: ArrayLike, forecasters: Sequence[str], grid: Grid) -> Tally:
        """A tally of counts that were made elsewhere, copied.

        FormatError unless they are whole numbers >= 0 of the shape
        [forecasters, 2, steps + 1] and no forecaster has more than 2^53 rows.

        >>> Tally.from_counts([[[0, 1], [2, 0]]], ["a"], Grid(1)).rows("a")
        3
        """
        names = checked_names(forecasters, grid)
        given = np.asarray(counts)
        shape = (len(names), 2, grid.steps + 1)
        if given.dtype.kind not in "iu" or given.shape != shape:
            raise FormatError(
                f"counts are whole numbers of shape {list(shape)}, "
                f"not {given.dtype} of {list(given.shape)}"
            )
        if given.size and (given.min() < 0 or given.max() > MAX_ROWS):
            raise FormatError("a count is below 0 or beyond 2^53")
        return _tally(grid, names, given.astype(np.int64))

    @classmethod
    def of(
        cls,
        units: ArrayLike,
        happened: ArrayLike,
        forecaster_index: ArrayLike,
        forecasters: Sequence[str],
        grid: Grid,
        *,
        counted: ArrayLike | None = None,
        threads: int = 2,
        use_fast: bool | None = None,
        start: int = 0,
    ) -> Tally:
        """The tally of rows in any order.

        `units` are grid steps 0 .. steps, `happened` booleans or 0 and 1,
        `forecaster_index` places in `forecasters`, each of shape [n] and of a
        whole-number type; `counted`, booleans [n], leaves rows out. Extra
        memory does not grow with n. `use_fast` chooses the compiled loop; by
        default it is taken where numba is installed and n is large. FormatError
        names the first row outside its range, counted from `start`.

        >>> tally = Tally.of([60, 60, 75], [1, 0, 1], [0, 0, 1], ["a", "b"], Grid(100))
        >>> tally.rows("a"), int(tally.row("b")[1, 75])
        (2, 1)
        """
        names = checked_names(forecasters, grid)
        u, y, f = unit_column(units), outcome_column(happened), index_column(forecaster_index)
        keep = None if counted is None else column(counted, "counted", "b")
        same_length(units=u, happened=y, forecaster_index=f, counted=keep)
        counts = np.zeros((len(names), 2, grid.steps + 1), dtype=np.int64)
        if keep is None and fast.wanted(u.size, use_fast):
            fast.count_rows(u, y, f, counts, threads, start)
        else:
            for begin in range(0, u.size, CHUNK):
                part = slice(begin, begin + CHUNK)
                held = (u[part], y[part], f[part])
                add_rows(counts, held, start + begin, None if keep is None else keep[part])
        return _tally(grid, names, counts)

    @classmethod
    def of_packed(
        cls,
        packed: NDArray[np.uint16],
        offsets: ArrayLike,
        forecasters: Sequence[str],
        grid: Grid,
        *,
        threads: int = 2,
        use_fast: bool | None = None,
    ) -> Tally:
        """The tally of rows packed in one 16-bit word each, forecaster after forecaster.

        `packed` is uint16 [n], 2 * units + happened, so steps <= 32,767;
        `offsets` [forecasters + 1] says where each one's rows begin, from 0 to
        n, ascending. `columns.pack` makes both. The fastest way in.

        >>> packed = np.array([120, 121, 151], dtype=np.uint16)
        >>> Tally.of_packed(packed, [0, 2, 3], ["a", "b"], Grid(100)).rows("a")
        2
        """
        names = checked_names(forecasters, grid)
        words = column(packed, "packed", "u")
        if words.dtype != np.uint16 or 2 * grid.steps + 1 >= _PACKED:
            raise FormatError("packed rows are uint16, for a grid of at most 32,767 steps")
        places = index_column(offsets).astype(np.int64)
        ends = (0, words.size)
        if places.size != len(names) + 1 or (places[0], places[-1]) != ends:
            raise FormatError(f"offsets are {len(names) + 1} numbers from 0 to {words.size}")
        if (np.diff(places) < 0).any():
            raise FormatError("offsets must not descend")
        counts = np.zeros((len(names), 2, grid.steps + 1), dtype=np.int64)
        if fast.wanted(words.size, use_fast):
            fast.count_packed(words, places, counts, threads)
        else:
            for place in range(len(names)):
                _add_packed(counts[place], words, int(places[place]), int(places[place + 1]))
        return _tally(grid, names, counts)

    @property
    def steps(self) -> int:
        """The number of grid steps from 0 to 1."""
        return self.grid.steps

    def row(self, forecaster: str) -> Counts:
        """The counts of one forecaster, int64 [2, steps + 1], read-only."""
        try:
            found: Counts = self.counts[self.forecasters.index(forecaster)]
        except ValueError:
            raise FormatError(f"there is no forecaster {forecaster!r:.80} in this tally") from None
        return found

    def rows(self, forecaster: str) -> int:
        """How many rows one forecaster has."""
        return int(self.row(forecaster).sum())

    def __add__(self, other: Tally) -> Tally:
        """Both together: exact, associative; forecasters in the order they first appear."""
        if not isinstance(other, Tally):
            return NotImplemented
        if other.grid != self.grid:
            raise FormatError(
                f"tallies on grids of {self.steps} and {other.steps} steps do not add"
            )
        names = tuple(dict.fromkeys(self.forecasters + other.forecasters))
        places = {name: place for place, name in enumerate(names)}
        counts = np.zeros((len(names), 2, self.steps + 1), dtype=np.int64)
        counts[: len(self.forecasters)] = self.counts
        counts[[places[name] for name in other.forecasters]] += other.counts
        return _tally(self.grid, names, counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.grid != other.grid or set(self.forecasters) != set(other.forecasters):
            return False
        order = [other.forecasters.index(name) for name in self.forecasters]
        return bool((self.counts == other.counts[order]).all())

    __hash__ = None  # type: ignore[assignment]


def checked_names(forecasters: Sequence[str], grid: Grid) -> tuple[str, ...]:
    """The names of a tally's forecasters; FormatError unless they and the grid can have one."""
    names = tuple(forecasters)
    if isinstance(forecasters, str) or not all(isinstance(name, str) for name in names):
        raise FormatError("forecasters are a sequence of names")
    if len(set(names)) != len(names):
        raise FormatError("a forecaster stands twice in the list")
    if not 1 <= grid.steps <= MAX_STEPS:
        raise FormatError(f"a tally has a grid of 1 to {MAX_STEPS:,} steps, not {grid.steps}")
    return names


def _tally(grid: Grid, names: tuple[str, ...], counts: NDArray[np.int64]) -> Tally:
    # Most tallies pass the cheap look at their largest count; the sum is for the others.
    largest, cells = int(counts.max(initial=0)), 2 * (grid.steps + 1)
    many = largest * cells > MAX_ROWS
    if many and (counts.sum(axis=(1, 2), dtype=np.float64) > MAX_ROWS).any():
        raise FormatError("a forecaster has more than 2^53 rows")
    counts.setflags(write=False)
    return Tally(grid, names, counts)


def add_rows(
    counts: NDArray[np.int64],
    held: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    start: int,
    keep: NDArray[np.bool_] | None = None,
) -> None:
    """Add one chunk of (units, happened, index), which begins at row `start`, to `counts`."""
    forecasters, _, width = counts.shape
    limits = {"units": width - 1, "happened": 1, "forecaster_index": forecasters - 1}
    places = None if keep is None else np.flatnonzero(keep)
    kept = held if places is None else tuple(values[places] for values in held)
    named = dict(zip(limits, zip(kept, limits.values(), strict=True), strict=True))
    all_within(named, start, places)
    units, happened, index = (values.astype(np.int64) for values in kept)
    key = (index * 2 + happened) * width + units
    flat = counts.reshape(-1)
    if flat.size <= 4 * key.size:
        flat += np.bincount(key, minlength=flat.size)
    else:  # a table larger than the chunk: touch only what occurs
        found, often = np.unique(key, return_counts=True)
        flat[found] += often


def _add_packed(row: Counts, words: NDArray[np.uint16], start: int, end: int) -> None:
    width = 2 * row.shape[1]
    total = np.zeros(width, dtype=np.int64)
    for begin in range(start, end, CHUNK):
        part = words[begin : min(begin + CHUNK, end)]
        found = np.bincount(part, minlength=width)
        if found.size > width:
            first = int(np.flatnonzero(part >= width)[0])
            raise outside("packed", int(part[first]), width - 1, begin + first)
        total += found
    row += total.reshape(-1, 2).T
