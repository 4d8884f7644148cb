"""Who answered what was asked: one attempt a run and question, valid or failed.

Retries are not attempts of this kind: three calls that end in an answer are
one valid attempt. A run that was missed and a question that the budget
stopped were never asked, so they are nobody's failure; a timeout is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from beforehand.publish.counting import JudgedRun
from beforehand.publish.gains import board_float, board_share
from beforehand.publish.rows import IN, Row
from beforehand.scoring.calibration import wilson

Key = tuple[str, str]
# Not known yet, or no attempt at all.
_NO_ATTEMPT = ("pending", "sealed", "not_on_roster", "not_asked", "not_counted", "uncounted_run")
_NEVER_CALLED = ("budget",)


@dataclass
class Attended:
    """What one forecaster was asked: the rows that are valid and those that failed, by key.

    A failed one has a row where something stands in the book, and None where
    an entrant was silent. `first` counts the valid ones that needed one try.
    """

    valid: dict[Key, Row] = field(default_factory=dict)
    failed: dict[Key, Row | None] = field(default_factory=dict)
    first: int = 0

    @property
    def attempted(self) -> int:
        """How many attempts there were."""
        return len(self.valid) + len(self.failed)

    @property
    def share(self) -> Fraction | None:
        """The share of valid attempts; None of none."""
        return Fraction(len(self.valid), self.attempted) if self.attempted else None

    def told(self) -> dict[str, Any]:
        """As JSON: the share with Wilson's interval, the first-try share, the failures by code."""
        bar = wilson(len(self.valid), self.attempted)
        reasons = Counter(
            (row.why or row.status) if row else "not_answered" for row in self.failed.values()
        )
        return {
            "valid": len(self.valid),
            "attempted": self.attempted,
            "share": board_share(len(self.valid), self.attempted),
            "wilson_low": board_float(bar[0]) if bar else None,
            "wilson_high": board_float(bar[1]) if bar else None,
            "first_try": self.first,
            "first_try_share": board_share(self.first, self.attempted),
            "failures": dict(sorted(reasons.items())),
        }


def attended_by_all(runs: Sequence[JudgedRun], rows: Iterable[Row]) -> dict[str, Attended]:
    """Every forecaster's attempts, those of pools apart from those of their members."""
    found: dict[str, Attended] = {}
    nobodys = {(run.run, name) for run in runs for name in run.questions if is_nobodys(run, name)}
    for row in rows:
        held = found.setdefault(row.forecaster, Attended())
        _take_attempt(held, row, (row.run, row.question) in nobodys)
    for run in runs:
        _add_silent(found, run, nobodys)
    return found


def is_nobodys(run: JudgedRun, question: str) -> bool:
    """Whether a question was decided before the run, or none of those to be asked was asked it.

    An entrant's answer to one that the budget stopped must not stand beside
    its silence on others.
    """
    return run.decided_before(question) or (run.asks_models and question not in run.first_asked)


def never_called(row: Row) -> bool:
    """Whether the budget kept a forecaster from being called."""
    return row.why in _NEVER_CALLED


def _take_attempt(held: Attended, row: Row, nobodys: bool) -> None:
    key = (row.run, row.question)
    if nobodys or row.status in _NO_ATTEMPT or never_called(row):
        return
    if row.status in IN:
        held.valid[key] = row
        held.failed.pop(key, None)
        held.first += row.attempt <= 1
    elif key not in held.valid:
        held.failed[key] = row


def _add_silent(found: Mapping[str, Attended], run: JudgedRun, nobodys: set[Key]) -> None:
    """Entrants who were expected and said nothing on a question that others were asked.

    A run is closed when the models have answered; entrants have time until its deadline.
    """
    if not (run.asks_models and run.past_deadline and run.counted):
        return
    asked = [name for name in run.questions if name in run.first_asked]
    withheld = {answer.forecaster for _, answer, cells in run.held.answers if cells is None}
    for name, entry in run.entry.items():
        if entry != "accepted" or name not in found or name in withheld:
            continue
        for question in asked:
            key = (run.run, question)
            if key not in found[name].valid and key not in nobodys:
                found[name].failed.setdefault(key, None)
