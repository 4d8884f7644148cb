"""A fold made from a table of answers, for tests of what counts."""

from __future__ import annotations

from collections.abc import Mapping

from beforehand.publish.fold import LeagueFold, Settled
from beforehand.records.forecast import Answer, Cell
from beforehand.records.league import League, Segment
from beforehand.records.run import Roster, Run, Seat
from beforehand.records.snapshot import Quote, Snapshot
from tests.small_league import DEADLINE, RUN, START, small_declaration, small_question

LATE = "2026-01-02T00:00:01Z"


def made_fold(
    answers: list[tuple[str, Mapping[int, str | None]]],
    outcomes: Mapping[int, str],
    *,
    crowd: Mapping[int, str] | None = None,
    seats: tuple[str, ...] | None = None,
    late: tuple[int, ...] = (),
    questions: int = 3,
    counted: bool = True,
) -> LeagueFold:
    """`answers`: who, and a probability (or None for a refusal) by question number."""
    declaration = small_declaration()
    league = League(
        at=START,
        league="small",
        origin=declaration.origin,
        key="k",
        recovery="0" * 64,
        declaration_sha256=declaration.sha256,
    )
    fold = LeagueFold(league, declaration, lines=99, last_at="2026-01-03T00:00:00Z")
    segment = Segment(
        at=START, segment="s", methodology="1", time="simulated", why="w", counted=True
    )
    fold.segments["s"] = segment
    ids = {}
    for number in range(1, questions + 1):
        question, _ = small_question(number, START)
        ids[number] = question.question
        fold.questions[question.question] = (2 + number, question)
        fold.contracts.take(2 + number, question)
    quotes = tuple(
        Quote(question=ids[number], read_at=START, crowd=p) for number, p in (crowd or {}).items()
    )
    fold.snapshots[50] = Snapshot(at=START, run=RUN, quotes=quotes)
    names = seats if seats is not None else tuple(dict.fromkeys(name for name, _ in answers))
    fold.rosters[51] = Roster(
        at=START,
        run=RUN,
        seats=tuple(Seat(name, "accepted") for name in names),
        deadline=DEADLINE,
        retry="none",
        counted_run="only",
    )
    run = Run(
        at=START,
        run=RUN,
        segment="s",
        slot=DEADLINE,
        counted=counted,
        snapshot_line=50,
        roster_line=51,
        question_lines=(3, 2 + questions),
    )
    fold.runs[RUN] = (52, run)
    for place, (name, said) in enumerate(answers):
        cells = tuple(
            Cell(ids[number], p=p) if p is not None else Cell(ids[number], missing="refused")
            for number, p in said.items()
        )
        at = LATE if place in late else START
        answer = Answer(at=at, run=RUN, forecaster=name, status="answered", cells=cells)
        fold.answers.append((60 + place, answer, cells))
    for number, outcome in outcomes.items():
        fold.settled[ids[number]] = Settled(80 + number, outcome, "2026-01-02", 80 + number)
    return fold
