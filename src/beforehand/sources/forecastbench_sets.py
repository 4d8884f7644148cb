"""ForecastBench's own files of one round: question set, resolution set, forecast sets.

An event is a question and its resolution date; a market question has one
event without a date. Combination questions, whose id is a list of two, are
kept out and counted: their four directions are not events of one contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.sources.faults import LeftOut, Tally, shown
from beforehand.sources.forecastbench import MARKETS, plain_probability
from beforehand.sources.jsontext import Number, as_list, as_object, as_text, read_json
from beforehand.sources.outcome import NO, OPEN, VOID, YES, outcome_code
from beforehand.sources.sheet import LIMITS, Limits

DATASETS = ("acled", "dbnomics", "fred", "wikipedia", "yfinance")
NOTHING = (None, "", "N/A")
COMBINATION = "combination question"
UNKNOWN_SOURCE = "unknown source"

Event = tuple[str, str, str]


@dataclass(frozen=True)
class AskedQuestion:
    """One question of a set. `crowd` is a market's price at the freeze, None where none is given.

    `frozen_value` is the text of the value at the freeze of any source,
    `closes` the market's closing time; both None where the set has nothing
    or "N/A". `dates` are the resolution dates, none for a market.
    """

    source: str
    id: str
    text: str
    frozen_at: str
    frozen_value: str | None
    crowd: str | None
    closes: str | None
    dates: tuple[str, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events it asks for."""
        return tuple((self.source, self.id, day) for day in self.dates or ("",))


@dataclass(frozen=True)
class QuestionSet:
    """The questions of a round by (source, id), and what was kept out."""

    due: str
    name: str
    questions: Mapping[tuple[str, str], AskedQuestion]
    kept_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Settled:
    """What an event came to: 1 yes, 0 no, -1 void (nullified), -2 open; `day` as the set has it."""

    outcome: int
    day: str | None


@dataclass(frozen=True)
class ResolutionSet:
    """The outcomes of a round by event, and what was kept out."""

    due: str
    name: str
    outcomes: Mapping[Event, Settled]
    kept_out: tuple[LeftOut, ...]

    def outcome(self, event: Event) -> int:
        """The outcome code of an event; open where the set does not have it."""
        found = self.outcomes.get(event)
        return OPEN if found is None else found.outcome


def event_name(event: Event) -> str:
    """The question id of an event in a table.

    >>> event_name(("fred", "DGS20", "2026-04-05")), event_name(("metaculus", "1", ""))
    ('fred:DGS20@2026-04-05', 'metaculus:1')
    """
    source, name, day = event
    return f"{source}:{name}@{day}" if day else f"{source}:{name}"


def read_question_set(path: Path | str, *, limits: Limits = LIMITS) -> QuestionSet:
    """The question set in a file; FormatError names the entry and its fault.

    >>> from importlib import resources
    >>> folder = Path(str(resources.files("beforehand"))) / "data" / "forecastbench_2024_07_21"
    >>> len(read_question_set(folder / "question_set_human.json").questions)
    200
    """
    asked, name = _read(path, limits)
    tally = Tally(name, lambda index: f"questions[{index}]")
    questions: dict[tuple[str, str], AskedQuestion] = {}
    for position, entry in enumerate(as_list(asked, "questions", name)):
        if kept_out(entry, position, tally):
            continue
        where = f"{name}, questions[{position}]"
        question = _question(entry, where)
        key = (question.source, question.id)
        if key in questions:
            raise FormatError(f"{where}: a second question {event_name((*key, ''))}")
        questions[key] = question
    due = as_text(asked, "forecast_due_date", name)
    return QuestionSet(due, as_text(asked, "question_set", name), questions, tally.left_out())


