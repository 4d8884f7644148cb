"""The open tables: one row a forecast as CSV, Parquet and SQLite, and their data dictionary."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.publish.fold import LeagueFold
from beforehand.publish.leaderboard import loss, paired_gain
from beforehand.publish.rows import STATUSES, Row
from beforehand.scoring.exact import Grid, decimal_places

BRIER_PLACES = 8


@dataclass(frozen=True)
class Column:
    """A column of the forecasts table: its name, type, meaning, and how a row fills it."""

    name: str
    type: str
    meaning: str
    value: Callable[[Row, Grid], Any]


def _on_grid(units: int | None, grid: Grid) -> str | None:
    if units is None:
        return None
    return decimal_places(grid.probability(units), len(str(grid.steps)) - 1)


def _brier(row: Row, grid: Grid) -> str | None:
    if row.status != "counted":
        return None
    return decimal_places(grid.brier(loss(row, grid)), BRIER_PLACES)


def _gain(row: Row, grid: Grid) -> str | None:
    gain = paired_gain(row, grid) if row.status == "counted" else None
    return None if gain is None else decimal_places(gain, BRIER_PLACES)


COLUMNS = (
    Column("run", "string", "the run that asked", lambda r, g: r.run),
    Column("forecaster", "string", "who said it", lambda r, g: r.forecaster),
    Column("kind", "string", "asked, accepted or derived", lambda r, g: r.kind),
    Column("question", "string", "id of the event: hash of its contract", lambda r, g: r.question),
    Column("cluster", "string", "the source question; statistics cluster by it",
           lambda r, g: r.cluster),
    Column("source", "string", "where the question comes from", lambda r, g: r.source),
    Column("type", "string", "kind of question", lambda r, g: r.type),
    Column("horizon", "string", "the event's end", lambda r, g: r.horizon),
    Column("line", "integer",
           "the book line it stands in (derived: the run's or the snapshot's line)",
           lambda r, g: r.line),
    Column("cell", "integer", "its place in that line's cells, from 0; empty for derived ones",
           lambda r, g: r.cell),
    Column("sealed_at", "string", "that line's time, UTC", lambda r, g: r.sealed_at),
    Column("p", "string", "probability of yes as stated, decimal text; empty where missing",
           lambda r, g: r.p or None),
    Column("p_scored", "string", "p on the declared grid, half to even",
           lambda r, g: _on_grid(r.units, g)),
    Column("crowd", "string", "the market's price in the run's snapshot, on the grid",
           lambda r, g: _on_grid(r.crowd_units, g)),
    Column("others_median", "string",
           "median of everybody else's stated p on the event, on the grid",
           lambda r, g: _on_grid(r.others_units, g)),
    Column("others_n", "integer", "how many stated forecasts others_median is of",
           lambda r, g: r.others_n),
    Column("outcome", "string", "yes, no or void; empty while open", lambda r, g: r.outcome),
    Column("resolution_line", "integer", "the book line of the outcome",
           lambda r, g: r.resolution_line),
    Column("resolved_on", "string", "day or instant of the outcome",
           lambda r, g: r.resolved_on or None),
    Column("status", "string", "counted, or why not: " + ", ".join(STATUSES),
           lambda r, g: r.status),
    Column("why", "string", "reason of a missing answer", lambda r, g: r.why or None),
    Column("brier", "string", "(p_scored - outcome)^2, 0 to 1, exact; only where counted", _brier),
    Column("gain", "string",
           "Brier of others_median minus brier: above 0 is better than the others", _gain),
)  # fmt: skip


def table_rows(rows: list[Row], grid: Grid) -> list[tuple[Any, ...]]:
    """The cells of the forecasts table, None where a row has no value."""
    return [tuple(column.value(row, grid) for column in COLUMNS) for row in rows]


def forecasts_csv(cells: list[tuple[Any, ...]]) -> bytes:
    """The table as CSV (RFC 4180 with LF), empty where there is no value."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    writer.writerows(cells)
    return out.getvalue().encode("utf-8")


def write_sqlite(
    cells: list[tuple[Any, ...]], board: dict[str, Any], fold: LeagueFold, path: Path
) -> None:
    """`league.sqlite`: forecasts, questions, resolutions, the board, the data dictionary."""
    kinds = {"string": "TEXT", "integer": "INTEGER"}
    listed = ", ".join(f'"{column.name}" {kinds[column.type]}' for column in COLUMNS)
    base = sqlite3.connect(path)
    try:
        base.execute(f"CREATE TABLE forecasts ({listed})")
        marks = ", ".join("?" * len(COLUMNS))
        base.executemany(f"INSERT INTO forecasts VALUES ({marks})", cells)  # noqa: S608 - own names
        base.execute(
            "CREATE TABLE questions (question TEXT PRIMARY KEY, line INTEGER, cluster TEXT, "
            "source TEXT, type TEXT, horizon TEXT, contract TEXT)"
        )
        base.executemany(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (name, line, q.cluster, q.source, q.type, q.horizon, json.dumps(dict(q.contract)))
                for name, (line, q) in fold.questions.items()
            ),
        )
        base.execute(
            "CREATE TABLE resolutions (question TEXT PRIMARY KEY, line INTEGER, outcome TEXT, "
            "instant TEXT)"
        )
        base.executemany(
            "INSERT INTO resolutions VALUES (?, ?, ?, ?)",
            ((name, s.line, s.outcome, s.instant) for name, s in fold.settled.items()),
        )
        base.execute(
            "CREATE TABLE leaderboard (rank INTEGER, forecaster TEXT PRIMARY KEY, kind TEXT, "
            "n_counted INTEGER, clusters INTEGER, coverage TEXT, brier TEXT, gain TEXT, "
            "gain_low TEXT, gain_high TEXT, why_unranked TEXT)"
        )
        base.executemany(
            "INSERT INTO leaderboard VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (e["rank"], e["forecaster"], e["kind"], e["n_counted"], e["clusters"],
                 e["coverage"], e["brier"]["mean"], e["gain"]["mean"], e["gain"]["low"],
                 e["gain"]["high"], e["why_unranked"] or None)
                for e in board["forecasters"]
            ),
        )  # fmt: skip
        base.execute("CREATE TABLE dictionary (name TEXT, type TEXT, meaning TEXT)")
        base.executemany(
            "INSERT INTO dictionary VALUES (?, ?, ?)",
            ((column.name, column.type, column.meaning) for column in COLUMNS),
        )
        base.commit()
    finally:
        base.close()
