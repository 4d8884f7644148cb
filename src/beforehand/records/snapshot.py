"""What the world showed at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from beforehand.records.question import QUESTION_ID
from beforehand.records.record import BodyRef, Part, Record
from beforehand.records.shape import (
    Choice,
    Instant,
    Listed,
    Name,
    Number,
    Optional,
    Probability,
    Shape,
    Table,
)


@dataclass(frozen=True)
class Quote(Part):
    """A price of YES for one question, as the source gave it, with its time of reading."""

    shape: ClassVar[Table] = Table(
        {
            "question": QUESTION_ID,
            "read_at": Instant(),
            "bid": Optional(Probability()),
            "ask": Optional(Probability()),
            "last": Optional(Probability()),
            "crowd": Optional(Probability()),
            "volume": Optional(Number("0")),
        }
    )

    question: str
    read_at: str
    bid: str | None = None
    ask: str | None = None
    last: str | None = None
    crowd: str | None = None
    volume: str | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot(Record):
    """The quotes read for one run; raw bytes are bodies.

    `moment` is "end" for quotes read again when the run ended: they never
    make a crowd price, and show how far a price moved meanwhile.
    """

    kind: ClassVar[str] = "snapshot"
    own: ClassVar[Mapping[str, Shape]] = {
        "run": Name(),
        "quotes": Listed(Quote.shape, most=5000),
        "moment": Optional(Choice(("start", "end"))),
    }
    parts: ClassVar[Mapping[str, type[Part]]] = {"bodies": BodyRef, "quotes": Quote}

    run: str
    quotes: tuple[Quote, ...]
    moment: str | None = None
