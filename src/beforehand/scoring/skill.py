"""Skill: what a forecaster gains over a reference on the same rows; higher is better.

The reference is the crowd's price at the forecast's own time, a base rate fixed
beforehand, or always one half. The gain of a row is the reference's loss less
the forecaster's; `compare.paired` gives its mean, each cluster weighing once,
with the interval.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.columns import outcome_column, same_length, unit_column, within
from beforehand.scoring.exact import Grid


def brier_gains(
    units: ArrayLike, reference: ArrayLike, happened: ArrayLike, grid: Grid
) -> NDArray[np.int64]:
    """The Brier gain of each row, (b - y)^2 - (p - y)^2, in squared steps, int64 [n].

    `units` p and `reference` b are grid steps [n], `happened` y booleans or 0 and 1 [n].

    >>> brier_gains([80], [60], [1], Grid(100)).tolist()
    [1200]
    """
    p, b, y = unit_column(units), unit_column(reference), outcome_column(happened)
    same_length(units=p, reference=b, happened=y)
    within(p, "units", grid.steps)
    within(b, "reference", grid.steps)
    within(y, "happened", 1)
    p, b, y = (held.astype(np.int64) for held in (p, b, y))
    return (b - p) * (b + p - 2 * y * grid.steps)


def skill_score(loss: Fraction | None, reference: Fraction | None) -> Fraction | None:
    """1 - loss / reference on the same rows: 1 is perfect, 0 is no better; exact.

    None of nothing and where the reference lost nothing. Not a mean of rows, and
    not proper: rank by the gain, not by this (Murphy 1973).

    >>> skill_score(Fraction(1, 10), Fraction(1, 4))
    Fraction(3, 5)
    """
    if loss is None or not reference:
        return None
    return 1 - loss / reference


def expected_gain(p: Fraction, b: Fraction, q: Fraction) -> Fraction:
    """The expected Brier gain of p over b where yes happens with probability q; exact.

    (b - p)(b + p - 2q); with p = q it is (b - q)^2.

    >>> expected_gain(Fraction(3, 4), Fraction(3, 5), Fraction(3, 4))
    Fraction(9, 400)
    """
    _probabilities(p, b, q)
    return (b - p) * (b + p - 2 * q)


def gain_variance(p: Fraction, b: Fraction, q: Fraction) -> Fraction:
    """The variance of one row's Brier gain where yes happens with probability q; exact.

    4 q (1 - q) (b - p)^2: the row's own chance, to be read beside the
    clustered standard error.

    >>> gain_variance(Fraction(4, 5), Fraction(3, 5), Fraction(7, 10))
    Fraction(21, 625)
    """
    _probabilities(p, b, q)
    return 4 * q * (1 - q) * (b - p) ** 2


def _probabilities(*values: Fraction) -> None:
    for value in values:
        if not 0 <= value <= 1:
            raise FormatError(f"{value} is not a probability from 0 to 1")
