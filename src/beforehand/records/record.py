"""What every line's content has in common: a time, a kind, perhaps bodies.

`encode(decode(content)) == content` for every content that is accepted: a key
of a later version is kept in `extra`, and so is an empty list where we would
leave the key out; a kind of a later version becomes an `Unknown`; all survive
a round trip. A record shares no object with what it was decoded from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from beforehand.records.shape import Digest, Instant, Listed, Name, Optional, Shape, Table


@dataclass(frozen=True)
class Part:
    """A named group of values inside a record (a cell, a quote, a seat)."""

    shape: ClassVar[Table] = Table()

    def content(self) -> dict[str, Any]:
        """The JSON object, without the keys that are absent."""
        return _content_of(self)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """The part from a checked object."""
        return cls(**content)


@dataclass(frozen=True)
class BodyRef(Part):
    """A file named by its hash: what it is, and when it is due to be public.

    `due` is absent where the body is never published (a private body).
    """

    shape: ClassVar[Table] = Table(
        {"role": Name(40), "sha256": Digest(), "due": Optional(Instant())}
    )

    role: str
    sha256: str
    due: str | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line's content. Subclasses name their kind, fields and nested parts."""

    kind: ClassVar[str] = ""
    own: ClassVar[Mapping[str, Shape]] = {}
    parts: ClassVar[Mapping[str, type[Part]]] = {"bodies": BodyRef}

    at: str
    bodies: tuple[BodyRef, ...] = ()
    clock: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def table(cls) -> Table:
        """The shape of the content of this kind."""
        return Table(
            {
                "at": Instant(),
                "kind": Name(40),
                "clock": Optional(Instant()),
                "bodies": Optional(Listed(BodyRef.shape, most=2000)),
                **cls.own,
            },
            open_keys=True,
        )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """The record from content; FormatError names the first thing that is wrong."""
        cls.table().check(content, cls.kind)
        known = {item.name: item.default == () for item in fields(cls) if item.name != "extra"}
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in content.items():
            if key == "kind":
                continue
            if key not in known or (known[key] and value == []):
                extra[key] = json_copy(value)
            elif key in cls.parts:
                values[key] = tuple(cls.parts[key].of(item) for item in value)
            else:
                held = json_copy(value)
                values[key] = tuple(held) if isinstance(held, list) else held
        return cls(**values, extra=extra)

    def content(self) -> dict[str, Any]:
        """The JSON object of the line, without bookkeeping keys."""
        return {"kind": self.kind, **_content_of(self)}


@dataclass(frozen=True)
class Unknown:
    """A line of a kind this version does not know: chained, kept and reported."""

    kind: str
    fields: Mapping[str, Any]

    def content(self) -> dict[str, Any]:
        """The object exactly as it was read."""
        return {key: json_copy(value) for key, value in self.fields.items()}


def json_copy(value: Any) -> Any:
    """The same JSON value in objects and lists of its own."""
    if isinstance(value, dict):
        return {key: json_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_copy(item) for item in value]
    return value


def _content_of(value: Any) -> dict[str, Any]:
    built: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for item in fields(value):
        held = getattr(value, item.name)
        if item.name == "extra":
            extra = json_copy(held)
        elif held is None or (item.default == () and not held):
            continue
        elif isinstance(held, tuple):
            built[item.name] = [
                part.content() if isinstance(part, Part) else json_copy(part) for part in held
            ]
        else:
            built[item.name] = json_copy(held)
    return {**extra, **built}
