"""Another benchmark's own rule, computed from our book, to stand beside the number it published."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from beforehand.publish.fold import LeagueFold
from beforehand.publish.rows import Row
from beforehand.scoring.exact import mean, median


class TypeScore(NamedTuple):
    """A mean Brier loss over `n` events of one type, exact."""

    n: int
    brier: Fraction


def median_by_type(fold: LeagueFold, rows: list[Row], before: str) -> dict[str, TypeScore]:
    """ForecastBench's superforecaster-median rule over resolved events.

    Per event the median of the stated probabilities (as given, not on the
    grid), its Brier loss, the mean within each type; `overall` is the mean of
    the type means. Market questions count when resolved before the day
    `before` (the date of the published table).
    """
    stated: dict[str, list[Fraction]] = {}
    settled: dict[str, Row] = {}
    for row in rows:
        if row.kind != "derived" and row.status == "counted":
            stated.setdefault(row.question, []).append(Fraction(row.p))
            settled[row.question] = row
    losses: dict[str, list[Fraction]] = {}
    for question, row in settled.items():
        if row.type == "market" and row.resolved_on >= before:
            continue
        centre = median(stated[question])
        if centre is not None:
            losses.setdefault(row.type, []).append((centre - row.happened) ** 2)
    scores = {name: TypeScore(len(held), _mean(held)) for name, held in sorted(losses.items())}
    if scores:
        total = sum(score.n for score in scores.values())
        scores["overall"] = TypeScore(total, _mean([score.brier for score in scores.values()]))
    return scores


def _mean(values: list[Fraction]) -> Fraction:
    value = mean(values)
    if value is None:
        raise ValueError("no mean of nothing")
    return value
