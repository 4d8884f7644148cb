"""ForecastBench's round files: questions, people's own forecasts, outcomes.

Read as published (question set, resolution set) and as shipped here (one CSV
of individual forecasts). An event is a question and its resolution date; a
market question has one event without a date. Format notes and licence lie
beside the data.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import decode_json
from beforehand.sources.jsontext import as_list, as_object, as_text

MARKETS = ("infer", "manifold", "metaculus", "polymarket")
MAX_FILE_BYTES = 64 << 20

# ForecastBench's table of 2025-09-05, row "Superforecaster median forecast":
# mean Brier and number of resolved questions, by type.
PUBLISHED_ON = "2025-09-05"
PUBLISHED_MEDIAN = {"dataset": ("0.122", 521), "market": ("0.082", 54), "overall": ("0.102", 575)}

Key = tuple[str, str, str]


@dataclass(frozen=True)
class ArchivedEvent:
    """A question at one resolution date; `text` is its entry in the question set."""

    contract: Mapping[str, str]
    cluster: str
    horizon: str
    source: str
    type: str
    text: bytes
    crowd: str | None


@dataclass(frozen=True)
class ArchivedAnswer:
    """One person's forecasts: `(event key, probability as plain decimal text)`, and their rows."""

    forecaster: str
    cells: tuple[tuple[Key, str], ...]
    evidence: bytes


@dataclass(frozen=True)
class ArchivedOutcome:
    """What a question resolved to, on which day; `evidence` are that day's entries."""

    key: Key
    outcome: str
    day: str
    evidence: bytes


@dataclass(frozen=True)
class Round:
    """One round, complete. Events are keyed by (source, id, resolution date)."""

    due: str
    frozen_at: str
    events: Mapping[Key, ArchivedEvent]
    answers: tuple[ArchivedAnswer, ...]
    outcomes: tuple[ArchivedOutcome, ...]
    snapshot: bytes


def read_round(questions: bytes, forecasts: bytes, resolutions: bytes) -> Round:
    """The round of three files; FormatError names file, line and fault."""
    asked = _object(questions, "question set")
    answers, keys = _read_forecasts(forecasts)
    due = as_text(asked, "forecast_due_date", "question set")
    entries = {}
    for position, held in enumerate(as_list(asked, "questions", "question set")):
        where = f"question set, questions[{position}]"
        entry = as_object(held, where)
        entries[as_text(entry, "source", where), as_text(entry, "id", where)] = entry
    events: dict[Key, ArchivedEvent] = {}
    frozen = set()
    for key in sorted(keys, key=_order(entries)):
        if key[:2] not in entries:
            raise FormatError(f"forecasts: the question {key[0]} {key[1]} is not in the set")
        entry = entries[key[:2]]
        events[key] = _event(key, entry, due)
        frozen.add(as_text(entry, "freeze_datetime", "question set"))
    if len(frozen) != 1:
        raise FormatError(f"question set: {len(frozen)} different freeze times in one round")
    markets = [entry for (source, _), entry in entries.items() if source in MARKETS]
    return Round(
        due=due,
        frozen_at=frozen.pop().replace("+00:00", "Z"),
        events=events,
        answers=answers,
        outcomes=_read_outcomes(resolutions, events),
        snapshot=_bytes(markets),
    )


def _order(entries: Mapping[tuple[str, str], Any]) -> Any:
    places = {key: place for place, key in enumerate(entries)}
    return lambda key: (places.get(key[:2], -1), key[2])


def _event(key: Key, entry: Mapping[str, Any], due: str) -> ArchivedEvent:
    source, name, day = key
    market = source in MARKETS
    if market == bool(day):
        raise FormatError(f"{source} {name}: a {source} event with the date {day or 'none'}")
    if entry.get("combination_of", "N/A") != "N/A":
        raise FormatError(f"{source} {name}: a combination question has no place in this round")
    contract = {
        "benchmark": "ForecastBench",
        "source": source,
        "source_id": name,
        "forecast_due": due,
        "resolution_date": day,
        "rule": "yes if ForecastBench resolves it to 1, no if to 0, void otherwise",
    }
    return ArchivedEvent(
        contract=contract,
        cluster=f"{source}:{name}",
        horizon=day or "until the market resolves",
        source=source,
        type="market" if market else "dataset",
        text=_bytes(entry),
        crowd=_crowd(entry) if market else None,
    )


