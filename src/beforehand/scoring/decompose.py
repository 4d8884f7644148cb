"""The Brier score taken apart, in terms that close: their sum is the score, as fractions.

With bins k of n_k rows, mean stated p_k and share that happened y_k, N rows
and base rate y (Murphy 1973; the two terms within bins: Stephenson, Coelho
and Jolliffe 2008, Weather and Forecasting 23):

    unc  uncertainty      y (1 - y)
    rel  miscalibration   1/N sum n_k (p_k - y_k)^2            less is better
    res  discrimination   1/N sum n_k (y_k - y)^2              more is better
    wbv  within bins      1/N sum (p - p_k)^2                  spread of p
    wbc  within bins      2/N sum (p - p_k)(outcome - y_k)     more is better

    Brier = unc + rel - res + wbv - wbc

Without the last two the identity fails, by more than the spread of p alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from beforehand.scoring.exact import Grid
from beforehand.scoring.measures import bin_edges, checked, widened
from beforehand.scoring.rules import Counts


@dataclass(frozen=True)
class Murphy:
    """The five terms, exact, of `n` rows in `bins` bins that hold any.

    `corrected` says whether the bias correction was made; `single` bins held
    one row, which the correction cannot judge and leaves as it is.
    """

    n: int
    bins: int
    unc: Fraction
    rel: Fraction
    res: Fraction
    wbv: Fraction
    wbc: Fraction
    corrected: bool
    single: int

    @property
    def uncertainty(self) -> Fraction:
        """`unc`: what the base rate alone leaves open, from 0 to 1/4."""
        return self.unc

    @property
    def miscalibration(self) -> Fraction:
        """`rel`: how far what was said lies from what happened then."""
        return self.rel

    @property
    def discrimination(self) -> Fraction:
        """`res`: how far apart the bins are in what happened."""
        return self.res

    @property
    def brier(self) -> Fraction:
        """The sum of the terms: the Brier score, exactly."""
        return self.unc + self.rel - self.res + self.wbv - self.wbc


@dataclass(frozen=True)
class _Bins:
    """Sums over each occupied bin: rows, yes, steps, squared steps, steps where it happened."""

    n: list[int]
    yes: list[int]
    units: list[int]
    squares: int
    units_yes: int


def murphy(
    counts: Counts,
    grid: Grid,
    bins: int | Literal["distinct"] = 10,
    *,
    corrected: bool = False,
) -> Murphy | None:
    """The five terms of one row of a tally; None of nothing.

    `bins` is a number of equal bins [low, high), the last closed, as those of
    the calibration error, or "distinct" for a bin at every grid point that was
    used; the within-bin terms are then 0. `corrected` takes off what chance
    alone adds to rel and res (Ferro and Fricker 2012, QJRMS 138): terms may then
    be negative, and the identity still closes.

    >>> from beforehand.scoring.measures import row_of
    >>> found = murphy(row_of([(60, 0), (69, 1)] * 5, Grid(100)), Grid(100))
    >>> [float(t) for t in (found.unc, found.rel, found.res, found.wbv, found.wbc, found.brier)]
    [0.25, 0.021025, 0.0, 0.002025, 0.045, 0.22805]
    """
    held = _sums(checked(counts, grid), grid, bins)
    n, yes, steps = sum(held.n), sum(held.yes), grid.steps
    if not n:
        return None
    # One common denominator for all quotients by n_k, so that whole numbers do the work.
    common = math.lcm(*held.n)
    share = [common // size for size in held.n]
    yes_yes = sum(y * y * part for y, part in zip(held.yes, share, strict=True))
    units_units = sum(u * u * part for u, part in zip(held.units, share, strict=True))
    units_yes = sum(u * y * part for u, y, part in zip(held.units, held.yes, share, strict=True))
    square = steps * steps
    found = Murphy(
        n=n,
        bins=len(held.n),
        unc=Fraction(yes * (n - yes), n * n),
        rel=Fraction(units_units - 2 * steps * units_yes + square * yes_yes, common * square * n),
        res=Fraction(yes_yes * n - common * yes * yes, common * n * n),
        wbv=Fraction(common * held.squares - units_units, common * square * n),
        wbc=Fraction(2 * (common * held.units_yes - units_yes), common * steps * n),
        corrected=False,
        single=sum(size == 1 for size in held.n),
    )
    return _bias_corrected(found, yes, held) if corrected else found


def _bias_corrected(found: Murphy, yes: int, held: _Bins) -> Murphy:
    n = found.n
    if n < 2:
        return found
    bottoms = [k * (k - 1) for k in held.n if k > 1]
    tops = [y * (k - y) for k, y in zip(held.n, held.yes, strict=True) if k > 1]
    common = math.lcm(*bottoms)
    chance = Fraction(
        sum(top * (common // bottom) for top, bottom in zip(tops, bottoms, strict=True)),
        common * n,
    )
    whole = Fraction(yes * (n - yes), n * n * (n - 1))
    return Murphy(
        n,
        found.bins,
        unc=found.unc + whole,
        rel=found.rel - chance,
        res=found.res - chance + whole,
        wbv=found.wbv,
        wbc=found.wbc,
        corrected=True,
        single=found.single,
    )


def _sums(counts: Counts, grid: Grid, bins: int | Literal["distinct"]) -> _Bins:
    held: NDArray[Any] = widened(counts, grid.steps * grid.steps)
    points = np.arange(grid.steps + 1, dtype=np.int64)
    n, yes = held[0] + held[1], held[1]
    units = n * points
    squares, units_yes = int(np.dot(units, points)), int(np.dot(yes, points))
    if bins == "distinct":
        used = np.flatnonzero(counts.sum(axis=0))
        n, yes, units = n[used], yes[used], units[used]
    else:
        lows = bin_edges(grid, bins)
        n, yes, units = (np.add.reduceat(each, lows) for each in (n, yes, units))
        used = np.flatnonzero(n)
        n, yes, units = n[used], yes[used], units[used]
    return _Bins(n.tolist(), yes.tolist(), units.tolist(), squares, units_yes)