def read_resolution_set(path: Path | str, *, limits: Limits = LIMITS) -> ResolutionSet:
    """The resolution set in a file. Settled at anything but 0 or 1 is void, never a half.

    >>> from importlib import resources
    >>> folder = Path(str(resources.files("beforehand"))) / "data" / "forecastbench_2024_07_21"
    >>> held = read_resolution_set(folder / "resolution_set_human_subset.json")
    >>> sum(settled.outcome == 1 for settled in held.outcomes.values())
    183
    """
    held, name = _read(path, limits)
    tally = Tally(name, lambda index: f"resolutions[{index}]")
    outcomes: dict[Event, Settled] = {}
    for position, entry in enumerate(as_list(held, "resolutions", name)):
        if kept_out(entry, position, tally):
            continue
        where = f"{name}, resolutions[{position}]"
        source = as_text(entry, "source", where)
        day = None if entry.get("resolution_date") in NOTHING else entry["resolution_date"]
        if source not in MARKETS and day is None:
            raise FormatError(f"{where}: a {source} question without a resolution date")
        event = (source, as_text(entry, "id", where), "" if source in MARKETS else str(day))
        if event in outcomes:
            raise FormatError(f"{where}: a second resolution of {event_name(event)}")
        if not isinstance(entry.get("resolved"), bool):
            raise FormatError(f"{where}: resolved is {shown(entry.get('resolved'))}")
        code = settled_code(entry.get("resolved_to")) if entry["resolved"] else OPEN
        outcomes[event] = Settled(code, None if day is None else str(day))
    due = as_text(held, "forecast_due_date", name)
    return ResolutionSet(due, as_text(held, "question_set", name), outcomes, tally.left_out())


def settled_code(value: Any) -> int:
    """The code of a settled value: exactly 1 and 0 are outcomes, the rest is void.

    >>> [settled_code(value) for value in (Number("1.0"), Number("0"), Number("0.5"), None)]
    [1, 0, -1, -1]
    """
    code = outcome_code(value) if isinstance(value, Number) else VOID
    return code if code in (YES, NO) else VOID


def kept_out(entry: Any, index: int, tally: Tally) -> bool:
    """Whether an entry is one that the importers leave aside, counted in `tally`."""
    if not isinstance(entry, dict):
        return False
    if isinstance(entry.get("id"), list) or entry.get("combination_of", "N/A") not in NOTHING:
        tally.add(COMBINATION, index, "its id is a list of questions; only single ones are read")
    elif entry.get("direction") not in (None, [], "N/A"):
        tally.add(COMBINATION, index, "it has directions of a combination question")
    elif _unknown(entry.get("source")):
        tally.add(UNKNOWN_SOURCE, index, f"the source {shown(entry['source'])} is not known")
    else:
        return False
    return True


def _unknown(source: Any) -> bool:
    named = isinstance(source, str) and not isinstance(source, Number)
    return named and source not in (*MARKETS, *DATASETS)


def _question(entry: Any, where: str) -> AskedQuestion:
    entry = as_object(entry, where)
    source, name = as_text(entry, "source", where), as_text(entry, "id", where)
    market = source in MARKETS
    dates = entry.get("resolution_dates")
    if market != (dates in NOTHING) or (not market and not _all_dates(dates)):
        raise FormatError(
            f"{where}: {'market' if market else 'dataset'} question with resolution_dates "
            f"{shown(dates)}"
        )
    value = entry.get("freeze_datetime_value")
    frozen = None if value in NOTHING else str(value)
    closes = entry.get("market_info_close_datetime")
    return AskedQuestion(
        source=source,
        id=name,
        text=as_text(entry, "question", where),
        frozen_at=as_text(entry, "freeze_datetime", where),
        frozen_value=frozen,
        crowd=plain_probability(frozen, f"{where}, freeze value") if market and frozen else None,
        closes=None if closes in NOTHING else str(closes),
        dates=() if market else tuple(dates or ()),
    )


def _all_dates(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(day, str) and day for day in value)


def _read(path: Path | str, limits: Limits) -> tuple[dict[str, Any], str]:
    path = Path(path)
    return as_object(read_json(path, limits), path.name), path.name
