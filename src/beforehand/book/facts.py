"""What the later steps need of a book, kept on disk so that memory does not grow with it.

The store is a private SQLite database that lives in a temporary file and
goes with the object.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

from beforehand.book.key_history import KeyHistory
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import contract_json, digest

_TABLES = """
CREATE TABLE body (n INTEGER, at TEXT, kind TEXT, role TEXT, sha256 TEXT, due TEXT,
                   run TEXT, forecaster TEXT);
CREATE INDEX body_sha256 ON body (sha256);
CREATE TABLE salt (salt TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE checked (sha256 TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE roster (n INTEGER PRIMARY KEY, run TEXT, deadline TEXT, seats INTEGER);
CREATE INDEX roster_run ON roster (run);
CREATE TABLE seat (n INTEGER, forecaster TEXT, PRIMARY KEY (n, forecaster)) WITHOUT ROWID;
CREATE TABLE ask (n INTEGER PRIMARY KEY, run TEXT, forecaster TEXT);
CREATE TABLE answer (n INTEGER PRIMARY KEY, run TEXT, forecaster TEXT, ask_line INTEGER,
                     status TEXT, cells_root TEXT);
CREATE TABLE settled (question TEXT PRIMARY KEY, first INTEGER, last INTEGER) WITHOUT ROWID;
CREATE INDEX settled_first ON settled (first);
CREATE INDEX settled_last ON settled (last);
CREATE TABLE erased (sha256 TEXT, n INTEGER);
CREATE INDEX erased_sha256 ON erased (sha256);
CREATE TABLE revealed (sha256 TEXT, n INTEGER);
CREATE INDEX revealed_sha256 ON revealed (sha256);
CREATE TABLE run (run TEXT, n INTEGER PRIMARY KEY, roster_line INTEGER, snapshot_line INTEGER);
CREATE INDEX run_run ON run (run);
"""

# What is read of the lines of each kind. A line of a book without a league line
# that has none of these is another league's, which means something else by the word.
_READ_KEYS = {
    "league": ("league", "origin", "key", "declaration_sha256"),
    "segment": ("segment", "time"),
    "question": ("question", "contract"),
    "roster": ("run", "deadline", "seats"),
    "run": ("run", "roster_line", "snapshot_line"),
    "ask": ("run", "forecaster"),
    "answer": ("run", "forecaster", "status", "ask_line", "cells"),
    "resolution": ("question", "outcome"),
    "correction": ("lines", "outcome"),
    "erased": ("line", "body_sha256"),
    "revealed": ("line", "body_sha256"),
    "key": ("key", "replaces", "note"),
}
_TIMES = ("simulated", "live")
_QUESTIONS_AT_ONCE = 500


class Facts:
    """Lines' bodies, rosters, asks, answers and outcomes of one book.

    `problems` are `(line, step, what)`; whoever adds lines takes them away.
    """

    def __init__(self) -> None:
        # An empty name is SQLite's private temporary database: memory up to
        # its page cache, a file beyond.
        self.base = sqlite3.connect("")
        self.base.executescript(_TABLES)
        self.league: dict[str, Any] | None = None
        self.keys: KeyHistory | None = None
        self.times: set[str] = set()
        self.foreign: dict[str, int] = {}
        self.problems: list[tuple[int, int, str]] = []

    def close(self) -> None:
        """Drop the temporary file."""
        self.base.close()

    def add(self, n: int, fact: dict[str, Any]) -> None:
        """Take what one line says; what cannot be kept is a problem of that line."""
        kind = str(fact.get("kind"))
        for take in (self._bodies, self._own):
            try:
                take(n, kind, fact)
            except FormatError as error:
                self.problems.append((n, 3, str(error)))

    def _own(self, n: int, kind: str, fact: dict[str, Any]) -> None:
        keys = _READ_KEYS.get(kind, ())
        if keys and self.league is None and not any(key in fact for key in keys):
            self.foreign[kind] = self.foreign.get(kind, 0) + 1
        elif kind == "league":
            if self.league is not None:
                raise FormatError("a second league line")
            self.league = {**fact, "n": n}
            if n == 1:  # the only line that may name the key without a signature
                self.keys = _keys_of(fact)
        elif kind == "segment":
            self._segment(fact)
        elif kind == "question":
            self._question(fact)
        elif kind == "roster":
            self._roster(n, fact)
        elif kind == "run":
            lines = (fact.get("roster_line"), fact.get("snapshot_line"))
            if not all(_is_earlier(line, n) for line in lines):
                raise FormatError("a run names the earlier lines of its roster and its snapshot")
            self.base.execute(
                "INSERT INTO run VALUES (?, ?, ?, ?)", (_text(fact, "run"), n, *lines)
            )
        elif kind == "ask":
            owner = (n, _text(fact, "run"), _text(fact, "forecaster"))
            self.base.execute("INSERT INTO ask VALUES (?, ?, ?)", owner)
        elif kind == "answer":
            self._answer(n, fact)
        elif kind == "resolution":
            self._resolution(n, fact)
        elif kind == "correction":
            self._correction(n, fact)
        elif kind == "key":
            self._key(n, fact)
        elif kind == "revealed":
            self._revealed(n, fact)
        elif kind == "erased":
            self.base.execute("INSERT INTO erased VALUES (?, ?)", (_text(fact, "body_sha256"), n))

    def _revealed(self, n: int, fact: dict[str, Any]) -> None:
        line, sha256 = fact.get("line"), _text(fact, "body_sha256")
        named = "SELECT n FROM body WHERE n = ? AND sha256 = ?"
        if not _is_earlier(line, n) or self.one(named, (line, sha256)) is None:
            raise FormatError(f"reveals a body that line {line!r:.20} does not name")
        self.base.execute("INSERT INTO revealed VALUES (?, ?)", (sha256, n))

    def _key(self, n: int, fact: dict[str, Any]) -> None:
        if self.keys is None:
            raise FormatError("a change of a key that no league line names")
        try:
            self.keys.take(n, str(fact.get("prev")), fact)
        except (FormatError, IntegrityError) as error:
            self.problems.append((n, 5, f"the key is not changed by this: {error}"))

    def _segment(self, fact: dict[str, Any]) -> None:
        time = _text(fact, "time")
        if time not in _TIMES:
            raise FormatError(f"time is {time!r:.40}, not one of {', '.join(_TIMES)}")
        self.times.add(time)

    def _question(self, fact: dict[str, Any]) -> None:
        contract = fact.get("contract")
        if not isinstance(contract, dict) or not contract:
            raise FormatError("a question has its event contract")
        if not all(isinstance(value, str) for value in contract.values()):
            raise FormatError("an event contract holds texts only")
        wanted = "evc1:" + digest(contract_json(contract))
        if fact.get("question") != wanted:
            raise FormatError(f"the question's id is not the hash of its contract ({wanted})")

    def _roster(self, n: int, fact: dict[str, Any]) -> None:
        seats = fact.get("seats")
        if not isinstance(seats, list) or not all(isinstance(seat, dict) for seat in seats):
            raise FormatError("seats is not a list of seats")
        names = [_text(seat, "forecaster") for seat in seats]
        row = (n, _text(fact, "run"), _text(fact, "deadline"), len(names))
        self.base.execute("INSERT INTO roster VALUES (?, ?, ?, ?)", row)
        held = Counter(names)
        self.base.executemany("INSERT INTO seat VALUES (?, ?)", [(n, name) for name in held])
        if len(held) < len(names):
            twice = [name for name, count in held.items() if count > 1]
            listed = ", ".join(f"{name!r:.80}" for name in twice[:5])
            self.problems.append((n, 7, f"on this roster stands more than once: {listed}"))

    def _answer(self, n: int, fact: dict[str, Any]) -> None:
        run, forecaster, line = _text(fact, "run"), _text(fact, "forecaster"), fact.get("ask_line")
        if line is not None:
            found = None
            if _is_earlier(line, n):
                found = self.base.execute(
                    "SELECT run, forecaster FROM ask WHERE n = ?", (line,)
                ).fetchone()
            if found != (run, forecaster):
                raise FormatError(
                    f"ask_line {line!r:.20} is no earlier ask to {forecaster} in {run}"
                )
        root = _text(fact, "cells_root") if "cells_root" in fact else None
        row = (n, run, forecaster, line, _text(fact, "status"), root)
        self.base.execute("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", row)
        stated = fact.get("stated", [])
        if stated is None:
            raise FormatError("cells is not a list of cells, each with its question")
        problem = self.stated_too_late(n, stated)
        if problem is not None:
            self.problems.append((n, 7, problem))

    def stated_too_late(self, n: int, questions: list[str]) -> str | None:
        """What is wrong where line `n` states probabilities on questions resolved before it."""
        late: list[tuple[str, int]] = []
        for start in range(0, len(questions), _QUESTIONS_AT_ONCE):
            some = questions[start : start + _QUESTIONS_AT_ONCE]
            among = f"question IN ({', '.join('?' * len(some))})"
            query = f"SELECT question, first FROM settled WHERE first < ? AND {among}"  # noqa: S608
            late += self.base.execute(query, (n, *some))
        if not late:
            return None
        question, line = min(late, key=lambda found: found[1])
        more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
        return f"answers {question!r:.80} after its resolution at line {line}{more}"

    def _resolution(self, n: int, fact: dict[str, Any]) -> None:
        question = _text(fact, "question")
        _text(fact, "outcome")
        first = self.one("SELECT first FROM settled WHERE question = ?", (question,))
        if first is None:
            self.base.execute("INSERT INTO settled VALUES (?, ?, ?)", (question, n, n))
        else:
            message = f"resolves {question!r:.80} again, after line {first}: only a correction may"
            self.problems.append((n, 7, message))

    def _correction(self, n: int, fact: dict[str, Any]) -> None:
        lines = fact.get("lines")
        if not isinstance(lines, list) or not all(_is_earlier(line, n) for line in lines):
            raise FormatError("lines is not a list of the earlier lines that are corrected")
        if "outcome" not in fact:
            return
        _text(fact, "outcome")
        named = False
        for line in set(lines):
            query = "UPDATE settled SET last = ? WHERE first = ? OR last = ?"
            named |= self.base.execute(query, (n, line, line)).rowcount > 0
        if not named:
            listed = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
            message = f"changes an outcome, and of the lines it names none gives one: {listed}"
            self.problems.append((n, 7, message))

    def _bodies(self, n: int, kind: str, fact: dict[str, Any]) -> None:
        bodies = fact.get("bodies", [])
        if not isinstance(bodies, list):
            raise FormatError("bodies is not a list")
        for body in bodies:
            if not isinstance(body, dict):
                raise FormatError("a body is named by an object")
            due = body.get("due")
            if due is not None and not isinstance(due, str):
                raise FormatError("the due time of a body is not a text")
            row = (n, str(fact.get("at")), kind, _text(body, "role"), _text(body, "sha256"), due)
            owner = (_word(fact, "run"), _word(fact, "forecaster"))
            self.base.execute("INSERT INTO body VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row + owner)

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one at a time."""
        yield from self.base.execute(query, values)

    def one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """The first value of the first row, else None."""
        row = self.base.execute(query, values).fetchone()
        return None if row is None else row[0]

    def deadline(self, run: str) -> str | None:
        """The deadline of a run's roster."""
        value = self.one("SELECT deadline FROM roster WHERE run = ? ORDER BY n", (run,))
        return None if value is None else str(value)


def _keys_of(fact: dict[str, Any]) -> KeyHistory | None:
    """The keys from a league line on; None where it names none, which the inspection says."""
    try:
        return KeyHistory(fact)
    except FormatError:
        return None


def _is_earlier(line: Any, n: int) -> bool:
    return type(line) is int and 0 < line < n


def _text(fact: dict[str, Any], key: str) -> str:
    value = fact.get(key)
    if not isinstance(value, str):
        raise FormatError(f"{key} is {json.dumps(value)[:60]}, not a text")
    return value


def _word(fact: dict[str, Any], key: str) -> str:
    value = fact.get(key, "")
    return value if isinstance(value, str) else ""
