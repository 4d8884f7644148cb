"""What levels of proof are computed from: the runs of a book, as its lines tell them.

What has not the form it should have says nothing here: whether a book is
sound is found before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.conformance.said import listed, moment, text, texts
from beforehand.publish.counted_run import Labels
from beforehand.records.codec import decode_json

Declared = Mapping[str, Mapping[str, Any]]
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass
class RunFacts:
    """What the levels of a run are computed from; lines are book line numbers.

    `mislabelled` says how its label, counted or not, contradicts the declared rule,
    `unjudged` what kept that from being seen. The rule stands in line `rule_line`.
    `asked_of` are the pairs of seat and question that an ask line names.
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
    asked_of: set[tuple[str, str]] = field(default_factory=set)
    accepted_seats: int = 0
    no_asks: str = "this run asked nobody: answers were accepted as they came"
    mislabelled: str = ""
    unjudged: str = ""
    rule_line: int = 1


@dataclass(frozen=True)
class Rule:
    """Where the counted-run rule stands: line `line` of its chain.

    Evidence for it covers fewer than `before` lines, where that is not None.
    `words` tell of the place, `by_itself` of what the operator's chain shows.
    """

    line: int
    before: int | None
    words: str
    by_itself: str


class Facts(Protocol):
    """What levels need of a book of any form."""

    by_itself: str
    undecided: str

    @property
    def gaps(self) -> Mapping[str, str]:
        """By property, what a level does not exclude because of the book's form."""

    @property
    def runs(self) -> Mapping[str, RunFacts]:
        """Its runs by name."""

    @property
    def times(self) -> set[str]:
        """The times of its segments."""

    def first_outcome(self, run: RunFacts) -> datetime | None:
        """When the first of a run's questions was decided; None where nothing says."""

    def first_seen(self, run: RunFacts) -> datetime | None:
        """The same, or when the first reference was there."""

    def rule_of(self, run: RunFacts) -> Rule | None:
        """The rule by which the run counts or not; None where none is declared before."""


class BookFacts:
    """The runs of a book, the times of its segments, and when its questions were decided.

    By the rule of `declared`, the content of each segment's declaration and of
    the first one under "", labels are judged once more.
    """

    by_itself = "chain, tree and signed checkpoints"
    undecided = "no question is decided yet"
    gaps: ClassVar[Mapping[str, str]] = {}

    def __init__(self, lines: Iterable[bytes], declared: Declared | None = None) -> None:
        self._labels = Labels(declared)
        self._rule_line = 1
        self.runs: dict[str, RunFacts] = {}
        self.times: set[str] = set()
        self._settled: dict[str, datetime] = {}
        self._referred: dict[str, datetime] = {}
        self._rosters: dict[int, list[dict[str, Any]]] = {}
        self._questions: list[tuple[int, str]] = []
        for n, raw in enumerate(lines, 1):
            self._take(n, read_fields(raw))

    def _take(self, n: int, value: dict[str, Any]) -> None:
        kind, run = value.get("kind"), self.runs.get(text(value, "run"))
        if kind == "segment":
            self.times.add(text(value, "time"))
            self._labels.begin(value)
            self._rule_line = n if "declaration_sha256" in value else self._rule_line
        elif kind == "question":
            self._take_question(n, value)
        elif kind == "roster":
            self._rosters[n] = [seat for seat in listed(value, "seats") if isinstance(seat, dict)]
        elif kind == "run" and run is None:
            self._take_run(n, value)
        elif kind == "ask" and run is not None:
            self._take_ask(n, value, run)
        elif kind == "answer" and run is not None:
            self._take_answer(n, value, run)
        elif kind == "resolution":
            self._settled.setdefault(text(value, "question"), _moment(value))
        elif kind == "reference":
            _earlier(self._referred, text(value, "question"), _moment(value))

    def _take_question(self, n: int, value: dict[str, Any]) -> None:
        name, contract = text(value, "question"), value.get("contract")
        self._questions.append((n, name))
        if isinstance(contract, dict):
            try:
                _earlier(self._referred, name, instant_key(text(contract, "reference_at")))
            except FormatError:
                return  # an event without a reference, as most are

    def _take_run(self, n: int, value: dict[str, Any]) -> None:
        line = value.get("roster_line")
        seats = self._rosters.get(line, []) if type(line) is int else []
        run = RunFacts(text(value, "run"), n, text(value, "at"))
        run.asked_seats = {text(s, "forecaster") for s in seats if s.get("entry") == "asked"}
        run.accepted_seats = len(seats) - len(run.asked_seats)
        run.questions = set(texts(value, "questions"))
        span = listed(value, "question_lines")
        if len(span) == 2 and all(type(line) is int for line in span):
            run.questions |= {name for line, name in self._questions if span[0] <= line <= span[1]}
        run.mislabelled, run.unjudged = self._labels.judge(value)
        run.rule_line = self._rule_line
        self.runs[run.name] = run

    def _take_ask(self, n: int, value: dict[str, Any], run: RunFacts) -> None:
        seat, questions = text(value, "forecaster"), set(texts(value, "questions"))
        run.asks[n] = questions
        run.seats_with_ask.add(seat)
        run.asked_of |= {(seat, name) for name in questions}

    def _take_answer(self, n: int, value: dict[str, Any], run: RunFacts) -> None:
        line = value.get("ask_line")
        if value.get("status") == "answered":
            run.last_answer = n
        if type(line) is int and line in run.asks:
            known = any(name in self._settled for name in run.asks[line])
            if line not in run.ended and known and value.get("status") != "answered":
                run.held_back += 1
            run.ended.add(line)
        elif text(value, "forecaster") in run.asked_seats:
            run.unasked += 1

    def first_outcome(self, run: RunFacts) -> datetime | None:
        """When the first of a run's questions was decided; None while none is."""
        return min((self._settled[q] for q in run.questions if q in self._settled), default=None)

    def rule_of(self, run: RunFacts) -> Rule:
        """Ours stands in the declaration of the run's segment, which line 1 or its own seals."""
        return Rule(
            run.rule_line,
            run.line,
            f"rule and declaration in line {run.rule_line}",
            f"rule in line {run.rule_line}, roster before the run, asks before answers",
        )

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


def _moment(value: Mapping[str, Any]) -> datetime:
    """The instant of an outcome, a day's beginning, or before all where it cannot be read."""
    return moment(text(value, "instant")) or BEFORE_ALL


def _earlier(held: dict[str, datetime], name: str, when: datetime) -> None:
    held[name] = min(when, held.get(name, when))
