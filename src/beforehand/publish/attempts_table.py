"""The table of attempts, one row a call, with its data dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beforehand.publish.attempts import STANDINGS, Attempt, body_of
from beforehand.publish.spending import money_text
from beforehand.publish.tables import BRIER_PLACES, Column, flag_number
from beforehand.records.forecast import FAILURES
from beforehand.scoring.exact import Grid, decimal_places


def _answered(name: str) -> Any:
    """A field of the answer's line, empty while there is none."""

    def value(attempt: Attempt, grid: Grid) -> Any:
        return None if attempt.answer is None else getattr(attempt.answer, name)

    return value


def _answered_at(attempt: Attempt, grid: Grid) -> str | None:
    return None if attempt.answer is None else attempt.answer.received_at or attempt.answer.at


def _leaks(attempt: Attempt, grid: Grid) -> str | None:
    return None if attempt.answer is None else " ".join(attempt.answer.leaks) or None


def _score(attempt: Attempt, grid: Grid) -> str | None:
    if attempt.brier_units is None:
        return None
    return decimal_places(grid.brier(attempt.brier_units), BRIER_PLACES)


ATTEMPT_COLUMNS: tuple[Column[Attempt], ...] = (
    Column("run", "string", "the run that asked", lambda a, g: a.run),
    Column("slot", "string", "the instant the run stands for, UTC", lambda a, g: a.slot),
    Column("cohort", "string", "ISO week of the slot", lambda a, g: a.cohort or None),
    Column("question", "string", "the question asked; several ids with spaces between",
           lambda a, g: a.question),
    Column("forecaster", "string", "who was asked", lambda a, g: a.forecaster),
    Column("model_requested", "string", "the model asked for", lambda a, g: a.model),
    Column("model_served", "string", "the model that answered, by its own word",
           _answered("served_model")),
    Column("provider", "string", "who served it", lambda a, g: a.provider),
    Column("attempt", "integer", "from 1, by forecaster and question in a run",
           lambda a, g: a.ask.attempt),
    Column("why", "string", "first, retry, reask or resumed", lambda a, g: a.ask.why),
    Column("again", "integer", "the ask line that it repeats", lambda a, g: a.ask.again),
    Column("ask_line", "integer", "the book line of the ask", lambda a, g: a.ask_line),
    Column("answer_line", "integer", "the book line of the answer, empty while there is none",
           lambda a, g: a.answer_line),
    Column("asked_at", "string", "when the ask was sealed, before it was sent, UTC",
           lambda a, g: a.ask.at),
    Column("answered_at", "string", "when the answer was received, UTC", _answered_at),
    Column("sealed_at", "string", "when the answer was sealed, UTC", _answered("at")),
    Column("latency_ms", "integer", "milliseconds from sending to the whole reply",
           _answered("latency_ms")),
    Column("reserved", "string", "money reserved before the call", lambda a, g: a.ask.reserved),
    Column("cost", "string", "what it cost, empty where the far side did not say",
           _answered("cost")),
    Column("charged", "string", "what it counts for: the cost, else the reservation",
           lambda a, g: None if a.charged is None else money_text(a.charged)),
    Column("reservation_stands", "integer", "1 where no cost is known and the reservation stands",
           lambda a, g: int(a.stands)),
    Column("status", "string", "answered, or why not: " + ", ".join(FAILURES),
           lambda a, g: a.status or None),
    Column("standing", "string",
           "; ".join(f"{word}: {meaning}" for word, meaning in STANDINGS.items()),
           lambda a, g: a.standing),
    Column("detail", "string", "the precise code behind the status, where there is one",
           _answered("detail")),
    Column("prompt_sha256", "string", "the exact text sent: a body, and asks/SHA256.md",
           lambda a, g: body_of(a.ask, "ask")),
    Column("reply_sha256", "string", "the raw reply, a body",
           lambda a, g: body_of(a.answer, "reply")),
    Column("leak", "integer", "1 where the answer gave the hidden price away, 0 where it did not",
           lambda a, g: None if a.answer is None else flag_number(a.answer.leak_flag)),
    Column("leaks", "string", "what it gave away, words with spaces between", _leaks),
    Column("citations", "integer", "how many pages it cites", _answered("citations")),
    Column("brier", "string", "(p_scored - outcome)^2 where its answer counts", _score),
)  # fmt: skip


def attempt_rows(attempts: Sequence[Attempt], grid: Grid) -> list[tuple[Any, ...]]:
    """The cells of the attempts table, None where an attempt has no value."""
    return [tuple(column.value(held, grid) for column in ATTEMPT_COLUMNS) for held in attempts]
