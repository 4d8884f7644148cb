"""JSON Lines: one object a line, its numbers kept as the text that stands there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from beforehand.errors import FormatError
from beforehand.sources.faults import Faults, TableError
from beforehand.sources.jsontext import decode_text
from beforehand.sources.sheet import LIMITS, NESTED, Limits, Sheet, check_size

_BOM = b"\xef\xbb\xbf"


def open_jsonl(data: bytes, name: str, *, skip_bad: bool = False, limits: Limits = LIMITS) -> Sheet:
    """The sheet of a JSONL file; a line that is no object is a bad row.

    Columns are the keys of all lines; a key that a line does not have, and
    null, are empty cells. Lines are counted from 1; empty ones are passed over.

    >>> sheet = open_jsonl(b'{"p": 0.10}\\n', "t.jsonl")
    >>> sheet.take([0])[0].to_list(), sheet.place(0)
    (['0.10'], 'line 1')
    """
    begin = len(_BOM) if data.startswith(_BOM) else 0
    notes = ("a byte order mark was passed over",) if begin else ()
    lines = data[begin:].split(b"\n")
    faults = Faults(name, len(lines), lambda index: f"line {index + 1}")
    columns: dict[str, list[str]] = {}
    said: dict[int, str] = {}
    rows: list[int] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        found = _object(line, limits)
        if isinstance(found, str):
            said[index] = found
            continue
        for key, cell in found.items():
            held = columns.get(key)
            if held is None:
                check_size(name, 0, len(columns) + 1, limits)
                held = columns[key] = []
            if len(held) < len(rows):
                held.extend([""] * (len(rows) - len(held)))
            held.append(cell)
        rows.append(index)
    check_size(name, len(rows), 0, limits)
    wrong = np.zeros(len(lines), dtype=np.bool_)
    wrong[list(said)] = True
    faults.mark(wrong, "not an object in JSON", "", lambda index: (said[index], ""))
    skipped = faults.settle(skip_bad)
    if not rows:
        raise TableError(name, "no row is left" if said else "empty")
    return Sheet(
        name=name,
        format="JSONL",
        header=tuple(columns),
        height=len(rows),
        take=_taker(columns, len(rows)),
        place=lambda index: f"line {rows[index] + 1}",
        notes=notes,
        skipped=skipped,
    )


def _taker(columns: dict[str, list[str]], height: int) -> Callable[[Any], list[pl.Series]]:
    names = tuple(columns)

    def take(places: Any) -> list[pl.Series]:
        cells = (columns[names[place]] for place in places)
        return [pl.Series(held + [""] * (height - len(held)), dtype=pl.String) for held in cells]

    return take


def _object(line: bytes, limits: Limits) -> dict[str, str] | str:
    """The cells of one line as text, or what is wrong with it."""
    if len(line) > limits.line_bytes:
        return f"{len(line)} bytes, over the limit of {limits.line_bytes} a line"
    try:
        value = decode_text(line, "")
    except FormatError as error:
        return str(error).removeprefix(": ").replace(" in line 1, column ", " at character ")
    if not isinstance(value, dict):
        return f"{type(value).__name__} where an object was expected"
    return {key: _cell(item) for key, item in value.items()}


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return NESTED
