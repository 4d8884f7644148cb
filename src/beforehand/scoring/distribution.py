"""Student's t and the normal distribution as the comparisons need them, at any degrees of freedom.

`student` has t in closed form, at a cost that grows with the degrees of
freedom. From `LARGE` on, expansions in 1/df are as exact as a double and cost
nothing, so that a million clusters are no burden.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from beforehand.errors import FormatError
from beforehand.scoring.student import student_central, student_quantile

LARGE = 1000
_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """The z with P(Z < z) = probability, from 0 to 1, both excluded; `statistics.NormalDist`.

    >>> round(normal_quantile(0.975), 12)
    1.95996398454
    """
    if not 0 < probability < 1:
        raise FormatError(f"a probability strictly between 0 and 1, not {probability}")
    return _NORMAL.inv_cdf(probability)


def t_quantile(level: float, df: int) -> float:
    """The t with P(|T| < t) = level, two-sided; level in (0, 1), df >= 1.

    Below `LARGE` `student_quantile`, above it the expansion of Abramowitz and
    Stegun 26.7.5, which is there within 1e-14 of it.

    >>> round(t_quantile(0.95, 9), 9), round(t_quantile(0.95, 1_000_000), 9)
    (2.262157163, 1.959966357)
    """
    if df <= LARGE:
        return student_quantile(level, df)
    z = normal_quantile((1 + level) / 2)
    s = z * z
    terms = (
        z * (s + 1) / 4,
        z * ((5 * s + 16) * s + 3) / 96,
        z * (((3 * s + 19) * s + 17) * s - 15) / 384,
        z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return z + math.fsum(term / float(df) ** power for power, term in enumerate(terms, 1))


def t_two_sided(t: float, df: int) -> float:
    """P(|T| > |t|), the p-value, from 0 to 1; within 1e-13 of the true value.

    Above `LARGE` degrees of freedom by Hill's normal deviate (1970, CACM
    algorithm 395).

    >>> round(t_two_sided(-2.262157162798205, 9), 12), t_two_sided(0.0, 10**6)
    (0.05, 1.0)
    """
    size = abs(t)
    if math.isinf(size):
        return 0.0
    if df <= LARGE:
        return min(1.0, max(0.0, 1 - student_central(size, df)))
    a = df - 0.5
    b = 48 * a * a
    squared = a * math.log1p(size * size / df)
    z = math.sqrt(squared)
    inner = (((4 * squared + 33) * squared + 240) * squared + 855) * z
    z += ((squared + 3) * z - inner / (10 * (b + 0.8 * squared * squared + 100))) / b
    return math.erfc(z / math.sqrt(2))


def t_above(t: float, df: int) -> float:
    """P(T > t), the one-sided p-value.

    >>> round(t_above(1.8331129326536337, 9), 12)
    0.05
    """
    tail = t_two_sided(t, df) / 2
    return tail if t >= 0 else 1 - tail
