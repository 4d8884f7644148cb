"""The fold of a book: its lines gathered by what they say, nothing computed yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from beforehand.book.bodies import open_sealed
from beforehand.errors import FormatError
from beforehand.publish.contracts import ContractRegister
from beforehand.publish.counted_run import counts_by_rule, outside_grace, slot_key
from beforehand.publish.unrevealed import BodyWatch, HasBody, Unrevealed
from beforehand.records.codec import BOOKKEEPING, decode_json
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.kinds import decode
from beforehand.records.league import KeyChange, League, Segment
from beforehand.records.question import Question
from beforehand.records.record import Record, Unknown
from beforehand.records.resolution import Correction, Resolution
from beforehand.records.run import Ask, Close, Roster, Run
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.records.succession import check_succession

ReadBody = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Settled:
    """An outcome as it stands after corrections.

    `line` is the line whose word it is, `first_line` the resolution that came
    first: what was sealed after that was sealed after the outcome.
    """

    line: int
    outcome: str
    instant: str
    first_line: int


@dataclass
class LeagueFold:
    """A league as its book tells it. Dicts keep the order of the book.

    `runs`, `closes` and `ends` are by run: what began, how it ended, and the
    line of the prices that were read again at its end. `replies` gives the
    first answer line of an ask line. `key` is the one in force at the end.
    `declaration` is the one of the last segment, `declarations` has each by
    its segment.
    `not_revealed` are the bodies that are due and not there, `erased` those
    that were dropped on request.
    `contracts` has the ids of every question's event contract.
    """

    league: League
    declaration: Declaration
    key: str = ""
    lines: int = 0
    last_at: str = ""
    segments: dict[str, Segment] = field(default_factory=dict)
    segment_lines: dict[str, int] = field(default_factory=dict)
    declarations: dict[str, Declaration] = field(default_factory=dict)
    questions: dict[str, tuple[int, Question]] = field(default_factory=dict)
    rosters: dict[int, Roster] = field(default_factory=dict)
    runs: dict[str, tuple[int, Run]] = field(default_factory=dict)
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    asks: dict[int, Ask] = field(default_factory=dict)
    replies: dict[int, int] = field(default_factory=dict)
    answers: list[tuple[int, Answer, tuple[Cell, ...] | None]] = field(default_factory=list)
    closes: dict[str, tuple[int, Close]] = field(default_factory=dict)
    settled: dict[str, Settled] = field(default_factory=dict)
    renewed: dict[str, dict[str, Quote]] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)
    corrections: dict[int, Correction] = field(default_factory=dict)
    not_revealed: tuple[Unrevealed, ...] = ()
    erased: frozenset[str] = frozenset()
    contracts: ContractRegister = field(default_factory=ContractRegister)

    @cached_property
    def undisclosed(self) -> dict[str, str]:
        """Why a due body is not there, by its hash: "erased", or "" where nothing says."""
        held = {each.sha256: "" for each in self.not_revealed}
        return held | dict.fromkeys(self.erased, "erased")

    @cached_property
    def corrected(self) -> dict[int, tuple[int, ...]]:
        """The corrections that are a word on each line, by its number."""
        held: dict[int, tuple[int, ...]] = {}
        for n, correction in self.corrections.items():
            for line in dict.fromkeys(correction.lines):
                held[line] = (*held.get(line, ()), n)
        return held

    def segment_at(self, line: int) -> str:
        """The segment in force at a line, "" before the first."""
        held = ""
        for name, n in self.segment_lines.items():
            if n <= line:
                held = name
        return held

    def roster_of(self, run: str) -> Roster:
        """The roster that a run names."""
        return self.rosters[self.runs[run][1].roster_line]

    def counts(self, run: str) -> bool:
        """Whether a run counts: by the declared rule on its slot, else by its own label.

        Where rule and label differ, the label moves no number; nor does a rerun.
        """
        record = self.runs[run][1]
        declared = self.declarations.get(record.segment, self.declaration)
        told = counts_by_rule(declared.content, record.slot)
        if told is None:
            return record.counted
        if outside_grace(declared.content, record.slot, record.at):
            return False
        return told and self._first_of_slot[record.segment, slot_key(record.slot)] == run

    @cached_property
    def _first_of_slot(self) -> dict[tuple[str, datetime | str], str]:
        """The first run of each slot of each segment."""
        held: dict[tuple[str, datetime | str], str] = {}
        for run, (_, record) in self.runs.items():
            held.setdefault((record.segment, slot_key(record.slot)), run)
        return held

    def quotes_of(self, run: str) -> dict[str, Quote]:
        """The quotes at a run's start, by question: its snapshot's, or newer ones it sealed.

        A run that was interrupted before its first asks reads prices anew; what
        it sealed after a question's first ask does not become its price.
        """
        first = {quote.question: quote for quote in self.snapshots[self.snapshot_line(run)].quotes}
        return first | self.renewed.get(run, {})

    def end_quotes_of(self, run: str) -> dict[str, Quote]:
        """The quotes that were read when a run ended, by question; none where none were."""
        line = self.ends.get(run)
        return {} if line is None else {q.question: q for q in self.snapshots[line].quotes}

    def snapshot_line(self, run: str) -> int:
        """The line of a run's snapshot."""
        return self.runs[run][1].snapshot_line

    def questions_of(self, run: str) -> dict[str, tuple[int, Question]]:
        """The questions that a run asked, by id."""
        record = self.runs[run][1]
        if record.questions is not None:
            return {name: self.questions[name] for name in record.questions}
        first, last = record.question_lines or (1, 0)
        return {name: held for name, held in self.questions.items() if first <= held[0] <= last}


