"""Where the records of a CSV file lie in its bytes, found block by block; no field is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beforehand.sources.faults import TableError
from beforehand.sources.sheet import Limits, check_size

BLOCK = 16 << 20
_QUOTE, _LF, _CR = 34, 10, 13


@dataclass(frozen=True)
class Records:
    """Where the records after the header lie in the bytes, and how many fields each has.

    `starts` and `ends` are byte places, the end without the line end's LF;
    `whole` is False where some quoted field holds a line end.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fields: NDArray[np.int64]
    whole: bool


def scan_records(data: bytes, begin: int, delimiter: str, name: str, limits: Limits) -> Records:
    """The records from `begin` on; FormatError for quotation marks out of place, too many rows.

    >>> found = scan_records(b"1,2\\n3", 0, ",", "t.csv", Limits())
    >>> found.starts.tolist(), found.ends.tolist(), found.fields.tolist()
    ([0, 4], [3, 5], [2, 1])
    """
    view = np.frombuffer(data, dtype=np.uint8)
    ends, separators, newlines, inside = [], [], 0, 0
    for start in range(begin, len(data), BLOCK):
        block = view[start : start + BLOCK]
        quotes, line_ends, commas = block == _QUOTE, block == _LF, block == ord(delimiter)
        newlines += int(np.count_nonzero(line_ends))
        if inside or quotes.any():
            # Overflow at 256 keeps the parity.
            parity = (np.cumsum(quotes, dtype=np.uint8) + inside) & 1
            line_ends &= parity == 0
            commas &= parity == 0
            inside = int(parity[-1])
        ends.append(np.flatnonzero(line_ends) + start)
        separators.append(np.searchsorted(np.flatnonzero(commas), ends[-1] - start))
        separators[-1] = np.append(separators[-1], np.count_nonzero(commas))
        check_size(name, sum(len(part) for part in ends), 0, limits)
    if data.find(b'"', begin) >= 0:
        _check_quotes(data, begin, delimiter, name)
    return _records(ends, separators, begin, len(data), newlines)


def _records(
    ends: Sequence[NDArray[np.int64]],
    separators: Sequence[NDArray[np.int64]],
    begin: int,
    size: int,
    newlines: int,
) -> Records:
    """Joins what the blocks found; `separators` count to each end, then to the block's end."""
    place = np.concatenate([*ends, np.empty(0, dtype=np.int64)]).astype(np.int64)
    whole = newlines == len(place)
    counts, carried = [], 0
    for part in separators:
        counts.append(part[:-1] + carried)
        carried += int(part[-1])
    before = np.concatenate([*counts, np.empty(0, dtype=np.int64)]).astype(np.int64)
    if not len(place) or place[-1] != size - 1:
        place, before = np.append(place, size), np.append(before, carried)
    starts = np.concatenate([[begin], place[:-1] + 1]).astype(np.int64)
    fields = np.diff(before, prepend=0) + 1
    return Records(starts, place, fields, whole)


def _check_quotes(data: bytes, begin: int, delimiter: str, name: str) -> None:
    """FormatError unless quotation marks enclose whole fields and are doubled inside them."""
    view = np.frombuffer(data, dtype=np.uint8)
    places = np.flatnonzero(view[begin:] == _QUOTE) + begin
    opening, closing = places[::2], places[1::2]
    edge = np.zeros(256, dtype=np.bool_)
    edge[[ord(delimiter), _LF, _CR, _QUOTE]] = True
    before = np.where(opening > begin, view[np.maximum(opening - 1, 0)], _LF)
    after = np.where(closing + 1 < len(data), view[np.minimum(closing + 1, len(data) - 1)], _LF)
    bad = np.concatenate([opening[~edge[before]], closing[~edge[after]]])
    if len(bad):
        row = data.count(b"\n", 0, int(bad.min())) + 1
        raise TableError(
            f"{name}, line {row}",
            "a quotation mark inside a field",
            "put the whole field in quotation marks and double the inner one",
        )
    if len(places) % 2:
        row = data.count(b"\n", 0, int(places[-1])) + 1
        raise TableError(f"{name}, line {row}", "a quotation mark is opened and never closed")
