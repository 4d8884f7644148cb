"""A league's first line, and a span under one methodology version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from beforehand.records.record import Record
from beforehand.records.shape import (
    Choice,
    Digest,
    Flag,
    Integer,
    Listed,
    Name,
    Optional,
    Shape,
    Table,
    Text,
)

PLUGIN_TABLE = Table({"name": Text(100), "version": Text(60), "sha256": Digest()})
ORIGIN_PATTERN = r"[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9._-]+)+"


def Origin() -> Text:  # noqa: N802 - reads as a shape
    """The name under which a book is signed: `domain/league/book`, no spaces, no plus."""
    return Text(200, 3, ORIGIN_PATTERN, "an origin such as example.org/blind/book")


@dataclass(frozen=True, kw_only=True)
class League(Record):
    """Line 1 of a book: who signs it and the declaration it keeps to.

    `key` is a C2SP verifier key, `recovery` the SHA-256 of the recovery
    public key; the declaration's very bytes are a body. A book that follows
    one whose key or lines were lost names the last checkpoint of that one.
    """

    kind: ClassVar[str] = "league"
    own: ClassVar[Mapping[str, Shape]] = {
        "league": Name(),
        "origin": Origin(),
        "key": Text(400),
        "recovery": Digest(),
        "declaration_sha256": Digest(),
        "plugins": Optional(Listed(PLUGIN_TABLE, most=100)),
        "successor_of": Optional(Table({"origin": Origin(), "size": Integer(1), "root": Digest()})),
    }

    league: str
    origin: str
    key: str
    recovery: str
    declaration_sha256: str
    plugins: tuple[Any, ...] = ()
    successor_of: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class KeyChange(Record):
    """Another key signs the book from this line on (`book.key_history`).

    `by` says whose signature the note bears: the key's that is replaced, or
    the recovery key's, which then commits to the next one in `recovery`.
    """

    kind: ClassVar[str] = "key"
    own: ClassVar[Mapping[str, Shape]] = {
        "key": Text(400),
        "replaces": Text(400),
        "by": Choice(("key", "recovery")),
        "reason": Text(400),
        "note": Text(4000),
        "recovery": Optional(Digest()),
        "recovery_key": Optional(Text(400)),
    }

    key: str
    replaces: str
    by: str
    reason: str
    note: str
    recovery: str | None = None
    recovery_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Segment(Record):
    """A span under one methodology version that no statistic crosses.

    The first is under the declaration of line 1; a later one has its own as a
    body, named by `declaration_sha256`, with the `plugins` that it names.
    """

    kind: ClassVar[str] = "segment"
    own: ClassVar[Mapping[str, Shape]] = {
        "segment": Name(),
        "methodology": Text(60),
        "time": Choice(("simulated", "live")),
        "why": Text(2000),
        "counted": Flag(),
        "declaration_sha256": Optional(Digest()),
        "plugins": Optional(Listed(PLUGIN_TABLE, most=100)),
    }

    segment: str
    methodology: str
    time: str
    why: str
    counted: bool
    declaration_sha256: str | None = None
    plugins: tuple[Any, ...] = ()
