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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.scoring.clusters import cluster_sums
from beforehand.scoring.distribution import t_quantile
from beforehand.scoring.paired import LEVEL, MIN_CLUSTERS


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
    # Sum of (n S_c - N_c T)^2, opened up: three exact sums of products, in whole numbers.
    sums, sizes = held.sums, held.sizes
    squares = n * n * _dot(sums, sums) - 2 * n * total * _dot(sums, sizes)
    squares += total * total * _dot(sizes, sizes)
    variance = Fraction(groups * squares, (groups - 1) * n**4 * per_one**2)
    se = math.sqrt(variance)
    half = t_quantile(level, groups - 1) * se
    return ClusteredMean(n, groups, mean, se, float(mean) - half, float(mean) + half)


def _dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The sum of products, exact: the left in halves whose products with the right fit."""
    if not left.size:
        return 0
    most = max(abs(int(left.min())), int(left.max())) * max(abs(int(right.min())), int(right.max()))
    if most * left.size < 2**63:
        return int(np.dot(left, right))
    if most >= 2**63:
        return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
    products = left * right
    return (int((products >> 32).sum()) << 32) + int((products & 0xFFFFFFFF).sum())
