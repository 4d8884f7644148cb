"""How far a published league proves when, which and how much: a level a property and run.

Properties and levels are those of the sealed standard, 4.1: 0 is the
operator's word, 1 a chain by the operator, 2 anchored outside, 2+ with a time
that a third party signed. They are a vector and never one badge; each comes
with the evidence it rests on and with what passes it and is wrong all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from beforehand.anchors.anchor import CHECKS, PUBLIC_RECORD, SIGNED_TIME, Verdict
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

PROPERTIES = {
    "P1a": "not made up after the outcome",
    "P1b": "there before the outcome could be seen, by a signed time",
    "P2": "not replaced later",
    "P3": "the one that counts by a rule fixed before",
    "exclusivity": "no second book under this origin",
    "completeness": "nothing asked and left out",
}
LEVELS = ("0", "1", "2", "2+")
NEED_TOKENS = 2


@dataclass(frozen=True)
class Checked:
    """A piece of evidence over the first `size` lines, and what its check found."""

    anchor: str
    size: int
    verdict: Verdict


@dataclass(frozen=True)
class Level:
    """One property of one run: its level, what it rests on, and what it does not exclude."""

    level: str
    evidence: str
    not_excluded: str

    def content(self) -> dict[str, str]:
        """As JSON values."""
        return {
            "level": self.level,
            "evidence": self.evidence,
            "not_excluded": self.not_excluded,
        }


@dataclass
class _Run:
    """What the levels of a run are computed from; lines are book line numbers."""

    name: str
    line: int
    deadline: str = ""
    roster_line: int = 0
    questions: set[str] = field(default_factory=set)
    last_answer: int = 0
    asks: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    unasked: int = 0
    asked_seats: set[str] = field(default_factory=set)


def run_levels(
    lines: Iterable[bytes], checked: Sequence[Checked], *, sound: bool, witnessed: int = 0
) -> dict[str, dict[str, Level]]:
    """The levels of every run, by run and property.

    `lines` are the book's, `sound` whether its chain, tree and checkpoints were
    verified, `checked` the evidence over its prefixes, `witnessed` the size up
    to which enough of the reader's own witnesses cosigned.
    """
    book = _Book(lines)
    found = {}
    for run in book.runs.values():
        found[run.name] = _levels_of(run, book, checked, sound=sound, witnessed=witnessed)
    return found


class _Book:
    """The lines of a book that levels look at."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.runs: dict[str, _Run] = {}
        self.simulated = False
        self.declared_line = 1
        self.outcome_at: dict[str, datetime] = {}
        self._rosters: dict[int, dict[str, Any]] = {}
        self._asks: dict[int, str] = {}
        self._questions: list[tuple[int, str]] = []
        for n, raw in enumerate(lines, 1):
            self._take(n, decode_json(raw))

    def _take(self, n: int, value: dict[str, Any]) -> None:
        kind = value.get("kind")
        if kind == "segment":
            self.simulated |= value.get("time") == "simulated"
        elif kind == "question":
            self._questions.append((n, str(value.get("question"))))
        elif kind == "roster":
            self._rosters[n] = value
        elif kind == "run":
            self._take_run(n, value)
        elif kind == "ask" and value.get("run") in self.runs:
            self.runs[value["run"]].asks.add(n)
            self._asks[n] = value["run"]
        elif kind == "answer" and value.get("run") in self.runs:
            self._take_answer(n, value)
        elif kind == "resolution":
            self._take_resolution(value)

    def _take_run(self, n: int, value: dict[str, Any]) -> None:
        roster = self._rosters.get(value.get("roster_line", 0), {})
        run = _Run(str(value.get("run")), n, str(roster.get("deadline", "")))
        run.roster_line = int(value.get("roster_line", 0))
        run.asked_seats = {
            str(seat.get("forecaster"))
            for seat in roster.get("seats", ())
            if seat.get("entry") == "asked"
        }
        if "questions" in value:
            run.questions = {str(name) for name in value["questions"]}
        else:
            first, last = value.get("question_lines", (1, 0))
            run.questions = {name for line, name in self._questions if first <= line <= last}
        self.runs.setdefault(run.name, run)

    def _take_answer(self, n: int, value: dict[str, Any]) -> None:
        run = self.runs[value["run"]]
        if value.get("status") == "answered":
            run.last_answer = n
        line = value.get("ask_line")
        if line in run.asks:
            run.ended.add(line)
        elif value.get("forecaster") in run.asked_seats:
            run.unasked += 1

    def _take_resolution(self, value: dict[str, Any]) -> None:
        instant = str(value.get("instant", ""))
        try:
            moment = instant_key(instant if "T" in instant else f"{instant}T00:00:00Z")
        except FormatError:
            return
        self.outcome_at.setdefault(str(value.get("question")), moment)

    def first_outcome(self, run: _Run) -> datetime | None:
        """When the first of a run's questions was decided; None while none is."""
        times = [self.outcome_at[name] for name in run.questions if name in self.outcome_at]
        return min(times, default=None)


