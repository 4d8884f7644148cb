"""Cox's recalibration: logit P(yes) = intercept + slope * logit(p), fitted by maximum likelihood.

Intercept 0 and slope 1 is calibrated; a slope below 1 is overconfident, above
1 too timid, an intercept above 0 says too little (Cox 1958, Biometrika 45).

The fit is Newton's on the counts of a tally, so that it does not depend on the
order of rows. Fitted numbers agree across machines to about 12 digits, not to
the bit: they go through `exp`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beforehand.errors import FormatError
from beforehand.scoring.clusters import cluster_column, cluster_sums
from beforehand.scoring.columns import outcome_column, same_length, unit_column, within
from beforehand.scoring.exact import Grid
from beforehand.scoring.measures import checked
from beforehand.scoring.paired import MIN_CLUSTERS
from beforehand.scoring.rules import Counts, declared_clamp, loss_table

FIXED = 1 << 32
_STEPS = 60
_CLOSE = 1e-14
_SETTLED = 1e-8

Pair = NDArray[np.float64]
Square = NDArray[np.float64]


@dataclass(frozen=True)
class Cox:
    """The fit over `n` rows, of which `clamped` stood beyond the clamp.

    Where there is no finite fit, numbers are None and `reason` says why. `se_*`
    are the standard errors named by `errors`: from the model, which takes rows
    as independent, or clustered with the small-sample factor `factor`.
    """

    n: int
    clamped: int
    clamp: Fraction
    intercept: float | None = None
    slope: float | None = None
    se_intercept: float | None = None
    se_slope: float | None = None
    errors: str = "model: rows as independent"
    clusters: int | None = None
    factor: Fraction | None = None
    reason: str | None = None


def cox(counts: Counts, grid: Grid, clamp: Fraction | Decimal | None = None) -> Cox:
    """The fit on one row of a tally, with the standard errors of the model.

    p is held between the clamp (the grid step unless declared) and 1 - clamp,
    for the logit of 0 and 1 is infinite; the rows beyond it are counted. No
    finite fit exists, and none is given, where all rows have one outcome or one
    probability, or where a threshold on p separates yes from no.

    >>> from beforehand.scoring.measures import row_of
    >>> rows = [(20, 0), (20, 0), (20, 0), (20, 1), (80, 0), (80, 1), (80, 1), (80, 1)]
    >>> found = cox(row_of(rows, Grid(100)), Grid(100))
    >>> round(found.intercept, 12) + 0, round(found.slope, 6)
    (0.0, 0.792481)
    >>> cox(row_of([(20, 0), (80, 1)], Grid(100)), Grid(100)).reason
    'a threshold separates yes from no'
    """
    least = _positive(grid, clamp)
    held, clamped = _clamped(checked(counts, grid), grid, least)
    start = Cox(int(counts.sum()), clamped, least)
    reason = _no_fit(held)
    if reason:
        return replace(start, reason=reason)
    logits = _logits(grid, least)
    fitted = _newton(held, logits)
    if fitted is None:
        return replace(start, reason="the fit did not settle")
    beta, covariance = fitted
    return replace(
        start,
        intercept=float(beta[0]),
        slope=float(beta[1]),
        se_intercept=float(np.sqrt(covariance[0, 0])),
        se_slope=float(np.sqrt(covariance[1, 1])),
    )


def cox_clustered(
    units: ArrayLike,
    happened: ArrayLike,
    cluster_index: ArrayLike,
    grid: Grid,
    clamp: Fraction | Decimal | None = None,
    *,
    least: int = MIN_CLUSTERS,
) -> Cox:
    """The same fit on rows, with standard errors that take clusters, not rows, as independent.

    `units` [n] grid steps, `happened` [n] booleans or 0 and 1, `cluster_index`
    [n] whole numbers from 0. The sandwich over cluster sums of the score, times
    the factor CR1, G/(G-1) (N-1)/(N-2) for G clusters and N rows, which
    `factor` returns: Stata's logit uses the first part only (Liang and Zeger
    1986, Biometrika 73). Below `least` clusters the fit is given without errors.
    The residuals are summed in whole units of 2^-32.

    >>> units, yes = [20, 20, 20, 20, 80, 80, 80, 80] * 3, [0, 0, 0, 1, 0, 1, 1, 1] * 3
    >>> found = cox_clustered(units, yes, range(24), Grid(100))
    >>> found.clusters, str(found.factor), round(found.se_slope, 6)
    (24, '12/11', 0.355167)
    """
    u, y, cluster = unit_column(units), outcome_column(happened), cluster_column(cluster_index)
    same_length(units=u, happened=y, cluster_index=cluster)
    within(u, "units", grid.steps)
    within(y, "happened", 1)
    width = grid.steps + 1
    u, y = u.astype(np.int64), y.astype(np.int64)
    counts = np.bincount(y * width + u, minlength=2 * width).reshape(2, width)
    found = cox(counts, grid, clamp)
    groups = int(np.count_nonzero(np.bincount(cluster)))
    named = f"clustered, CR1 (at least {least} clusters)"
    if found.intercept is None or found.slope is None or groups < max(least, 2):
        return replace(
            found, se_intercept=None, se_slope=None, errors=named, clusters=groups, factor=None
        )
    held, _ = _clamped(counts, grid, found.clamp)
    logits = _logits(grid, found.clamp)
    beta = np.array([found.intercept, found.slope])
    chance = _chance(beta, logits)
    # The score of a row at [outcome, units], in whole units: a second table, looked up.
    residual = np.array([-chance, 1 - chance])
    tables = [np.rint(part * FIXED).astype(np.int64) for part in (residual, residual * logits)]
    low, high = _bounds(grid, found.clamp)
    at = np.clip(u, low, high)
    sums = np.array([cluster_sums(table[y, at], cluster).sums for table in tables]) / FIXED
    factor = Fraction(groups, groups - 1) * Fraction(u.size - 1, u.size - 2)
    bread = _inverse(_information(held.sum(axis=0), chance, logits))
    covariance = bread @ (sums @ sums.T) @ bread * float(factor)
    return replace(
        found,
        se_intercept=float(np.sqrt(covariance[0, 0])),
        se_slope=float(np.sqrt(covariance[1, 1])),
        errors=named,
        clusters=groups,
        factor=factor,
    )


def _positive(grid: Grid, clamp: Fraction | Decimal | None) -> Fraction:
    least = declared_clamp(grid, clamp)
    if not least:
        raise FormatError("the logit of 0 and 1 is infinite: declare a clamp above 0")
    return least


def _bounds(grid: Grid, least: Fraction) -> tuple[int, int]:
    """The grid points that stand for the clamp: those next to it on its outer side."""
    low = int(least * grid.steps)
    return low, grid.steps - low


def _clamped(counts: Counts, grid: Grid, least: Fraction) -> tuple[Counts, int]:
    """The counts with those beyond the clamp moved to it, and how many were moved."""
    low, high = _bounds(grid, least)
    held = counts.copy()
    held[:, low] += counts[:, :low].sum(axis=1)
    held[:, high] += counts[:, high + 1 :].sum(axis=1)
    held[:, :low] = 0
    held[:, high + 1 :] = 0
    beyond = math.ceil(least * grid.steps)
    moved = counts[:, :beyond].sum() + counts[:, grid.steps + 1 - beyond :].sum()
    return held, int(moved)


@lru_cache(maxsize=16)
def _logits(grid: Grid, least: Fraction) -> NDArray[np.float64]:
    """logit of each grid point, [steps + 1], clamped: a difference of two table logarithms."""
    losses = loss_table("log", grid, least).losses
    found: NDArray[np.float64] = losses[0] - losses[1]
    found.setflags(write=False)
    return found


def _no_fit(counts: Counts) -> str | None:
    no, yes = (np.flatnonzero(side) for side in counts)
    if not no.size and not yes.size:
        return "no rows"
    if not no.size or not yes.size:
        return "all rows have one outcome"
    if np.unique(np.concatenate([no, yes])).size == 1:
        return "all rows have one probability"
    if no.max() <= yes.min() or yes.max() <= no.min():
        return "a threshold separates yes from no"
    return None


def _chance(beta: Pair, logits: NDArray[np.float64]) -> NDArray[np.float64]:
    at = beta[0] + beta[1] * logits
    small = np.exp(-np.abs(at))
    found: NDArray[np.float64] = np.where(at >= 0, 1 / (1 + small), small / (1 + small))
    return found


def _information(
    rows: NDArray[np.int64], chance: NDArray[np.float64], logits: NDArray[np.float64]
) -> Square:
    weight = rows * chance * (1 - chance)
    cross = float((weight * logits).sum())
    square = float((weight * logits * logits).sum())
    return np.array([[float(weight.sum()), cross], [cross, square]])


def _inverse(matrix: Square) -> Square:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _log_likelihood(counts: Counts, beta: Pair, logits: NDArray[np.float64]) -> float:
    at = beta[0] + beta[1] * logits
    down, up = np.logaddexp(0.0, at), np.logaddexp(0.0, -at)
    return -float((counts[0] * down).sum() + (counts[1] * up).sum())


def _newton(counts: Counts, logits: NDArray[np.float64]) -> tuple[Pair, Square] | None:
    """The fit and its covariance, by Newton's method with halved steps; None if it does not end."""
    used = np.flatnonzero(counts.sum(axis=0))
    counts, logits = counts[:, used], logits[used]
    rows = counts.sum(axis=0)
    beta, before = np.array([0.0, 1.0]), math.inf
    likely = _log_likelihood(counts, beta, logits)
    for _ in range(_STEPS):
        chance = _chance(beta, logits)
        residual = counts[1] - rows * chance
        score = np.array([float(residual.sum()), float((residual * logits).sum())])
        information = _information(rows, chance, logits)
        try:
            step = np.linalg.solve(information, score)
        except np.linalg.LinAlgError:
            return None
        size = float(np.abs(step).max() / (1 + np.abs(beta).max()))
        if size <= _CLOSE or (size <= _SETTLED and size >= before / 2):
            settled: Pair = beta + step
            return settled, _inverse(information)
        for _ in range(_STEPS):
            further = _log_likelihood(counts, beta + step, logits)
            if further >= likely - 1e-12 * abs(likely):
                break
            step = step / 2
        beta, likely, before = beta + step, further, size
    return None
