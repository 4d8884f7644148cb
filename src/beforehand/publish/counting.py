"""What counts, and why not: every answer of one run judged by the declared rules.

The one place where that is decided. `rows.py` makes a row of what is decided
here, `attempts.py` an account of every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.cohorts import cohort_of
from beforehand.publish.crowd import CrowdPrice, PriceMove, crowd_prices, price_move
from beforehand.publish.fold import LeagueFold, Settled
from beforehand.publish.rules import Rules
from beforehand.records.forecast import Answer, Cell, Missing, Stated
from beforehand.records.question import Question
from beforehand.records.run import Ask


@dataclass(frozen=True)
class Said:
    """One forecaster's word on one question: a cell of an answer, or an ask that has none.

    `line` is the answer's line, the ask's while there is no answer. `status`
    is "" where it counts, else the reason it does not; `attempt` counts the
    asks of this forecaster on this question from 1, and is 0 where the answer
    was not asked for.
    """

    question: str
    forecaster: str
    line: int
    cell: int | None
    at: str
    status: str
    p: str = ""
    value: Fraction | None = None
    why: str = ""
    attempt: int = 0
    ask_line: int | None = None
    leak: bool | None = None

    @property
    def stands(self) -> bool:
        """Whether it counts, or would be known to count if it were opened."""
        return self.status in ("", "sealed", "not_revealed")


@dataclass(frozen=True)
class RunAnswers:
    """A run's share of a fold: its asks and answers, in the order of the book."""

    asks: Sequence[tuple[int, Ask]] = ()
    answers: Sequence[tuple[int, Answer, tuple[Cell, ...] | None]] = ()


def answers_by_run(fold: LeagueFold) -> dict[str, RunAnswers]:
    """Every run's asks and answers; one pass over the book."""
    asks: dict[str, list[tuple[int, Ask]]] = {name: [] for name in fold.runs}
    answers: dict[str, list[tuple[int, Answer, tuple[Cell, ...] | None]]]
    answers = {name: [] for name in fold.runs}
    for line, ask in fold.asks.items():
        asks[ask.run].append((line, ask))
    for held in fold.answers:
        answers[held[1].run].append(held)
    return {name: RunAnswers(asks[name], answers[name]) for name in fold.runs}


