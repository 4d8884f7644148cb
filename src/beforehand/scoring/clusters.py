"""Sums over clusters in whole numbers: the one pass over the rows that a comparison needs.

A cluster is what is declared independent: a question with all its askings, a
venue event, a session. Sums are exact and do not depend on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.columns import CHUNK, column, index_column, same_length

MAX_CLUSTERS = 1 << 27
_HALF = 26
_LOW = (1 << _HALF) - 1


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """`ids` are the clusters with rows, ascending; `sums` and `sizes` are int64, one entry each."""

    ids: NDArray[np.int64]
    sums: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def means(self, per_one: int) -> NDArray[np.float64]:
        """The mean of each cluster in whole losses, float64, each rounded once.

        >>> cluster_sums([1, 2, 6], [0, 0, 1]).means(2).tolist()
        [0.75, 3.0]
        """
        below = self.sizes * per_one if float(self.sizes.max(initial=0)) * per_one < 2**53 else None
        if below is not None and np.abs(self.sums).max(initial=0) < 2**53:
            return self.sums / below  # both are exact doubles: one rounding
        pairs = zip(self.sums.tolist(), self.sizes.tolist(), strict=True)
        return np.array([float(Fraction(top, size * per_one)) for top, size in pairs])


def cluster_column(cluster_index: ArrayLike) -> NDArray[Any]:
    """Cluster numbers of rows: whole numbers from 0 to 2^27."""
    index = index_column(cluster_index)
    if index.size and (index.min() < 0 or index.max() >= MAX_CLUSTERS):
        raise FormatError(f"cluster numbers run from 0 to {MAX_CLUSTERS - 1:,}")
    return index


def cluster_sums(values: ArrayLike, cluster_index: ArrayLike) -> ClusterSums:
    """The sum of whole-number `values` [n] over the rows of each cluster, `cluster_index` [n].

    Clusters without rows are left out. FormatError where a sum could leave
    int64, or where a cluster number is below 0 or beyond 2^27.

    >>> found = cluster_sums([5, -2, 7], [3, 3, 0])
    >>> found.ids.tolist(), found.sums.tolist(), found.sizes.tolist()
    ([0, 3], [7, 3], [1, 2])
    """
    held, index = column(values, "values", "iu"), cluster_column(cluster_index)
    same_length(values=held, cluster_index=index)
    count = int(index.max()) + 1 if index.size else 0
    largest = max(abs(int(held.max())), abs(int(held.min()))) if held.size else 0
    sums, sizes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    chunk = max(CHUNK, count)  # a chunk costs one table of clusters
    for start in range(0, held.size, chunk):
        part = slice(start, start + chunk)
        sums += _exact_sums(held[part].astype(np.int64), index[part], count, largest)
        sizes += np.bincount(index[part], minlength=count)
    if float(sizes.max(initial=0)) * largest >= 2**63:
        raise FormatError("a sum over a cluster could be larger than 2^63")
    ids = np.flatnonzero(sizes)
    return ClusterSums(ids, sums[ids], sizes[ids])


def _exact_sums(
    values: NDArray[np.int64], index: NDArray[Any], count: int, largest: int
) -> NDArray[np.int64]:
    """`numpy.bincount` adds doubles: exact while every sum is a whole number below 2^53."""
    if largest * values.size < 2**53:
        return np.bincount(index, weights=values, minlength=count).astype(np.int64)
    low = np.bincount(index, weights=values & _LOW, minlength=count).astype(np.int64)
    high = np.bincount(index, weights=values >> _HALF, minlength=count)
    return (high.astype(np.int64) << _HALF) + low
