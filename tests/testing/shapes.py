"""The shape of a JSON value, and where another value departs from a recorded one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def kind_of(value: Any) -> str:
    """The type of a value; a text that holds a JSON list is told apart from other texts."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "listed text" if value.startswith("[") and value.endswith("]") else "text"
    return "list" if isinstance(value, list) else "object"


def shape_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Of each key that the rows hold: its types, and whether every row has it."""
    rows = list(rows)
    keys = sorted({key for row in rows for key in row})
    return {
        key: {
            "types": sorted({kind_of(row[key]) for row in rows if key in row}),
            "always": all(key in row for row in rows),
        }
        for key in keys
    }


def departures(
    row: dict[str, Any], shape: dict[str, Any], *, missing: frozenset[str] = frozenset()
) -> list[str]:
    """What a row has otherwise than the recorded shape; `missing` keys may be absent."""
    found = [f"{key} is missing" for key in shape if key not in row and key not in missing]
    for key, value in row.items():
        if key not in shape:
            found.append(f"{key} was never recorded")
        elif kind_of(value) not in shape[key]["types"]:
            found.append(f"{key} is {kind_of(value)}, recorded {shape[key]['types']}")
    return found


def texts(value: str) -> list[str]:
    """The list inside a doubly encoded field, which must hold texts."""
    found = json.loads(value)
    assert isinstance(found, list) and all(isinstance(each, str) for each in found)
    return found
