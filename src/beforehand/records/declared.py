"""Shapes and words that only a declaration uses; `asking.py` and `judging.py` are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.shape import Choice, Integer, Listed, Number, Shape, Table

_DECLARED_PATTERNS = {
    ("0", None): r"^(-0(\.0{1,40})?|(0|[1-9]\d{0,30})(\.\d{1,40})?)$",
    ("0", "1"): r"^(-0(\.0{1,40})?|0(\.\d{1,40})?|1(\.0{1,40})?)$",
}


@dataclass(frozen=True)
class DeclaredNumber(Number):
    """Decimal text from 0, or from 0 to 1; the JSON Schema checks the range too."""

    def schema(self) -> dict[str, Any]:
        rule = super().schema()
        return {**rule, "pattern": _DECLARED_PATTERNS[self.least or "0", self.most]}


@dataclass(frozen=True)
class DeclaredVariant:
    """A table whose further keys depend on the word under `tag`."""

    tag: str
    tables: Mapping[str, Mapping[str, Shape]]

    def table(self, word: str) -> Table:
        """The table that goes with one word."""
        return Table({self.tag: Choice((word,)), **self.tables[word]})

    def check(self, value: Any, where: str) -> None:
        """FormatError, naming `where`, unless the keys are those of the word."""
        Table({self.tag: Choice(tuple(self.tables))}, open_keys=True).check(value, where)
        word = value[self.tag]
        try:
            self.table(word).check(value, where)
        except FormatError as error:
            raise FormatError(f'{error} (where {self.tag} = "{word}")') from None

    def schema(self) -> dict[str, Any]:
        """One closed object a word."""
        return {"oneOf": [self.table(word).schema() for word in self.tables]}


def declared_words(*words: str) -> Listed:
    """A list of words out of a closed set."""
    return Listed(Choice(words), most=len(words))


DECLARED_AMOUNT = DeclaredNumber("0")
DECLARED_FRACTION = DeclaredNumber("0", "1")
DECLARED_COUNT = Integer(1, 1_000_000)
DECLARED_SPAN = Integer(0, 1_000_000)

DECLARED_SEARCH = Choice(("none", "one_engine", "provider"))
DECLARED_SHOWN = declared_words(
    *("question", "description", "end_date", "date", "quotes", "depth", "headlines"),
    *("indicators", "futures", "crowd_questions", "account"),
)
