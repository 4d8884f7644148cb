"""What happened: the price that was referred to, the settled outcome, and corrections of either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.question import QUESTION_ID
from beforehand.records.record import Record
from beforehand.records.shape import Choice, Integer, Listed, Number, Optional, Shape, Text

OUTCOMES = ("yes", "no", "void")


@dataclass(frozen=True)
class Moment(Text):
    """A day or an instant, in UTC, that the calendar has."""

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        try:
            instant_key(value if "T" in value else f"{value}T00:00:00Z")
        except FormatError as error:
            raise FormatError(f"{where}: {error}") from None


# A source that dates an outcome by day only is kept at that precision.
MOMENT = Moment(
    27, 10, r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?Z)?", "a day or an instant (UTC)"
)


@dataclass(frozen=True, kw_only=True)
class Reference(Record):
    """A reference price, read after the seal."""

    kind: ClassVar[str] = "reference"
    own: ClassVar[Mapping[str, Shape]] = {
        "question": QUESTION_ID,
        "price": Number(),
        "instant": MOMENT,
        "source": Text(200),
        "final": Text(200),
    }

    question: str
    price: str
    instant: str
    source: str
    final: str


@dataclass(frozen=True, kw_only=True)
class Resolution(Record):
    """The settled outcome of one question; `final` names whose word ends it."""

    kind: ClassVar[str] = "resolution"
    own: ClassVar[Mapping[str, Shape]] = {
        "question": QUESTION_ID,
        "outcome": Choice(OUTCOMES),
        "instant": MOMENT,
        "source": Text(200),
        "final": Text(200),
    }

    question: str
    outcome: str
    instant: str
    source: str
    final: str


@dataclass(frozen=True, kw_only=True)
class Confirmation(Record):
    """What a second source, independent of the first, says of a settled question.

    It changes no outcome: where the two differ, both words stand in the book.
    """

    kind: ClassVar[str] = "confirmation"
    own: ClassVar[Mapping[str, Shape]] = {
        "question": QUESTION_ID,
        "value": Choice(OUTCOMES),
        "instant": MOMENT,
        "source": Text(200),
        "line": Integer(1),
    }

    question: str
    value: str
    instant: str
    source: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Correction(Record):
    """A later word on earlier lines; it never rewrites them.

    With `outcome`, the lines are resolutions and this outcome takes their place.
    """

    kind: ClassVar[str] = "correction"
    own: ClassVar[Mapping[str, Shape]] = {
        "lines": Listed(Integer(1), least=1),
        "what": Text(400),
        "source": Text(200),
        "reason": Text(2000),
        "outcome": Optional(Choice(OUTCOMES)),
    }

    lines: tuple[Any, ...]
    what: str
    source: str
    reason: str
    outcome: str | None = None
