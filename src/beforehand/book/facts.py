"""What the later steps need of a book, kept on disk so that memory does not grow with it.

The store is a private SQLite database that lives in a temporary file and
goes with the object.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import contract_json, digest

_TABLES = """
CREATE TABLE body (n INTEGER, at TEXT, kind TEXT, role TEXT, sha256 TEXT, due TEXT,
                   run TEXT, forecaster TEXT);
CREATE INDEX body_sha256 ON body (sha256);
CREATE TABLE salt (salt TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE checked (sha256 TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE roster (run TEXT, n INTEGER, deadline TEXT, seats INTEGER);
CREATE TABLE ask (n INTEGER PRIMARY KEY, run TEXT, forecaster TEXT);
CREATE TABLE answer (n INTEGER, run TEXT, forecaster TEXT, ask_line INTEGER, status TEXT);
CREATE TABLE erased (sha256 TEXT, n INTEGER);
CREATE TABLE run (run TEXT, n INTEGER, roster_line INTEGER, snapshot_line INTEGER);
"""


class Facts:
    """Lines' bodies, rosters, asks and answers of one book."""

    def __init__(self) -> None:
        # An empty name is SQLite's private temporary database: memory up to
        # its page cache, a file beyond.
        self.base = sqlite3.connect("")
        self.base.executescript(_TABLES)
        self.league: dict[str, Any] | None = None
        self.segments: list[dict[str, Any]] = []
        self.problems: list[tuple[int, str]] = []

    def close(self) -> None:
        """Drop the temporary file."""
        self.base.close()

    def add(self, n: int, fact: dict[str, Any]) -> None:
        """Take what one line says; what cannot be kept is a problem of that line."""
        try:
            self._add(n, fact)
        except FormatError as error:
            self.problems.append((n, str(error)))

    def _add(self, n: int, fact: dict[str, Any]) -> None:
        kind = _text(fact, "kind")
        if kind == "league":
            if self.league is not None:
                raise FormatError("a second league line")
            self.league = {**fact, "n": n}
        elif kind == "segment":
            self.segments.append(fact)
        elif kind == "question":
            self._question(fact)
        elif kind == "roster":
            seats = fact.get("seats")
            row = (_text(fact, "run"), n, _text(fact, "deadline"), len(seats or ()))
            self.base.execute("INSERT INTO roster VALUES (?, ?, ?, ?)", row)
        elif kind == "run":
            lines = (fact.get("roster_line"), fact.get("snapshot_line"))
            if not all(type(line) is int and 0 < line < n for line in lines):
                raise FormatError("a run names the earlier lines of its roster and its snapshot")
            self.base.execute(
                "INSERT INTO run VALUES (?, ?, ?, ?)", (_text(fact, "run"), n, *lines)
            )
        elif kind == "ask":
            owner = (n, _text(fact, "run"), _text(fact, "forecaster"))
            self.base.execute("INSERT INTO ask VALUES (?, ?, ?)", owner)
        elif kind == "answer":
            self._answer(n, fact)
        elif kind == "erased":
            self.base.execute("INSERT INTO erased VALUES (?, ?)", (_text(fact, "body_sha256"), n))
        self._bodies(n, kind, fact)

    def _question(self, fact: dict[str, Any]) -> None:
        contract = fact.get("contract")
        if not isinstance(contract, dict):
            raise FormatError("a question has its event contract")
        wanted = "evc1:" + digest(contract_json(contract))
        if fact.get("question") != wanted:
            raise FormatError(f"the question's id is not the hash of its contract ({wanted})")

    def _answer(self, n: int, fact: dict[str, Any]) -> None:
        run, forecaster, line = _text(fact, "run"), _text(fact, "forecaster"), fact.get("ask_line")
        if line is not None:
            found = None
            if type(line) is int:
                found = self.base.execute(
                    "SELECT run, forecaster FROM ask WHERE n = ?", (line,)
                ).fetchone()
            if found != (run, forecaster):
                raise FormatError(
                    f"ask_line {line!r:.20} is no earlier ask to {forecaster} in {run}"
                )
        row = (n, run, forecaster, line, _text(fact, "status"))
        self.base.execute("INSERT INTO answer VALUES (?, ?, ?, ?, ?)", row)

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


def _text(fact: dict[str, Any], key: str) -> str:
    value = fact.get(key)
    if not isinstance(value, str):
        raise FormatError(f"{key} is {json.dumps(value)[:60]}, not a text")
    return value


def _word(fact: dict[str, Any], key: str) -> str:
    value = fact.get(key, "")
    return value if isinstance(value, str) else ""
