"""Where a league stands, as its book says: what was asked, answered, closed and settled.

It is read once and then kept up line by line, so that a loop that runs for
weeks does not read the whole book at every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from beforehand.records.declaration import Declaration
from beforehand.records.evidence import Erased
from beforehand.records.forecast import Answer
from beforehand.records.league import Segment
from beforehand.records.question import Question
from beforehand.records.record import BodyRef, Record, Unknown
from beforehand.records.resolution import Correction, Resolution
from beforehand.records.run import Ask, Close, Roster, Run
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.stages.ledger import Ledger

Cell = tuple[str, str]


@dataclass(frozen=True)
class Attempt:
    """An ask with its line, and the answer line that ended it, if one did."""

    line: int
    ask: Ask
    answer: Answer | None = None

    @property
    def valid(self) -> bool:
        """Whether it brought a probability."""
        return self.answer is not None and self.answer.status == "answered"


@dataclass
class OpenRun:
    """A run with everything that was asked in it. `attempts` are by (question, forecaster)."""

    line: int
    run: Run
    roster: Roster
    snapshot: Snapshot
    attempts: dict[Cell, list[Attempt]] = field(default_factory=dict)
    ended: Snapshot | None = None
    close: Close | None = None

    @property
    def questions(self) -> tuple[str, ...]:
        """The ids of the questions, in the order they were chosen."""
        return tuple(self.run.questions or ())

    @cached_property
    def quotes(self) -> dict[str, Quote]:
        """The prices at the start, by question."""
        return {quote.question: quote for quote in self.snapshot.quotes}

    def open_attempts(self) -> Iterator[Attempt]:
        """Asks without an answer line: in flight, or lost when the asking process died."""
        for held in self.attempts.values():
            yield from (attempt for attempt in held if attempt.answer is None)


@dataclass(frozen=True)
class Outcome:
    """A question's outcome as it stands, the lines it rests on, and when the first was sealed."""

    outcome: str
    first_line: int
    line: int
    sealed_at: str


class Situation:
    """Everything the stages ask of the book. `catch_up` takes the lines written since."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.ledger = Ledger.begin(declaration.content)
        self.segment = ""
        self.segment_at = ""
        self.questions: dict[str, Question] = {}
        self.runs: dict[str, OpenRun] = {}
        self.closes: dict[str, Close] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.withheld: dict[str, BodyRef] = {}
        self.lines = 0
        self._rosters: dict[int, Roster] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._place: dict[int, tuple[str, Cell]] = {}

    def catch_up(self, records: list[tuple[int, Record | Unknown]]) -> None:
        """Take every record after the last one taken; `records` is the whole book."""
        for n, record in records[self.lines :]:
            self.ledger.take(n, record)
            self._take(n, record)
            self.lines = n

    def _take(self, n: int, record: Record | Unknown) -> None:
        if isinstance(record, Record):
            held = (body for body in record.bodies if body.due not in (None, record.at))
            self.withheld.update((body.sha256, body) for body in held)
        match record:
            case Segment():
                self.segment, self.segment_at = record.segment, record.at
            case Question():
                self.questions.setdefault(record.question, record)
            case Roster():
                self._rosters[n] = record
            case Snapshot():
                self._take_snapshot(n, record)
            case Run():
                self.runs.setdefault(
                    record.run,
                    OpenRun(
                        n,
                        record,
                        self._rosters[record.roster_line],
                        self._snapshots[record.snapshot_line],
                    ),
                )
            case Ask():
                self._take_ask(n, record)
            case Answer():
                self._take_answer(record)
            case Close():
                self.closes[record.run] = record
                if record.run in self.runs:
                    self.runs[record.run].close = record
            case Resolution():
                self.outcomes.setdefault(record.question, Outcome(record.outcome, n, n, record.at))
            case Correction():
                self._correct(n, record)
            case Erased():
                self.withheld.pop(record.body_sha256, None)
            case _:
                pass

    def _take_snapshot(self, n: int, record: Snapshot) -> None:
        self._snapshots[n] = record
        run = self.runs.get(record.run)
        if run is not None and record.moment == "end":
            run.ended = record
        elif run is not None:  # prices that were read anew before their first ask
            run.quotes.update({quote.question: quote for quote in record.quotes})

    def _take_ask(self, n: int, ask: Ask) -> None:
        run = self.runs.get(ask.run)
        if run is None or len(ask.questions) != 1:
            return
        cell = (str(ask.questions[0]), ask.forecaster)
        run.attempts.setdefault(cell, []).append(Attempt(n, ask))
        self._place[n] = ask.run, cell

    def _take_answer(self, answer: Answer) -> None:
        if answer.ask_line not in self._place:
            return
        name, cell = self._place.pop(answer.ask_line)
        held = self.runs[name].attempts[cell]
        for place, attempt in enumerate(held):
            if attempt.line == answer.ask_line:
                held[place] = Attempt(attempt.line, attempt.ask, answer)

    def _correct(self, n: int, record: Correction) -> None:
        if record.outcome is None:
            return
        for question, held in self.outcomes.items():
            if held.line in record.lines or held.first_line in record.lines:
                self.outcomes[question] = Outcome(
                    record.outcome, held.first_line, n, held.sealed_at
                )

    def open_runs(self) -> list[OpenRun]:
        """Runs that no close line has ended, the oldest first."""
        return [run for run in self.runs.values() if run.close is None]

    def handled(self, run: str) -> bool:
        """Whether a slot's run has begun or was sealed as missed."""
        return run in self.runs or run in self.closes
