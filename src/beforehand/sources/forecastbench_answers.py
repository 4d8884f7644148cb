"""ForecastBench's answers as tables: a forecast set, and the crowd's prices of a question set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.sources.faults import Tally, shown
from beforehand.sources.forecastbench import MARKETS
from beforehand.sources.forecastbench_sets import (
    NOTHING,
    Event,
    QuestionSet,
    ResolutionSet,
    event_name,
    kept_out,
)
from beforehand.sources.jsontext import Number, as_list, as_object, as_text, read_json
from beforehand.sources.sheet import LIMITS, NESTED, Limits, text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

CROWD = "crowd"
NO_PRICE = "no freeze value"
NOT_RESOLVED = "not in the resolution set"
OUTCOMES = {1: "yes", 0: "no", -1: "void", -2: "open"}


def read_forecast_set(
    path: Path | str,
    *,
    questions: QuestionSet | None = None,
    resolutions: ResolutionSet | None = None,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """One forecaster's file of a round as a table.

    The forecaster is "organization: model", with the variant where one is
    given, since a variant is another forecaster. With `questions` an answer
    to a question or date that was not asked is bad, and market answers get
    the crowd's price; with `resolutions` they get outcomes, else all is open,
    and a market that the set does not have, as nullified ones, is kept out. A
    null forecast and one marked as imputed are missing answers.
    """
    path = Path(path)
    held = as_object(read_json(path, limits), path.name)
    if questions is not None and held.get("question_set") != questions.name:
        raise FormatError(
            f"{path.name}: answers {shown(held.get('question_set'))}, not {shown(questions.name)}"
        )
    forecaster = forecaster_name(held, path.name)
    aside, bad = Tally(path.name, _place), Tally(path.name, _place)
    rows: list[tuple[str, ...]] = []
    places: list[int] = []
    for position, entry in enumerate(as_list(held, "forecasts", path.name)):
        if kept_out(entry, position, aside):
            continue
        event, fault = _event(entry, questions)
        if event is None:
            if not skip_bad:
                raise FormatError(f"{path.name}, {_place(position)}: {fault}")
            bad.add("no event of the round", position, fault)
            continue
        if _not_resolved(event, resolutions):
            aside.add(NOT_RESOLVED, position, "a market that the round does not resolve")
            continue
        rows.append(_row(entry, event, questions, resolutions))
        places.append(position)
    if not rows:
        raise FormatError(f"{path.name}: no forecast on a single question")
    names = ("question", "probability", "failure", "cluster", "crowd", "outcome")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    sheet = text_sheet(
        {"forecaster": [forecaster] * len(rows), **columns},
        name=path.name,
        kind="ForecastBench forecast set",
        place=lambda index: _place(places[index]),
        notes=[] if resolutions else ["no resolution set is given: every question is open"],
        skipped=bad.left_out(),
        labels={"probability": "forecast", "question": "id"},
    )
    chosen = {} if questions else {"crowd": None}
    return table_of(sheet, skip_bad=skip_bad, grid=grid, columns=chosen, kept_out=aside.left_out())


def crowd_table(
    questions: QuestionSet, resolutions: ResolutionSet | None = None, grid: HasSteps | None = None
) -> ForecastTable:
    """The crowd as a forecaster: each market's price at the freeze, at the time of the freeze.

    A market without a price is a missing answer, one that the resolution set
    does not have is kept out. Dataset questions have no crowd; FormatError
    where no market question is left.

    >>> from beforehand.sources.forecastbench_sets import AskedQuestion
    >>> asked = AskedQuestion("infer", "1", "?", "2026-01-05T00:00:00Z", "0.3", "0.3", None, ())
    >>> crowd_table(QuestionSet("", "x", {("infer", "1"): asked}, ())).units.tolist()
    [3000]
    """
    aside = Tally(questions.name, lambda index: event_name(markets[index].events[0]))
    markets = [asked for asked in questions.questions.values() if asked.source in MARKETS]
    held = []
    for index, asked in enumerate(markets):
        if _not_resolved(asked.events[0], resolutions):
            aside.add(NOT_RESOLVED, index, "a market that the round does not resolve")
        else:
            held.append(asked)
    if not held:
        raise FormatError(f"{questions.name}: no market question that counts, hence no crowd")
    names = [event_name(asked.events[0]) for asked in held]
    columns = {
        "forecaster": [CROWD] * len(held),
        "question": names,
        "probability": [asked.crowd or "missing" for asked in held],
        "failure": ["" if asked.crowd else NO_PRICE for asked in held],
        "cluster": names,
        "time": [asked.frozen_at for asked in held],
        "outcome": [_outcome(asked.events[0], resolutions) for asked in held],
    }
    sheet = text_sheet(
        columns,
        name=questions.name,
        kind="ForecastBench question set",
        place=lambda index: names[index],
        labels={"probability": "freeze_datetime_value", "time": "freeze_datetime"},
        notes=["the crowd's price at the freeze is the forecast"],
    )
    return table_of(sheet, grid=grid, kept_out=(*questions.kept_out, *aside.left_out()))


def _not_resolved(event: Event, resolutions: ResolutionSet | None) -> bool:
    """Whether a round that is resolved leaves this market out, as it does with nullified ones."""
    if resolutions is None or event[0] not in MARKETS:
        return False
    return event not in resolutions.outcomes


def forecaster_name(held: dict[str, Any], where: str) -> str:
    """Organization, model and variant of a forecast set as one name.

    >>> forecaster_name({"organization": "A", "model": "m", "variant": "with price"}, "x")
    'A: m (with price)'
    """
    name = f"{as_text(held, 'organization', where)}: {as_text(held, 'model', where)}"
    variant = held.get("variant")
    return f"{name} ({variant})" if variant else name


def _place(position: int) -> str:
    return f"forecasts[{position}]"


def _event(entry: Any, questions: QuestionSet | None) -> tuple[Event | None, str]:
    """The event that an entry speaks of, or None and what is wrong."""
    try:
        entry = as_object(entry, "")
        source, name = as_text(entry, "source", ""), as_text(entry, "id", "")
    except FormatError as error:
        return None, str(error).removeprefix(": ")
    day = "" if source in MARKETS else entry.get("resolution_date")
    if day in NOTHING and source not in MARKETS:
        return None, f"a {source} answer without a resolution date"
    event = (source, name, str(day))
    if questions is None:
        return event, ""
    asked = questions.questions.get((source, name))
    if asked is None:
        return None, f"{event_name(event)} is not in the question set"
    if event not in asked.events:
        return None, f"{event_name(event)}: the question set has no such resolution date"
    return event, ""


def _row(
    entry: dict[str, Any],
    event: Event,
    questions: QuestionSet | None,
    resolutions: ResolutionSet | None,
) -> tuple[str, ...]:
    forecast = entry.get("forecast")
    failure = ""
    if entry.get("imputed") is True:
        failure = "imputed"
    elif forecast in NOTHING or forecast == "NaN":
        failure = "no forecast"
    if failure:
        cell = "missing"
    else:
        cell = str(forecast) if isinstance(forecast, (str, Number)) else NESTED
    asked = None if questions is None else questions.questions[event[:2]]
    crowd = asked.crowd or "" if asked else ""
    outcome = _outcome(event, resolutions)
    return event_name(event), cell, failure, event_name((*event[:2], "")), crowd, outcome


def _outcome(event: Event, resolutions: ResolutionSet | None) -> str:
    return OUTCOMES[-2 if resolutions is None else resolutions.outcome(event)]
