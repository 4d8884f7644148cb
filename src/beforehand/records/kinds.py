"""Every kind of line this version writes, its decoder and its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.evidence import Erased, ProofLine, Release, Revealed
from beforehand.records.forecast import Answer
from beforehand.records.league import KeyChange, League, Segment
from beforehand.records.order import Fill, Mark
from beforehand.records.question import Question
from beforehand.records.record import Record, Unknown, json_copy
from beforehand.records.resolution import Confirmation, Correction, Reference, Resolution
from beforehand.records.run import Ask, Close, Roster, Run
from beforehand.records.shape import Digest, Integer, Text
from beforehand.records.snapshot import Snapshot

KINDS: dict[str, type[Record]] = {
    kind.kind: kind
    for kind in (
        League,
        Segment,
        Question,
        Roster,
        Run,
        Snapshot,
        Ask,
        Answer,
        Close,
        Reference,
        Resolution,
        Confirmation,
        Correction,
        Fill,
        Mark,
        ProofLine,
        Release,
        KeyChange,
        Revealed,
        Erased,
    )
}


def decode(content: Mapping[str, Any]) -> Record | Unknown:
    """The record of a line's content; a kind this version does not know is kept as it is."""
    kind = content.get("kind")
    if not isinstance(kind, str):
        raise FormatError("kind: every line has a kind, a text")
    known = KINDS.get(kind)
    try:
        if known is None:
            return Unknown(kind, {key: json_copy(value) for key, value in content.items()})
        return known.of(content)
    except RecursionError:
        raise FormatError(f"{kind:.40}: nested too deeply") from None


def line_schemas() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole line of every kind, bookkeeping included."""
    bookkeeping = {
        "n": Integer(1).schema(),
        "prev": Text(64, 0, r"([0-9a-f]{64})?").schema(),
        "seal": Digest().schema(),
        "link": Digest().schema(),
    }
    kinds: dict[str, Any] = {}
    for name, kind in KINDS.items():
        schema = kind.table().schema()
        schema["properties"] = {**schema["properties"], **bookkeeping, "kind": {"const": name}}
        schema["required"] = [*schema["required"], *bookkeeping]
        schema["description"] = (kind.__doc__ or "").strip().split("\n")[0]
        kinds[name] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a book, by kind",
        "$defs": kinds,
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
    }
