"""One forecaster's answer: a stated probability, or a reason why there is none.

There is no default. `Missing` never carries a number, and nothing above
fills one in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from beforehand.errors import FormatError
from beforehand.records.question import QUESTION_ID
from beforehand.records.record import BodyRef, Part, Record
from beforehand.records.shape import (
    Choice,
    Digest,
    Flag,
    Instant,
    Integer,
    Listed,
    Name,
    Number,
    Optional,
    Probability,
    Shape,
    Table,
    Text,
    decimal_text,
)

FAILURES = (
    "timeout",
    "transport",
    "rate_limited",
    "auth_or_credit",
    "refused",
    "empty",
    "truncated",
    "unparseable",
    "out_of_range",
    "model_mismatch",
    "late",
    "budget",
    "internal",
    "not_answered",
)


@dataclass(frozen=True)
class Stated:
    """A probability of YES, exactly as given."""

    probability: Decimal


@dataclass(frozen=True)
class Missing:
    """No probability, and why (a word of FAILURES)."""

    reason: str


@dataclass(frozen=True)
class Cell(Part):
    """One answer to one question: `p` as decimal text, or `missing` with its reason."""

    shape: ClassVar[Table] = Table(
        {
            "question": QUESTION_ID,
            "p": Optional(Probability()),
            "missing": Optional(Choice(FAILURES)),
        },
        one_of=("p", "missing"),
    )

    question: str
    p: str | None = None
    missing: str | None = None

    def forecast(self) -> Stated | Missing:
        """The value of the cell; FormatError where it says neither or both.

        >>> Cell("evc1:" + "0" * 64, p="0.62").forecast()
        Stated(probability=Decimal('0.62'))
        """
        if self.p is not None and self.missing is None:
            return Stated(decimal_text(self.p))
        if self.p is None and self.missing is not None:
            return Missing(self.missing)
        raise FormatError(f"the cell of {self.question}: exactly one of p, missing must stand here")


@dataclass(frozen=True, kw_only=True)
class Answer(Record):
    """What came back: one line a reply, with as many cells as it had questions.

    `ask_line` is absent for answers that were accepted rather than asked.
    `cells` stand in the line when they are public at once; an embargoed
    answer has them in its sealed body of role `answer` instead.
    `received_at` is absent where the source keeps no time of arrival, `cost`
    where the far side did not say: the ask's reservation then stands. Every
    attempt is a line of its own. `leaks` names what a blind answer gave away
    of the price it should not know; `citations` how many pages it cites;
    `detail` is the precise code behind a status; `retryable` stands where the
    same request may succeed later.
    `submission` is the SHA-256 of what an entrant sent: nobody can guess a
    text behind it, because the entrant's signature is part of what is hashed.
    """

    kind: ClassVar[str] = "answer"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "forecaster": Name(),
        "status": Choice(("answered", *FAILURES)),
        "ask_line": Optional(Integer(1)),
        "requested_model": Optional(Text(200)),
        "served_model": Optional(Text(200)),
        "received_at": Optional(Instant()),
        "cost": Optional(Number("0")),
        "leak_flag": Optional(Flag()),
        "leaks": Optional(Listed(Name(40), most=20)),
        "citations": Optional(Integer(0)),
        "latency_ms": Optional(Integer(0)),
        "provider": Optional(Text(200)),
        "detail": Optional(Text(200)),
        "retryable": Optional(Flag()),
        "cells": Optional(Listed(Cell.shape)),
        "cells_root": Optional(Digest()),
        "submission": Optional(Digest()),
    }
    parts: ClassVar[Mapping[str, type[Part]]] = {"bodies": BodyRef, "cells": Cell}

    run: str
    forecaster: str
    status: str
    ask_line: int | None = None
    requested_model: str | None = None
    served_model: str | None = None
    received_at: str | None = None
    cost: str | None = None
    leak_flag: bool | None = None
    leaks: tuple[Any, ...] = ()
    citations: int | None = None
    latency_ms: int | None = None
    provider: str | None = None
    detail: str | None = None
    retryable: bool | None = None
    cells: tuple[Cell, ...] | None = None
    cells_root: str | None = None
    submission: str | None = None
