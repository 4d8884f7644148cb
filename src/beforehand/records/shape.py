"""Shapes: one description of a field, from which both the check and the JSON Schema follow.

A shape checks a decoded JSON (or TOML) value and raises FormatError naming
the place; `schema()` gives the same rule as JSON Schema (2020-12).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from beforehand.clock import instant_key
from beforehand.errors import FormatError

_DECIMAL = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,40})?", re.ASCII)

# The ranges of decimal text that JSON Schema can say, as patterns.
_DECIMAL_RANGES: dict[tuple[str | None, str | None], str] = {
    ("0", None): r"^(-0(\.0{1,40})?|(0|[1-9]\d{0,30})(\.\d{1,40})?)$",
    ("0", "1"): r"^(-0(\.0{1,40})?|0(\.\d{1,40})?|1(\.0{1,40})?)$",
}


class Shape(Protocol):
    """What one value must look like."""

    def check(self, value: Any, where: str) -> None:
        """Raise FormatError, naming `where`, unless `value` has this shape."""

    def schema(self) -> dict[str, Any]:
        """The same rule as JSON Schema."""


def _fail(where: str, value: Any, wanted: str) -> FormatError:
    return FormatError(f"{where}: {value!r:.80} is not {wanted}")


def decimal_text(text: str, where: str = "number") -> Decimal:
    """The Decimal of plain decimal text (no exponent, no leading plus, no spaces).

    >>> decimal_text("0.62")
    Decimal('0.62')
    """
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise _fail(where, text, 'decimal text such as "0.62"')
    try:
        return Decimal(text)
    except InvalidOperation:
        raise _fail(where, text, "a number") from None


@dataclass(frozen=True)
class Text:
    """A string of `least` to `most` characters, matching `pattern` where one is given."""

    most: int = 400
    least: int = 1
    pattern: str | None = None
    words: str = "a text"

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            raise _fail(where, value, f"{self.words} of {self.least} to {self.most} characters")
        if self.pattern is not None and not re.fullmatch(self.pattern, value, re.ASCII):
            raise _fail(where, value, f"{self.words} (pattern {self.pattern})")

    def schema(self) -> dict[str, Any]:
        rule: dict[str, Any] = {
            "type": "string",
            "minLength": self.least,
            "maxLength": self.most,
        }
        if self.pattern is not None:
            rule["pattern"] = f"^(?:{self.pattern})$"
        return rule


def Name(most: int = 80) -> Text:  # noqa: N802 - reads as a shape
    """A name that is also safe as one file name."""
    return Text(most=most, pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*", words="a name")


def Digest() -> Text:  # noqa: N802 - reads as a shape
    """SHA-256 in lower-case hex."""
    return Text(64, 64, r"[0-9a-f]{64}", "a SHA-256 in hex")


@dataclass(frozen=True)
class Instant:
    """An instant in UTC."""

    def check(self, value: Any, where: str) -> None:
        try:
            instant_key(value)
        except FormatError as error:
            raise FormatError(f"{where}: {error}") from None

    def schema(self) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$",
            "maxLength": 27,
        }


@dataclass(frozen=True)
class Integer:
    """An integer in a closed range; True is not one."""

    least: int = 0
    most: int = 1 << 53

    def check(self, value: Any, where: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _fail(where, value, "an integer")
        if not self.least <= value <= self.most:
            raise _fail(where, value, f"an integer from {self.least} to {self.most}")

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Number:
    """Decimal text in a closed range: what scores or costs is never a binary float."""

    least: str | None = None
    most: str | None = None

    def check(self, value: Any, where: str) -> None:
        number = decimal_text(value, where)
        low = self.least is not None and number < Decimal(self.least)
        high = self.most is not None and number > Decimal(self.most)
        if low or high:
            raise _fail(where, value, f"between {self.least or '-∞'} and {self.most or '∞'}")

    def schema(self) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": _DECIMAL_RANGES.get((self.least, self.most), f"^{_DECIMAL.pattern}$"),
            "description": f"decimal text, {self.least or 'any'} to {self.most or 'any'}",
        }


def Probability() -> Number:  # noqa: N802 - reads as a shape
    """Decimal text from 0 to 1."""
    return Number("0", "1")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, bool):
            raise _fail(where, value, "true or false")

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Choice:
    """One of a closed list of words."""

    words: tuple[str, ...]

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in self.words:
            raise _fail(where, value, "one of " + ", ".join(self.words))

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Listed:
    """A list of values of one shape."""

    item: Shape
    most: int = 20_000
    least: int = 0

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise _fail(where, value, "a list")
        if not self.least <= len(value) <= self.most:
            raise FormatError(f"{where}: {len(value)} items; {self.least} to {self.most} allowed")
        for position, item in enumerate(value):
            self.item.check(item, f"{where}[{position}]")

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.least,
            "maxItems": self.most,
        }


@dataclass(frozen=True)
class Optional:
    """A key that may be left out (never null)."""

    shape: Shape

    def check(self, value: Any, where: str) -> None:
        self.shape.check(value, where)

    def schema(self) -> dict[str, Any]:
        return self.shape.schema()


@dataclass(frozen=True)
class Table:
    """An object with exactly these keys; `Optional` ones may be left out.

    `open_keys` lets further keys stand, as a reader of a later version's
    lines must; a declaration never does. Of the keys in `one_of`, where there
    are any, exactly one stands.
    """

    fields: Mapping[str, Shape] = field(default_factory=dict)
    open_keys: bool = False
    one_of: tuple[str, ...] = ()

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _fail(where, value, "an object")
        if not self.open_keys:
            for key in value:
                if key not in self.fields:
                    known = ", ".join(sorted(self.fields))
                    raise FormatError(f"{where}: unknown key {key!r:.80}; known are {known}")
        for key, shape in self.fields.items():
            if key in value:
                shape.check(value[key], f"{where}.{key}")
            elif not isinstance(shape, Optional):
                raise FormatError(f"{where}: the key {key!r} is missing")
        if self.one_of and sum(key in value for key in self.one_of) != 1:
            raise FormatError(f"{where}: exactly one of {', '.join(self.one_of)} must stand here")

    def schema(self) -> dict[str, Any]:
        needed = [key for key, shape in self.fields.items() if not isinstance(shape, Optional)]
        rule: dict[str, Any] = {
            "type": "object",
            "properties": {key: shape.schema() for key, shape in self.fields.items()},
            "required": needed,
            "additionalProperties": self.open_keys,
        }
        if self.one_of:
            rule["oneOf"] = [{"required": [key]} for key in self.one_of]
        return rule


@dataclass(frozen=True)
class Keyed:
    """An object of at least one key, any keys, whose values all have one shape."""

    item: Shape

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict) or not value:
            raise _fail(where, value, "an object of at least one key")
        for key, item in value.items():
            self.item.check(item, f"{where}.{key if key.isprintable() else ascii(key):.80}")

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": self.item.schema(),
        }
