"""Student's t for whole degrees of freedom, in closed form, standard library only."""

from __future__ import annotations

import math
from functools import lru_cache

from beforehand.errors import FormatError


def student_central(t: float, df: int) -> float:
    """P(|T| < t) for `df` degrees of freedom, t >= 0.

    Abramowitz and Stegun 26.7.3 and 26.7.4: finite sums in the angle
    atan(t / sqrt(df)).

    >>> round(student_central(2.262157162798205, 9), 12)
    0.95
    """
    if df < 1 or t < 0:
        raise FormatError(f"no Student t with {df} degrees of freedom at {t}")
    angle = math.atan2(t, math.sqrt(df))
    cosine, sine = math.cos(angle), math.sin(angle)
    square = cosine * cosine
    if df % 2:
        total, term = 0.0, cosine
        for k in range(1, df - 1, 2):
            total += term
            term *= square * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + sine * total)
    total, term = 0.0, 1.0
    for k in range(1, df, 2):
        total += term
        term *= square * k / (k + 1)
    return sine * total


@lru_cache(maxsize=4096)
def student_quantile(level: float, df: int) -> float:
    """The t with P(|T| < t) = level, two-sided; level in (0, 1), df >= 1.

    >>> round(student_quantile(0.95, 9), 9)
    2.262157163
    """
    if not 0 < level < 1:
        raise FormatError(f"a confidence level lies between 0 and 1, not at {level}")
    low, high = 0.0, 2.0
    while student_central(high, df) < level:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if student_central(middle, df) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
