"""Bad rows: found by column, named by place, refused with a count or left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beforehand.errors import FormatError

FIRST_ROWS = 5

Mask = NDArray[np.bool_]
Say = Callable[[int], tuple[str, str]]
"""What is wrong with a row, and what to do about it, which may be empty."""


class TableError(FormatError):
    """A fault of a table in its parts: `where` it is, `what` is wrong, what `todo`.

    Of a row it has the `reason`, and `more` counts the other bad rows by theirs; of a
    whole table `more` is None.

    >>> str(TableError("t.csv, line 3", "found 62, above 1", "divide by 100", {"above 1": 4}))
    't.csv, line 3: found 62, above 1; divide by 100; and 4 more rows: above 1 (4)'
    """

    def __init__(
        self,
        where: str,
        what: str,
        todo: str = "",
        more: Mapping[str, int] | None = None,
        reason: str = "",
    ) -> None:
        self.where, self.what, self.todo, self.more, self.reason = where, what, todo, more, reason
        parts = [f"{where}: {what}"]
        if todo:
            parts.append(todo)
        if more:
            count = sum(more.values())
            reasons = ", ".join(f"{reason} ({n})" for reason, n in more.items())
            parts.append(f"and {count} more row{'s' if count > 1 else ''}: {reasons}")
        super().__init__("; ".join(parts))


@dataclass(frozen=True)
class LeftOut:
    """Rows that do not count, for one reason: how many, where the first are, the first in full.

    >>> LeftOut("empty", 1, ("line 3",), "t.csv, line 3, column p: empty").line()
    'empty: 1 (line 3)'
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

    `name` is the file, `place` gives the words for a row's place, such as "line 17".
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
        """What is left out; unless `skip_bad` a TableError for the first, which counts the rest."""
        bad = np.flatnonzero(self._codes)
        counts = np.bincount(self._codes, minlength=len(self._kinds) + 1)
        if len(bad) and not skip_bad:
            counts[self._codes[bad[0]]] -= 1
            more: dict[str, int] = {}
            for (reason, _, _), count in zip(self._kinds, counts[1:].tolist(), strict=True):
                if count:
                    more[reason] = more.get(reason, 0) + count
            raise self._error(int(bad[0]), more)
        left = []
        for code, (reason, _, _) in enumerate(self._kinds, start=1):
            rows = np.flatnonzero(self._codes == code)
            first = tuple(self.place(int(row)) for row in rows[:FIRST_ROWS])
            left.append(LeftOut(reason, len(rows), first, str(self._error(int(rows[0])))))
        return tuple(left)

    def _error(self, row: int, more: Mapping[str, int] | None = None) -> TableError:
        reason, column, say = self._kinds[self._codes[row] - 1]
        where = f"{self._name}, {self.place(row)}" + (f", column {column!r:.80}" if column else "")
        what, todo = say(row)
        return TableError(where, what, todo, more, reason)


def shown(value: Any) -> str:
    """A value in a message: its repr, cut after 40 characters.

    >>> shown("7" * 50)[-6:]
    '777...'
    """
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
