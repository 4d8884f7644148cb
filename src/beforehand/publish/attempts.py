"""Every call, one attempt each: who was asked what and when, what it cost, what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from beforehand.publish.counting import JudgedRun, Said
from beforehand.publish.gains import is_scored, loss
from beforehand.publish.rows import Row
from beforehand.records.forecast import Answer
from beforehand.records.record import Record
from beforehand.records.run import Ask

STANDINGS = {
    "counts": "its answer is the forecast, whatever became of the question",
    "retried": "it failed, and a later attempt was made",
    "failed": "it failed, and no later attempt was made",
    "waiting": "no answer yet, or one that is still withheld",
    "not_revealed": "its answer was due and was never disclosed",
    "out": "an answer that does not count: late, after the outcome, or not the first",
}


@dataclass(frozen=True)
class Attempt:
    """An ask with the answer that ended it, if one did.

    `status` is the answer's own word, "" while there is none; `standing` a
    word of STANDINGS. `charged` is what it counts for: its cost, or its
    reservation for as long as no cost is known (`stands`); None where neither
    is there. `brier_units` is the loss of the forecast that it is.
    """

    run: str
    slot: str
    cohort: str
    question: str
    forecaster: str
    ask_line: int
    answer_line: int | None
    ask: Ask
    answer: Answer | None
    model: str | None
    provider: str | None
    status: str
    standing: str
    charged: Fraction | None
    stands: bool
    brier_units: int | None

    @property
    def valid(self) -> bool:
        """Whether a reply came that states something."""
        return self.status == "answered"


def build_attempts(runs: Sequence[JudgedRun], rows: Iterable[Row]) -> list[Attempt]:
    """Every attempt of the league in the order of the book."""
    scored = {(row.run, row.forecaster, row.line): row for row in rows if is_scored(row)}
    found: list[Attempt] = []
    for run in runs:
        found += _of_run(run, scored)
    found.sort(key=lambda attempt: (attempt.ask_line, attempt.answer_line or 0))
    return found


def _of_run(run: JudgedRun, scored: Mapping[tuple[str, str, int], Row]) -> Iterable[Attempt]:
    said: dict[tuple[int, int], list[Said]] = {}
    for cell in run.said:
        if cell.ask_line is not None:
            said.setdefault((cell.ask_line, cell.line), []).append(cell)
    replies: dict[int, list[tuple[int | None, Answer | None]]] = {}
    for line, answer, _ in run.held.answers:
        if answer.ask_line is not None:
            replies.setdefault(answer.ask_line, []).append((line, answer))
    last = {(name, ask.forecaster): line for line, ask in run.held.asks for name in ask.questions}
    for line, ask in run.held.asks:
        again = any(last[name, ask.forecaster] > line for name in ask.questions)
        ended: Sequence[tuple[int | None, Answer | None]] = replies.get(line, [(None, None)])
        for place, (answer_line, reply) in enumerate(ended):
            held = said.get((line, answer_line or line), [])
            yield _attempt(run, line, ask, answer_line, reply, held, again, place, scored)


def _attempt(
    run: JudgedRun,
    line: int,
    ask: Ask,
    answer_line: int | None,
    answer: Answer | None,
    said: Sequence[Said],
    again: bool,
    place: int,
    scored: Mapping[tuple[str, str, int], Row],
) -> Attempt:
    """One attempt. A second reply to one ask is one too: it reserved nothing anew."""
    seat = next((s for s in run.roster.seats if s.forecaster == ask.forecaster), None)
    reserved = Fraction(ask.reserved) if ask.reserved is not None and place == 0 else None
    cost = Fraction(answer.cost) if answer is not None and answer.cost is not None else None
    row = scored.get((run.run, ask.forecaster, answer_line or 0))
    single = row is not None and len(ask.questions) == 1 and row.status == "counted"
    return Attempt(
        run=run.run,
        slot=run.record.slot,
        cohort=run.cohort,
        question=" ".join(ask.questions),
        forecaster=ask.forecaster,
        ask_line=line,
        answer_line=answer_line,
        ask=ask,
        answer=answer,
        model=_first(answer.requested_model if answer else None, seat.model if seat else None),
        provider=_first(answer.provider if answer else None, seat.provider if seat else None),
        status=answer.status if answer else "",
        standing=_standing(said, again),
        charged=reserved if cost is None else cost,
        stands=cost is None and reserved is not None,
        brier_units=loss(row, run.rules.grid) if row is not None and single else None,
    )


def _standing(said: Sequence[Said], again: bool) -> str:
    """What became of an attempt, by the best of its cells."""
    statuses = {held.status for held in said}
    if "" in statuses:
        return "counts"
    if statuses & {"sealed", "pending"}:
        return "waiting"
    if "not_revealed" in statuses:
        return "not_revealed"
    if "missing" in statuses:
        return "retried" if again else "failed"
    return "out"


def _first(*given: str | None) -> str | None:
    return next((text for text in given if text is not None), None)


def body_of(record: Record | None, role: str) -> str | None:
    """The SHA-256 of a line's body of one role."""
    bodies = record.bodies if record is not None else ()
    return next((body.sha256 for body in bodies if body.role == role), None)
