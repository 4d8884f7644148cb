"""The counting loops, compiled where numba is installed (the extra `[fast]`).

Nothing else depends on numba: it is imported at the first large tally, and
what it counts is the same whole numbers as the numpy form, so no result
depends on it. The loops release Python's lock, and plain threads share the
rows; each counts into a table of its own, and whole numbers add in any order.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from beforehand.errors import FormatError
from beforehand.scoring.columns import CHUNK, all_stated, all_within, outside

WORTH_ROWS = 1 << 21
"""Below this many rows numpy is done before numba has compiled (half a second)."""

MAX_THREADS = 64
_WORDS = 1 << 16
_STRETCH = 1 << 30
_MAX_TABLES = 1 << 27
_DISAGREE = "the compiled loop refused a row that is in order"

Made = TypeVar("Made")


@lru_cache(maxsize=1)
def _numba() -> Any | None:
    try:
        return importlib.import_module("numba")
    except ImportError:
        return None


def available() -> bool:
    """True where numba can be imported."""
    return _numba() is not None


def wanted(rows: int, use_fast: bool | None) -> bool:
    """Whether to take the compiled loop; FormatError where it is asked for and not there.

    >>> wanted(1000, None), wanted(10**9, False)
    (False, False)
    """
    if use_fast is None:
        return rows >= WORTH_ROWS and available()
    if use_fast and not available():
        raise FormatError("numba is not installed; it comes with the extra [fast]")
    return use_fast


def _packed_loop(words: NDArray[np.uint16], table: NDArray[np.uint32]) -> None:
    """Count each of 65,536 words; the table is small so that it stays near the processor."""
    for place in range(words.size):
        table[words[place]] += 1


def _spread_loop(table: NDArray[np.uint32], row: NDArray[np.int64]) -> None:
    """Add words 2 * units + happened to [happened, units], and empty the table there."""
    for units in range(row.shape[1]):
        row[0, units] += table[2 * units]
        row[1, units] += table[2 * units + 1]
        table[2 * units] = 0
        table[2 * units + 1] = 0


def _rows_loop(
    units: NDArray[Any], happened: NDArray[Any], index: NDArray[Any], counts: NDArray[np.int64]
) -> bool:
    """Count rows into [index, happened, units]; False at a row outside."""
    for place in range(units.size):
        u, y, f = units[place], happened[place], index[place]
        inside = 0 <= u < counts.shape[2] and 0 <= y < 2 and 0 <= f < counts.shape[0]
        if not inside:
            return False
        counts[int(f), int(y), int(u)] += 1
    return True


def _stated_loop(
    values: NDArray[Any],
    happened: NDArray[Any],
    index: NDArray[Any],
    edges: NDArray[Any],
    low: NDArray[np.uint8],
    high: NDArray[np.int64],
) -> tuple[bool, int, float]:
    """Count rows by the grid point of their probability: `(inside, moved, largest)`.

    `inside` is False at a row that cannot be counted. No branch depends on the
    probability, so no column is slow. `low` counts to 255 and carries into
    `high`: a small table stays near the processor.
    """
    forecasters, _, width = high.shape
    steps = float(width - 1)
    little, large = low.reshape(-1), high.reshape(-1)
    moved, largest = 0, 0.0
    for place in range(values.size):
        p, y, f = values[place], np.int64(happened[place]), np.int64(index[place])
        inside = (p >= 0) & (p <= 1) & (y >= 0) & (y < 2) & (f >= 0) & (f < forecasters)
        if not inside:
            return False, moved, largest
        units = int(float(p) * steps)
        units += p >= edges[np.uint64(units)]
        point = units / steps
        moved += values.dtype.type(point) != p
        largest = max(largest, abs(float(p) - point))
        cell = np.uint64((f * 2 + y) * width + units)
        count = int(little[cell]) + 1
        little[cell] = count & 255
        if count > 255:
            large[cell] += count
    return True, moved, largest


@lru_cache(maxsize=8)
def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    numba = _numba()
    compiled: Callable[..., Any] = loop if numba is None else numba.njit(nogil=True)(loop)
    return compiled


def count_packed(
    words: NDArray[np.uint16],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    threads: int = 2,
) -> None:
    """Add packed rows, `Tally.of_packed`'s, to `counts` int64 [forecasters, 2, steps + 1].

    >>> counts = np.zeros((1, 2, 101), dtype=np.int64)
    >>> count_packed(np.array([121, 121], dtype=np.uint16), np.array([0, 2]), counts)
    >>> int(counts[0, 1, 60])
    2
    """
    count, spread = _compiled(_packed_loop), _compiled(_spread_loop)
    width = 2 * counts.shape[2]
    words = np.ascontiguousarray(words)

    def work(begin: int, end: int, first: NDArray[np.int64]) -> None:
        table = np.zeros(_WORDS, dtype=np.uint32)
        start, place = begin, int(np.searchsorted(offsets, begin, side="right")) - 1
        while start < end:
            stop = min(int(offsets[place + 1]), end)
            # A forecaster whose rows began in an earlier share is added afterwards.
            row = counts[place] if begin <= offsets[place] else first
            for part in range(start, stop, _STRETCH):
                count(words[part : min(part + _STRETCH, stop)], table)
                spread(table, row)
            start, place = stop, place + 1
        if table.any():
            bad = int(np.flatnonzero(words >= width)[0])
            raise outside("packed", int(words[bad]), width - 1, bad)

    shares = _shares(words.size, threads)
    spare = np.zeros((len(shares), *counts.shape[1:]), dtype=np.int64)
    _together([partial(work, *share, spare[k]) for k, share in enumerate(shares)])
    for share, held in zip(shares, spare, strict=True):
        place = int(np.searchsorted(offsets, share[0], side="right")) - 1
        if share[0] < words.size and share[0] != offsets[place]:
            counts[place] += held


def count_rows(
    units: NDArray[Any],
    happened: NDArray[Any],
    index: NDArray[Any],
    counts: NDArray[np.int64],
    threads: int = 2,
    first: int = 0,
) -> None:
    """Add rows in any order to `counts` int64 [forecasters, 2, steps + 1].

    `first` is the number of the first row in an error.

    >>> counts = np.zeros((1, 2, 101), dtype=np.int64)
    >>> count_rows(np.array([60]), np.array([True]), np.array([0]), counts)
    >>> int(counts[0, 1, 60])
    1
    """
    count, (forecasters, _, width) = _compiled(_rows_loop), counts.shape
    columns = [_plain(values) for values in (units, happened, index)]
    limits = {"units": width - 1, "happened": 1, "forecaster_index": forecasters - 1}

    def work(start: int, end: int, table: NDArray[np.int64]) -> None:
        for begin in range(start, end, CHUNK):
            held = [values[begin : min(begin + CHUNK, end)] for values in columns]
            if not count(*held, table):
                named = zip(limits, zip(held, limits.values(), strict=True), strict=True)
                all_within(dict(named), first + begin)
                raise AssertionError(_DISAGREE)

    _in_tables(work, units.size, threads, counts)


def count_stated(
    values: NDArray[Any],
    happened: NDArray[Any],
    index: NDArray[Any],
    edges: NDArray[Any],
    counts: NDArray[np.int64],
    threads: int = 2,
) -> tuple[int, float]:
    """Add rows of probabilities in any order to `counts` int64 [forecasters, 2, steps + 1].

    `(moved, largest)`: how many rows were off the grid, and how far any row was at most.
    `edges` are those of `rounding.edges`.

    >>> counts, edges = np.zeros((1, 2, 2), dtype=np.int64), np.array([0.6, 2.0])
    >>> columns = np.array([0.5, 0.75]), np.array([True, True]), np.array([0, 0])
    >>> count_stated(*columns, edges, counts), counts.tolist()
    ((2, 0.5), [[[0, 0], [1, 1]]])
    """
    count = _compiled(_stated_loop)
    columns = [_plain(held) for held in (values, happened, index)]

    def work(start: int, end: int, table: NDArray[np.int64]) -> tuple[int, float]:
        low, moved, largest = np.zeros(counts.shape, dtype=np.uint8), 0, 0.0
        for begin in range(start, end, CHUNK):
            held = [column[begin : min(begin + CHUNK, end)] for column in columns]
            inside, more, most = count(*held, edges, low, table)
            if not inside:
                all_stated(held[0], held[1], held[2], counts.shape[0], begin)
                raise AssertionError(_DISAGREE)
            moved, largest = moved + int(more), max(largest, float(most))
        table += low
        return moved, largest

    found = _in_tables(work, values.size, threads, counts)
    return sum(moved for moved, _ in found), max(largest for _, largest in found)


def _in_tables(
    work: Callable[[int, int, NDArray[np.int64]], Made],
    rows: int,
    threads: int,
    counts: NDArray[np.int64],
) -> list[Made]:
    """What `work` made of each share of the rows, each in a table of its own, added to `counts`."""
    most = max(1, _MAX_TABLES // max(counts.nbytes, 1))
    shares = _shares(rows, min(threads, most))
    tables = [counts, *(np.zeros_like(counts) for _ in shares[1:])]
    tasks = [partial(work, *share, table) for share, table in zip(shares, tables, strict=True)]
    found = _together(tasks)
    for table in tables[1:]:
        counts += table
    return found


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """The column in a type that the compiled loop takes: no booleans, no foreign byte order."""
    if values.dtype == bool:
        return values.view(np.uint8)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _shares(rows: int, threads: int) -> list[tuple[int, int]]:
    """`rows` cut into one stretch a thread."""
    if not 1 <= threads <= MAX_THREADS:
        raise FormatError(f"1 to {MAX_THREADS} threads, not {threads}")
    return [(rows * k // threads, rows * (k + 1) // threads) for k in range(threads)]


def _together(tasks: Sequence[Callable[[], Made]]) -> list[Made]:
    """Run the tasks in threads, the first in this one; the error of the earliest is raised."""
    if len(tasks) == 1:
        return [tasks[0]()]
    with ThreadPoolExecutor(len(tasks) - 1) as pool:
        others = [pool.submit(task) for task in tasks[1:]]
        return [tasks[0](), *(done.result() for done in others)]
