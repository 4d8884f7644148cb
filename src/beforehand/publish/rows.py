"""One row a forecast: it counts, or it says why not.

`counting.py` decides; here what was decided is joined to the question, its
crowd and its outcome. Whoever is asked has one row a run and question,
however many attempts that took: each attempt stands in `attempts.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from beforehand.clock import instant_key
from beforehand.publish.counting import (
    JudgedRun,
    Said,
    answers_by_run,
    closing_of,
    market_of,
)
from beforehand.publish.crowd import PriceMove
from beforehand.publish.derived import Derived, base_rate_of, derived_of, questions_counted
from beforehand.publish.fold import LeagueFold, Settled
from beforehand.publish.rules import Rules
from beforehand.records.question import Question
from beforehand.scoring.exact import Grid, decimal_places, mean, median

STATUSES = {
    "counted": "the question is resolved yes or no and the forecast counts",
    "open": "the book holds no outcome of the question",
    "stale": "no outcome the declared days after the question's end; a later one reopens it",
    "void": "the question was resolved to neither yes nor no: it scores nobody",
    "missing": "the forecaster stated no probability; `why` holds the reason",
    "pending": "asked, and the run still waits for an answer",
    "sealed": "answered; the answer is withheld until it is due",
    "not_revealed": "answered; the answer was due and was never disclosed",
    "after_outcome": "the answer was sealed after the question's outcome",
    "late": "the answer was sealed after the deadline, or came after it or the question's end",
    "not_counted": "another answer of this forecaster counts by the declared rule",
    "not_on_roster": "the run's roster does not expect this forecaster",
    "not_asked": "the run did not ask this question, or not of this forecaster",
    "uncounted_run": "the run does not count by the declared rule, or by its own line",
}
# Statuses of a forecast that was stated in time, whatever became of the question.
IN = ("counted", "open", "stale", "void")


@dataclass(frozen=True)
class Row:
    """A forecast joined to its question, its crowd and its outcome.

    `line` is the book line it stands in, `cell` its place there from 0. A
    derived forecast has no cell: `line` is the snapshot or the run it was
    computed from. `p` is the text as given, `units` the grid point that is
    scored; `crowd_units` the market's price in the run's snapshot, the middle
    of `bid` and `ask` where it has two sides. On the same event there are
    `others_n` stated forecasts of everybody else: `others_units` is their
    median, `others_loss` the mean of their losses in squared grid steps, None
    while there is no outcome. `sealed_at` is the time of the line, and empty
    where a value was computed from many.

    `market` is what weighs once: the venue's market behind the question, whose
    text or end may be edited, so that it is asked as another question.
    `contract_id` is the full id of the event contract; the short ids are empty
    where the league declares none.

    `attempt` is the one of `attempts` that this row is, 0 where nobody was
    asked; `members` how many a pool is of. Of the flags, `leak` says that a
    blind answer gave the price away (for a pool: that a member's did), `moved`
    and `lookup` what the price did until the run's end; None is not known.
    `corrections` are the lines that are a word on this row's line or on its
    outcome's.
    """

    run: str
    forecaster: str
    kind: str
    question: str
    cluster: str
    source: str
    type: str
    horizon: str
    line: int
    cell: int | None
    sealed_at: str
    p: str
    units: int | None
    crowd_units: int | None
    others_units: int | None
    others_n: int
    others_loss: Fraction | None
    outcome: str | None
    resolution_line: int | None
    resolved_on: str
    status: str
    why: str
    slot: str = ""
    cohort: str = ""
    attempt: int = 0
    attempts: int = 0
    members: int | None = None
    bid: str = ""
    ask: str = ""
    leak: bool | None = None
    moved: bool | None = None
    lookup: bool | None = None
    market: str = ""
    corrections: tuple[int, ...] = ()
    contract_id: str = ""
    event_id: str = ""
    event_id_v2: str = ""
    segment: str = ""

    @property
    def weighed_as(self) -> str:
        """What this row shares one weight with: its market, or its question where it has none."""
        return self.market or self.question

    @property
    def happened(self) -> bool:
        """Whether the event happened; only for a counted row."""
        return self.outcome == "yes"


def judge_runs(fold: LeagueFold) -> list[JudgedRun]:
    """Every run of a league with everything said in it judged, in the order of the book."""
    rules, held = Rules.of(fold.declaration), answers_by_run(fold)
    return [JudgedRun(fold, run, held[run], rules) for run in fold.runs]


def build_rows(fold: LeagueFold, runs: Sequence[JudgedRun] | None = None) -> list[Row]:
    """Every forecast of the league in the order of runs, questions and forecasters."""
    judged = judge_runs(fold) if runs is None else runs
    base_rate = base_rate_of(fold, questions_counted(judged))
    rows: list[Row] = []
    for run in judged:
        rows += _RunRows(run).build(base_rate)
    return rows


class _RunRows:
    """The rows of one run: stated ones from its answers, derived ones from those."""

    def __init__(self, run: JudgedRun) -> None:
        self.run, self.fold, self.grid = run, run.fold, run.rules.grid
        self.stated: dict[str, list[tuple[str, Fraction]]] = {}
        for said in run.said:
            if said.status == "" and said.value is not None:
                self.stated.setdefault(said.question, []).append((said.forecaster, said.value))
        self.moves = run.moves()
        self.attempts: dict[tuple[str, str], int] = {}
        for _, ask in run.held.asks:
            for name in ask.questions:
                key = (name, ask.forecaster)
                self.attempts[key] = self.attempts.get(key, 0) + 1

    def build(self, base_rate: Fraction | None) -> list[Row]:
        rows = [self._stated_row(said) for said in self._one_each()]
        rows += [self._derived_row(held) for held in derived_of(self.run, base_rate)]
        places = {name: place for place, name in enumerate(self.run.questions)}
        rows.sort(key=lambda row: places.get(row.question, len(places)))
        return rows

    def _one_each(self) -> list[Said]:
        """What was accepted, each by itself; of what was asked for, one a question."""
        asked: dict[tuple[str, str], list[Said]] = {}
        for said in self.run.said:
            if said.ask_line is not None:
                asked.setdefault((said.question, said.forecaster), []).append(said)
        chosen = {id(_standing_of(held)) for held in asked.values()}
        return [said for said in self.run.said if said.ask_line is None or id(said) in chosen]

    def _stated_row(self, said: Said) -> Row:
        key = (said.question, said.forecaster)
        stated = self.stated.get(said.question, ())
        return self._row(
            said,
            kind=self.run.entry.get(said.forecaster, "accepted"),
            cell=said.cell,
            p=said.p,
            others=[value for name, value in stated if name != said.forecaster],
            attempt=said.attempt,
            attempts=self.attempts.get(key, 0),
        )

    def _derived_row(self, held: Derived) -> Row:
        stated = self.stated.get(held.question, ())
        text = ""
        if held.value is not None:
            text = decimal_places(held.value, 12).rstrip("0").rstrip(".")
        return self._row(
            held,
            kind="derived",
            cell=None,
            p=text,
            others=[value for _, value in stated],
            members=held.members,
        )

    def _row(
        self,
        held: Said | Derived,
        *,
        kind: str,
        cell: int | None,
        p: str,
        others: list[Fraction],
        attempt: int = 0,
        attempts: int = 0,
        members: int | None = None,
    ) -> Row:
        record = self.fold.questions[held.question][1]
        settled = self.fold.settled.get(held.question)
        ids = self.fold.contracts.ids[held.question]
        outcome = settled.outcome if settled else None
        centre, crowd = median(others), self.run.crowd(held.question)
        move = self.moves.get(held.question, PriceMove())
        return Row(
            run=self.run.run,
            forecaster=held.forecaster,
            kind=kind,
            question=held.question,
            cluster=record.cluster,
            source=record.source,
            type=record.type,
            horizon=record.horizon,
            line=held.line,
            cell=cell,
            sealed_at=held.at,
            p=p,
            units=None if held.value is None else self.grid.units(held.value),
            crowd_units=crowd.units if crowd else None,
            others_units=None if centre is None else self.grid.units(centre),
            others_n=len(others),
            others_loss=_mean_loss(others, outcome, self.grid),
            outcome=outcome,
            resolution_line=settled.line if settled else None,
            resolved_on=settled.instant if settled else "",
            status=held.status or self._end_of(record, outcome),
            why=held.why,
            slot=self.run.record.slot,
            cohort=self.run.cohort,
            attempt=attempt,
            attempts=attempts,
            members=members,
            bid=crowd.bid if crowd else "",
            ask=crowd.ask if crowd else "",
            leak=held.leak,
            moved=move.moved,
            lookup=move.lookup,
            market=market_of(record),
            corrections=self._corrections(held, settled),
            contract_id=ids.contract_id,
            event_id=ids.event_id,
            event_id_v2=ids.event_id_v2,
            segment=self.run.record.segment,
        )

    def _corrections(self, held: Said | Derived, settled: Settled | None) -> tuple[int, ...]:
        named = {held.line} if isinstance(held, Said) else set()
        if settled is not None:
            named |= {settled.first_line, settled.line}
        found = {n for line in named for n in self.fold.corrected.get(line, ())}
        return tuple(sorted(found))

    def _end_of(self, record: Question, outcome: str | None) -> str:
        """What became of a question whose forecasts are in."""
        if outcome is not None:
            return "void" if outcome == "void" else "counted"
        ends, days = closing_of(record), self.run.rules.stale_days
        if ends is None or days is None or not self.fold.last_at:
            return "open"
        since = max(ends, instant_key(self.run.record.slot))
        return "stale" if instant_key(self.fold.last_at) - since > timedelta(days=days) else "open"


def _standing_of(held: Sequence[Said]) -> Said:
    """Of all attempts: the one that counts, else one still awaited, else the last."""
    for said in held:
        if said.stands:
            return said
    for said in held:
        if said.status == "pending":
            return said
    last = [said for said in held if said.status != "not_counted"]
    return (last or held)[-1]


def _mean_loss(stated: list[Fraction], outcome: str | None, grid: Grid) -> Fraction | None:
    """The mean loss of stated probabilities, each on the grid; None while open or void."""
    if outcome not in ("yes", "no"):
        return None
    happened = outcome == "yes"
    return mean([grid.brier_units(grid.units(value), happened) for value in stated])


def question_title(record: Question) -> str:
    """A short name of an event where its text is not at hand."""
    return f"{record.source} {record.cluster.partition(':')[2]} · {record.horizon}"
