"""How often each test of `compare` cries wolf: sizes of nominal 5 % tests, as measured.

A test at 5 % that rejects a true null in 12 % of seasons is no 5 % test, and
which it is depends on the data. These are shares of simulated seasons without
any difference in which the rule found one. They were measured once with 20,000
seasons a cell (8,000 for the copula processes; 4,000 for the clusters), at
session autocorrelations 0, 0.2 and 0.5; `tests/scoring/test_measured_size.py`
measures them again.

Known limits of the rule for sessions in time: an autocorrelation of 0.7 gives
up to 0.070 and 0.8 up to 0.092; 24 sessions gave 0.066, and 10 sessions at 0.5
gave 0.075, so both are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "simulation, tests/scoring/test_measured_size.py"


@dataclass(frozen=True)
class MeasuredSize:
    """The size of a nominal 5 % test at one place, as shares from 0 to 1.

    `low` to `high` over normal, t3, copula and long-shot differences,
    `skewed_low` to `skewed_high` under exponential skew; `power` where the plain
    t of independent sessions has 0.8. None where it was not measured.
    """

    rule: str
    horizon: int
    clusters: int
    df: int
    low: float
    high: float
    skewed_low: float | None
    skewed_high: float | None
    power: float | None
    source: str = SOURCE


_COSINE = "equal-weighted cosine t"
_MEANS = "t on cluster means"

SESSIONS = tuple(
    MeasuredSize(_COSINE, *place)
    for place in (
        (1, 30, 2, 0.042, 0.055, 0.056, 0.061, 0.37),
        (1, 50, 4, 0.042, 0.055, 0.058, 0.065, 0.58),
        (1, 126, 10, 0.044, 0.058, 0.056, 0.063, 0.72),
        (5, 126, 6, 0.046, 0.056, 0.052, 0.059, 0.66),
        (5, 250, 12, 0.046, 0.056, 0.052, 0.059, 0.73),
        (5, 500, 25, 0.046, 0.056, 0.052, 0.059, 0.77),
        (21, 126, 2, 0.052, 0.058, 0.055, 0.060, 0.36),
        (21, 250, 4, 0.052, 0.058, 0.055, 0.060, 0.57),
        (21, 500, 9, 0.052, 0.058, 0.055, 0.060, 0.71),
    )
)
"""The rule for sessions in time, by horizon and number of sessions."""

CLUSTERS = tuple(
    MeasuredSize(_MEANS, 1, clusters, clusters - 1, size, size, skewed, skewed, None)
    for clusters, size, skewed in (
        (5, 0.038, 0.12),
        (10, 0.046, 0.12),
        (20, 0.047, 0.12),
        (30, 0.054, None),
        (50, 0.050, None),
        (126, 0.049, None),
    )
)
"""Independent clusters of 12 events with correlation 0.4; skewed: up to, at 5 to 20 clusters."""


def measured_size(horizon: int, sessions: int) -> MeasuredSize | None:
    """The measured cell that speaks for sessions in time: at or above the horizon, none more.

    The nearest measured horizon from `horizon` up, and in it the largest number
    of sessions not beyond `sessions`; the answer names both. None where nothing
    was measured.

    >>> measured_size(1, 60).clusters, measured_size(3, 300).horizon, measured_size(1, 20)
    (50, 5, None)
    """
    longer = [cell for cell in SESSIONS if cell.horizon >= horizon and cell.clusters <= sessions]
    return min(longer, key=lambda cell: (cell.horizon, -cell.clusters), default=None)


def measured_size_of_clusters(clusters: int) -> MeasuredSize | None:
    """The measured cell that speaks for this many independent clusters: the largest not beyond it.

    >>> measured_size_of_clusters(25).low
    0.047
    """
    fewer = [cell for cell in CLUSTERS if cell.clusters <= clusters]
    return max(fewer, key=lambda cell: cell.clusters, default=None)
