"""Pools: one probability out of several forecasters', on the questions they answered.

Inputs are `units`, whole grid steps [forecasters, questions], and `stated`,
booleans of the same shape: where it is False there was no answer, and whatever
stands in `units` is not looked at. Nothing is filled in; a question nobody
answered has no pooled probability.

Mean, median and trimmed mean are exact. The mean of log-odds goes through
fixed-point logarithms, so it does not depend on the order of forecasters, and
one exponential.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid
from beforehand.scoring.rules import declared_clamp, unit_table

_EXP_BITS = 36


@dataclass(frozen=True, eq=False)
class Pooled:
    """Pooled probabilities as exact numbers of grid steps: `top` / `bottom`, int64 [questions].

    `used` answers entered, of which `clamped` were held at the clamp. Where
    `stated` is False nobody answered; top is 0 and bottom 1 there and mean nothing.
    """

    grid: Grid
    top: NDArray[np.int64]
    bottom: NDArray[np.int64]
    used: NDArray[np.int64]
    clamped: NDArray[np.int64]

    @property
    def stated(self) -> NDArray[np.bool_]:
        """Where there is a pooled probability."""
        return self.used > 0

    def units(self) -> NDArray[np.int64]:
        """The nearest grid points, half to even, int64 [questions]; 0 where not `stated`.

        >>> pool_mean([[0, 50], [1, 70]], [[True, True], [True, False]], Grid(100)).units().tolist()
        [0, 50]
        """
        whole, rest = np.divmod(self.top, self.bottom)
        up = (2 * rest > self.bottom) | ((2 * rest == self.bottom) & (whole % 2 == 1))
        nearest: NDArray[np.int64] = whole + up
        return nearest

    def probability(self, question: int) -> Fraction | None:
        """One pooled probability, exact; None where nobody answered."""
        if not self.used[question]:
            return None
        return Fraction(int(self.top[question]), int(self.bottom[question]) * self.grid.steps)


def pool_mean(units: ArrayLike, stated: ArrayLike, grid: Grid) -> Pooled:
    """The mean of the answers to each question, exact.

    >>> pool_mean([[60], [75], [0]], [[True], [True], [False]], Grid(100)).probability(0)
    Fraction(27, 40)
    """
    held, there = _checked(units, stated, grid)
    used = there.sum(axis=0, dtype=np.int64)
    return _pooled(grid, np.where(there, held, 0).sum(axis=0), used, used)


def pool_median(units: ArrayLike, stated: ArrayLike, grid: Grid) -> Pooled:
    """The median of the answers to each question, of an even number the midpoint; exact.

    >>> pool_median([[60], [75], [10]], [[True], [True], [True]], Grid(100)).probability(0)
    Fraction(3, 5)
    """
    held, there = _checked(units, stated, grid)
    used = there.sum(axis=0, dtype=np.int64)
    if not held.shape[0]:
        return _pooled(grid, used, used, used)
    ranked = np.sort(np.where(there, held, grid.steps + 1), axis=0)
    low, high = np.maximum(used - 1, 0) // 2, np.minimum(used // 2, held.shape[0] - 1)
    both = np.take_along_axis(ranked, np.stack([low, high]), axis=0).sum(axis=0)
    return _pooled(grid, both, np.full_like(used, 2), used)


def pool_trimmed(
    units: ArrayLike, stated: ArrayLike, grid: Grid, *, drop: int = 1, least: int = 5
) -> Pooled:
    """The mean without the `drop` lowest and the `drop` highest answers, exact.

    A question with fewer than `least` answers is not trimmed; least > 2 drop >= 0.

    >>> said = [[10], [50], [52], [54], [99]]
    >>> pool_trimmed(said, [[True]] * 5, Grid(100)).probability(0)
    Fraction(13, 25)
    """
    if not 0 <= 2 * drop < least:
        raise FormatError(f"dropping {drop} at each end of {least} answers leaves none")
    held, there = _checked(units, stated, grid)
    used = there.sum(axis=0, dtype=np.int64)
    ranked = np.sort(np.where(there, held, grid.steps + 1), axis=0)
    place = np.arange(held.shape[0])[:, None]
    cut = np.where(used >= least, drop, 0)
    kept = (place >= cut) & (place < used - cut)
    return _pooled(grid, np.where(kept, ranked, 0).sum(axis=0), used - 2 * cut, used)


def pool_log_odds(
    units: ArrayLike, stated: ArrayLike, grid: Grid, clamp: Fraction | Decimal | None = None
) -> Pooled:
    """The probability of the mean log-odds of the answers: the geometric mean of the odds.

    p is held between the clamp (the grid step unless declared, above 0) and 1 -
    clamp, for one certain answer would otherwise outweigh all; those held are
    counted. Log-odds are whole numbers of 2^-32; the result is known to
    about 1e-9 and rounded to 2^-36 of a step. Satopaa et al. 2014 (IJF 30).

    >>> found = pool_log_odds([[10], [90], [50]], [[True]] * 3, Grid(100))
    >>> found.units().tolist(), found.clamped.tolist()
    ([50], [0])
    """
    held, there = _checked(units, stated, grid)
    limit = declared_clamp(grid, clamp)
    table = unit_table("log", grid, limit)
    odds = table.units[0] - table.units[1]
    used = there.sum(axis=0, dtype=np.int64)
    point = held / grid.steps
    beyond = there & ((point < float(limit)) | (point > float(1 - limit)))
    total = np.where(there, odds[np.where(there, held, 0)], 0).sum(axis=0)
    mean = total / (np.maximum(used, 1) * float(table.per_one))
    small = np.exp(-np.abs(mean))
    likelier = 1 / (1 + small)
    probability = np.where(mean >= 0, likelier, small * likelier)
    top = np.rint(probability * grid.steps * 2.0**_EXP_BITS).astype(np.int64)
    bottom = np.full_like(used, 1 << _EXP_BITS)
    return _pooled(grid, top, bottom, used, beyond.sum(axis=0, dtype=np.int64))


def _checked(
    units: ArrayLike, stated: ArrayLike, grid: Grid
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    held, there = np.asarray(units), np.asarray(stated)
    if held.dtype.kind not in "iu" or there.dtype.kind != "b":
        raise FormatError(f"units are whole numbers and stated booleans, not {held.dtype}")
    if held.ndim != 2 or held.shape != there.shape:
        raise FormatError("units and stated have one shape, [forecasters, questions]")
    wrong = np.argwhere(there & ((held < 0) | (held > grid.steps)))
    if wrong.size:
        row, question = (int(place) for place in wrong[0])
        raise FormatError(
            f"forecaster {row}, question {question}: {held[row, question]} is not a number of "
            f"grid steps from 0 to {grid.steps}"
        )
    return held.astype(np.int64), there


def _pooled(
    grid: Grid,
    top: NDArray[np.int64],
    bottom: NDArray[np.int64],
    used: NDArray[np.int64],
    clamped: NDArray[np.int64] | None = None,
) -> Pooled:
    there = used > 0
    return Pooled(
        grid,
        np.where(there, top, 0).astype(np.int64),
        np.where(there, bottom, 1).astype(np.int64),
        used,
        np.zeros_like(used) if clamped is None else clamped,
    )
