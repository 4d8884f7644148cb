"""One row a forecast: it counts, or it says why not. The one place where that is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from beforehand.clock import instant_key
from beforehand.publish.fold import LeagueFold, Settled
from beforehand.records.forecast import Answer, Cell, Missing, Stated
from beforehand.records.question import Question
from beforehand.records.run import Roster
from beforehand.records.shape import decimal_text
from beforehand.records.snapshot import Quote
from beforehand.scoring.exact import Grid, decimal_places, mean, median

STATUSES = {
    "counted": "the question is resolved yes or no and the forecast counts",
    "open": "the book holds no outcome of the question",
    "void": "the question was resolved to neither yes nor no: it scores nobody",
    "missing": "the forecaster stated no probability; `why` holds the reason",
    "after_outcome": "the answer was sealed after the question's outcome",
    "late": "the answer was sealed after the run's deadline",
    "not_counted": "another answer of this forecaster counts by the declared rule",
    "not_on_roster": "the run's roster does not expect this forecaster",
    "not_asked": "the run did not ask this question",
    "uncounted_run": "the run was declared as not counted",
}


@dataclass(frozen=True)
class Row:
    """A forecast joined to its question, its crowd and its outcome.

    `line` is the book line it stands in, `cell` its place there from 0. A
    derived forecast has no cell: `line` is the snapshot or the run it was
    computed from. `p` is the text as given, `units` the grid point that is
    scored; `crowd_units` the market's price in the run's snapshot. On the same
    event there are `others_n` stated forecasts of everybody else:
    `others_units` is their median, `others_loss` the mean of their losses in
    squared grid steps, None while there is no outcome. `sealed_at` is the
    time of the line, and empty where a value was computed from many.
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

    @property
    def happened(self) -> bool:
        """Whether the event happened; only for a counted row."""
        return self.outcome == "yes"


def build_rows(fold: LeagueFold) -> list[Row]:
    """Every forecast of the league in the order of runs, questions and forecasters."""
    grid = Grid.of(fold.declaration.grid)
    rows: list[Row] = []
    for run in fold.runs:
        rows += _RunRows(fold, run, grid).build()
    return rows


