"""Second views of a forecaster that are never the headline: what if failures counted, and leaks.

Declining hard questions pays where only answers are scored. Imputed as the
crowd, a failure gains exactly 0; imputed as one half, what the half gains. No
imputed value stands in any row or in a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from beforehand.publish.gains import board_estimate, board_mean, crowd_gain, mean_crowd_gain
from beforehand.publish.reliability import Attended, Key
from beforehand.publish.rows import Row
from beforehand.publish.rules import Rules
from beforehand.scoring.paired import ClusterMean


def imputed_views(
    held: Attended, crowd: Mapping[Key, Row], counted: Sequence[Row], rules: Rules
) -> dict[str, Any]:
    """The mean gain over the crowd with every failed attempt on a resolved question filled in.

    `crowd` are the crowd's counted rows: they give a failure its outcome.
    """
    failed = [crowd[key] for key in held.failed if key in crowd]
    half = rules.grid.steps // 2 if rules.grid.steps % 2 == 0 else None
    return {
        "imputed": len(failed),
        "failures_as_crowd": board_estimate(
            _filled(counted, ((r, Fraction(0)) for r in failed), rules)
        ),
        "failures_as_half": board_estimate(
            _filled(counted, ((row, _half_gain(row, rules, half)) for row in failed), rules)
        ),
    }


def _filled(
    counted: Sequence[Row], filled: Iterable[tuple[Row, Fraction | None]], rules: Rules
) -> ClusterMean:
    own = [(row, crowd_gain(row, rules.grid)) for row in counted]
    return board_mean([*own, *filled], rules)


def _half_gain(row: Row, rules: Rules, half: int | None) -> Fraction | None:
    if row.crowd_units is None or half is None:
        return None
    grid = rules.grid
    at_crowd = grid.brier_units(row.crowd_units, row.happened)
    return grid.brier(at_crowd - grid.brier_units(half, row.happened))


def leak_views(counted: Sequence[Row], rules: Rules) -> dict[str, Any]:
    """The gain over the crowd of answers that gave nothing away, and how many there are of each.

    `unflagged` leaves out what was flagged; what nobody examined is in it and
    counted apart. `without_lookup` leaves out questions whose price had left
    the band by the run's end.
    """
    flagged = sum(row.leak is True for row in counted)
    return {
        "examined": sum(row.leak is not None for row in counted),
        "flagged": flagged,
        "moved": sum(row.moved is True for row in counted),
        "lookup": sum(row.lookup is True for row in counted),
        "unflagged": board_estimate(
            mean_crowd_gain((row for row in counted if row.leak is not True), rules)
        ),
        "flagged_only": board_estimate(
            mean_crowd_gain((row for row in counted if row.leak is True), rules)
        ),
        "without_lookup": board_estimate(
            mean_crowd_gain((row for row in counted if row.lookup is not True), rules)
        ),
    }
