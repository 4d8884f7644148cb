"""Stated probability against what happened: bins of whole grid steps, counts, Wilson bars."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from beforehand.scoring.exact import Grid

NORMAL_95 = 1.959963984540054


def wilson(successes: int, n: int, z: float = NORMAL_95) -> tuple[float, float] | None:
    """Wilson's score interval for a share; None of nothing (Wilson 1927).

    >>> [round(x, 4) for x in wilson(7, 10)]
    [0.3968, 0.8922]
    """
    if n == 0:
        return None
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Bin:
    """`low` to `high` grid steps, the upper edge in the last bin only; n may be 0."""

    low: int
    high: int
    n: int
    yes: int
    sum_units: int


def calibration_bins(rows: Iterable[tuple[int, bool]], grid: Grid, count: int = 10) -> list[Bin]:
    """`count` bins [low, high), the last closed, from `(units, happened)` rows.

    The edges are whole numbers of steps, so 0.3, 0.6 and 0.7 fall where they
    are written. Empty bins are kept.

    >>> [b.n for b in calibration_bins([(3000, True), (10000, True)], Grid(10000))]
    [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    """
    n, yes, total = [0] * count, [0] * count, [0] * count
    for units, happened in rows:
        place = min(units * count // grid.steps, count - 1)
        n[place] += 1
        yes[place] += happened
        total[place] += units
    edges = [-(-grid.steps * k // count) for k in range(count + 1)]
    return [Bin(edges[k], edges[k + 1], n[k], yes[k], total[k]) for k in range(count)]


def calibration_error(bins: Iterable[Bin], grid: Grid) -> Fraction | None:
    """Expected calibration error: sum of n_k/N |mean stated - share that happened|.

    Exact; None of nothing. A picture more than a score: a calibrated
    forecaster has one above 0 too.
    """
    held = [item for item in bins if item.n]
    total = sum(item.n for item in held)
    if not total:
        return None
    gaps = (abs(Fraction(item.sum_units, grid.steps) - item.yes) for item in held)
    return sum(gaps, Fraction(0)) / total