class JudgedRun:
    """A run with everything said in it, judged once.

    `counted` is whether it counts by the declared rule. `said` holds every
    answer and every open ask in the order of the book; `finished` is whether
    the run waits for no more of those asked, `past_deadline` whether it waits
    for nobody at all.
    """

    def __init__(self, fold: LeagueFold, run: str, held: RunAnswers, rules: Rules) -> None:
        self.fold, self.run, self.rules, self.held = fold, run, rules, held
        self.line, self.record = fold.runs[run]
        self.counted = fold.counts(run)
        self.roster = fold.roster_of(run)
        self.questions = fold.questions_of(run)
        self.entry = {seat.forecaster: seat.entry for seat in self.roster.seats}
        self.asks = dict(held.asks)
        self.cohort = cohort_of(self.record.slot) if rules.weekly else ""
        self.deadline = instant_key(self.roster.deadline)
        self.past_deadline = bool(fold.last_at) and instant_key(fold.last_at) > self.deadline
        self.finished = run in fold.closes or self.past_deadline
        self.first_asked: dict[str, str] = {}
        for _, ask in held.asks:
            for name in ask.questions:
                self.first_asked.setdefault(name, ask.at)
        self.crowds = crowd_prices(fold.quotes_of(run), rules, self.first_asked, self.record.at)
        self.said = self._judge()

    @property
    def asks_models(self) -> bool:
        """Whether the roster seats forecasters that are asked."""
        return "asked" in self.entry.values()

    def moves(self) -> dict[str, PriceMove]:
        """How far each question's price moved until the run's end."""
        ends = self.fold.end_quotes_of(self.run)
        return {
            name: price_move(self.crowds.get(name), ends.get(name), self.rules)
            for name in self.questions
        }

    def crowd(self, question: str) -> CrowdPrice | None:
        """The crowd's price of a question in this run."""
        return self.crowds.get(question)

    def decided_before(self, question: str) -> bool:
        """Whether the outcome was there before the run's prices were sealed."""
        line = self.record.snapshot_line
        return self._after_outcome(question, line, self.fold.snapshots[line].at)

    # ---- judging

    def _judge(self) -> list[Said]:
        replied = [
            (line, answer, cells)
            for line, answer, cells in self.held.answers
            if answer.ask_line is not None
        ]
        found = [*self._accepted(), *self._asked(replied), *self._unanswered()]
        found.sort(key=lambda said: (said.line, said.cell or 0))
        return _first_counts(found)

    def _accepted(self) -> Iterable[Said]:
        for line, answer, cells in self.held.answers:
            if answer.ask_line is not None:
                continue
            if cells is None and self._lost(answer) is not None:
                yield from self._never_opened(line, answer)
            for place, cell in enumerate(cells or ()):
                yield self._said(line, answer, place, cell, self._status(line, answer, cell))

    def _asked(
        self, replied: Iterable[tuple[int, Answer, tuple[Cell, ...] | None]]
    ) -> Iterable[Said]:
        """Every cell of a reply, and every question of its ask that it is silent on."""
        for line, answer, cells in replied:
            ask = self.asks[answer.ask_line or 0]
            first = self.fold.replies.get(answer.ask_line or 0) == line
            open_still = set(ask.questions)
            for place, cell in enumerate(cells or ()):
                status = self._status(line, answer, cell)
                if cell.question not in ask.questions:
                    status = "not_asked"
                elif cell.question not in open_still or not first:
                    status = "not_counted"
                open_still.discard(cell.question)
                yield self._said(line, answer, place, cell, status)
            for name in [name for name in ask.questions if name in open_still]:
                if cells is None:
                    yield self._withheld(line, answer, name)
                else:
                    lost = Cell(name, missing="not_answered")
                    yield self._said(line, answer, None, lost, self._status(line, answer, lost))

    def _unanswered(self) -> Iterable[Said]:
        """An ask without an answer: awaited, or for ever without one once the run is over."""
        for line, ask in self.held.asks:
            if line in self.fold.replies:
                continue
            status = "missing" if self.finished else "pending"
            if not self.counted:
                status = "uncounted_run"
            why = "not_answered" if self.finished else ""
            for name in ask.questions:
                yield Said(
                    name, ask.forecaster, line, None, ask.at, status,
                    why=why, attempt=ask.attempt, ask_line=line,
                )  # fmt: skip

    def _lost(self, answer: Answer) -> str | None:
        """Why an answer is not revealed; None where its body is there, or not due yet."""
        bodies = [body.sha256 for body in answer.bodies if body.role == "answer"]
        return next(
            (self.fold.undisclosed[sha256] for sha256 in bodies if sha256 in self.fold.undisclosed),
            None,
        )

    def _never_opened(self, line: int, answer: Answer) -> Iterable[Said]:
        """Of an accepted answer that is not revealed, nobody knows what it was about.

        So it stands on every question of its run: else whoever seals ten
        answers and opens the best would have it counted as the first. One of a
        forecaster that is asked, and not for this, takes no place, open or closed.
        """
        seat = self.entry.get(answer.forecaster)
        for name in self.questions if seat is not None else ():
            said = self._withheld(line, answer, name)
            yield said if seat == "accepted" else replace(said, status="not_asked")

    def _withheld(self, line: int, answer: Answer, question: str) -> Said:
        lost = self._lost(answer)
        status = "sealed" if lost is None else "not_revealed"
        if not self.counted:
            status = "uncounted_run"
        elif self._is_late(answer, question):
            status = "late"
        cell = Cell(question, missing="not_answered")
        return self._said(line, answer, None, cell, status, lost or "")

    def _said(
        self,
        line: int,
        answer: Answer,
        place: int | None,
        cell: Cell,
        status: str,
        why: str | None = None,
    ) -> Said:
        forecast = cell.forecast()
        stated = isinstance(forecast, Stated)
        reason = forecast.reason if isinstance(forecast, Missing) else ""
        ask = self.asks.get(answer.ask_line or 0)
        return Said(
            question=cell.question,
            forecaster=answer.forecaster,
            line=line,
            cell=place,
            at=answer.at,
            status=status,
            p=cell.p or "",
            value=Fraction(forecast.probability) if isinstance(forecast, Stated) else None,
            why=reason if why is None else why,
            attempt=ask.attempt if ask else 0,
            ask_line=answer.ask_line,
            leak=_leak_of(answer) if stated else None,
        )

    def _status(self, line: int, answer: Answer, cell: Cell) -> str:
        """Why a cell is out, or "": it was said in time by one who was expected to say it."""
        seat = self.entry.get(answer.forecaster)
        if cell.question not in self.questions:
            return "not_asked"
        if seat == "asked" and answer.ask_line is None:
            return "not_asked"
        if not self.counted:
            return "uncounted_run"
        missing = isinstance(cell.forecast(), Missing)
        if missing and answer.ask_line is not None:
            return "missing"
        if self._is_late(answer, cell.question):
            return "late"
        if self._after_outcome(cell.question, line, answer.at):
            return "after_outcome"
        if missing:
            return "missing"
        return "" if seat is not None else "not_on_roster"

    def _is_late(self, answer: Answer, question: str) -> bool:
        """Sealed or received after the deadline or the question's end.

        A venue's end may lie before a slot at which its market is still open:
        such an end says nothing.
        """
        ends = closing_of(self.questions[question][1]) if question in self.questions else None
        limit = self.deadline
        if ends is not None and ends > instant_key(self.record.slot):
            limit = min(limit, ends)
        times = [answer.at, *([answer.received_at] if answer.received_at else [])]
        return any(instant_key(time) > limit for time in times)

    def _after_outcome(self, question: str, line: int, at: str) -> bool:
        settled = self.fold.settled.get(question)
        return settled is not None and sealed_after(line, at, settled)


