"""How much of an ensemble is more than one voice: sizes, error correlations, effective number.

Errors are whole grid steps, p - y; every row of a question carries an equal
share of that question's weight, so that one asked at many dates weighs once.
All sums are whole numbers; a root is taken last, by whole-number arithmetic,
so that a correlation has the same digits on every machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, isqrt, lcm

MOST_LISTED_MODELS = 12
ROOT_PLACES = 15


@dataclass(frozen=True)
class ErrorRow:
    """The errors of several forecasters on one row, in grid steps, in one fixed order."""

    question: Hashable
    errors: tuple[int, ...]


@dataclass(frozen=True)
class ErrorProducts:
    """Weighted sums of products of errors: `sums[i][j]`, `totals[i]`, and the weight of all."""

    weight: int
    totals: tuple[int, ...]
    sums: tuple[tuple[int, ...], ...]
    rows: int
    questions: int


def error_products(rows: Sequence[ErrorRow]) -> ErrorProducts:
    """The sums of products over rows, each question weighing once.

    >>> error_products([ErrorRow("a", (1, 2)), ErrorRow("a", (3, 0)), ErrorRow("b", (1, 1))]).sums
    ((12, 4), (4, 6))
    """
    counts: dict[Hashable, int] = {}
    for row in rows:
        counts[row.question] = counts.get(row.question, 0) + 1
    common = lcm(*counts.values()) if counts else 1
    size = len(rows[0].errors) if rows else 0
    totals, sums = [0] * size, [[0] * size for _ in range(size)]
    for row in rows:
        weight = common // counts[row.question]
        for i, error in enumerate(row.errors):
            totals[i] += weight * error
            for j in range(i, size):
                sums[i][j] += weight * error * row.errors[j]
    for i in range(size):
        for j in range(i):
            sums[i][j] = sums[j][i]
    return ErrorProducts(
        weight=common * len(counts),
        totals=tuple(totals),
        sums=tuple(map(tuple, sums)),
        rows=len(rows),
        questions=len(counts),
    )


@dataclass(frozen=True)
class SizePoint:
    """Ensembles of `size` models: the mean loss over all `subsets`, and the best and worst of them.

    Losses are in squared grid steps. `best` and `worst` are None where there
    are too many subsets to list.
    """

    size: int
    subsets: int
    mean: Fraction
    best: Fraction | None
    worst: Fraction | None


def size_curve(held: ErrorProducts) -> list[SizePoint]:
    """The mean Brier loss of plain averages of k models, over every subset of k; exact.

    With A the sum of e_i^2 over the models and B the square of their sum, the
    mean over all subsets of the squared mean error is
    (k/m A + k(k-1)/(m(m-1)) (B - A)) / k^2: no subset needs to be listed, so
    that it holds for any number of models. The best and the worst subset are
    looked for up to 12 models.

    >>> curve = size_curve(error_products([ErrorRow("a", (2, 0)), ErrorRow("b", (0, 2))]))
    >>> [(point.size, point.subsets, point.mean) for point in curve]
    [(1, 2, Fraction(2, 1)), (2, 1, Fraction(1, 1))]
    """
    models = len(held.totals)
    if not models or not held.weight:
        return []
    alone = sum(held.sums[i][i] for i in range(models))
    apart = sum(map(sum, held.sums)) - alone
    points = []
    for k in range(1, models + 1):
        value = Fraction(k, models) * alone
        if k > 1:
            value += Fraction(k * (k - 1), models * (models - 1)) * apart
        ends = _best_and_worst(held, k) if models <= MOST_LISTED_MODELS else (None, None)
        points.append(SizePoint(k, comb(models, k), value / (k * k * held.weight), *ends))
    return points


def _best_and_worst(held: ErrorProducts, k: int) -> tuple[Fraction, Fraction]:
    losses = [
        sum(held.sums[i][j] for i in chosen for j in chosen)
        for chosen in combinations(range(len(held.totals)), k)
    ]
    scale = k * k * held.weight
    return Fraction(min(losses), scale), Fraction(max(losses), scale)


def error_correlation(held: ErrorProducts, i: int = 0, j: int = 1) -> Fraction | None:
    """Pearson's r of two forecasters' errors, to 15 places; None where one never varies.

    >>> rows = [ErrorRow(n, (n, 2 * n)) for n in range(3)]
    >>> error_correlation(error_products(rows))
    Fraction(1, 1)
    >>> error_correlation(error_products([ErrorRow(n, (n, 5)) for n in range(3)])) is None
    True
    """
    if not held.weight:
        return None
    both = held.weight * held.sums[i][j] - held.totals[i] * held.totals[j]
    one = held.weight * held.sums[i][i] - held.totals[i] ** 2
    other = held.weight * held.sums[j][j] - held.totals[j] ** 2
    if not one or not other:
        return None
    size = isqrt(both * both * 10 ** (2 * ROOT_PLACES) // (one * other))
    return Fraction(size if both >= 0 else -size, 10**ROOT_PLACES)


@dataclass(frozen=True)
class EffectiveNumber:
    """`value` is None where it is undefined, and `why` says what is missing."""

    value: Fraction | None
    why: str = ""


def effective_number(models: int, correlations: Iterable[Fraction | None]) -> EffectiveNumber:
    """N_eff = m / (1 + (m - 1) r), r the mean of the pairs' error correlations.

    Undefined below two models, where no pair has a correlation, and where r is
    at or below -1/(m - 1): a number would be infinite or negative. Pairs
    without a correlation are left out of r. Above m where r is negative.

    >>> effective_number(6, [Fraction(1, 2)] * 15).value
    Fraction(12, 7)
    >>> effective_number(2, [Fraction(-1)]).why
    'the mean correlation is at or below -1/(m - 1)'
    """
    held = [value for value in correlations if value is not None]
    if models < 2:
        return EffectiveNumber(None, "fewer than two models")
    if not held:
        return EffectiveNumber(None, "no pair of models has a correlation of errors")
    below = 1 + (models - 1) * sum(held, Fraction(0)) / len(held)
    if below <= 0:
        return EffectiveNumber(None, "the mean correlation is at or below -1/(m - 1)")
    return EffectiveNumber(models / below)
