"""Natural logarithms in whole numbers, so that every machine has the same digits.

`math.log` and the vector units of a processor differ in the last bit from one
machine to the next. These come from integer arithmetic: a value is a number
of 2^-256, far more than a double holds, and is rounded once at the end.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from functools import lru_cache

from beforehand.errors import FormatError

BITS = 256
"""A logarithm is kept as a whole number of 2^-BITS."""

MAX_LOG = 1_000_000
_DIGITS = 120


@lru_cache(maxsize=8)
def logarithms(upto: int) -> tuple[int, ...]:
    """ln(k) * 2^256 for k = 0 .. upto; the entry for 0 is 0 and stands for nothing.

    From ln(k+1) - ln(k) = 2 artanh(1 / (2k+1)), a series that gains more than
    two digits a term. Every entry is within 2^-228 of the true value for
    upto <= 1,000,000, the limit; FormatError beyond it.

    >>> logarithms(10)[10] / 2**256
    2.302585092994046
    """
    if not 1 <= upto <= MAX_LOG:
        raise FormatError(f"logarithms are made for 1 to {MAX_LOG:,}, not up to {upto}")
    found = [0, 0]
    for k in range(1, upto):
        odd = 2 * k + 1
        square = odd * odd
        power = (2 << BITS) // odd
        total, divisor = power, 3
        while power:
            power //= square
            total += power // divisor
            divisor += 2
        found.append(found[k] + total)
    return tuple(found)


def logarithm(value: Fraction) -> int:
    """ln(value) * 2^256 of one positive rational number, by `decimal` at 120 digits.

    For values that are no ratio of two small whole numbers, such as a clamp.
    FormatError unless 10^-100 <= value <= 10^100.

    >>> logarithm(Fraction(1, 10)) / 2**256
    -2.302585092994046
    """
    if not Fraction(1, 10**100) <= value <= 10**100:
        raise FormatError(f"no logarithm of {float(value)!r} is made")
    context = decimal.Context(prec=_DIGITS + len(str(value.denominator)))
    top = context.ln(decimal.Decimal(value.numerator))
    bottom = context.ln(decimal.Decimal(value.denominator))
    return round(Fraction(context.subtract(top, bottom)) * (1 << BITS))
