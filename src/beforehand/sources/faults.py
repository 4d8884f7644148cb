"""Bad rows: found by column, named by row, refused at the first or left out and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beforehand.errors import FormatError

FIRST_ROWS = 5

Mask = NDArray[np.bool_]
Say = Callable[[int], str]


@dataclass(frozen=True)
class LeftOut:
    """Rows that do not count, for one reason: how many, where the first are, the first in full.

    >>> LeftOut("empty", 1, ("row 3",), "t.csv, row 3, column p: empty").line()
    'empty: 1 (row 3)'
    """

    reason: str
    count: int
    first: tuple[str, ...]
    example: str

    def line(self) -> str:
        """One line for a person."""
        more = ", ..." if self.count > len(self.first) else ""
        return f"{self.reason}: {self.count} ({', '.join(self.first)}{more})"


class Tally:
    """What an importer keeps out and why, counted while it reads.

    `place` gives the words for an entry's place.

    >>> tally = Tally("set.json", lambda index: f"questions[{index}]")
    >>> tally.add("combination question", 4, "its id is a list")
    >>> tally.left_out()[0].example
    'set.json, questions[4]: its id is a list'
    """

    def __init__(self, name: str, place: Callable[[int], str]) -> None:
        self._name = name
        self._place = place
        self._examples: dict[str, str] = {}
        self._entries: dict[str, list[int]] = {}

    def add(self, reason: str, index: int, said: str) -> None:
        """One more entry, at `index`; `said` is what the first of its reason is shown with."""
        self._examples.setdefault(reason, said)
        self._entries.setdefault(reason, []).append(index)

    def left_out(self) -> tuple[LeftOut, ...]:
        """The reasons in the order in which they were met."""
        found = []
        for reason, entries in self._entries.items():
            first = tuple(self._place(index) for index in entries[:FIRST_ROWS])
            example = f"{self._name}, {first[0]}: {self._examples[reason]}"
            found.append(LeftOut(reason, len(entries), first, example))
        return tuple(found)


class Faults:
    """The bad rows of one table of `rows` rows; a row is bad for the first reason marked.

    `name` is the file, `place` gives the words for a row's place, such as "row 17".
    """

    def __init__(self, name: str, rows: int, place: Callable[[int], str]) -> None:
        self._name = name
        self.place = place
        self._codes = np.zeros(rows, dtype=np.uint16)
        self._kinds: list[tuple[str, str, Say]] = []

    def mark(self, mask: Mask, reason: str, column: str, say: Say) -> None:
        """Rows where `mask` holds are bad: `reason` names the fault, `say(index)` a row's words."""
        fresh = mask & (self._codes == 0)
        if fresh.any():
            self._kinds.append((reason, column, say))
            self._codes[fresh] = len(self._kinds)

    def good(self) -> Mask:
        """The rows not marked so far, as a mask of length `rows`."""
        return np.asarray(self._codes == 0)

    def settle(self, skip_bad: bool) -> tuple[LeftOut, ...]:
        """What is left out; FormatError for the first bad row unless `skip_bad`."""
        bad = np.flatnonzero(self._codes)
        if len(bad) and not skip_bad:
            raise FormatError(self._message(int(bad[0])))
        left = []
        for code, (reason, _, _) in enumerate(self._kinds, start=1):
            rows = np.flatnonzero(self._codes == code)
            first = tuple(self.place(int(row)) for row in rows[:FIRST_ROWS])
            left.append(LeftOut(reason, len(rows), first, self._message(int(rows[0]))))
        return tuple(left)

    def _message(self, row: int) -> str:
        _, column, say = self._kinds[self._codes[row] - 1]
        where = f", column {column!r:.80}" if column else ""
        return f"{self._name}, {self.place(row)}{where}: {say(row)}"


def shown(value: Any) -> str:
    """A value in a message: its repr, cut after 40 characters.

    >>> shown("7" * 50)[-6:]
    '777...'
    """
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
