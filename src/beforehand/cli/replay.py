"""The demo's league: ForecastBench's human round of July 2024, replayed in simulated time.

Every step asks the book what is there and does the rest, so a replay that
was killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

from beforehand.clock import SimulatedClock, instant_key, instant_text
from beforehand.errors import IntegrityError, RuleError
from beforehand.leagues import shipped
from beforehand.publish.benchmark import median_by_type
from beforehand.publish.public import Publication
from beforehand.records.declaration import Declaration
from beforehand.records.run import Roster
from beforehand.scoring.exact import decimal_places
from beforehand.sources.forecastbench import PUBLISHED_MEDIAN, PUBLISHED_ON, Round, read_round
from beforehand.stages.accept import accept_answers, accepted_seats, open_run
from beforehand.stages.declare import declare, open_league
from beforehand.stages.observe import seal_questions, seal_snapshot
from beforehand.stages.pen import Pen
from beforehand.stages.resolve import resolve

ARCHIVE = "forecastbench-2024-07-21"
DATA = "forecastbench_2024_07_21"
SOURCE = "ForecastBench resolution set"

Progress = Callable[[str, int, int], None]


def shipped_file(name: str) -> bytes:
    """A file of the shipped round."""
    return resources.files("beforehand").joinpath("data", DATA, name).read_bytes()


def shipped_round() -> Round:
    """The shipped round."""
    return read_round(
        shipped_file("question_set_human.json"),
        shipped_file("superforecaster_individual.csv"),
        shipped_file("resolution_set_human_subset.json"),
    )


def replay(folder: Path, clock_file: Path, progress: Progress) -> Pen:
    """Play the round into a book at `folder`; the pen is open and its last checkpoint signed."""
    progress("read the round", 0, 1)
    round_ = shipped_round()
    declaration = Declaration.parse(shipped()["replay"], "replay.toml")
    frozen = instant_key(round_.frozen_at)
    clock = SimulatedClock(clock_file, instant_text(frozen - timedelta(days=1)))
    pen = open_league(folder, declaration, clock)
    try:
        _play(pen, clock, round_, declaration, folder, progress)
    except BaseException:
        pen.store.close()
        raise
    return pen


def _play(
    pen: Pen,
    clock: SimulatedClock,
    round_: Round,
    declaration: Declaration,
    folder: Path,
    progress: Progress,
) -> None:
    declare(pen, declaration, folder)
    pen.checkpoint()
    _step(clock, round_.frozen_at)
    count = _Count("seal the questions", len(round_.events), progress)
    ids = seal_questions(pen, round_.events, count)
    run = round_.due
    seal_snapshot(pen, run, round_.events, ids, round_.snapshot, round_.frozen_at)
    slot, deadline = declaration.slot, declaration.deadline
    if slot is None or deadline is None:
        raise RuleError(f"{declaration.name} is no replay: it has no slot of its own")
    seats = accepted_seats([answer.forecaster for answer in round_.answers], "human")

    def roster(at: str) -> Roster:
        return Roster(
            at=at,
            run=run,
            seats=seats,
            deadline=deadline,
            retry=declaration.retry,
            counted_run=declaration.counted_run,
        )

    open_run(pen, roster, run, declaration.segment, slot)
    pen.checkpoint()
    _step(clock, deadline)
    count = _Count("seal the answers", len(round_.answers), progress)
    accept_answers(pen, declaration, run, round_.answers, ids, count)
    pen.checkpoint()
    count = _Count("seal the outcomes", len(round_.outcomes), progress)
    for day, outcomes in groupby(round_.outcomes, key=lambda outcome: outcome.day):
        _step(clock, instant_text(instant_key(f"{day}T00:00:00Z") + timedelta(days=1)))
        resolve(pen, list(outcomes), ids, SOURCE, declaration.final, count)
        pen.checkpoint()


def _step(clock: SimulatedClock, instant: str) -> None:
    """To the next due instant; a replay that resumes may stand beyond it already."""
    if instant_key(instant) > instant_key(clock.now()):
        clock.step_to(instant)


class _Count:
    """Adds up what batches report and tells it on."""

    def __init__(self, step: str, total: int, progress: Progress) -> None:
        self.step, self.total, self.progress, self.done = step, total, progress, 0
        progress(step, 0, total)

    def __call__(self, wrote: int) -> None:
        self.done += wrote
        self.progress(self.step, self.done, self.total)


def archive_licence(declaration: Declaration) -> bytes | None:
    """The licence text that goes with what is published from a shipped archive."""
    return shipped_file("LICENSE") if declaration.archive == ARCHIVE else None


def published_beside_ours(
    declaration: Declaration,
) -> Callable[[Publication], list[dict[str, Any]]]:
    """What gives an archive's own published numbers beside ours; nothing for another league."""
    return _published_median if declaration.archive == ARCHIVE else lambda data: []


def _published_median(data: Publication) -> list[dict[str, Any]]:
    """ForecastBench's numbers for the superforecaster median, beside ours.

    IntegrityError where ours do not reproduce them to the printed places.
    """
    scores = median_by_type(data.fold, data.rows, PUBLISHED_ON)
    rows = []
    for name, (theirs, n) in PUBLISHED_MEDIAN.items():
        ours = scores.get(name)
        if ours is None or ours.n != n or abs(ours.brier - Fraction(theirs)) > Fraction(1, 2000):
            raise IntegrityError(
                f"{name}: {ours} does not reproduce ForecastBench's {theirs} over {n} questions"
            )
        rows.append(
            {
                "title": name,
                "ours": decimal_places(ours.brier, 4),
                "theirs": theirs,
                "n": n,
                "note": f"ForecastBench, table of {PUBLISHED_ON}, superforecaster median",
            }
        )
    return rows
