"""Losses and gains of single rows, their means as a league weighs them, and numbers as text.

A gain is another's Brier loss minus the forecaster's own on the same row:
above 0 is better than the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from beforehand.errors import IntegrityError
from beforehand.publish.rows import Row
from beforehand.publish.rules import Rules
from beforehand.scoring.exact import Grid, decimal_places, mean
from beforehand.scoring.paired import ClusterMean, cluster_mean, question_mean

PLACES = 6


def scored_units(row: Row) -> int:
    """The grid point of a row with a probability; any other must not come here."""
    if row.units is None:
        raise IntegrityError(f"line {row.line}: a row without a probability is scored")
    return row.units


def loss(row: Row, grid: Grid) -> int:
    """The Brier loss of a counted row in squared grid steps."""
    return grid.brier_units(scored_units(row), row.happened)


def paired_gain(row: Row, grid: Grid) -> Fraction | None:
    """The others' median's loss minus the row's own; None where nobody else answered."""
    if row.others_units is None:
        return None
    return grid.brier(grid.brier_units(row.others_units, row.happened) - loss(row, grid))


def crowd_gain(row: Row, grid: Grid) -> Fraction | None:
    """The loss of the crowd's price in the row's own run minus the row's own; None without one."""
    if row.crowd_units is None:
        return None
    return grid.brier(grid.brier_units(row.crowd_units, row.happened) - loss(row, grid))


def average_gain(row: Row, grid: Grid) -> Fraction | None:
    """The mean loss of everybody else minus the row's own; None where nobody else answered."""
    if row.others_loss is None:
        return None
    return (row.others_loss - loss(row, grid)) / (grid.steps * grid.steps)


def ranking_gain(row: Row, rules: Rules) -> Fraction | None:
    """The gain that ranks: over the crowd, or over the median of everybody else."""
    return crowd_gain(row, rules.grid) if rules.against_crowd else paired_gain(row, rules.grid)


def is_scored(row: Row) -> bool:
    """Whether a row has a loss."""
    return row.status == "counted" and row.units is not None


def board_mean(values: Iterable[tuple[Row, Fraction | None]], rules: Rules) -> ClusterMean:
    """The mean of what rows have, as the league weighs them, with its interval."""
    held = [(row, value) for row, value in values if value is not None]
    least = rules.min_clusters_interval
    if rules.weigh == "question":
        return question_mean(
            [(row.cluster, row.weighed_as, value) for row, value in held], least=least
        )
    return cluster_mean([(row.cluster, value) for row, value in held], least=least)


def mean_loss(rows: Iterable[Row], rules: Rules) -> ClusterMean:
    """The mean Brier loss of counted rows."""
    return board_mean(((row, rules.grid.brier(loss(row, rules.grid))) for row in rows), rules)


def mean_crowd_gain(rows: Iterable[Row], rules: Rules) -> ClusterMean:
    """The mean gain over the crowd of counted rows, where there is a crowd."""
    return board_mean(((row, crowd_gain(row, rules.grid)) for row in rows), rules)


def by_question(rows: Iterable[Row]) -> Mapping[str, list[Row]]:
    """Rows by question, in their order."""
    held: dict[str, list[Row]] = {}
    for row in rows:
        held.setdefault(row.question, []).append(row)
    return held


# ---- numbers as text


def board_text(value: Fraction | None) -> str | None:
    """Decimal text of six places, half to even; None of nothing."""
    return None if value is None else decimal_places(value, PLACES)


def board_share(part: int, whole: int) -> str | None:
    """A share as text; None of nothing."""
    return board_text(Fraction(part, whole)) if whole else None


def board_float(value: float | None) -> str | None:
    """What a root was taken for, as text: its last place may differ between machines."""
    return None if value is None else decimal_places(Fraction(value), PLACES)


def board_estimate(value: ClusterMean) -> dict[str, Any]:
    """A mean with its interval as JSON."""
    return {
        "mean": board_text(value.mean),
        "se": board_float(value.se),
        "low": board_float(value.low),
        "high": board_float(value.high),
        "n": value.n,
        "questions": value.questions,
        "clusters": value.clusters,
        "identical": value.identical,
    }


def simple_mean(values: Iterable[Fraction]) -> str | None:
    """The mean with each value weighing once, as text."""
    return board_text(mean(values))