def fold_book(
    lines: Iterable[bytes],
    read_body: ReadBody,
    as_of: str | None = None,
    has_body: HasBody | None = None,
) -> LeagueFold:
    """Gather a book's lines. FormatError names the line that cannot be read.

    IntegrityError where one id of an event stands for two contracts.

    `read_body` gives a body by its hash, None where it is withheld; what
    hangs on a withheld body is open until it is there. Of a publication,
    `as_of` is its moment and `has_body` whether a body is among its files:
    what is due by then and not there is not revealed. Without them nothing is
    said about that.
    """
    fold: LeagueFold | None = None
    watch = None if as_of is None or has_body is None else BodyWatch(as_of, has_body)
    for n, raw in enumerate(lines, 1):
        try:
            value = decode_json(raw)
            if not isinstance(value, dict):
                raise FormatError("a line is one JSON object")
            content = {key: item for key, item in value.items() if key not in BOOKKEEPING}
            record = decode(content)
            if fold is None:
                fold = _begin(record, read_body)
            _take(fold, n, record, read_body)
            if watch is not None:
                watch.take(n, record)
        except FormatError as error:
            raise FormatError(f"line {n}: {error}") from None
        fold.lines = n
        fold.last_at = str(content.get("at"))
    if fold is None:
        raise FormatError("the book is empty")
    if watch is not None:
        fold.not_revealed, fold.erased = watch.found(), frozenset(watch.erased)
    return fold


def _begin(record: Record | Unknown, read_body: ReadBody) -> LeagueFold:
    if not isinstance(record, League):
        raise FormatError("the first line is not a league line")
    data = read_body(record.declaration_sha256)
    if data is None:
        raise FormatError("the declaration is not among the bodies")
    declaration = Declaration.parse(data, "declaration")
    contracts = ContractRegister(declaration.contract)
    return LeagueFold(record, declaration, record.key, contracts=contracts)


def _take(fold: LeagueFold, n: int, record: Record | Unknown, read_body: ReadBody) -> None:
    match record:
        case Segment():
            _take_segment(fold, n, record, read_body)
        case Question():
            if record.question not in fold.questions:
                fold.contracts.take(n, record)
                fold.questions[record.question] = (n, record)
        case Roster():
            _check_roster(fold, record)
            fold.rosters[n] = record
        case Snapshot():
            fold.snapshots[n] = record
            if record.moment == "end":
                fold.ends.setdefault(record.run, n)
            elif record.run in fold.runs:
                _renew(fold, record)
        case Run():
            _check_run(fold, record)
            fold.runs.setdefault(record.run, (n, record))
        case Ask():
            _check_ask(fold, record)
            fold.asks[n] = record
            fold.asked |= {(record.run, str(name)) for name in record.questions}
        case KeyChange():
            fold.key = record.key
        case Close():
            fold.closes.setdefault(record.run, (n, record))
        case Answer():
            _check_answer(fold, record)
            if record.ask_line is not None:
                fold.replies.setdefault(record.ask_line, n)
            cells = _cells_of(record, read_body)
            for cell in cells or ():
                if cell.question not in fold.questions:
                    raise FormatError(f"the question {cell.question!r:.80} is not in the book")
            fold.answers.append((n, record, cells))
        case Resolution():
            if record.question not in fold.questions:
                raise FormatError(f"the question {record.question!r:.80} is not in the book")
            if record.question in fold.settled:
                raise FormatError(
                    f"a second resolution of {record.question}: only a correction changes one"
                )
            fold.settled[record.question] = Settled(n, record.outcome, record.instant, n)
        case Correction():
            _correct(fold, n, record)
        case _:
            pass


