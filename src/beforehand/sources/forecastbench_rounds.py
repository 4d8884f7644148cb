"""ForecastBench's rounds flattened to CSV: the crowd on the markets, outcomes of the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from beforehand.errors import FormatError
from beforehand.sources.delimited import open_delimited
from beforehand.sources.faults import shown
from beforehand.sources.forecastbench import MARKETS
from beforehand.sources.forecastbench_answers import CROWD, OUTCOMES
from beforehand.sources.forecastbench_sets import NOTHING, event_name, settled_code
from beforehand.sources.jsontext import Number
from beforehand.sources.sheet import LIMITS, Limits, Sheet, read_unpacked, text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

COLUMNS = ("source", "id", "freeze_datetime", "freeze_value", "resolved", "resolved_to")


@dataclass(frozen=True)
class RoundOutcome:
    """A dataset question's outcome at one resolution date: 1, 0, -1 (void) or -2 (open)."""

    round: str
    source: str
    id: str
    frozen_value: str | None
    day: str
    outcome: int


def read_rounds(
    path: Path | str,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """The crowd as a forecaster on the market questions of many rounds, at each round's freeze.

    A market that stands in several rounds is one question asked several
    times. A row without a price is a missing answer; an empty or 0
    `resolved` is open, a settled value other than 0 and 1 is void.
    """
    path = Path(path)
    sheet = open_delimited(read_unpacked(path, limits), path.name, skip_bad=skip_bad, limits=limits)
    source, name, time, price, resolved, settled = _columns(sheet, COLUMNS)
    for index, held in enumerate(source):
        if held not in MARKETS:
            raise FormatError(
                f"{path.name}, {sheet.place(index)}, column 'source': {shown(held)} is no market; "
                "read its outcomes with read_round_outcomes"
            )
    names = [event_name((*key, "")) for key in zip(source, name, strict=True)]
    outcome = [
        OUTCOMES[_code(*values, sheet, index)]
        for index, values in enumerate(zip(resolved, settled, strict=True))
    ]
    columns = {
        "forecaster": [CROWD] * sheet.height,
        "question": names,
        "probability": ["missing" if value in NOTHING else value for value in price],
        "failure": ["no freeze value" if value in NOTHING else "" for value in price],
        "cluster": names,
        "time": time,
        "outcome": outcome,
    }
    crowd = text_sheet(
        columns,
        name=path.name,
        kind="ForecastBench rounds",
        place=sheet.place,
        notes=(*sheet.notes, "the crowd's price at the freeze is the forecast"),
        skipped=sheet.skipped,
    )
    return table_of(crowd, skip_bad=skip_bad, grid=grid)


def read_round_outcomes(path: Path | str, *, limits: Limits = LIMITS) -> tuple[RoundOutcome, ...]:
    """The outcomes of dataset questions, a row for each resolution date; they have no crowd."""
    path = Path(path)
    sheet = open_delimited(read_unpacked(path, limits), path.name, limits=limits)
    names = ("round", "source", "id", "freeze_value", "resolution_date", "resolved", "resolved_to")
    found = []
    for index, row in enumerate(zip(*_columns(sheet, names), strict=True)):
        turn, source, name, frozen, day, resolved, settled = row
        value = None if frozen in NOTHING else frozen
        code = _code(resolved, settled, sheet, index)
        found.append(RoundOutcome(turn, source, name, value, day, code))
    return tuple(found)


def _columns(sheet: Sheet, names: Sequence[str]) -> list[list[str]]:
    lacking = [name for name in names if name not in sheet.header]
    if lacking:
        raise FormatError(f"{sheet.name}, row 1: no column {', '.join(lacking)}")
    return [series.to_list() for series in sheet.take([sheet.header.index(name) for name in names])]


def _code(resolved: str, settled: str, sheet: Sheet, index: int) -> int:
    if resolved not in ("1", "0", ""):
        raise FormatError(
            f"{sheet.name}, {sheet.place(index)}, column 'resolved': {shown(resolved)}; "
            "1, 0 or nothing was expected"
        )
    return settled_code(Number(settled)) if resolved == "1" else -2
