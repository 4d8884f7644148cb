"""CORP: the decomposition that chooses no bins (Dimitriadis, Gneiting and Jordan 2021, PNAS 118).

The shares that happened, made to rise with what was stated by pooling
neighbours (isotonic regression, pool adjacent violators), are the best
recalibration there is. The Brier score then falls into

    Brier = mcb - dsc + unc

mcb, miscalibration: what that recalibration would gain; dsc, discrimination:
what it gains over the base rate; unc, uncertainty: the base rate's own score.
All three are 0 or more, and exact fractions here: shares are compared by
whole numbers, and rows with one stated probability are one point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from beforehand.scoring.exact import Grid
from beforehand.scoring.measures import brier, checked, rows_of
from beforehand.scoring.rules import Counts

_PASSES = 12
_PRODUCT_ROWS = 1 << 31
"""Below this many rows a product of two counts is below 2^62."""


@dataclass(frozen=True)
class Step:
    """One level of the isotonic curve.

    Of `n` rows stated from `low` to `high` grid steps, both included, `yes` happened.
    """

    low: int
    high: int
    n: int
    yes: int

    @property
    def share(self) -> Fraction:
        """What the probabilities of this step should have been, in hindsight."""
        return Fraction(self.yes, self.n)


@dataclass(frozen=True)
class Corp:
    """`score` is the Brier score, mcb - dsc + unc exactly; `curve` the recalibration."""

    mcb: Fraction
    dsc: Fraction
    unc: Fraction
    score: Fraction
    curve: tuple[Step, ...]

    @property
    def miscalibration(self) -> Fraction:
        """`mcb`: what recalibration would gain."""
        return self.mcb

    @property
    def discrimination(self) -> Fraction:
        """`dsc`: what the recalibrated forecasts gain over the base rate."""
        return self.dsc


def isotonic(counts: Counts, grid: Grid) -> tuple[Step, ...]:
    """The isotonic curve of one row of a tally: steps with strictly rising shares.

    Ayer et al. 1955, Annals of Mathematical Statistics 26. Empty for nothing.

    >>> from beforehand.scoring.measures import row_of
    >>> rows = [(10, 0), (40, 1), (60, 0), (80, 1)]
    >>> [(s.low, s.high, str(s.share)) for s in isotonic(row_of(rows, Grid(100)), Grid(100))]
    [(10, 10, '0'), (40, 60, '1/2'), (80, 80, '1')]
    """
    said = checked(counts, grid).sum(axis=0)
    used = np.flatnonzero(said)
    pooled: list[tuple[int, int, int]] = []
    for point in zip(*_prepooled(used, said[used], counts[1, used]), strict=True):
        low, n, yes = point
        while pooled and pooled[-1][2] * n >= yes * pooled[-1][1]:
            low, before, happened = pooled.pop()
            n, yes = n + before, yes + happened
        pooled.append((low, n, yes))
    ends = np.searchsorted(used, [low for low, _, _ in pooled[1:]]) - 1
    highs = [*used[ends].tolist(), int(used[-1])] if pooled else []
    return tuple(Step(low, high, n, yes) for (low, n, yes), high in zip(pooled, highs, strict=True))


def _prepooled(
    low: NDArray[np.int64], n: NDArray[np.int64], yes: NDArray[np.int64]
) -> tuple[list[int], list[int], list[int]]:
    """Points with the plainest neighbours pooled: whole runs of shares that do not rise.

    Neighbours out of order end in one step whatever is pooled first, so the
    curve is the same; this leaves fewer points to the loop. Only where the
    products of counts fit in int64.
    """
    rows = int(n.sum())
    for _ in range(_PASSES if rows < _PRODUCT_ROWS else 0):
        rises = np.empty(low.size, dtype=bool)
        rises[:1] = True
        np.less(yes[:-1] * n[1:], yes[1:] * n[:-1], out=rises[1:])
        starts = np.flatnonzero(rises)
        if 8 * starts.size > 7 * low.size:
            break
        low, n, yes = low[starts], np.add.reduceat(n, starts), np.add.reduceat(yes, starts)
    return low.tolist(), n.tolist(), yes.tolist()


def corp(counts: Counts, grid: Grid) -> Corp | None:
    """mcb, dsc and unc of one row of a tally; None of nothing.

    >>> from beforehand.scoring.measures import row_of
    >>> found = corp(row_of([(20, 0), (40, 1), (60, 0), (80, 1)], Grid(100)), Grid(100))
    >>> [str(term) for term in (found.mcb, found.dsc, found.unc, found.score)]
    ['3/40', '1/8', '1/4', '1/5']
    """
    score, n = brier(counts, grid), rows_of(counts)
    if score is None:
        return None
    curve = isotonic(counts, grid)
    # The score after recalibration: share (1 - share) of each step, as one fraction.
    common = math.lcm(*(step.n for step in curve))
    top = sum(step.yes * (step.n - step.yes) * (common // step.n) for step in curve)
    recalibrated = Fraction(top, common * n)
    yes = int(counts[1].sum())
    unc = Fraction(yes * (n - yes), n * n)
    return Corp(score - recalibrated, unc - recalibrated, unc, score, curve)
