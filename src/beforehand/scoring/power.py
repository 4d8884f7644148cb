"""How large a difference a comparison can show, and how many more questions it would take."""

from __future__ import annotations

import math
from collections.abc import Callable

from beforehand.errors import FormatError
from beforehand.scoring.distribution import normal_quantile, t_quantile

MAX_CLUSTERS_NEEDED = 10**12


def design_effect(size: float, correlation: float) -> float:
    """How much the variance of a mean grows because rows come in clusters: 1 + (m - 1) rho.

    `size` m >= 1 rows a cluster, `correlation` rho between two of them (Kish 1965).

    >>> round(design_effect(12, 0.41), 12)
    5.51
    """
    if size < 1 or not -1 <= correlation <= 1:
        raise FormatError(f"no clusters of {size} rows with a correlation of {correlation}")
    return 1 + (size - 1) * correlation


def detectable(se: float, df: int, level: float = 0.95, power: float = 0.8) -> float:
    """The least true difference that a test with this standard error finds with this power.

    (t_level + t_power) se with `df` degrees of freedom; `level` two-sided. In
    the units of `se`.

    >>> round(detectable(0.004, 29), 6)
    0.011598
    """
    return _reach(level, power, df) * se


def clusters_needed(
    deviation: float,
    effect: float,
    freedom: Callable[[int], int] = lambda clusters: clusters - 1,
    level: float = 0.95,
    power: float = 0.8,
) -> int:
    """The least number of clusters with which a true difference `effect` is found.

    `deviation` is the standard deviation of one cluster's mean (for sessions in
    time the long-run one), `freedom` gives the degrees of freedom for a number
    of clusters, 1 or more where a test exists. FormatError unless effect > 0.

    >>> clusters_needed(0.02, 0.01)
    34
    """
    if not effect > 0 or not 0 <= deviation < math.inf:
        raise FormatError(f"no number of clusters shows {effect} against a spread of {deviation}")

    def enough(clusters: int) -> bool:
        df = freedom(clusters)
        return df >= 1 and _reach(level, power, df) * deviation <= effect * math.sqrt(clusters)

    high = 2
    while not enough(high):
        high *= 2
        if high > MAX_CLUSTERS_NEEDED:
            raise FormatError(f"more than {MAX_CLUSTERS_NEEDED:,} clusters would be needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def rows_needed(
    effect: float,
    variance: float,
    level: float = 0.95,
    power: float = 0.8,
    *,
    sides: int = 2,
    variance_there: float | None = None,
) -> float:
    """Independent rows at which a true mean difference `effect` is found, by the normal formula.

    `variance` is that of one row under no difference, `variance_there` under
    the true one where it differs; `sides` 1 or 2. Not rounded up; times a
    design effect and divided by rows a session it counts sessions.

    >>> round(rows_needed(0.005, 0.062**2 * design_effect(12, 0.41) / 12), 2)
    554.14
    """
    if not effect > 0 or sides not in (1, 2):
        raise FormatError("an effect above 0 and one or two sides")
    there = variance if variance_there is None else variance_there
    limit = normal_quantile(1 - (1 - level) / sides) * math.sqrt(variance)
    return float(((limit + normal_quantile(power) * math.sqrt(there)) / effect) ** 2)


def detectable_by(variance: float, rows: float, level: float = 0.95, power: float = 0.8) -> float:
    """The least true mean difference found with `rows` independent rows, by the normal formula.

    >>> round(detectable_by(0.062**2 * design_effect(12, 0.41), 12 * 126), 6)
    0.010486
    """
    reach = normal_quantile((1 + level) / 2) + normal_quantile(power)
    return float(reach * math.sqrt(variance / rows))


def _reach(level: float, power: float, df: int) -> float:
    if not 0.5 <= power < 1:
        raise FormatError(f"a power from one half up to 1, not {power}")
    return t_quantile(level, df) + (t_quantile(2 * power - 1, df) if power > 0.5 else 0.0)
