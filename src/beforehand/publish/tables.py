"""The open tables: one row a forecast as CSV, Parquet and SQLite, and their data dictionary."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.publish.fold import LeagueFold
from beforehand.publish.leaderboard import loss, paired_gain
from beforehand.publish.rows import STATUSES, Row
from beforehand.records.codec import seal_text
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


def _others_brier(row: Row, grid: Grid) -> str | None:
    if row.status != "counted" or row.others_loss is None:
        return None
    return decimal_places(row.others_loss / (grid.steps * grid.steps), BRIER_PLACES)


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
    Column("sealed_at", "string",
           "that line's time, UTC; empty where a value was computed from several lines",
           lambda r, g: r.sealed_at or None),
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
    Column("others_brier", "string",
           "mean Brier of everybody else's stated p on the event; only where counted",
           _others_brier),
    Column("gain", "string",
           "Brier of others_median minus brier: above 0 is better than their median", _gain),
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


def sqlite_tables(
    cells: list[tuple[Any, ...]], board: dict[str, Any], fold: LeagueFold
) -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """The tables of `league.sqlite`: by name the SQL of the columns, and the rows in order."""
    kinds = {"string": "TEXT", "integer": "INTEGER"}
    return {
        "forecasts": (", ".join(f'"{c.name}" {kinds[c.type]}' for c in COLUMNS), cells),
        "questions": (
            "question TEXT PRIMARY KEY, line INTEGER, cluster TEXT, source TEXT, type TEXT, "
            "horizon TEXT, contract TEXT",
            [
                (name, line, q.cluster, q.source, q.type, q.horizon, seal_text(dict(q.contract)))
                for name, (line, q) in fold.questions.items()
            ],
        ),
        "resolutions": (
            "question TEXT PRIMARY KEY, line INTEGER, outcome TEXT, instant TEXT",
            [(name, s.line, s.outcome, s.instant) for name, s in fold.settled.items()],
        ),
        "leaderboard": (
            "rank INTEGER, forecaster TEXT PRIMARY KEY, kind TEXT, n_counted INTEGER, "
            "clusters INTEGER, coverage TEXT, brier TEXT, gain TEXT, gain_low TEXT, "
            "gain_high TEXT, why_unranked TEXT",
            [_board_row(entry) for entry in board["forecasters"]],
        ),
        "dictionary": (
            "name TEXT, type TEXT, meaning TEXT",
            [(column.name, column.type, column.meaning) for column in COLUMNS],
        ),
    }


def _board_row(entry: dict[str, Any]) -> tuple[Any, ...]:
    gain = entry["gain"]
    return (
        *(entry[key] for key in ("rank", "forecaster", "kind", "n_counted", "clusters")),
        entry["coverage"],
        entry["brier"]["mean"],
        *(gain[key] for key in ("mean", "low", "high")),
        entry["why_unranked"] or None,
    )


def table_sql(name: str, columns: str) -> str:
    """The statement that makes a table, as SQLite keeps it."""
    return f"CREATE TABLE {name} ({columns})"


def write_sqlite(tables: dict[str, tuple[str, list[tuple[Any, ...]]]], path: Path) -> None:
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
