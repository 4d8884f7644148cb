"""Metaculus's own download: `forecast_data.csv` beside `question_data.csv`, binary questions.

A forecast is read with the time at which it was made; an aggregate such as
`recency_weighted` is a forecaster like any other. Questions of other types
are kept out and counted.
"""

from __future__ import annotations

from pathlib import Path

from beforehand.errors import FormatError
from beforehand.sources.delimited import open_delimited
from beforehand.sources.faults import Tally, shown
from beforehand.sources.outcome import OPEN, UNREADABLE, VOID, outcome_code
from beforehand.sources.sheet import LIMITS, Limits, read_unpacked, text_columns, text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

FORECASTS, QUESTIONS = "forecast_data.csv", "question_data.csv"
FORECAST_COLUMNS = (
    *("Question ID", "Forecaster ID", "Forecaster Username", "Start Time", "Probability Yes"),
)
QUESTION_COLUMNS = ("Question ID", "Post ID", "Question Type", "Resolution")
LABELS = {
    "forecaster": "Forecaster Username",
    "question": "Question ID",
    "probability": "Probability Yes",
    "time": "Start Time",
}
OUTCOMES = {1: "yes", 0: "no", VOID: "void", OPEN: "open"}


def read_metaculus(
    forecasts: Path | str,
    questions: Path | str | None = None,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """The two files of a Metaculus download as a table; `questions` lies beside where not given.

    The question is the question id, its cluster the post (a group of
    questions is one post), the forecaster the username, or the id where
    there is no name. A resolution that is neither yes nor no, such as
    "ambiguous" or "annulled", is void; none is open.
    """
    path = Path(forecasts)
    beside = path.with_name(QUESTIONS) if questions is None else Path(questions)
    if not beside.is_file():
        raise FormatError(f"{path.name}: outcomes stand in {beside.name}, which is not beside it")
    sheet = open_delimited(read_unpacked(path, limits), path.name, skip_bad=skip_bad, limits=limits)
    asked = _questions(beside, limits)
    aside, bad = Tally(path.name, sheet.place), Tally(path.name, sheet.place)
    rows: list[tuple[str, ...]] = []
    places: list[int] = []
    cells = zip(*text_columns(sheet, FORECAST_COLUMNS), strict=True)
    for index, (question, number, username, start, probability) in enumerate(cells):
        held = asked.get(question)
        if held is None:
            fault = f"question {shown(question)} is not in {beside.name}"
            if not skip_bad:
                place = sheet.place(index)
                raise FormatError(f"{path.name}, {place}, column 'Question ID': {fault}")
            bad.add("unknown question", index, fault)
            continue
        kind, post, outcome = held
        if kind != "binary":
            aside.add(f"{kind} question", index, "only binary questions are read")
            continue
        rows.append((username or number, question, probability, start, post or question, outcome))
        places.append(index)
    if not rows:
        raise FormatError(f"{path.name}: no forecast on a binary question")
    names = ("forecaster", "question", "probability", "time", "cluster", "outcome")
    table = text_sheet(
        dict(zip(names, zip(*rows, strict=True), strict=True)),
        name=path.name,
        kind="Metaculus download",
        place=lambda index: sheet.place(places[index]),
        notes=sheet.notes,
        skipped=(*sheet.skipped, *bad.left_out()),
        labels=LABELS,
    )
    return table_of(table, skip_bad=skip_bad, grid=grid, kept_out=aside.left_out())


def _questions(path: Path, limits: Limits) -> dict[str, tuple[str, str, str]]:
    """Type, post and outcome word of every question by its id."""
    sheet = open_delimited(read_unpacked(path, limits), path.name, limits=limits)
    found: dict[str, tuple[str, str, str]] = {}
    cells = zip(*text_columns(sheet, QUESTION_COLUMNS), strict=True)
    for index, (question, post, kind, resolution) in enumerate(cells):
        code = outcome_code(resolution)
        if kind == "binary" and code == UNREADABLE:
            raise FormatError(
                f"{path.name}, {sheet.place(index)}, column 'Resolution': {shown(resolution)} is "
                "no resolution of a binary question"
            )
        if question in found:
            raise FormatError(
                f"{path.name}, {sheet.place(index)}, column 'Question ID': {shown(question)} again"
            )
        found[question] = (kind, post, OUTCOMES.get(code, "open"))
    return found