def _levels_of(
    run: _Run, book: _Book, checked: Sequence[Checked], *, sound: bool, witnessed: int
) -> dict[str, Level]:
    if book.simulated:
        word = Level("0", "the segment's time is simulated: its stamps prove nothing", "everything")
        return dict.fromkeys(PROPERTIES, word)
    if not sound:
        word = Level("0", "the book was not found sound", "everything")
        return dict.fromkeys(PROPERTIES, word)
    covering = [
        each
        for each in checked
        if each.size >= run.last_answer and each.verdict.result == CHECKS and run.last_answer
    ]
    return {
        "P1a": _before_outcome(run, book, covering),
        "P1b": _signed_before(run, book, covering),
        "P2": _not_replaced(run, covering, witnessed),
        "P3": _by_rule(run, book, checked),
        "exclusivity": _exclusive(run, covering, witnessed),
        "completeness": _complete(run),
    }


def _before_outcome(run: _Run, book: _Book, covering: Sequence[Checked]) -> Level:
    outcome = book.first_outcome(run)
    gaps = "books stamped side by side of which one is shown; an outcome known before its instant"
    if not run.last_answer:
        return Level("0", "no valid answer stands in this run", gaps)
    if outcome is None:
        return Level("1", "chain and signed checkpoints; no question is decided yet", gaps)
    for each in sorted(covering, key=lambda one: one.size):
        at = each.verdict.not_after
        if at is not None and instant_key(at) < outcome:
            level = SIGNED_TIME if each.verdict.level == SIGNED_TIME else PUBLIC_RECORD
            return Level(level, f"{each.anchor} over {each.size} lines, no later than {at}", gaps)
    return Level("1", "chain and signed checkpoints of the operator", "a book made up afterwards")


def _signed_before(run: _Run, book: _Book, covering: Sequence[Checked]) -> Level:
    """Enough signed times before the first outcome; one alone is named and not enough."""
    outcome = book.first_outcome(run)
    gaps = "authorities that all lie together; books stamped side by side"
    signers: dict[str, str] = {}
    for each in covering:
        at = each.verdict.not_after
        signed = each.verdict.level == SIGNED_TIME and at is not None
        if signed and outcome is not None and instant_key(str(at)) < outcome:
            signers.setdefault(each.anchor, str(at))
    if len(signers) >= NEED_TOKENS:
        told = ", ".join(f"{name} at {at}" for name, at in sorted(signers.items()))
        return Level(SIGNED_TIME, told, gaps)
    if signers:
        name, at = next(iter(signers.items()))
        return Level("2", f"{name} at {at}; {NEED_TOKENS} are asked for", gaps)
    if run.last_answer:
        return Level("1", "the operator's clock in the lines", "an operator's clock that lies")
    return Level("0", "no valid answer stands in this run", gaps)


def _not_replaced(run: _Run, covering: Sequence[Checked], witnessed: int) -> Level:
    gaps = "an operator who replaces book and proofs where nobody kept a copy"
    if witnessed >= run.last_answer > 0:
        return Level(SIGNED_TIME, f"your witnesses cosigned {witnessed} lines", gaps)
    if covering:
        names = sorted({each.anchor for each in covering})
        return Level(PUBLIC_RECORD, f"held outside by {', '.join(names)}", gaps)
    return Level("1", "chain, tree and signed checkpoints", gaps)


def _by_rule(run: _Run, book: _Book, checked: Sequence[Checked]) -> Level:
    gaps = "asking through accounts that are not in the book, and throwing answers away"
    if run.unasked:
        return Level("0", f"{run.unasked} answers of asked seats name no ask", gaps)
    for each in sorted(checked, key=lambda one: one.size):
        if each.verdict.result == CHECKS and each.verdict.not_after and each.size < run.line:
            return Level(
                PUBLIC_RECORD,
                f"rule and declaration in line 1, anchored by {each.anchor} before this run",
                gaps,
            )
    return Level("1", "rule in line 1, roster before the run, asks before answers", gaps)


def _exclusive(run: _Run, covering: Sequence[Checked], witnessed: int) -> Level:
    if witnessed >= run.last_answer > 0:
        return Level(
            SIGNED_TIME,
            f"enough of your witnesses cosigned {witnessed} lines of one history",
            "witnesses that all lie together",
        )
    public = [each for each in covering if each.anchor in ("git", "rekor")]
    if public:
        return Level(
            "1",
            f"a foreign channel holds it ({public[0].anchor}); look there for a second book",
            "a second book in a channel you do not read",
        )
    return Level("0", "no witness of yours cosigned it", "a second book, stamped side by side")


def _complete(run: _Run) -> Level:
    gaps = "asks without provider receipts: what was asked outside this book"
    if not run.asks:
        return Level("0", "this run asked nobody: answers were accepted as they came", gaps)
    if run.asks - run.ended:
        return Level("0", f"{len(run.asks - run.ended)} asks have no answer line", gaps)
    if run.unasked:
        return Level("0", f"{run.unasked} answers have no ask line", gaps)
    return Level("1", f"{len(run.asks)} asks, each with its answer line", gaps)


def least_levels(levels: Mapping[str, Mapping[str, Level]]) -> dict[str, str]:
    """Of each property the least level among all runs; "0" where there is no run."""
    least = {}
    for name in PROPERTIES:
        held = [run[name].level for run in levels.values()]
        least[name] = min(held, key=LEVELS.index, default="0")
    return least
