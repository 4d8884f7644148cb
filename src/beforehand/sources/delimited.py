"""CSV as bytes: where its records lie, how many fields each has, and what is wrong with it.

Only the form is looked at, block by block. The fields are read by polars,
and by the standard library where a quoted field holds a line end.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.sources.columns import NAMES, plain_name
from beforehand.sources.faults import Faults, LeftOut, TableError
from beforehand.sources.layout import Records, scan_records
from beforehand.sources.sheet import LIMITS, Limits, Sheet, check_size

DELIMITERS = ",;\t"
SPOKEN = {",": "commas", ";": "semicolons", "\t": "tabs"}
LINE_END = b"\n"
HEAD = ", line 1"
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_KNOWN = {plain_name(name) for names in NAMES.values() for name in names}


def open_delimited(
    data: bytes, name: str, *, skip_bad: bool = False, limits: Limits = LIMITS
) -> Sheet:
    """The sheet of a CSV file with commas, semicolons or tabs; FormatError names every fault.

    A line with too many or too few fields, over the limit, or not in UTF-8
    is a bad row; what puts the whole file in doubt is an error always.

    >>> open_delimited(b"p,y\\n0.5,1\\n", "t.csv").header
    ('p', 'y')
    """
    begin = _begin(data, name)
    notes = ["a byte order mark was passed over"] if begin else []
    end = _header_end(data, begin, name, limits)
    header_bytes = data[begin:end]
    delimiter = _delimiter(header_bytes)
    if delimiter != ",":
        notes.append(f"fields are separated by {SPOKEN[delimiter]}")
    check_size(name, 0, header_bytes.count(delimiter.encode()) + 1, limits)
    header = _header(header_bytes, delimiter, name)
    records = scan_records(data, end + 1, delimiter, name, limits)
    filled = _filled(data, records)
    if not filled.any():
        raise TableError(name, "a header and no row")
    if not filled.all():
        notes.append(f"empty lines passed over: {np.count_nonzero(~filled)}")

    def line(record: int) -> str:
        return f"line {data.count(LINE_END, 0, int(records.starts[record])) + 1}"

    kept, skipped = _check_records(
        data, records, filled, len(header), Faults(name, len(filled), line), skip_bad, limits
    )
    if not len(kept):
        counted = "; ".join(left.line() for left in skipped)
        raise TableError(name, f"no row is left; left out are {counted}")
    body = _Body(data, records, kept, delimiter, name, len(kept) == len(filled))
    return Sheet(
        name=name,
        format="CSV",
        header=header,
        height=len(kept),
        take=body.take,
        place=lambda index: line(int(kept[index])),
        notes=tuple(notes),
        skipped=skipped,
        head=HEAD,
    )


def _begin(data: bytes, name: str) -> int:
    """Where the text begins, after a byte order mark; FormatError for what is no UTF-8 text."""
    head = data[:4096]
    if head.startswith(_WIDE) or b"\0" in head:
        raise TableError(name, "UTF-16 or binary, not UTF-8", "save it as CSV in UTF-8")
    begin = len(_BOM) if head.startswith(_BOM) else 0
    if not data[begin:].strip():
        raise TableError(name, "empty", "a header and rows were expected")
    if LINE_END not in data and b"\r" in data[:-1]:
        raise TableError(name, "lines end in carriage returns alone", "save it with line feeds")
    return begin


def _header_end(data: bytes, begin: int, name: str, limits: Limits) -> int:
    """The place of the line end after the first record, or the end of the data."""
    end = begin
    while True:
        end = data.find(b"\n", end, begin + limits.line_bytes + 1)
        if end < 0 and len(data) - begin > limits.line_bytes:
            raise TableError(
                name + HEAD,
                f"over the limit of {limits.line_bytes} bytes a line",
                "is it a CSV file?",
            )
        if end < 0:
            return len(data)
        if data.count(b'"', begin, end) % 2 == 0:
            return end
        end += 1


def _delimiter(header: bytes) -> str:
    """The delimiter that makes the most known names of the header, then the most fields."""

    def worth(delimiter: str) -> tuple[int, int]:
        fields = [
            field.strip().strip('"')
            for field in header.decode("utf-8", "replace").split(delimiter)[: LIMITS.columns]
        ]
        return sum(plain_name(field) in _KNOWN for field in fields), len(fields)

    return max(DELIMITERS, key=worth)


def _header(line: bytes, delimiter: str, name: str) -> tuple[str, ...]:
    try:
        rows = list(csv.reader([line.decode("utf-8")], delimiter=delimiter, strict=True))
    except UnicodeDecodeError as error:
        raise TableError(
            name + HEAD, f"not UTF-8 at byte {error.start}", "save it as CSV in UTF-8"
        ) from None
    except csv.Error as error:
        raise TableError(name + HEAD, f"no header of a CSV file: {error}") from None
    if not rows or not any(field.strip() for field in rows[0]):
        raise TableError(name + HEAD, "empty", "the column names were expected there")
    return tuple(field.strip() for field in rows[0])


def _filled(data: bytes, records: Records) -> NDArray[np.bool_]:
    """Which records are more than an empty line."""
    length = records.ends - records.starts
    view = np.frombuffer(data, dtype=np.uint8)
    lone = view[np.minimum(records.starts, len(data) - 1)] == ord("\r")
    filled = (length > 0) & ~((length == 1) & lone)
    for record in range(len(filled) - 1, -1, -1):  # a last line of blanks
        if filled[record] and data[records.starts[record] : records.ends[record]].strip():
            break
        filled[record] = False
    return np.asarray(filled)


def _check_records(
    data: bytes,
    records: Records,
    filled: NDArray[np.bool_],
    width: int,
    faults: Faults,
    skip_bad: bool,
    limits: Limits,
) -> tuple[NDArray[np.int64], tuple[LeftOut, ...]]:
    """The records that are rows, and the others by reason."""
    length = records.ends - records.starts
    faults.mark(
        filled & (length > limits.line_bytes),
        "line too long",
        "",
        lambda record: (
            f"{length[record]} bytes, over the limit of {limits.line_bytes} a line",
            "",
        ),
    )
    faults.mark(
        filled & (records.fields != width),
        "number of fields",
        "",
        lambda record: (f"{records.fields[record]} fields where the header has {width}", ""),
    )
    faults.mark(
        filled & _not_utf8(data, records),
        "not UTF-8",
        "",
        lambda record: ("not UTF-8", "save the file as CSV in UTF-8"),
    )
    skipped = faults.settle(skip_bad)
    return np.flatnonzero(filled & faults.good()), skipped


def _not_utf8(data: bytes, records: Records) -> NDArray[np.bool_]:
    wrong = np.zeros(len(records.starts), dtype=np.bool_)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        for record, (start, end) in enumerate(zip(records.starts, records.ends, strict=True)):
            try:
                data[start:end].decode("utf-8")
            except UnicodeDecodeError:
                wrong[record] = True
    return wrong


@dataclass(frozen=True)
class _Body:
    """Reads columns of the kept records."""

    data: bytes
    records: Records
    kept: NDArray[np.int64]
    delimiter: str
    name: str
    complete: bool

    def take(self, places: Sequence[int]) -> list[pl.Series]:
        text = self._text()
        if not self.records.whole:
            return self._plain(text, places)
        wanted = sorted(places)
        frame = pl.read_csv(
            text,
            has_header=False,
            infer_schema=False,
            columns=wanted,
            separator=self.delimiter,
            quote_char='"' if b'"' in text else None,
        )
        if frame.height != len(self.kept):
            return self._plain(text, places)
        return [frame.to_series(wanted.index(place)).fill_null("") for place in places]

    def _text(self) -> bytes:
        if self.complete:
            return self.data[int(self.records.starts[0]) :]
        starts, ends = self.records.starts[self.kept], self.records.ends[self.kept]
        pieces = [
            self.data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        return b"\n".join(pieces) + b"\n"

    def _plain(self, text: bytes, places: Sequence[int]) -> list[pl.Series]:
        """The columns by the standard library."""
        rows = csv.reader(
            io.StringIO(text.decode("utf-8"), newline=""), delimiter=self.delimiter, strict=True
        )
        try:
            cells = [[row[place] for place in places] for row in rows if row]
        except (csv.Error, IndexError) as error:
            raise TableError(self.name, f"not readable as CSV: {error}") from None
        if len(cells) != len(self.kept):
            raise TableError(self.name, f"{len(cells)} rows where {len(self.kept)} lines are")
        return [pl.Series([row[at] for row in cells], dtype=pl.String) for at in range(len(places))]
