"""What a submission is judged by: the runs of a book, what they ask, and who may answer.

Read once and then kept up line by line, by the pen's side and by the intake
alike, so that both judge by the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from beforehand.book.checkpoint import VerifierKey
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.forecast import Answer
from beforehand.records.league import League
from beforehand.records.question import Question
from beforehand.records.record import Record, Unknown
from beforehand.records.resolution import Resolution
from beforehand.records.run import Roster, Run, Seat
from beforehand.stages.submission import Submission


@dataclass(frozen=True)
class Occasion:
    """A run that has begun. `seats` are those that may submit, by forecaster."""

    run: str
    slot: str
    deadline: str
    questions: tuple[str, ...]
    seats: Mapping[str, Seat]

    def is_over(self, now: str) -> bool:
        """Whether its deadline has passed."""
        return instant_key(now) > instant_key(self.deadline)


@dataclass(frozen=True)
class Refusal:
    """Why a well-formed submission is not taken. `code` is one of REFUSALS."""

    code: str
    words: str


REFUSALS = ("wrong_origin", "unknown_run", "not_registered", "wrong_signature", "not_asked")


@dataclass
class Occasions:
    """The runs of a league with all that concerns submissions. `lines` of them are taken."""

    league: League | None = None
    lines: int = 0
    runs: dict[str, Occasion] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    submissions: dict[str, int] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    _order: list[tuple[int, str]] = field(default_factory=list)
    _rosters: dict[int, Roster] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[tuple[int, Record | Unknown]]) -> Self:
        """The occasions of a whole book."""
        occasions = cls()
        for n, record in records:
            occasions.take(n, record)
        return occasions

    def take(self, n: int, record: Record | Unknown) -> None:
        """What line `n` adds."""
        self.lines = n
        match record:
            case League():
                self.league = self.league or record
            case Question():
                if record.question not in self.questions:
                    self.questions[record.question] = record
                    self._order.append((n, record.question))
            case Roster():
                self._rosters[n] = record
            case Run():
                self._begin(record)
            case Answer() if record.submission is not None:
                self.submissions.setdefault(record.submission, n)
            case Resolution():
                self.settled.add(record.question)
            case _:
                pass

    def _begin(self, record: Run) -> None:
        roster = self._rosters.get(record.roster_line)
        if roster is None or record.run in self.runs:
            return
        seats = {seat.forecaster: seat for seat in roster.seats if _may_submit(seat)}
        self.runs[record.run] = Occasion(
            record.run, record.slot, roster.deadline, self._questions_of(record), seats
        )

    def _questions_of(self, record: Run) -> tuple[str, ...]:
        if record.questions is not None:
            return tuple(str(name) for name in record.questions)
        first, last = record.question_lines or (1, 0)
        return tuple(name for n, name in self._order if first <= n <= last)

    @property
    def origin(self) -> str:
        """The league's origin; FormatError where no league has been declared."""
        if self.league is None:
            raise FormatError("the book does not begin with a league line")
        return self.league.origin

    def open_runs(self, now: str) -> list[Occasion]:
        """The runs whose deadline has not passed, in the order of the book."""
        return [run for run in self.runs.values() if not run.is_over(now)]

    def judge(self, submission: Submission) -> Refusal | None:
        """Why this submission is not taken; None where it is. Its time does not matter here."""
        if submission.origin != self.origin:
            return Refusal(
                "wrong_origin", f"origin: this league is {self.origin}; sign it for that origin"
            )
        run = self.runs.get(submission.run)
        if run is None:
            return Refusal(
                "unknown_run",
                "run: this league has begun no run of that name; /v1/runs lists the open ones, "
                "sign it for one of those",
            )
        seat = run.seats.get(submission.forecaster)
        if seat is None:
            return Refusal(
                "not_registered",
                f"forecaster: the roster of {run.run} holds no entrant of that name with a key; "
                "ask the operator to register you for the next roster",
            )
        if not _is_signed_for(seat, submission):
            return Refusal(
                "wrong_signature",
                f"signature: it is missing, false, or not by the key that the roster of {run.run} "
                f"names for {seat.forecaster}; sign this very content with that key",
            )
        asked = set(run.questions)
        for place, cell in enumerate(submission.forecasts):
            if cell.question not in asked:
                return Refusal(
                    "not_asked",
                    f"forecasts[{place}].question: {run.run} does not ask this question; "
                    "leave it out",
                )
        return None


def _may_submit(seat: Seat) -> bool:
    return seat.entry == "accepted" and seat.key is not None


def _is_signed_for(seat: Seat, submission: Submission) -> bool:
    try:
        key = VerifierKey.parse(seat.key or "")
    except FormatError:
        return False
    return submission.is_signed_by(key)
