"""One declared occasion of asking: who is expected, and the exact text each was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from beforehand.records.question import QUESTION_ID
from beforehand.records.record import BodyRef, Part, Record
from beforehand.records.shape import (
    Choice,
    Flag,
    Instant,
    Integer,
    Listed,
    Name,
    Number,
    Optional,
    Shape,
    Table,
    Text,
)


@dataclass(frozen=True)
class Seat(Part):
    """One expected forecaster. `side` groups seats (a team, a country), never scores."""

    shape: ClassVar[Table] = Table(
        {
            "forecaster": Name(),
            "entry": Choice(("asked", "accepted")),
            "model": Optional(Text(200)),
            "version": Optional(Text(200)),
            "mode": Optional(Text(60)),
            "provider": Optional(Text(200)),
            "family": Optional(Text(100)),
            "side": Optional(Text(60)),
        }
    )

    forecaster: str
    entry: str
    model: str | None = None
    version: str | None = None
    mode: str | None = None
    provider: str | None = None
    family: str | None = None
    side: str | None = None


@dataclass(frozen=True, kw_only=True)
class Roster(Record):
    """Who is expected to answer a run, by when, and which answer counts."""

    kind: ClassVar[str] = "roster"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "seats": Listed(Seat.shape, most=10_000),
        "deadline": Instant(),
        "retry": Text(400),
        "counted_run": Text(400),
    }
    parts: ClassVar[Mapping[str, type[Part]]] = {"bodies": BodyRef, "seats": Seat}

    run: str
    seats: tuple[Seat, ...]
    deadline: str
    retry: str
    counted_run: str


@dataclass(frozen=True, kw_only=True)
class Run(Record):
    """An occasion of asking. `question_lines` are its first and last question line."""

    kind: ClassVar[str] = "run"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "segment": Name(),
        "slot": Instant(),
        "counted": Flag(),
        "why": Optional(Text(400)),
        "snapshot_line": Integer(1),
        "roster_line": Integer(1),
        "question_lines": Listed(Integer(1), least=2, most=2),
    }

    run: str
    segment: str
    slot: str
    counted: bool
    snapshot_line: int
    roster_line: int
    question_lines: tuple[Any, ...]
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ask(Record):
    """The exact text sent to one forecaster, as a body, before it was sent."""

    kind: ClassVar[str] = "ask"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "forecaster": Name(),
        "attempt": Integer(1),
        "questions": Listed(QUESTION_ID),
        "reserved": Optional(Number("0")),
    }

    run: str
    forecaster: str
    attempt: int
    questions: tuple[Any, ...]
    reserved: str | None = None
