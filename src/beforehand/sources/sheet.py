"""A table as it came, before anything in it is believed: names, columns on demand, row places."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from beforehand.sources.faults import LeftOut, TableError

# Stands in a text column for a list or an object; no id may hold a NUL.
NESTED = "\0"

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Limits:
    """What a table may measure at most. A limit that is hit is named with its value.

    `whole_bytes` is for what is unpacked or held as objects: gzip and JSON.
    """

    file_bytes: int = 2 << 30
    whole_bytes: int = 512 << 20
    rows: int = 50_000_000
    columns: int = 1_000
    line_bytes: int = 1 << 20
    text_bytes: int = 10_000


LIMITS = Limits()


@dataclass(frozen=True)
class Sheet:
    """Columns that are read on demand.

    `take(places)` gives the columns at these places of `header`, each of
    `height` cells, as polars Series of any type; `place(index)` the words for
    a row's place, such as "line 17"; `head` is what follows the name where the
    header has a place. `skipped` are lines that could not become rows.
    `labels`, of a sheet that an importer made, are the names that its columns
    have in the file.
    """

    name: str
    format: str
    header: tuple[str, ...]
    height: int
    take: Callable[[Sequence[int]], list[pl.Series]]
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    skipped: tuple[LeftOut, ...] = ()
    labels: Mapping[str, str] | None = None
    head: str = ""


def read_bytes(path: Path, limits: Limits = LIMITS) -> bytes:
    """The whole file; FormatError where there is none or it is over the limit."""
    check_file(path, limits)
    return path.read_bytes()


def read_unpacked(path: Path, limits: Limits = LIMITS) -> bytes:
    """The whole file, unpacked where it is gzip: for files that are published packed.

    FormatError where it is over the limit, packed or unpacked, or damaged.
    """
    data = read_bytes(path, limits)
    if not data.startswith(GZIP):
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(data, limits.whole_bytes)
    except zlib.error as error:
        raise TableError(str(path), f"damaged gzip: {error}") from None
    if unpacker.unconsumed_tail:
        raise TableError(str(path), f"unpacked over the limit of {limits.whole_bytes} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise TableError(str(path), "gzip that is cut off, or with something after its end")
    return found


def check_file(path: Path, limits: Limits) -> None:
    """FormatError unless `path` is a file within the limit."""
    if not path.is_file():
        raise TableError(str(path), "a folder" if path.is_dir() else "no such file")
    size = path.stat().st_size
    if size > limits.file_bytes:
        told = f"{size} bytes, over the limit of {limits.file_bytes} bytes"
        raise TableError(str(path), told, "split the file")


def check_size(name: str, rows: int, columns: int, limits: Limits) -> None:
    """FormatError over the limit of rows or columns."""
    if columns > limits.columns:
        told = f"{columns} columns, over the limit of {limits.columns}"
        raise TableError(name, told, "keep those that count")
    if rows > limits.rows:
        raise TableError(name, f"{rows} rows, over the limit of {limits.rows}", "split the table")


def refuse_packed(head: bytes, name: str) -> None:
    """FormatError for packed files and workbooks, with what to do instead."""
    if head.startswith(GZIP):
        told = "unpack it first (gunzip) and give the result"
        raise TableError(name, "packed with gzip", told)
    if head.startswith(ZIP):
        told = "unpack it, or save the sheet as CSV in UTF-8"
        raise TableError(name, "a zip file or an Excel workbook", told)


def text_sheet(
    columns: Mapping[str, Sequence[str]],
    *,
    name: str,
    kind: str,
    place: Callable[[int], str],
    notes: Sequence[str] = (),
    skipped: Sequence[LeftOut] = (),
    labels: Mapping[str, str] | None = None,
) -> Sheet:
    """A sheet of text columns of one length, as an importer makes it.

    >>> sheet = text_sheet({"p": ["0.5"]}, name="x", kind="made", place=lambda i: f"entry {i}")
    >>> sheet.header, sheet.height, sheet.place(0)
    (('p',), 1, 'entry 0')
    """
    held = [pl.Series(key, list(cells), dtype=pl.String) for key, cells in columns.items()]
    return Sheet(
        name=name,
        format=kind,
        header=tuple(columns),
        height=len(held[0]) if held else 0,
        take=lambda places: [held[at] for at in places],
        place=place,
        notes=tuple(notes),
        skipped=tuple(skipped),
        labels=labels or {},
    )


def text_columns(sheet: Sheet, names: Sequence[str]) -> list[list[str]]:
    """The columns of these names as lists; FormatError names those that are not there."""
    lacking = [name for name in names if name not in sheet.header]
    if lacking:
        raise TableError(sheet.name + sheet.head, f"no column {', '.join(lacking)}")
    return [series.to_list() for series in sheet.take([sheet.header.index(name) for name in names])]
