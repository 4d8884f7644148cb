"""ForecastBench's 40 superforecasters of July 2024 as a table: the round that is shipped."""

from __future__ import annotations

from importlib import resources

from beforehand.sources.forecastbench import Round, read_round
from beforehand.sources.forecastbench_sets import event_name
from beforehand.sources.sheet import text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

SHIPPED = "forecastbench_2024_07_21"
COLUMNS = ("forecaster", "source", "id", "resolution_date", "forecast")
FILES = (
    "question_set_human.json",
    "superforecaster_individual.csv",
    "resolution_set_human_subset.json",
)


def shipped_superforecasters(grid: HasSteps | None = None) -> ForecastTable:
    """The shipped round (CC BY-SA 4.0, licence beside the data) as a table.

    >>> len(shipped_superforecasters())
    7693
    """
    folder = resources.files("beforehand").joinpath("data", SHIPPED)
    questions, forecasts, outcomes = (folder.joinpath(name).read_bytes() for name in FILES)
    return read_superforecasters(questions, forecasts, outcomes, grid=grid)


def read_superforecasters(
    questions: bytes, forecasts: bytes, resolutions: bytes, *, grid: HasSteps | None = None
) -> ForecastTable:
    """The three files of the round, read by `forecastbench.read_round`, as a table.

    A question is an event, that is a question and its resolution date; the
    cluster is the question, the crowd the market's price at the freeze.
    """
    return round_table(read_round(questions, forecasts, resolutions), grid=grid)


def round_table(held: Round, *, grid: HasSteps | None = None) -> ForecastTable:
    """A round that is read, as a table; an event without an outcome is open."""
    outcomes = {item.key: item.outcome for item in held.outcomes}
    rows = [
        (
            answer.forecaster,
            event_name(key),
            text,
            held.events[key].cluster,
            held.events[key].crowd or "",
            outcomes.get(key, "open"),
        )
        for answer in held.answers
        for key, text in answer.cells
    ]
    names = ("forecaster", "question", "probability", "cluster", "crowd", "outcome")
    sheet = text_sheet(
        dict(zip(names, zip(*rows, strict=True), strict=True)),
        name=f"ForecastBench {held.due}",
        kind="ForecastBench superforecasters",
        place=lambda index: f"{rows[index][0]} on {rows[index][1]}",
    )
    return table_of(sheet, grid=grid)
