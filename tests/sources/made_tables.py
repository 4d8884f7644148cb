"""Small tables for the readers' tests, and what is checked of every table that was read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beforehand.errors import FormatError
from beforehand.sources.sheet import LIMITS, Limits
from beforehand.sources.table import ForecastTable, read_table

HEADER = "forecaster,question,probability,outcome"


GOOD = ["a,q1,0.62,1", "a,q2,0.1,0", "b,q1,0.5,1"]


def refused(path: object, *said: str, limits: Limits = LIMITS, skip_bad: bool = False) -> str:
    with pytest.raises(FormatError) as caught:
        read_table(path, limits=limits, skip_bad=skip_bad)
    message = str(caught.value)
    for part in said:
        assert part in message, message
    assert len(message) < 1500
    return message


def left_out(path: object, reason: str, rows: list[int], limits: Limits = LIMITS) -> ForecastTable:
    table = read_table(path, skip_bad=True, limits=limits)
    found = {left.reason: left for left in table.skipped}
    assert list(found) == [reason]
    assert found[reason].count == len(rows)
    assert found[reason].first == tuple(f"line {row}" for row in rows[:5])
    assert found[reason].first[0] in found[reason].example
    return table


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def csv_file(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rows(table: ForecastTable) -> list[tuple[Any, ...]]:
    """The rows of a table as plain values."""

    def of(names: tuple[str, ...], index: Any) -> list[Any]:
        return [None] * len(table) if index is None else [names[place] for place in index.tolist()]

    def plain(values: Any) -> list[Any]:
        return [None] * len(table) if values is None else values.tolist()

    columns = (
        of(table.forecasters, table.forecaster_index),
        of(table.questions, table.question_index),
        plain(table.units),
        plain(table.outcome),
        plain(table.crowd),
        of(table.clusters, table.cluster_index),
        plain(table.time),
        of(table.segments, table.segment_index),
    )
    return list(zip(*columns, strict=True))


def facts(table: ForecastTable) -> tuple[Any, ...]:
    """Everything of a table but the order of its rows, and where it came from."""
    return (
        sorted(rows(table), key=repr),
        table.forecasters,
        table.questions,
        table.clusters,
        table.segments,
        [dict(counts) for counts in table.missing],
        (table.rounded, table.largest_rounding),
        (table.crowd_rounded, table.largest_crowd_rounding),
        [(left.reason, left.count) for left in table.skipped],
    )
