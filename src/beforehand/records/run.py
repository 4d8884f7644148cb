"""One declared occasion of asking: who is expected, and the exact text each was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    """One expected forecaster. `side` groups seats (a team, a country), never scores.

    `key` is the verifier key of an entrant from outside, whose signature its
    submissions carry.
    """

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
            "company": Optional(Text(100)),
            "quantisation": Optional(Text(40)),
            "open_weights": Optional(Flag()),
            "key": Optional(Text(400)),
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
    company: str | None = None
    quantisation: str | None = None
    open_weights: bool | None = None
    key: str | None = None


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
    """An occasion of asking, over the questions it names.

    They are named one by one in `questions`, or, where they stand together in
    the book, as their first and last line in `question_lines`; one of the two.
    `beacon` is a public value that nobody could know sooner: the line was made
    after it.
    """

    kind: ClassVar[str] = "run"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "segment": Name(),
        "slot": Instant(),
        "counted": Flag(),
        "why": Optional(Text(400)),
        "snapshot_line": Integer(1),
        "roster_line": Integer(1),
        "question_lines": Optional(Listed(Integer(1), least=2, most=2)),
        "questions": Optional(Listed(QUESTION_ID, most=5000)),
        "beacon": Optional(
            Table(
                {
                    "source": Name(60),
                    "number": Integer(1),
                    "value": Text(400),
                    "previous_signature": Optional(Text(400)),
                },
                open_keys=True,
            )
        ),
    }

    run: str
    segment: str
    slot: str
    counted: bool
    snapshot_line: int
    roster_line: int
    question_lines: tuple[Any, ...] | None = None
    questions: tuple[Any, ...] | None = None
    why: str | None = None
    beacon: Mapping[str, Any] | None = None

    @classmethod
    def table(cls) -> Table:
        return replace(super().table(), one_of=("question_lines", "questions"))


@dataclass(frozen=True, kw_only=True)
class Ask(Record):
    """The exact text sent to one forecaster, as a body, before it was sent.

    `why` says what kind of attempt it is. One that was asked before carries
    `again`, the ask line that it repeats: what is paid twice says so.
    """

    kind: ClassVar[str] = "ask"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "forecaster": Name(),
        "attempt": Integer(1),
        "questions": Listed(QUESTION_ID),
        "reserved": Optional(Number("0")),
        "why": Optional(Choice(("first", "retry", "reask", "resumed"))),
        "again": Optional(Integer(1)),
    }

    run: str
    forecaster: str
    attempt: int
    questions: tuple[Any, ...]
    reserved: str | None = None
    why: str | None = None
    again: int | None = None


@dataclass(frozen=True, kw_only=True)
class Close(Record):
    """How an occasion of asking ended, or that it was missed and never began."""

    kind: ClassVar[str] = "close"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "slot": Instant(),
        "status": Choice(("complete", "stopped_budget", "failed", "missed")),
        "why": Optional(Text(400)),
    }

    run: str
    slot: str
    status: str
    why: str | None = None
