"""Reading published tables and JSON files, each under a limit; nothing in them is trusted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from beforehand.book.folder import Folder, read_file
from beforehand.errors import FormatError
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import Row
from beforehand.records.codec import decode_json

MAX_TABLE_BYTES = 256 << 20
MAX_ROWS = 1_000_000
MAX_FIELD_CHARS = 1 << 17
MAX_COLUMNS = 300
MAX_JSON_BYTES = 64 << 20


def read_json(folder: Folder, name: str) -> dict[str, Any] | None:
    """The object of a JSON file; None where there is no such file, FormatError where it is bad."""
    if not folder.has(name):
        return None
    value = decode_json(read_file(folder, name, MAX_JSON_BYTES))
    if not isinstance(value, dict):
        raise FormatError(f"{name} holds no object")
    return value


def read_table(folder: Folder, name: str) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The header of a CSV file, and its rows by their number in the file.

    FormatError names the row that does not fit the header.
    """
    data = read_file(folder, name, MAX_TABLE_BYTES)
    try:
        said = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}") from None
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.reader(io.StringIO(said, newline=""))
    header = _first(reader, name)
    if len(header) > MAX_COLUMNS or len(set(header)) != len(header):
        raise FormatError(f"{name}: over {MAX_COLUMNS} columns, or one column's name twice")
    return header, _rows(reader, name, header)


def _first(reader: Any, name: str) -> list[str]:
    try:
        header = next(reader, None)
    except csv.Error as error:
        raise FormatError(f"{name}: {error}") from None
    if not header:
        raise FormatError(f"{name} is empty")
    return [column.strip() for column in header]


def _rows(reader: Any, name: str, header: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    number = 1
    try:
        for number, row in enumerate(reader, 2):
            if not row:
                continue
            if number > MAX_ROWS:
                raise FormatError(f"{name} is over the limit of {MAX_ROWS} rows")
            if len(row) != len(header):
                raise FormatError(
                    f"{name} row {number}: {len(row)} fields under {len(header)} columns"
                )
            yield number, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise FormatError(f"{name} after row {number}: {error}") from None


def read_rows(folder: Folder, name: str, profile: Profile) -> list[Row]:
    """The table of forecasts as rows, its columns found by the profile."""
    header, rows = read_table(folder, name)
    column = profile.columns_in(header)
    keys = [key for key in profile.contract.keys if key in header]
    return [_row(name, number, values, column, keys) for number, values in rows]


def _row(
    name: str, number: int, values: dict[str, str], column: dict[str, str], keys: list[str]
) -> Row:
    def held(role: str) -> str:
        return values[column[role]].strip() if role in column else ""

    line, members = held("line"), held("members")
    return Row(
        place=Pointer(name, number),
        run=held("run"),
        forecaster=held("forecaster"),
        kind=held("kind"),
        question=held("question"),
        line=int(line) if line.isdecimal() and len(line) < 12 else None,
        at=held("at"),
        p=held("p"),
        outcome=held("outcome"),
        status=held("status"),
        why=held("why"),
        brier=held("brier"),
        members=int(members) if members.isdecimal() and len(members) < 12 else None,
        contract={key: values[key] for key in keys},
        other={role: values[column[role]].strip() for role in column},
    )