def _first_counts(found: list[Said]) -> list[Said]:
    """The first well-formed answer of a forecaster on a question counts, no later one does.

    One that is withheld takes the place all the same: what it says is not
    known yet, that it was said first is.
    """
    taken: set[tuple[str, str]] = set()
    judged = []
    for said in found:
        key = (said.forecaster, said.question)
        if said.stands and key in taken:
            judged.append(replace(said, status="not_counted"))
            continue
        if said.stands:
            taken.add(key)
        judged.append(said)
    return judged


def _leak_of(answer: Answer) -> bool | None:
    """Whether a blind answer gave the hidden price away; None where nobody looked."""
    return True if answer.leaks else answer.leak_flag


def sealed_after(line: int, at: str, settled: Settled) -> bool:
    """Whether a line comes after the outcome: in the book, or by the day or instant it happened."""
    if line > settled.first_line:
        return True
    instant = settled.instant if "T" in settled.instant else f"{settled.instant}T00:00:00Z"
    return instant_key(at) >= instant_key(instant)


def closing_of(question: Question) -> datetime | None:
    """When a question's market is said to close; None where its contract names no instant."""
    try:
        return instant_key(question.contract.get("closes", ""))
    except FormatError:
        return None


def market_of(question: Question) -> str:
    """The venue's market behind a question, `source:id`; "" where its contract names none.

    A venue may edit a market's text or move its end. What was forecast keeps
    the text it was asked with, so that one market may be several questions.
    """
    market = question.contract.get("market", "")
    return f"{question.source}:{market}" if market else ""
