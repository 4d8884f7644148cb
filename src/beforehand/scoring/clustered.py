"""A plain mean of rows with an interval that takes clusters, not rows, as independent.

The mean is a ratio, the sum of the cluster sums over the number of rows; its
error follows by linearisation (Taylor series; Cochran 1977, Sampling
Techniques, 6.12), with the factor G/(G-1) for G clusters and Student's t on
G-1 degrees of freedom. Where every cluster has as many rows it is the t
interval on cluster means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import ArrayLike

from beforehand.scoring.clusters import cluster_sums
from beforehand.scoring.paired import LEVEL, MIN_CLUSTERS
from beforehand.scoring.student import student_quantile


@dataclass(frozen=True)
class ClusteredMean:
    """`mean` over `n` rows in `clusters` clusters; None of nothing, no interval below the least."""

    n: int
    clusters: int
    mean: Fraction | None
    se: float | None
    low: float | None
    high: float | None


def clustered_mean(
    loss: ArrayLike,
    cluster_index: ArrayLike,
    *,
    per_one: int,
    level: float = LEVEL,
    least: int = MIN_CLUSTERS,
) -> ClusteredMean:
    """The mean of `loss` [n], whole units of which `per_one` make 1, by `cluster_index` [n].

    >>> found = clustered_mean([0, 100] * 10, range(20), per_one=100)
    >>> found.mean, round(found.low, 4), round(found.high, 4)
    (Fraction(1, 2), 0.2599, 0.7401)
    """
    held = cluster_sums(loss, cluster_index)
    n, groups, total = int(held.sizes.sum()), len(held.ids), int(held.sums.sum())
    if n == 0:
        return ClusteredMean(0, 0, None, None, None, None)
    mean = Fraction(total, n * per_one)
    if groups < max(least, 2):
        return ClusteredMean(n, groups, mean, None, None, None)
    # S_c - N_c T / n in whole numbers: n S_c - N_c T, divided once at the end.
    residuals = [
        n * s - c * total for s, c in zip(held.sums.tolist(), held.sizes.tolist(), strict=True)
    ]
    squares = sum(value * value for value in residuals)
    variance = Fraction(groups * squares, (groups - 1) * n**4 * per_one**2)
    se = math.sqrt(variance)
    half = student_quantile(level, groups - 1) * se
    return ClusteredMean(n, groups, mean, se, float(mean) - half, float(mean) + half)