def _crowd(entry: Mapping[str, Any]) -> str | None:
    """The market's price at freeze; None where the set gives none (never a default)."""
    value = entry.get("freeze_datetime_value")
    if value in (None, "", "N/A"):
        return None
    return plain_probability(str(value), f"freeze value of {entry.get('id')!r:.80}")


def plain_probability(text: str, where: str) -> str:
    """The same number in plain decimal notation, from 0 to 1; FormatError where it is none.

    >>> plain_probability("2e-05", "line 1")
    '0.00002'
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise FormatError(f"{where}: {text!r:.40} is not a number") from None
    if not number.is_finite() or not 0 <= number <= 1:
        raise FormatError(f"{where}: {text!r:.40} is not a probability from 0 to 1")
    return f"{number:f}"


def _read_forecasts(data: bytes) -> tuple[tuple[ArchivedAnswer, ...], set[Key]]:
    text = _decode(data, "forecasts")
    raw = [line + "\n" for line in text.split("\n")]
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, None)
    if header != ["forecaster", "source", "id", "resolution_date", "forecast"]:
        raise FormatError(f"forecasts: the header is {header!r:.120}")
    cells: dict[str, dict[Key, str]] = {}
    rows: dict[str, list[str]] = {}
    keys: set[Key] = set()
    for row in reader:
        where = f"forecasts, line {reader.line_num}"
        if len(row) != 5:
            raise FormatError(f"{where}: {len(row)} fields instead of 5")
        forecaster, key = row[0], (row[1], row[2], row[3])
        held = cells.setdefault(forecaster, {})
        if key in held:
            raise FormatError(f"{where}: a second forecast of {forecaster} on {key}")
        held[key] = plain_probability(row[4], where)
        rows.setdefault(forecaster, [raw[0]]).append(raw[reader.line_num - 1])
        keys.add(key)
    answers = tuple(
        ArchivedAnswer(name, tuple(held.items()), "".join(rows[name]).encode("utf-8"))
        for name, held in cells.items()
    )
    return answers, keys


def _read_outcomes(data: bytes, events: Mapping[Key, ArchivedEvent]) -> tuple[ArchivedOutcome, ...]:
    """Outcomes of the round's events, by day; what is not resolved stays open and is left out."""
    settled: dict[str, list[tuple[Key, str, Any]]] = {}
    seen = set()
    entries = as_list(_object(data, "resolution set"), "resolutions", "resolution set")
    for position, held in enumerate(entries):
        where = f"resolution set, resolutions[{position}]"
        entry = as_object(held, where)
        source, day = as_text(entry, "source", where), as_text(entry, "resolution_date", where)
        key = (source, as_text(entry, "id", where), "" if source in MARKETS else day)
        if key in seen:
            raise FormatError(f"{where}: a second resolution of {key}")
        seen.add(key)
        if key in events and entry.get("resolved") is True:
            settled.setdefault(day, []).append((key, _outcome(entry.get("resolved_to")), entry))
    outcomes = []
    for day in sorted(settled):
        evidence = _bytes([entry for _, _, entry in settled[day]])
        outcomes += [
            ArchivedOutcome(key, outcome, day, evidence) for key, outcome, _ in settled[day]
        ]
    return tuple(outcomes)


def _outcome(value: Any) -> str:
    """Yes and no are exactly 1 and 0; any other settled value is void, never a half."""
    if isinstance(value, bool) or value not in (0, 1):
        return "void"
    return "yes" if value == 1 else "no"


def _decode(data: bytes, where: str) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise FormatError(f"{where}: over the limit of {MAX_FILE_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: not UTF-8 at byte {error.start}") from None


def _object(data: bytes, where: str) -> dict[str, Any]:
    _decode(data, where)
    return as_object(decode_json(data), where)


def _bytes(value: Any) -> bytes:
    """Readable JSON, in the order of the file."""
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8") + b"\n"
