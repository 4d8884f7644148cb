"""What every line's content has in common: a time, a kind, perhaps bodies.

`encode(decode(content)) == content` for every content that is accepted: a key
of a later version is kept in `extra`, a kind of a later version becomes an
`Unknown`, and both survive a round trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from beforehand.errors import FormatError
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
        known = {item.name for item in fields(cls)} - {"extra"}
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in content.items():
            if key == "kind":
                continue
            if key not in known:
                extra[key] = value
            elif key in cls.parts:
                values[key] = tuple(cls.parts[key].of(item) for item in value)
            else:
                values[key] = tuple(value) if isinstance(value, list) else value
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
        return dict(self.fields)


def _content_of(value: Any) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for item in fields(value):
        held = getattr(value, item.name)
        if item.name == "extra":
            built.update(held)
        elif held is None or (item.name in ("bodies", "plugins") and not held):
            continue
        elif isinstance(held, tuple):
            built[item.name] = [part.content() if isinstance(part, Part) else part for part in held]
        else:
            built[item.name] = held
    return built


def require_one(content: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    """FormatError unless exactly one of `keys` stands in `content`."""
    present = [key for key in keys if key in content]
    if len(present) != 1:
        raise FormatError(f"{where}: exactly one of {', '.join(keys)} must stand here")