def _take_segment(fold: LeagueFold, n: int, record: Segment, read_body: ReadBody) -> None:
    """A later segment brings its own declaration, which is in force from its line on.

    No line names an earlier one again: what was scored by its rules would be by later ones.
    """
    if record.segment in fold.segments:
        began = fold.segment_lines[record.segment]
        raise FormatError(
            f"a new segment has a name of its own; {record.segment!r:.80} began on line {began}"
        )
    if record.declaration_sha256 is not None:
        data = read_body(record.declaration_sha256)
        if data is None:
            raise FormatError("the declaration of the segment is not among the bodies")
        declared = Declaration.parse(data, "declaration")
        if declared.sha256 != record.declaration_sha256:
            raise FormatError("the declaration of the segment does not hash to its name")
        if declared.segment != record.segment:
            raise FormatError(f"a new segment has a name of its own, not {record.segment!r:.80}")
        check_succession(fold.declaration, declared)
        fold.declaration = declared
    elif fold.segments:
        raise FormatError("a later segment names its declaration; this one does not")
    fold.segments[record.segment] = record
    fold.segment_lines[record.segment] = n
    fold.declarations[record.segment] = fold.declaration


def _renew(fold: LeagueFold, record: Snapshot) -> None:
    """Newer prices of a run, for the questions that nobody was asked yet."""
    held = fold.renewed.setdefault(record.run, {})
    for quote in record.quotes:
        if (record.run, quote.question) not in fold.asked:
            held[quote.question] = quote


def _correct(fold: LeagueFold, n: int, record: Correction) -> None:
    """A correction with an outcome takes the place of the resolutions it names.

    Any other is a word on earlier lines and moves nothing.
    """
    if any(type(line) is not int or not 0 < line < n for line in record.lines):
        raise FormatError("the correction names a line that is not before it")
    fold.corrections[n] = record
    if record.outcome is None:
        return
    named = [
        (question, settled)
        for question, settled in fold.settled.items()
        if settled.line in record.lines or settled.first_line in record.lines
    ]
    if not named:
        raise FormatError("the correction names no line with an outcome")
    for question, settled in named:
        fold.settled[question] = replace(settled, line=n, outcome=record.outcome)


def _check_run(fold: LeagueFold, run: Run) -> None:
    """A run has its own roster and its own prices: never another run's, nor those of an end."""
    roster, snapshot = fold.rosters.get(run.roster_line), fold.snapshots.get(run.snapshot_line)
    if roster is None or snapshot is None:
        raise FormatError("the run names a roster or snapshot that is not there")
    if roster.run != run.run or snapshot.run != run.run:
        raise FormatError("the run names the roster or snapshot of another run")
    if snapshot.moment == "end":
        raise FormatError("the run names a snapshot of a run's end as that of its start")
    if run.segment != next(reversed(fold.segments), None):
        raise FormatError(
            f"the run is of the segment {run.segment!r:.80}, which is not the one in force"
        )
    for name in run.questions or ():
        if name not in fold.questions:
            raise FormatError(f"the question {name!r:.80} is not in the book")


def _check_ask(fold: LeagueFold, ask: Ask) -> None:
    if ask.run not in fold.runs:
        raise FormatError(f"the run {ask.run!r:.80} is not in the book before this line")
    asked = fold.questions_of(ask.run)
    for name in ask.questions:
        if name not in asked:
            raise FormatError(f"the question {name!r:.80} is not one of the run's")


def _check_answer(fold: LeagueFold, answer: Answer) -> None:
    if answer.run not in fold.runs:
        raise FormatError(f"the run {answer.run!r:.80} is not in the book before this line")
    if answer.ask_line is None:
        return
    ask = fold.asks.get(answer.ask_line)
    if ask is None:
        raise FormatError(f"there is no ask on line {answer.ask_line} before this answer")
    if (ask.run, ask.forecaster) != (answer.run, answer.forecaster):
        raise FormatError(f"the ask on line {answer.ask_line} was of another run or forecaster")


def _check_roster(fold: LeagueFold, roster: Roster) -> None:
    names = [seat.forecaster for seat in roster.seats]
    if len(set(names)) != len(names):
        raise FormatError("a forecaster has two seats on one roster")
    for name in names:
        if name in fold.declaration.derived:
            raise FormatError(f"the seat {name!r} has the name of a derived forecaster")


def _cells_of(answer: Answer, read_body: ReadBody) -> tuple[Cell, ...] | None:
    """The cells in the line, or in its opened body; None while that is withheld."""
    if answer.cells is not None:
        return answer.cells
    for body in answer.bodies:
        if body.role == "answer":
            data = read_body(body.sha256)
            if data is None:
                return None
            return _cells_in(decode_json(open_sealed(data).content))
    return ()


def _cells_in(value: Any) -> tuple[Cell, ...]:
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise FormatError("the answer body holds no list of cells")
    built = []
    for cell in cells:
        Cell.shape.check(cell, "answer.cells")
        built.append(Cell.of(cell))
    return tuple(built)
