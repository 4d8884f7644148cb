"""ForecastBench's rounds flattened to CSV: the crowd on the markets, outcomes of the datasets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from beforehand.errors import FormatError
from beforehand.sources.delimited import open_delimited
from beforehand.sources.faults import Tally, shown
from beforehand.sources.forecastbench import MARKETS
from beforehand.sources.forecastbench_answers import (
    CROWD,
    NO_PRICE,
    NOT_RESOLVED,
    OUTCOMES,
)
from beforehand.sources.forecastbench_sets import NOTHING, event_name, settled_code
from beforehand.sources.jsontext import Number
from beforehand.sources.sheet import (
    LIMITS,
    Limits,
    Sheet,
    read_unpacked,
    text_columns,
    text_sheet,
)
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
    times. A row without a price is a missing answer. `resolved` is 1, 0 for
    open, and empty where the round's resolution set does not have the
    question, because it was nullified or settled before it was asked: such a
    row is kept out. A settled value other than 0 and 1 is void.
    """
    path = Path(path)
    sheet = open_delimited(read_unpacked(path, limits), path.name, skip_bad=skip_bad, limits=limits)
    aside = Tally(path.name, sheet.place)
    rows: list[tuple[str, ...]] = []
    places: list[int] = []
    for index, row in enumerate(zip(*text_columns(sheet, COLUMNS), strict=True)):
        source, name, time, price, resolved, settled = row
        if source not in MARKETS:
            raise FormatError(
                f"{path.name}, {sheet.place(index)}, column 'source': {shown(source)} is no "
                "market; read its outcomes with read_round_outcomes"
            )
        outcome = OUTCOMES[_code(resolved, settled, sheet, index)]
        if not resolved:
            aside.add(NOT_RESOLVED, index, "the round does not resolve this question")
            continue
        event = event_name((source, name, ""))
        none = price in NOTHING
        cells = ("missing", NO_PRICE) if none else (price, "")
        rows.append((CROWD, event, *cells, event, time, outcome))
        places.append(index)
    if not rows:
        raise FormatError(f"{path.name}: no row that its round resolves")
    names = ("forecaster", "question", "probability", "failure", "cluster", "time", "outcome")
    crowd = text_sheet(
        dict(zip(names, zip(*rows, strict=True), strict=True)),
        name=path.name,
        kind="ForecastBench rounds",
        place=lambda index: sheet.place(places[index]),
        notes=(*sheet.notes, "the crowd's price at the freeze is the forecast"),
        skipped=sheet.skipped,
        labels={"probability": "freeze_value", "time": "freeze_datetime", "question": "id"},
    )
    return table_of(crowd, skip_bad=skip_bad, grid=grid, kept_out=aside.left_out())


def read_round_outcomes(path: Path | str, *, limits: Limits = LIMITS) -> tuple[RoundOutcome, ...]:
    """The outcomes of dataset questions, a row for each resolution date; they have no crowd."""
    path = Path(path)
    sheet = open_delimited(read_unpacked(path, limits), path.name, limits=limits)
    names = ("round", "source", "id", "freeze_value", "resolution_date", "resolved", "resolved_to")
    found = []
    for index, row in enumerate(zip(*text_columns(sheet, names), strict=True)):
        turn, source, name, frozen, day, resolved, settled = row
        value = None if frozen in NOTHING else frozen
        code = _code(resolved, settled, sheet, index)
        found.append(RoundOutcome(turn, source, name, value, day, code))
    return tuple(found)


def _code(resolved: str, settled: str, sheet: Sheet, index: int) -> int:
    if resolved not in ("1", "0", ""):
        raise FormatError(
            f"{sheet.name}, {sheet.place(index)}, column 'resolved': {shown(resolved)}; "
            "1, 0 or nothing was expected"
        )
    return settled_code(Number(settled)) if resolved == "1" else -2
