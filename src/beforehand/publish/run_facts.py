"""What levels of proof are computed from: the runs of a book, as its lines tell them.

What has not the form it should have says nothing here: whether a book is
sound is found before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass
class RunFacts:
    """What the levels of a run are computed from; lines are book line numbers.

    `counted` is its own label, `rerun` whether an earlier run of its slot has that label too.
    """

    name: str
    line: int
    at: str
    questions: set[str] = field(default_factory=set)
    last_answer: int = 0
    asks: dict[int, set[str]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    unasked: int = 0
    held_back: int = 0
    asked_seats: set[str] = field(default_factory=set)
    seats_with_ask: set[str] = field(default_factory=set)
    accepted_seats: int = 0
    slot: str = ""
    counted: bool = False
    rerun: bool = False


class BookFacts:
    """The runs of a book, the times of its segments, and when its questions were decided."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.runs: dict[str, RunFacts] = {}
        self.times: set[str] = set()
        self._settled: dict[str, datetime] = {}
        self._referred: dict[str, datetime] = {}
        self._rosters: dict[int, list[dict[str, Any]]] = {}
        self._questions: list[tuple[int, str]] = []
        self._counted: set[str] = set()
        for n, raw in enumerate(lines, 1):
            self._take(n, read_fields(raw))

    def _take(self, n: int, value: dict[str, Any]) -> None:
        kind, run = value.get("kind"), self.runs.get(_word(value, "run"))
        if kind == "segment":
            self.times.add(_word(value, "time"))
        elif kind == "question":
            self._take_question(n, value)
        elif kind == "roster":
            self._rosters[n] = [seat for seat in _list(value, "seats") if isinstance(seat, dict)]
        elif kind == "run" and run is None:
            self._take_run(n, value)
        elif kind == "ask" and run is not None:
            run.asks[n] = _words(value, "questions")
            run.seats_with_ask.add(_word(value, "forecaster"))
        elif kind == "answer" and run is not None:
            self._take_answer(n, value, run)
        elif kind == "resolution":
            self._settled.setdefault(_word(value, "question"), _moment(value))
        elif kind == "reference":
            _earlier(self._referred, _word(value, "question"), _moment(value))

    def _take_question(self, n: int, value: dict[str, Any]) -> None:
        name, contract = _word(value, "question"), value.get("contract")
        self._questions.append((n, name))
        if isinstance(contract, dict):
            try:
                _earlier(self._referred, name, instant_key(_word(contract, "reference_at")))
            except FormatError:
                return  # an event without a reference, as most are

    def _take_run(self, n: int, value: dict[str, Any]) -> None:
        line = value.get("roster_line")
        seats = self._rosters.get(line, []) if type(line) is int else []
        run = RunFacts(_word(value, "run"), n, _word(value, "at"))
        run.asked_seats = {_word(s, "forecaster") for s in seats if s.get("entry") == "asked"}
        run.accepted_seats = len(seats) - len(run.asked_seats)
        run.questions = _words(value, "questions")
        span = _list(value, "question_lines")
        if len(span) == 2 and all(type(line) is int for line in span):
            run.questions |= {name for line, name in self._questions if span[0] <= line <= span[1]}
        run.slot, run.counted = _word(value, "slot"), value.get("counted") is True
        run.rerun = run.counted and run.slot in self._counted
        self._counted |= {run.slot} if run.counted else set()
        self.runs[run.name] = run

    def _take_answer(self, n: int, value: dict[str, Any], run: RunFacts) -> None:
        line = value.get("ask_line")
        if value.get("status") == "answered":
            run.last_answer = n
        if type(line) is int and line in run.asks:
            known = any(name in self._settled for name in run.asks[line])
            if line not in run.ended and known and value.get("status") != "answered":
                run.held_back += 1
            run.ended.add(line)
        elif _word(value, "forecaster") in run.asked_seats:
            run.unasked += 1

    def first_outcome(self, run: RunFacts) -> datetime | None:
        """When the first of a run's questions was decided; None while none is."""
        return min((self._settled[q] for q in run.questions if q in self._settled), default=None)

    def first_seen(self, run: RunFacts) -> datetime | None:
        """The same, or where that is earlier, when the first reference of a question was there."""
        times = [self._referred[q] for q in run.questions if q in self._referred]
        outcome = self.first_outcome(run)
        return min(times if outcome is None else [*times, outcome], default=None)


def read_fields(raw: bytes) -> dict[str, Any]:
    """The object of a line; empty where it is none."""
    try:
        value = decode_json(raw)
    except FormatError:
        return {}
    return value if isinstance(value, dict) else {}


def _word(value: Mapping[str, Any], key: str) -> str:
    held = value.get(key)
    return held if isinstance(held, str) else ""


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    held = value.get(key)
    return held if isinstance(held, list) else []


def _words(value: Mapping[str, Any], key: str) -> set[str]:
    return {name for name in _list(value, key) if isinstance(name, str)}


def _moment(value: Mapping[str, Any]) -> datetime:
    """The instant of an outcome, a day's beginning, or before all where it cannot be read."""
    instant = _word(value, "instant")
    try:
        return instant_key(instant if "T" in instant else f"{instant}T00:00:00Z")
    except FormatError:
        return BEFORE_ALL


def _earlier(held: dict[str, datetime], name: str, moment: datetime) -> None:
    held[name] = min(moment, held.get(name, moment))
