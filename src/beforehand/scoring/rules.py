"""Scoring rules on the grid: the loss at every grid point, made once, exact to the last bit.

A loss is lower for the better forecast. Three rules are offered, each proper:
the expected loss is least where the stated probability is the true one.

* Brier       (p - y)^2, from 0 to 1. Brier 1950 summed over both outcomes,
              which is exactly twice this; ask which of the two a figure is.
* logarithmic -ln of the probability given to what happened, natural log, with
              p held between the clamp and 1 - clamp (Good 1952).
* spherical   1 - q / sqrt(p^2 + (1 - p)^2), where q is the probability given
              to what happened, from 0 to 1 (Roby 1965, Gneiting and Raftery 2007).

A `LossTable` holds the correctly rounded double of each loss, and adds them
over a histogram without any rounding. A `UnitTable` holds whole numbers, for
sums over clusters: squared steps for Brier, 2^-32 for the other two.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid
from beforehand.scoring.logarithms import BITS, logarithm, logarithms

Rule = Literal["brier", "log", "spherical"]
RULES: tuple[Rule, ...] = ("brier", "log", "spherical")
Counts = NDArray[np.int64]
"""How often each pair occurred, [2, steps + 1]: outcome no or yes, then grid point."""

FIXED_BITS = 32
_LIMB_BITS = 24
_EXACT_ROWS = 1 << (53 - _LIMB_BITS)
"""Below this many rows every partial sum of counts times limbs is a whole number under 2^53."""


def declared_clamp(grid: Grid, clamp: Fraction | Decimal | None = None) -> Fraction:
    """The clamp of the logarithmic rule: the grid step unless another is declared.

    FormatError unless 0 <= clamp < 1/2. A clamp of 0 clamps nothing; a
    probability of 0 for what happened then has an infinite loss.

    >>> declared_clamp(Grid(10000)), declared_clamp(Grid(10000), Decimal("0.001"))
    (Fraction(1, 10000), Fraction(1, 1000))
    """
    value = Fraction(1, grid.steps) if clamp is None else Fraction(clamp)
    if not 0 <= value < Fraction(1, 2):
        raise FormatError(f"a clamp lies between 0 and one half, not at {float(value)!r}")
    return value


@dataclass(frozen=True, eq=False)
class LossTable:
    """The loss of a rule at every grid point.

    `losses` is float64 [2, steps + 1], outcome no or yes, then grid point; each
    is the correctly rounded true value. `limbs` is the same numbers in whole
    units of 1 / `unit`, cut into pieces of 24 bits: float64
    [2 * (steps + 1), pieces], least significant first.
    """

    rule: Rule
    grid: Grid
    losses: NDArray[np.float64]
    limbs: NDArray[np.float64]
    unit: int

    def total(self, counts: Counts, rows: int | None = None) -> Fraction:
        """The sum of counts times losses without rounding, whatever the number of rows.

        `rows` is their sum, where the caller has it.

        >>> counts = np.zeros((2, 101), dtype=np.int64)
        >>> counts[1, 60] = 3
        >>> loss_table("brier", Grid(100)).total(counts)
        Fraction(12, 25)
        """
        flat = counts.reshape(-1)
        if (int(flat.sum()) if rows is None else rows) < _EXACT_ROWS:
            # Whole numbers below 2^53 add exactly in float64, in any order.
            pieces = [int(piece) for piece in flat.astype(np.float64) @ self.limbs]
        else:
            pieces = [int(piece) for piece in flat.astype(object) @ self.limbs.astype(np.int64)]
        whole = sum(piece << (_LIMB_BITS * place) for place, piece in enumerate(pieces))
        return Fraction(whole, self.unit)


@dataclass(frozen=True, eq=False)
class UnitTable:
    """The loss of a rule at every grid point in whole units, `per_one` of them to a loss of 1.

    `units` is int64 [2, steps + 1]. Sums of them are exact and merge in any order.
    """

    rule: Rule
    grid: Grid
    units: NDArray[np.int64]
    per_one: int

    def rows(self, units: NDArray[Any], happened: NDArray[Any]) -> NDArray[np.int64]:
        """The loss of each row, int64 [n], from grid steps [n] and outcomes [n] (0 or 1).

        The caller has checked that both lie within their ranges; numpy's
        IndexError tells where not.

        >>> unit_table("brier", Grid(100)).rows(np.array([60, 60]), np.array([1, 0])).tolist()
        [1600, 3600]
        """
        taken: NDArray[np.int64] = self.units[happened.astype(np.intp, copy=False), units]
        return taken

    def sha256(self) -> str:
        """The hash of the table: little-endian int64, outcome no first, ascending grid points."""
        return hashlib.sha256(self.units.astype("<i8").tobytes()).hexdigest()


@lru_cache(maxsize=16)
def loss_table(rule: Rule, grid: Grid, clamp: Fraction | Decimal | None = None) -> LossTable:
    """The table of doubles for a rule; `clamp` is for the logarithmic rule only.

    Where a clamp of 0 makes a loss infinite, the table says so and its limbs
    hold 0: `measures.log_loss` looks at those two points itself.

    >>> float(loss_table("log", Grid(10000)).losses[1, 6000])
    0.5108256237659907
    """
    if rule == "brier":
        whole = np.array([_brier_yes(grid)[::-1], _brier_yes(grid)], dtype=np.int64)
        unit = grid.steps * grid.steps
        return _frozen(LossTable(rule, grid, whole / unit, _limbs(whole, 0), unit))
    yes = _fine_yes(rule, grid, clamp)
    column = [math.inf if value is None else value / (1 << BITS) for value in yes]
    losses = np.array([column[::-1], column])
    mantissas, exponents = np.frexp(np.where(np.isinf(losses), 0.0, losses))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    shift = int(53 - exponents[whole > 0].min())
    limbs = _limbs(whole, np.where(whole > 0, exponents.astype(np.int64) - 53 + shift, 0))
    return _frozen(LossTable(rule, grid, losses, limbs, 1 << shift))


@lru_cache(maxsize=16)
def unit_table(rule: Rule, grid: Grid, clamp: Fraction | Decimal | None = None) -> UnitTable:
    """The table of whole units for a rule: squared steps for Brier, 2^-32 for the others.

    FormatError for a logarithmic rule with a clamp of 0, whose loss has no
    greatest value.

    >>> table = unit_table("log", Grid(10000))
    >>> table.per_one, round(int(table.units[1, 5000]) / table.per_one, 9)
    (4294967296, 0.693147181)
    """
    if rule == "brier":
        column, per_one = _brier_yes(grid), grid.steps * grid.steps
    else:
        fine = _fine_yes(rule, grid, clamp)
        if None in fine:
            raise FormatError("a clamp of 0 has infinite losses, which have no whole units")
        shift = BITS - FIXED_BITS
        column = [(value + (1 << (shift - 1))) >> shift for value in fine if value is not None]
        per_one = 1 << FIXED_BITS
    units = np.array([column[::-1], column], dtype=np.int64)
    units.setflags(write=False)
    return UnitTable(rule, grid, units, per_one)


def loss(
    rule: Rule, units: int, happened: bool, grid: Grid, clamp: Fraction | Decimal | None = None
) -> float:
    """The loss of one forecast, `units` grid steps: the same double as in the table.

    Made from the definition for this one point, without the table.

    >>> loss("log", 6000, True, Grid(10000)), loss("brier", 6000, True, Grid(10000))
    (0.5108256237659907, 0.16)
    """
    if not 0 <= units <= grid.steps:
        raise FormatError(f"{units} is not a number of grid steps from 0 to {grid.steps}")
    given = units if happened else grid.steps - units
    if rule == "brier":
        return float(grid.brier(grid.brier_units(units, happened)))
    if rule == "spherical":
        return _spherical(given, grid.steps) / (1 << BITS)
    least = declared_clamp(grid, clamp)
    held = min(max(Fraction(given, grid.steps), least), 1 - least)
    return -logarithm(held) / (1 << BITS) if held else math.inf


def _brier_yes(grid: Grid) -> list[int]:
    return [grid.brier_units(units, True) for units in range(grid.steps + 1)]


def _spherical(given: int, steps: int) -> int:
    """1 - q / sqrt(q^2 + (1 - q)^2) in 2^-256."""
    other = steps - given
    norm = given * given + other * other
    return (1 << BITS) - math.isqrt((given * given << 2 * BITS) // norm)


def _fine_yes(rule: Rule, grid: Grid, clamp: Fraction | Decimal | None) -> Sequence[int | None]:
    """The loss of each grid point if yes happens, in 2^-256; None where it is infinite."""
    steps = grid.steps
    if rule == "spherical":
        return [_spherical(units, steps) for units in range(steps + 1)]
    if rule != "log":
        raise FormatError(f"{rule!r} is no scoring rule of this version")
    least = declared_clamp(grid, clamp)
    logs = logarithms(steps)
    low = -logarithm(least) if least else None
    high = -logarithm(1 - least)
    column: list[int | None] = []
    for units in range(steps + 1):
        if units <= least * steps:
            column.append(low)
        elif units >= (1 - least) * steps:
            column.append(high)
        else:
            column.append(logs[steps] - logs[units])
    return column


def _limbs(whole: NDArray[np.int64], left: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """The numbers `whole << left` cut into pieces of 24 bits, [numbers, pieces]."""
    flat = whole.reshape(-1).astype(np.uint64)
    lift = np.broadcast_to(np.asarray(left, dtype=np.int64), whole.shape).reshape(-1)
    bits = max(int(number).bit_length() + int(up) for number, up in zip(flat, lift, strict=True))
    pieces = []
    for place in range(-(-bits // _LIMB_BITS)):
        down = place * _LIMB_BITS - lift
        kept = flat >> np.clip(down, 0, 63).astype(np.uint64)
        kept = np.where(down < 0, flat << np.clip(-down, 0, 63).astype(np.uint64), kept)
        kept = np.where((down > 63) | (down <= -_LIMB_BITS), np.uint64(0), kept)
        pieces.append((kept & np.uint64((1 << _LIMB_BITS) - 1)).astype(np.float64))
    return np.stack(pieces, axis=1)


def _frozen(table: LossTable) -> LossTable:
    table.losses.setflags(write=False)
    table.limbs.setflags(write=False)
    return table
