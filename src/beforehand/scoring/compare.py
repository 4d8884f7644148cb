"""Two forecasters on the same rows: the gain of one over the other, with its interval.

The primitive is the difference of two losses on one row, in whole units of a
`rules.UnitTable`; the events of a cluster move together, so clusters weigh
once each and are what the interval counts (Ibragimov and Mueller 2010). Rows
that one of the two did not answer are not in the comparison.

`paired` is for clusters declared independent: questions, venue events.
`sessions_in_time` is for sessions that follow each other, where neighbours are
alike and horizons overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.clusters import ClusterSums, cluster_sums
from beforehand.scoring.columns import column, same_length
from beforehand.scoring.distribution import t_quantile, t_two_sided
from beforehand.scoring.measured_size import (
    MeasuredSize,
    measured_size,
    measured_size_of_clusters,
)
from beforehand.scoring.paired import LEVEL, MIN_CLUSTERS

MIN_SESSIONS = 30
MIN_FREEDOM = 2


@dataclass(frozen=True)
class Comparison:
    """The gain of A over B: mean loss of B less mean loss of A, above 0 where A is better.

    `n` rows in `clusters` clusters. `se`, `df`, `low`, `high`, `p` (two-sided,
    against no difference) and `deviation`, the spread of one cluster that
    planning needs, are None where `reason` says why. `identical` is True where
    both lost the same on every row: gain and se are then exactly 0, without a
    p. `horizon` belongs to sessions in time. `size` is what a
    nominal 5 % test of this kind was measured to have.
    """

    estimator: str
    n: int
    clusters: int
    gain: float | None
    level: float
    size: MeasuredSize | None
    horizon: int | None = None
    se: float | None = None
    df: int | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    identical: bool = False
    reason: str | None = None


def paired(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    cluster_index: ArrayLike,
    *,
    per_one: int,
    level: float = LEVEL,
    least: int = MIN_CLUSTERS,
) -> Comparison:
    """The gain of A over B with Student's t on the means of independent clusters.

    `loss_a`, `loss_b` [n] in whole units, `per_one` of them to a loss of 1;
    `cluster_index` [n] whole numbers from 0. Cluster sums are exact, each
    cluster mean is rounded once, and `math.fsum` adds them, so that no digit
    depends on the order of rows. Below `least` clusters there is no interval.

    >>> a, b = [1600, 400] * 10, [2500, 2400] * 10
    >>> found = paired(a, b, [k // 2 for k in range(20)], per_one=10_000)
    >>> found.gain, found.clusters, found.reason
    (0.145, 10, 'every cluster has the same difference: there is no spread to judge by')
    """
    sums, means, identical = _differences(loss_a, loss_b, cluster_index, per_one)
    found = _started("t on cluster means", sums, means, identical, level)
    groups = found.clusters
    found = replace(found, size=measured_size_of_clusters(groups))
    if groups < max(least, 2):
        return replace(found, reason=f"{groups} clusters; an interval needs {max(least, 2)}")
    squares = np.square(means - math.fsum(means.tolist()) / groups)
    variance = math.fsum(squares.tolist()) / freedom(groups)
    return _with_interval(found, means, math.sqrt(variance))


def sessions_in_time(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    session_index: ArrayLike,
    *,
    per_one: int,
    horizon: int = 1,
    level: float = LEVEL,
) -> Comparison:
    """The gain of A over B where clusters are sessions in order of time.

    `session_index` [n] counts sessions from 0 in time; `horizon` h is how many
    sessions a forecast reaches ahead, 1 where it ends before the next one.
    Sessions without rows are passed over, which overstates the overlap.

    The variance of the mean is estimated from the session means' first nu
    cosine coefficients, equally weighted, with nu = floor(S / (2h + 10)), and
    the ratio is Student's t with nu degrees of freedom (Lazarus, Lewis, Stock
    and Watson 2018, JBES 36; Mueller 2014, JBES 32). It is a sum of squares
    and never below 0. Refused below 30 sessions, or where nu < 2.

    >>> a, b = [100 + k * k % 7 for k in range(40)], [100 + 3 * k % 5 for k in range(40)]
    >>> found = sessions_in_time(a, b, range(40), per_one=1000)
    >>> found.df, round(found.gain, 6), found.low < found.gain < found.high
    (3, 2.5e-05, True)
    >>> sessions_in_time(a[:29], b[:29], range(29), per_one=1000).reason
    '29 sessions; an interval needs 30'
    """
    if horizon < 1:
        raise FormatError(f"a horizon is 1 session or more, not {horizon}")
    sums, means, identical = _differences(loss_a, loss_b, session_index, per_one)
    name = f"equal-weighted cosine t, nu = floor(S / {2 * horizon + 10}), centred"
    found = _started(name, sums, means, identical, level)
    sessions = found.clusters
    found = replace(found, horizon=horizon, size=measured_size(horizon, sessions))
    if sessions < MIN_SESSIONS:
        return replace(found, reason=f"{sessions} sessions; an interval needs {MIN_SESSIONS}")
    nu = freedom(sessions, horizon)
    if not nu:
        least = MIN_FREEDOM * (2 * horizon + 10)
        return replace(
            found, reason=f"{sessions} sessions at horizon {horizon}; an interval needs {least}"
        )
    return _with_interval(found, means, math.sqrt(long_run_variance(means, nu)))


def freedom(clusters: int, horizon: int | None = None) -> int:
    """The degrees of freedom of a comparison: one less than the independent clusters there are.

    With a horizon, those of the rule for sessions in time; 0 where it refuses.

    >>> freedom(30), freedom(30, horizon=1), freedom(29, horizon=1), freedom(126, horizon=5)
    (29, 2, 0, 6)
    """
    if horizon is None:
        return max(0, clusters - 1)
    nu = clusters // (2 * horizon + 10)
    return nu if nu >= MIN_FREEDOM and clusters >= MIN_SESSIONS else 0


def long_run_variance(values: NDArray[np.float64], nu: int) -> float:
    """The equal-weighted cosine estimate from `values` in time, float64 [S], nu < S.

    1/nu sum over j = 1 .. nu of (sqrt(2/S) sum_t x_t cos(pi j (t + 1/2) / S))^2,
    with x centred; the variance of the mean is this over S.

    >>> round(long_run_variance(np.array([1.0, -1.0, 1.0, -1.0]), 2), 6)
    0.292893
    """
    size = values.size
    if not 1 <= nu < size:
        raise FormatError(f"1 to {size - 1} coefficients of {size} values, not {nu}")
    centred = values - math.fsum(values) / size
    # The cosine transform is the Fourier transform of the values and their mirror image.
    turned = np.fft.rfft(np.concatenate([centred, centred[::-1]]))[1 : nu + 1]
    angles = np.pi * np.arange(1, nu + 1) / (2 * size)
    coefficients = (turned * np.exp(-1j * angles)).real / 2
    return math.fsum(coefficients**2) * 2 / size / nu


def _differences(
    loss_a: ArrayLike, loss_b: ArrayLike, index: ArrayLike, per_one: int
) -> tuple[ClusterSums, NDArray[np.float64], bool]:
    """Cluster sums of loss_b - loss_a, their means, and whether every row is 0."""
    a, b = column(loss_a, "loss_a", "iu"), column(loss_b, "loss_b", "iu")
    same_length(loss_a=a, loss_b=b)
    if per_one < 1:
        raise FormatError(f"a loss of 1 has 1 unit or more, not {per_one}")
    if any(held.size and max(-int(held.min()), int(held.max())) >= 2**62 for held in (a, b)):
        raise FormatError("a loss is beyond 2^62 units")
    difference = b.astype(np.int64) - a.astype(np.int64)
    sums = cluster_sums(difference, index)
    return sums, sums.means(per_one), bool(difference.size and not difference.any())


def _started(
    estimator: str,
    sums: ClusterSums,
    means: NDArray[np.float64],
    identical: bool,
    level: float,
) -> Comparison:
    gain = math.fsum(means.tolist()) / means.size if means.size else None
    if means.size and means.min() == means.max():
        gain = float(means[0])
    n, clusters = int(sums.sizes.sum()), int(means.size)
    return Comparison(estimator, n, clusters, gain, level, size=None, identical=identical)


def _with_interval(found: Comparison, means: NDArray[np.float64], deviation: float) -> Comparison:
    gain, df = found.gain, freedom(found.clusters, found.horizon)
    if gain is None:
        return found
    if found.identical:
        return replace(found, se=0.0, df=df, deviation=0.0, low=0.0, high=0.0)
    if means.min() == means.max():
        told = "every cluster has the same difference: there is no spread to judge by"
        return replace(found, reason=told)
    se = deviation / math.sqrt(found.clusters)
    half = t_quantile(found.level, df) * se
    return replace(
        found,
        se=se,
        df=df,
        deviation=deviation,
        low=gain - half,
        high=gain + half,
        p=t_two_sided(gain / se, df),
    )
