"""The table of forecasts, one row each, with its data dictionary."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from beforehand.publish.gains import crowd_gain, loss, paired_gain
from beforehand.publish.rows import STATUSES, Row
from beforehand.scoring.exact import Grid, decimal_places

BRIER_PLACES = 8


_Held = TypeVar("_Held")


@dataclass(frozen=True)
class Column(Generic[_Held]):
    """A column of a table: its name, type, meaning, and how a row fills it."""

    name: str
    type: str
    meaning: str
    value: Callable[[_Held, Grid], Any]


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


def _crowd_gain(row: Row, grid: Grid) -> str | None:
    gain = crowd_gain(row, grid) if row.status == "counted" else None
    return None if gain is None else decimal_places(gain, BRIER_PLACES)


def flag_number(value: bool | None) -> int | None:
    """A flag as 1 or 0, None where it is not known."""
    return None if value is None else int(value)


def _others_brier(row: Row, grid: Grid) -> str | None:
    if row.status != "counted" or row.others_loss is None:
        return None
    return decimal_places(row.others_loss / (grid.steps * grid.steps), BRIER_PLACES)


COLUMNS: tuple[Column[Row], ...] = (
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
    Column("gain_on_crowd", "string",
           "Brier of crowd minus brier: above 0 is better than the crowd's price",
           _crowd_gain),
    Column("slot", "string", "the instant the run stands for, UTC", lambda r, g: r.slot or None),
    Column("cohort", "string", "ISO week of the slot, where the league has cohorts",
           lambda r, g: r.cohort or None),
    Column("attempt", "integer", "the attempt this is, from 1; empty where nobody was asked",
           lambda r, g: r.attempt or None),
    Column("attempts", "integer", "attempts made, see attempts.csv; empty where nobody was asked",
           lambda r, g: r.attempts or None),
    Column("members", "integer", "how many forecasts a pool is of", lambda r, g: r.members),
    Column("bid", "string", "the bid in the run's snapshot that crowd is made of",
           lambda r, g: r.bid or None),
    Column("ask", "string", "the ask in the run's snapshot that crowd is made of",
           lambda r, g: r.ask or None),
    Column("leak", "integer",
           "1 where a blind answer gave the hidden price away (a pool: a member's did), 0 where "
           "none was found, empty where nobody looked",
           lambda r, g: flag_number(r.leak)),
    Column("moved", "integer",
           "1 where the price moved by more than 0.10 until the run's end, empty where unknown",
           lambda r, g: flag_number(r.moved)),
    Column("lookup", "integer",
           "1 where the price had left the declared band by the run's end, empty where unknown",
           lambda r, g: flag_number(r.lookup)),
    Column("market", "string",
           "the venue's market behind the question: what weighs once, however often it is asked "
           "or edited; empty where the question names none",
           lambda r, g: r.market or None),
    Column("corrections", "string",
           "the correction lines that are a word on this row's line or on its outcome's, with "
           "spaces between; what they name stands",
           lambda r, g: " ".join(map(str, r.corrections)) or None),
    Column("contract_id", "string",
           "id of the event contract in full length: evc1: and the SHA-256 of contracts/HEX.json",
           lambda r, g: r.contract_id or None),
    Column("event_id", "string",
           "the older short id, over the first keys of the declared contract profile; empty where "
           "none is declared; short ids can be made to collide",
           lambda r, g: r.event_id or None),
    Column("event_id_v2", "string",
           "the short id over all keys of the declared contract profile; empty where none is "
           "declared",
           lambda r, g: r.event_id_v2 or None),
    Column("segment", "string",
           "the segment of the run: no score, gain or rank is of more than one",
           lambda r, g: r.segment),
)  # fmt: skip


def table_rows(rows: list[Row], grid: Grid) -> list[tuple[Any, ...]]:
    """The cells of the forecasts table, None where a row has no value."""
    return [tuple(column.value(row, grid) for column in COLUMNS) for row in rows]


def table_csv(columns: Sequence[Column[Any]], cells: list[tuple[Any, ...]]) -> bytes:
    """A table as CSV (RFC 4180 with LF), empty where there is no value."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(cells)
    return out.getvalue().encode("utf-8")
