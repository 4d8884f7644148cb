"""A mean over clusters with its interval: the paired comparison and the board's scores.

Each cluster weighs once, however many events it has: the estimate is the mean
of the cluster means, its interval Student's t on them, from `MIN_CLUSTERS`
clusters up. Clusters are declared independent; events within one are not
(Ibragimov and Mueller 2010 give the reason for t on cluster means).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from beforehand.scoring.exact import mean
from beforehand.scoring.student import student_quantile

MIN_CLUSTERS = 10
LEVEL = 0.95


@dataclass(frozen=True)
class ClusterMean:
    """An estimate over `n` events in `clusters` clusters.

    `mean` is exact and None of nothing. `se`, `low`, `high` are None below
    the least number of clusters. `identical` is True where every value is 0.
    `questions` is how many questions the values are of, None where they were
    not told apart.
    """

    n: int
    clusters: int
    mean: Fraction | None
    se: float | None
    low: float | None
    high: float | None
    identical: bool
    questions: int | None = None


def cluster_mean(
    values: Iterable[tuple[Hashable, Fraction]],
    *,
    least: int = MIN_CLUSTERS,
    level: float = LEVEL,
) -> ClusterMean:
    """The mean of cluster means over `(cluster, value)` pairs, with its interval.

    >>> cluster_mean([("a", Fraction(1)), ("a", Fraction(3)), ("b", Fraction(4))]).mean
    Fraction(3, 1)
    """
    grouped: dict[Hashable, list[Fraction]] = {}
    for cluster, value in values:
        grouped.setdefault(cluster, []).append(value)
    n = sum(len(held) for held in grouped.values())
    means = [Fraction(sum(held), len(held)) for held in grouped.values()]
    centre = mean(means)
    identical = n > 0 and all(value == 0 for held in grouped.values() for value in held)
    if centre is None or len(means) < max(least, 2):
        return ClusterMean(n, len(means), centre, None, None, None, identical)
    squares = sum(((value - centre) ** 2 for value in means), Fraction(0))
    se = math.sqrt(squares / (len(means) - 1) / len(means))
    half = student_quantile(level, len(means) - 1) * se
    at = float(centre)
    return ClusterMean(n, len(means), centre, se, at - half, at + half, identical)


def question_mean(
    values: Iterable[tuple[Hashable, Hashable, Fraction]],
    *,
    least: int = MIN_CLUSTERS,
    level: float = LEVEL,
) -> ClusterMean:
    """The mean of question means over `(cluster, question, value)`, with a clustered interval.

    A question that was asked many times weighs once; the interval takes the
    clusters, venue events, as independent and the questions of one not. Its
    variance is (G-1)/G times the sum of squares of what the mean changes by
    when each of the G clusters is left out in turn (jackknife; MacKinnon,
    Nielsen and Webb 2023, Journal of Applied Econometrics 38). Student's t is
    on one less than the effective number of clusters, Q^2 / sum N_c^2 for Q
    questions, N_c of them in cluster c (Kish 1965, Survey Sampling): one
    cluster with most of the questions is not many. Where every cluster has as
    many questions it is the t interval on cluster means.

    >>> rows = [("e", "a", Fraction(1)), ("e", "a", Fraction(3)), ("e", "b", Fraction(5))]
    >>> question_mean(rows).mean, question_mean(rows).questions
    (Fraction(7, 2), 2)
    """
    held: dict[Hashable, dict[Hashable, list[Fraction]]] = {}
    for cluster, question, value in values:
        held.setdefault(cluster, {}).setdefault(question, []).append(value)
    by_question = [rows for group in held.values() for rows in group.values()]
    n, questions, groups = sum(map(len, by_question)), len(by_question), len(held)
    centre = mean(Fraction(sum(rows), len(rows)) for rows in by_question)
    identical = n > 0 and all(value == 0 for rows in by_question for value in rows)
    if centre is None or groups < max(least, 2):
        return ClusterMean(n, groups, centre, None, None, None, identical, questions)
    squares = Fraction(0)
    for group in held.values():
        total = sum((Fraction(sum(rows), len(rows)) for rows in group.values()), Fraction(0))
        squares += ((total - len(group) * centre) / (questions - len(group))) ** 2
    se = math.sqrt(squares * (groups - 1) / groups)
    effective = questions**2 // sum(len(group) ** 2 for group in held.values())
    half = student_quantile(level, max(1, effective - 1)) * se
    at = float(centre)
    return ClusterMean(n, groups, centre, se, at - half, at + half, identical, questions)
