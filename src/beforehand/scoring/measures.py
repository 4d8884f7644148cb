"""The measures of one forecaster, each a function of its row of a tally.

A row is `tally.row(name)`: how often each grid point met each outcome, int64
[2, steps + 1]. Whatever is rational is returned as an exact `Fraction`; a
float says how it was rounded. A measure of nothing is None.

Every function refuses, with a FormatError, counts of another shape or type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beforehand.errors import FormatError
from beforehand.scoring.calibration import Bin
from beforehand.scoring.exact import Grid
from beforehand.scoring.rules import Counts, declared_clamp, loss_table

FOLDED_EDGES = tuple(Fraction(k, 100) for k in (50, 60, 70, 80, 100))


@dataclass(frozen=True)
class LogLoss:
    """`value` in nats, None of nothing; `clamped` of the `n` rows stood beyond the clamp."""

    value: float | None
    n: int
    clamped: int
    clamp: Fraction


@dataclass(frozen=True)
class Sharpness:
    """How far from one half: `mean` = 2 mean|p - 1/2|, from 0 to 1; `k` the same from 0 to 100."""

    mean: Fraction
    k: Fraction


@dataclass(frozen=True)
class Folded:
    """Bins of the probability of the likelier side; `left_out` rows said exactly one half."""

    bins: list[Bin]
    left_out: int


def checked(counts: Counts, grid: Grid) -> Counts:
    """The counts, where they have the shape and type of a row on this grid."""
    if counts.dtype != np.int64 or counts.shape != (2, grid.steps + 1):
        raise FormatError(
            f"a row of a tally is int64 of shape [2, {grid.steps + 1}], "
            f"not {counts.dtype} of {list(counts.shape)}"
        )
    return counts


def widened(counts: Counts, weight: int) -> NDArray[Any]:
    """The counts as they are where sums of them times `weight` fit in int64, else as integers."""
    return counts if float(counts.sum()) * weight < 2**62 else counts.astype(object)


def rows_of(counts: Counts) -> int:
    """How many rows there are."""
    return int(counts.sum())


def base_rate(counts: Counts, grid: Grid) -> Fraction | None:
    """The share of rows that happened, exact.

    >>> base_rate(row_of([(60, 1), (30, 0)], Grid(100)), Grid(100))
    Fraction(1, 2)
    """
    yes, n = int(checked(counts, grid)[1].sum()), rows_of(counts)
    return Fraction(yes, n) if n else None


def brier(counts: Counts, grid: Grid) -> Fraction | None:
    """Mean of (p - y)^2, from 0 to 1, exact. Twice this is Brier's sum over both outcomes.

    Brier 1950, Monthly Weather Review 78.

    >>> brier(row_of([(60, 1), (30, 0)], Grid(100)), Grid(100))
    Fraction(1, 8)
    """
    n = rows_of(checked(counts, grid))
    return loss_table("brier", grid).total(counts, n) / n if n else None


def log_loss(counts: Counts, grid: Grid, clamp: Fraction | Decimal | None = None) -> LogLoss:
    """Mean of -ln(probability given to what happened), natural logarithm, 0 or more.

    p is held between the clamp and 1 - clamp; the clamp is the grid step
    unless declared, and the rows beyond it are counted. The sum of counts
    times correctly rounded logarithms is exact, and the quotient is rounded
    once. Infinite where the clamp is 0 and a probability of 0 came true.
    Good 1952, JRSS B 14.

    >>> log_loss(row_of([(50, 1), (100, 1)], Grid(100)), Grid(100))
    LogLoss(value=0.35159875820672337, n=2, clamped=1, clamp=Fraction(1, 100))
    """
    n, least = rows_of(checked(counts, grid)), declared_clamp(grid, clamp)
    beyond = math.ceil(least * grid.steps)
    clamped = int(counts[:, :beyond].sum() + counts[:, grid.steps + 1 - beyond :].sum())
    if not n:
        return LogLoss(None, 0, 0, least)
    if not least and (counts[1, 0] or counts[0, grid.steps]):
        return LogLoss(math.inf, n, clamped, least)
    return LogLoss(float(loss_table("log", grid, least).total(counts, n) / n), n, clamped, least)


def spherical(counts: Counts, grid: Grid) -> float | None:
    """Mean of 1 - q / sqrt(p^2 + (1 - p)^2), q given to what happened; from 0 to 1.

    The sum of counts times correctly rounded losses is exact, and the quotient
    is rounded once. Roby 1965; Gneiting and Raftery 2007, JASA 102.

    >>> spherical(row_of([(100, 1), (100, 0), (60, 1)], Grid(100)), Grid(100))
    0.3893165685540521
    """
    n = rows_of(checked(counts, grid))
    return float(loss_table("spherical", grid).total(counts, n) / n) if n else None


def sharpness(counts: Counts, grid: Grid) -> Sharpness | None:
    """Twice the mean distance of p from one half, whatever happened; exact.

    >>> sharpness(row_of([(48, 1), (42, 0), (55, 0), (60, 1)], Grid(100)), Grid(100)).k
    Fraction(25, 2)
    """
    said = checked(counts, grid).sum(axis=0)
    n = rows_of(counts)
    if not n:
        return None
    distance = np.abs(2 * np.arange(grid.steps + 1, dtype=np.int64) - grid.steps)
    mean = Fraction(int(np.dot(widened(said, grid.steps), distance)), n * grid.steps)
    return Sharpness(mean, 100 * mean)


def bin_edges(grid: Grid, count: int) -> NDArray[np.int64]:
    """Where each of `count` bins [low, high) begins, in whole steps, the edges of `calibration`.

    FormatError unless 1 <= count <= steps.

    >>> bin_edges(Grid(100), 4).tolist()
    [0, 25, 50, 75]
    """
    if not 1 <= count <= grid.steps:
        raise FormatError(f"1 to {grid.steps} bins on this grid, not {count}")
    return np.array([-(-grid.steps * k // count) for k in range(count)], dtype=np.int64)


def bins(counts: Counts, grid: Grid, count: int = 10) -> list[Bin]:
    """`count` bins [low, high), the last closed, as `calibration.calibration_bins` has them.

    Empty bins are kept, so the list always has `count` entries.

    >>> [b.n for b in bins(row_of([(30, 1), (100, 1)], Grid(100)), Grid(100))]
    [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    """
    lows = bin_edges(grid, count)
    held = widened(checked(counts, grid), grid.steps)
    said = held[0] + held[1]
    n = np.add.reduceat(said, lows).tolist()
    yes = np.add.reduceat(held[1], lows).tolist()
    total = np.add.reduceat(said * np.arange(grid.steps + 1), lows).tolist()
    edges = [*lows.tolist(), grid.steps]
    return [Bin(edges[k], edges[k + 1], n[k], yes[k], total[k]) for k in range(count)]


def ece(counts: Counts, grid: Grid, count: int = 10) -> Fraction | None:
    """Expected calibration error on `count` bins of whole steps, exact, from 0 to 1.

    Sum of n_k / N |mean stated - share that happened|. A picture more than a
    score: a calibrated forecaster has about 0.35 sqrt(bins / n), and p and
    1 - p exchange their sides of an edge. Naeini et al. 2015 (AAAI).

    >>> ece(row_of([(95, 1), (100, 0)], Grid(100)), Grid(100))
    Fraction(19, 40)
    """
    held = bins(counts, grid, count)
    n = sum(item.n for item in held)
    gap = sum(abs(item.sum_units - item.yes * grid.steps) for item in held)
    return Fraction(gap, n * grid.steps) if n else None


def folded(
    counts: Counts, grid: Grid, edges: Sequence[Fraction | Decimal] = FOLDED_EDGES
) -> Folded:
    """Bins of the likelier side: p below one half counts as 1 - p with the outcome turned.

    `edges` ascend from 1/2 to 1; bins are [low, high), the last closed. Rows at
    exactly one half have no likelier side and are counted apart. Empty bins
    are kept. Units of the bins are those of the likelier side.

    >>> [(b.n, b.yes) for b in folded(row_of([(45, 0), (52, 1)], Grid(100)), Grid(100)).bins]
    [(2, 2), (0, 0), (0, 0), (0, 0)]
    """
    held, steps = checked(counts, grid), grid.steps
    marks = [Fraction(edge) for edge in edges]
    if marks != sorted(set(marks)) or marks[0] != Fraction(1, 2) or marks[-1] != 1:
        raise FormatError("folded edges ascend from one half to 1")
    # Turned around: column g of `likelier` is the side that was given g steps.
    likelier = held + held[::-1, ::-1]
    lows = [math.ceil(mark * steps) for mark in marks]
    lows[0] = steps // 2 + 1
    found = []
    for place in range(len(lows) - 1):
        last = place == len(lows) - 2
        units = np.arange(lows[place], lows[place + 1] + last)
        part = widened(likelier[:, units], steps)
        n = part.sum(axis=0)
        low = math.ceil(marks[place] * steps)
        total = int((n * units).sum())
        found.append(Bin(low, lows[place + 1], int(n.sum()), int(part[1].sum()), total))
    left_out = 0 if steps % 2 else int(held[:, steps // 2].sum())
    return Folded(found, left_out)


def row_of(rows: Sequence[tuple[int, bool | int]], grid: Grid) -> Counts:
    """The row of a tally for a few `(units, happened)` pairs, written by hand.

    >>> int(row_of([(60, 1), (60, 1)], Grid(100))[1, 60])
    2
    """
    counts = np.zeros((2, grid.steps + 1), dtype=np.int64)
    for units, happened in rows:
        if not 0 <= units <= grid.steps or happened not in (0, 1):
            raise FormatError(f"({units}, {happened}) is no row on a grid of {grid.steps} steps")
        counts[int(happened), units] += 1
    return counts
