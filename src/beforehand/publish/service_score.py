"""The service score: what the answers that were expected are worth, those that never came too.

It stands beside the quality score and enters no ranking, pool or gain. Its
expected cells are those of the roster: each seat on each resolved question
that was asked in a counted run. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from beforehand.publish.counting import JudgedRun, market_of
from beforehand.publish.gains import board_estimate, board_text, loss
from beforehand.publish.reliability import is_nobodys, never_called
from beforehand.publish.rows import IN, Row
from beforehand.publish.rules import Rules
from beforehand.scoring.paired import cluster_mean, question_mean

WORST = Fraction(1)
# Not known yet what it will be.
_NOT_KNOWN = ("pending", "sealed")
# Takes the place of its cell; at most one row of each does.
_TAKES = (*IN, "not_revealed", *_NOT_KNOWN)


@dataclass
class Served:
    """One forecaster's expected cells: `(cluster, question or market, loss)`, and how they ended.

    `ends` counts `stated`, `filled`, `not_revealed` and `awaited` cells.
    """

    losses: list[tuple[str, str, Fraction]] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)


def served_by_all(
    runs: Sequence[JudgedRun], rows: Iterable[Row], rules: Rules
) -> dict[str, Served]:
    """Every seat's expected cells; nothing where no service score is declared."""
    found: dict[str, Served] = {}
    if rules.service_fill is None:
        return found
    held = _of_each_cell(rows)
    for run in runs:
        if not run.counted or not run.past_deadline:
            continue
        for name in run.entry:
            own = found.setdefault(name, Served())
            for question in _settled_asks(run):
                _serve(own, run, question, held.get((run.run, question, name)), rules)
    return found


def _of_each_cell(rows: Iterable[Row]) -> dict[tuple[str, str, str], Row]:
    """What became of each cell: the answer that takes its place, whatever else was sent for it.

    Else who sees that an answer turned out badly sends a late one after it.
    """
    held: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (row.run, row.question, row.forecaster)
        takes = row.status in _TAKES or never_called(row)
        if row.kind != "derived" and (takes or key not in held):
            held[key] = row
    return held


def _settled_asks(run: JudgedRun) -> list[str]:
    """The questions of a run that were resolved yes or no, and offered to its seats."""
    return [
        name
        for name in run.questions
        if name in run.fold.settled
        and run.fold.settled[name].outcome in ("yes", "no")
        and not is_nobodys(run, name)
    ]


def _serve(own: Served, run: JudgedRun, question: str, row: Row | None, rules: Rules) -> None:
    if row is not None and (row.status in _NOT_KNOWN or never_called(row)):
        own.ends["awaited"] += row.status in _NOT_KNOWN
        return
    if row is not None and row.status == "counted":
        end, value = "stated", rules.grid.brier(loss(row, rules.grid))
    elif row is not None and row.status == "not_revealed":
        end, value = "not_revealed", WORST
    else:
        end, value = "filled", rules.service_fill or Fraction(0)
    own.ends[end] += 1
    if end != "not_revealed" or rules.not_revealed == "worst_in_service":
        record = run.fold.questions[question][1]
        own.losses.append((record.cluster, market_of(record) or question, value))


def service_told(name: str, served: Mapping[str, Served], rules: Rules) -> dict[str, Any] | None:
    """A forecaster's service score as JSON; None where none is declared, or it has no seat."""
    own = served.get(name)
    if own is None:
        return None
    least = rules.min_clusters_interval
    if rules.weigh == "question":
        score = question_mean(own.losses, least=least)
    else:
        score = cluster_mean([(cluster, value) for cluster, _, value in own.losses], least=least)
    return {
        **{end: own.ends[end] for end in ("stated", "filled", "not_revealed", "awaited")},
        "fill": board_text(rules.service_fill),
        "not_revealed_as": "1.000000" if rules.not_revealed == "worst_in_service" else None,
        "brier": board_estimate(score),
    }
