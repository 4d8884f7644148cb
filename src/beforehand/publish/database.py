"""`league.sqlite`: every open table of a league in one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from beforehand.publish.attempts_table import ATTEMPT_COLUMNS
from beforehand.publish.fold import LeagueFold
from beforehand.publish.tables import COLUMNS, Column
from beforehand.records.codec import seal_text

# By name the SQL of the columns, and the rows in order.
Tables = dict[str, tuple[str, list[tuple[Any, ...]]]]

_SQL_TYPES = {"string": "TEXT", "integer": "INTEGER"}
# Name and type of each column of a table that is read off the board's JSON, in
# order. A name with a dot leads into a table of the entry.
_BOARD_COLUMNS = (
    ("rank", "INTEGER"),
    ("forecaster", "TEXT"),
    ("kind", "TEXT"),
    ("n_counted", "INTEGER"),
    ("clusters", "INTEGER"),
    ("coverage", "TEXT"),
    ("brier.mean", "TEXT"),
    ("gain.mean", "TEXT"),
    ("gain.low", "TEXT"),
    ("gain.high", "TEXT"),
    ("why_unranked", "TEXT"),
    ("questions", "INTEGER"),
    ("brier_shared", "TEXT"),
    ("gain_on_crowd.mean", "TEXT"),
    ("views.unflagged.mean", "TEXT"),
    ("reliability.share", "TEXT"),
    ("reliability.first_try_share", "TEXT"),
    ("paper.total", "TEXT"),
    ("paper.largest_share", "TEXT"),
    ("pool.n", "INTEGER"),
    ("pool.mean_correlation", "TEXT"),
    ("pool.n_eff", "TEXT"),
)
_MONEY_COLUMNS = (
    ("attempts", "INTEGER"),
    ("spent", "TEXT"),
    ("standing", "TEXT"),
    ("committed", "TEXT"),
    ("unpriced", "INTEGER"),
)
_RUN_COLUMNS = (
    ("run", "TEXT PRIMARY KEY"),
    ("slot", "TEXT"),
    ("cohort", "TEXT"),
    ("status", "TEXT"),
    ("why", "TEXT"),
    ("questions", "INTEGER"),
    ("asked", "INTEGER"),
    ("valid", "INTEGER"),
    ("failed", "INTEGER"),
    ("waiting", "INTEGER"),
    *_MONEY_COLUMNS,
    ("line", "INTEGER"),
    ("close_line", "INTEGER"),
    ("opened_at", "TEXT"),
    ("closed_at", "TEXT"),
)
_COHORT_COLUMNS = (
    ("cohort", "TEXT"),
    ("state", "TEXT"),
    ("first_slot", "TEXT"),
    ("runs", "INTEGER"),
    ("missed", "INTEGER"),
    ("questions", "INTEGER"),
    ("forecasts", "INTEGER"),
    ("scored", "INTEGER"),
    ("void", "INTEGER"),
    ("failed", "INTEGER"),
    ("stale", "INTEGER"),
    ("open", "INTEGER"),
    ("waiting", "INTEGER"),
    *_MONEY_COLUMNS,
)
_COST_COLUMNS = (
    ("forecaster", "TEXT"),
    *_MONEY_COLUMNS,
    ("valid", "INTEGER"),
    ("committed_a_valid", "TEXT"),
    ("median_latency_ms", "INTEGER"),
)
_SEGMENT_COLUMNS = (
    ("segment", "TEXT PRIMARY KEY"),
    *((name, "TEXT") for name in ("methodology", "declaration_sha256")),
    ("line", "INTEGER"),
    *((name, "TEXT") for name in ("at", "time", "why")),
    ("runs", "INTEGER"),
)
_NOT_REVEALED_COLUMNS = (
    ("line", "INTEGER"),
    *((name, "TEXT") for name in ("kind", "role", "run", "forecaster", "sha256", "due")),
)
# What a roster says of each seat, beside its run and line.
_SEAT_COLUMNS = (
    *("forecaster", "entry", "company", "family", "model", "version", "mode", "provider"),
    *("quantisation", "open_weights", "side"),
)
_SHORT = {
    "brier.mean": "brier",
    "gain.mean": "gain",
    "gain_on_crowd.mean": "gain_on_crowd",
    "views.unflagged.mean": "gain_on_crowd_unflagged",
    "reliability.share": "reliability",
    "reliability.first_try_share": "first_try",
}


def sqlite_tables(
    cells: list[tuple[Any, ...]],
    attempts: list[tuple[Any, ...]],
    boards: Sequence[Mapping[str, Any]],
    fold: LeagueFold,
) -> Tables:
    """The tables of `league.sqlite`; `boards` has one of each segment, in their order."""
    hidden = [held.told() for held in fold.not_revealed]
    return {
        "not_revealed": _read_off(_NOT_REVEALED_COLUMNS, hidden),
        "segments": _read_off(_SEGMENT_COLUMNS, boards[-1]["segments"]),
        "corrections": (
            "line INTEGER PRIMARY KEY, at TEXT, lines TEXT, source TEXT, reason TEXT, outcome TEXT",
            [
                (n, held.at, " ".join(map(str, held.lines)), held.source, held.reason, held.outcome)
                for n, held in fold.corrections.items()
            ],
        ),
        "forecasts": (_columns_sql(COLUMNS), cells),
        "attempts": (_columns_sql(ATTEMPT_COLUMNS), attempts),
        "questions": (
            "question TEXT PRIMARY KEY, line INTEGER, cluster TEXT, source TEXT, type TEXT, "
            "horizon TEXT, contract TEXT, contract_id TEXT, event_id TEXT, event_id_v2 TEXT",
            _question_rows(fold),
        ),
        "resolutions": (
            "question TEXT PRIMARY KEY, line INTEGER, outcome TEXT, instant TEXT",
            [(name, s.line, s.outcome, s.instant) for name, s in fold.settled.items()],
        ),
        "seats": (_SEATS_SQL, _seat_rows(fold)),
        "leaderboard": _by_segment(_BOARD_COLUMNS, boards, "forecasters"),
        "runs": _by_segment(_RUN_COLUMNS, boards, "runs"),
        "cohorts": _by_segment(_COHORT_COLUMNS, boards, "cohorts"),
        "costs": _by_segment(
            _COST_COLUMNS,
            [{**board, "costs": (board["costs"] or {}).get("forecasters")} for board in boards],
            "costs",
        ),
        "dictionary": (
            "name TEXT, type TEXT, meaning TEXT, table_name TEXT",
            [
                (column.name, column.type, column.meaning, table)
                for table, columns in (("forecasts", COLUMNS), ("attempts", ATTEMPT_COLUMNS))
                for column in columns
            ],
        ),
    }


_SEATS_SQL = "run TEXT, line INTEGER, " + ", ".join(
    f"{name} {'INTEGER' if name == 'open_weights' else 'TEXT'}" for name in _SEAT_COLUMNS
)


def _question_rows(fold: LeagueFold) -> list[tuple[Any, ...]]:
    """A row a question, with the ids of its event contract; short ids where a profile is."""
    rows: list[tuple[Any, ...]] = []
    for name, (line, q) in fold.questions.items():
        ids = fold.contracts.ids[name]
        said = (name, line, q.cluster, q.source, q.type, q.horizon, seal_text(dict(q.contract)))
        rows.append((*said, ids.contract_id, ids.event_id or None, ids.event_id_v2 or None))
    return rows


def _seat_rows(fold: LeagueFold) -> list[tuple[Any, ...]]:
    """A row a run and seat; `open_weights` is 1, 0 or not said."""
    rows = []
    for run, (_, record) in fold.runs.items():
        for seat in fold.roster_of(run).seats:
            said = [getattr(seat, name) for name in _SEAT_COLUMNS]
            values = [int(value) if isinstance(value, bool) else value for value in said]
            rows.append((run, record.roster_line, *values))
    return rows


def _columns_sql(columns: Sequence[Column[Any]]) -> str:
    return ", ".join(f'"{column.name}" {_SQL_TYPES[column.type]}' for column in columns)


def _by_segment(
    columns: Sequence[tuple[str, str]], boards: Sequence[Mapping[str, Any]], key: str
) -> tuple[str, list[tuple[Any, ...]]]:
    """A table of what every segment's board has under a key, with the segment's name."""
    entries = [
        {**entry, "segment": board["segment"]} for board in boards for entry in board[key] or ()
    ]
    return _read_off([*columns, ("segment", "TEXT")], entries)


def _read_off(
    columns: Sequence[tuple[str, str]], entries: Sequence[Mapping[str, Any]]
) -> tuple[str, list[tuple[Any, ...]]]:
    """A table of some of the values in entries of the board, empty text as none."""
    names = [(_SHORT.get(path, path.replace(".", "_")), kind) for path, kind in columns]
    sql = ", ".join(f'"{name}" {kind}' for name, kind in names)
    return sql, [tuple(_under(entry, path) for path, _ in columns) for entry in entries]


def _under(entry: Mapping[str, Any], path: str) -> Any:
    value: Any = entry
    for key in path.split("."):
        value = None if value is None else value[key]
    return None if value == "" else value


def table_sql(name: str, columns: str) -> str:
    """The statement that makes a table, as SQLite keeps it."""
    return f"CREATE TABLE {name} ({columns})"


def write_sqlite(tables: Tables, path: Path) -> None:
    """Write the tables of `sqlite_tables` as one SQLite file."""
    base = sqlite3.connect(path)
    try:
        for name, (columns, rows) in tables.items():
            base.execute(table_sql(name, columns))
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                base.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608
        base.commit()
    finally:
        base.close()
