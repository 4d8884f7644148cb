"""Exact scores on the declared grid, standard library only.

A probability is an integer number of grid steps, a Brier loss an integer
number of squared steps: a sum of them is the same to the last bit in any
order, on any machine. Division comes last, as a `Fraction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from beforehand.errors import FormatError


@dataclass(frozen=True)
class Grid:
    """`steps` equal steps from 0 to 1; 10,000 where a league declares 0.0001."""

    steps: int

    @classmethod
    def of(cls, step: Decimal) -> Grid:
        """The grid with this step.

        >>> Grid.of(Decimal("0.0001")).steps
        10000
        """
        if not 0 < step <= 1 or Fraction(1) / Fraction(step) % 1:
            raise FormatError(f"a grid step of {step} does not divide 1")
        return cls(int(Fraction(1) / Fraction(step)))

    def units(self, probability: Decimal | Fraction) -> int:
        """The nearest grid point in steps, half to even.

        >>> Grid(10000).units(Decimal("0.97505"))
        9750
        """
        if not 0 <= probability <= 1:
            raise FormatError(f"{probability} is not a probability from 0 to 1")
        return round(Fraction(probability) * self.steps)

    def brier_units(self, units: int, happened: bool) -> int:
        """The Brier loss (p - y)^2 in squared steps; Brier 1950, one-outcome form, 0 to 1.

        >>> Grid(10000).brier_units(6200, True)
        14440000
        """
        miss = units - (self.steps if happened else 0)
        return miss * miss

    def brier(self, units: int) -> Fraction:
        """Squared steps as a loss from 0 to 1."""
        return Fraction(units, self.steps * self.steps)

    def probability(self, units: int) -> Fraction:
        """Steps as a probability."""
        return Fraction(units, self.steps)


def mean(values: Iterable[Fraction | int]) -> Fraction | None:
    """The exact mean; None of nothing.

    >>> mean([1, 2]), mean([])
    (Fraction(3, 2), None)
    """
    held = list(values)
    return Fraction(sum(held), len(held)) if held else None


def median(values: Sequence[Fraction]) -> Fraction | None:
    """The exact median, the midpoint of the two middle values for an even number; None of nothing.

    >>> median([Fraction(1, 4), Fraction(3, 4)])
    Fraction(1, 2)
    """
    held = sorted(values)
    if not held:
        return None
    middle = len(held) // 2
    if len(held) % 2:
        return held[middle]
    return (held[middle - 1] + held[middle]) / 2


def decimal_places(value: Fraction, places: int) -> str:
    """The value as decimal text with this many places, half to even.

    >>> decimal_places(Fraction(2, 3), 4), decimal_places(Fraction(-1, 20000), 4)
    ('0.6667', '0.0000')
    """
    scaled = round(value * 10**places)
    sign = "-" if scaled < 0 else ""
    digits = str(abs(scaled)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