class _RunRows:
    """The rows of one run: stated ones from its answers, derived ones from those."""

    def __init__(self, fold: LeagueFold, run: str, grid: Grid) -> None:
        self.fold, self.run, self.grid = fold, run, grid
        self.line, self.record = fold.runs[run]
        self.questions = fold.questions_of(run)
        self.crowds = self._crowds(fold.quotes_of(run))
        self.entry = {seat.forecaster: seat.entry for seat in fold.roster_of(run).seats}
        self.stated: dict[str, list[tuple[str, Fraction]]] = {name: [] for name in self.questions}

    def build(self) -> list[Row]:
        entries = self._entries()
        for question, forecaster, _, status, _, forecast in entries:
            if status == "" and isinstance(forecast, Stated):
                self.stated[question].append((forecaster, Fraction(forecast.probability)))
        rows = [self._stated_row(*entry) for entry in entries]
        rows += self._derived_rows()
        places = {name: place for place, name in enumerate(self.questions)}
        rows.sort(key=lambda row: places.get(row.question, len(places)))
        return rows

    def _crowds(self, quotes: Mapping[str, Quote]) -> dict[str, int]:
        """The crowd on the grid: as the source gives it, else the middle of bid and ask."""
        crowds = {}
        for name, quote in quotes.items():
            if quote.crowd is not None:
                crowds[name] = self.grid.units(decimal_text(quote.crowd))
            elif quote.bid is not None and quote.ask is not None:
                middle = (decimal_text(quote.bid) + decimal_text(quote.ask)) / 2
                crowds[name] = self.grid.units(middle)
        return crowds

    def _entries(self) -> list[tuple[str, str, tuple[int, int, str], str, str, Stated | Missing]]:
        """`(question, forecaster, place, status, p, forecast)` of every cell; status "" counts."""
        roster = self.fold.roster_of(self.run)
        entries = []
        answered: set[tuple[str, str]] = set()
        for line, answer, cells in self.fold.answers:
            if answer.run != self.run:
                continue
            for place, cell in enumerate(cells or ()):
                forecast = cell.forecast()
                status = self._status(line, answer, cell, roster, answered)
                if status == "":
                    answered.add((answer.forecaster, cell.question))
                where = (line, place, answer.at)
                entries.append(
                    (cell.question, answer.forecaster, where, status, cell.p or "", forecast)
                )
        return entries

    def _status(
        self,
        line: int,
        answer: Answer,
        cell: Cell,
        roster: Roster,
        answered: set[tuple[str, str]],
    ) -> str:
        """Why a cell is out, or "": the first well-formed answer by the deadline counts."""
        if cell.question not in self.questions:
            return "not_asked"
        if not self.record.counted:
            return "uncounted_run"
        if instant_key(answer.at) > instant_key(roster.deadline):
            return "late"
        settled = self.fold.settled.get(cell.question)
        if settled is not None and _sealed_after(line, answer.at, settled):
            return "after_outcome"
        if isinstance(cell.forecast(), Missing):
            return "missing"
        if answer.forecaster not in self.entry:
            return "not_on_roster"
        if (answer.forecaster, cell.question) in answered:
            return "not_counted"
        return ""

    def _stated_row(
        self,
        question: str,
        forecaster: str,
        where: tuple[int, int, str],
        status: str,
        p: str,
        forecast: Stated | Missing,
    ) -> Row:
        stated = forecast.probability if isinstance(forecast, Stated) else None
        others = [value for name, value in self.stated.get(question, ()) if name != forecaster]
        why = forecast.reason if isinstance(forecast, Missing) else ""
        kind = self.entry.get(forecaster, "accepted")
        return self._row(question, forecaster, kind, where, p, stated, others, status, why)

    def _row(
        self,
        question: str,
        forecaster: str,
        kind: str,
        where: tuple[int, int | None, str],
        p: str,
        value: Decimal | Fraction | None,
        others: list[Fraction],
        status: str,
        why: str = "",
    ) -> Row:
        record = self.fold.questions[question][1]
        settled = self.fold.settled.get(question)
        outcome = settled.outcome if settled else None
        if status == "":
            status = {None: "open", "void": "void"}.get(outcome, "counted")
        line, cell, at = where
        centre = median(others)
        return Row(
            run=self.run,
            forecaster=forecaster,
            kind=kind,
            question=question,
            cluster=record.cluster,
            source=record.source,
            type=record.type,
            horizon=record.horizon,
            line=line,
            cell=cell,
            sealed_at=at,
            p=p,
            units=None if value is None else self.grid.units(value),
            crowd_units=self.crowds.get(question),
            others_units=None if centre is None else self.grid.units(centre),
            others_n=len(others),
            others_loss=self._mean_loss(others, outcome),
            outcome=outcome,
            resolution_line=settled.line if settled else None,
            resolved_on=settled.instant if settled else "",
            status=status,
            why=why,
        )

    def _mean_loss(self, stated: list[Fraction], outcome: str | None) -> Fraction | None:
        """The mean loss of stated probabilities, each on the grid; None while open or void."""
        if outcome not in ("yes", "no"):
            return None
        grid, happened = self.grid, outcome == "yes"
        return mean([grid.brier_units(grid.units(value), happened) for value in stated])

    # ---- derived forecasters

    def _derived_rows(self) -> list[Row]:
        rows = []
        here = (self.line, None, "")
        snapshot = self.fold.snapshot_line(self.run)
        there = (snapshot, None, self.fold.snapshots[snapshot].at)
        status = "" if self.record.counted else "uncounted_run"
        base_rate = self._base_rate()
        for question in self.questions:
            stated = [value for _, value in self.stated[question]]
            crowd = self.crowds.get(question)
            values = {
                "crowd": None if crowd is None else self.grid.probability(crowd),
                "median": median(stated),
                "mean": mean(stated),
                "always_half": Fraction(1, 2),
                "base_rate": base_rate,
            }
            for name, rule in self.fold.declaration.derived.items():
                value = values[rule]
                if value is None:
                    continue
                where = there if rule == "crowd" else here
                text = decimal_places(value, 12).rstrip("0").rstrip(".")
                rows.append(
                    self._row(question, name, "derived", where, text, value, stated, status)
                )
        return rows

    def _base_rate(self) -> Fraction | None:
        """The share of yes among this run's resolved questions: known only in hindsight."""
        settled = (self.fold.settled.get(name) for name in self.questions)
        outcomes = [held.outcome for held in settled if held and held.outcome != "void"]
        return mean([int(outcome == "yes") for outcome in outcomes])


def _sealed_after(line: int, at: str, settled: Settled) -> bool:
    """Whether a line comes after the outcome: in the book, or by the day or instant it happened."""
    if line > settled.first_line:
        return True
    instant = settled.instant if "T" in settled.instant else f"{settled.instant}T00:00:00Z"
    return instant_key(at) >= instant_key(instant)


def question_title(record: Question) -> str:
    """A short name of an event where its text is not at hand."""
    return f"{record.source} {record.cluster.partition(':')[2]} · {record.horizon}"
