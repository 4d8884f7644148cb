"""The forecasts of "The Wisdom of Deliberating AI Crowds" (Schneider and Schramm 2025, MIT).

One row is one answer of GPT-5, Gemini 2.5 Pro or Claude Sonnet 4.5, before
(independent) or after (deliberative) a team talked. The file gives percents
throughout; they are divided by 100 here, as decimals.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

from beforehand.errors import FormatError
from beforehand.sources.delimited import open_delimited
from beforehand.sources.faults import shown
from beforehand.sources.sheet import LIMITS, Limits, Sheet, read_unpacked, text_columns, text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

STAGES = ("independent", "deliberative")
COLUMNS = ("question_id", "resolution", "forecast_id", "stage", "model", "probability")


def read_delib_ai_wisdom(
    path: Path | str,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """`forecasts.csv`, packed or not, as a table.

    The forecaster is "MODEL STAGE SEAT", where the seat is what the forecast
    id says besides the question: condition, information and position. So a
    forecaster answers a question once, and the names of one model and stage
    begin alike.
    """
    path = Path(path)
    sheet = open_delimited(read_unpacked(path, limits), path.name, skip_bad=skip_bad, limits=limits)
    question, outcome, name, stage, model, percent = text_columns(sheet, COLUMNS)
    forecasters = []
    for index, (asked, held, when, who) in enumerate(
        zip(question, name, stage, model, strict=True)
    ):
        if when not in STAGES or not held.startswith(f"{asked}-"):
            raise FormatError(
                f"{path.name}, {sheet.place(index)}: stage {shown(when)} and forecast id "
                f"{shown(held)} are not of this data set"
            )
        forecasters.append(f"{who} {when} {held.removeprefix(f'{asked}-')}")
    columns = {
        "forecaster": forecasters,
        "question": question,
        "probability": [_fraction(text, sheet, index) for index, text in enumerate(percent)],
        "outcome": outcome,
        "cluster": question,
    }
    table = text_sheet(
        columns,
        name=path.name,
        kind="delib-ai-wisdom",
        place=sheet.place,
        notes=(*sheet.notes, "the file's percents were divided by 100"),
        skipped=sheet.skipped,
        labels={"question": "question_id", "outcome": "resolution"},
    )
    return table_of(table, skip_bad=skip_bad, grid=grid)


def _fraction(text: str, sheet: Sheet, index: int) -> str:
    try:
        return f"{Decimal(text).scaleb(-2):f}"
    except InvalidOperation:
        raise FormatError(
            f"{sheet.name}, {sheet.place(index)}, column 'probability': {shown(text)} is not a "
            "percent"
        ) from None
