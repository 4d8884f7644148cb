"""The rows of a league grouped once, with the addresses that pages link to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from beforehand.book.bodies import body_path
from beforehand.clock import instant_key
from beforehand.publish.attempts import Attempt, build_attempts
from beforehand.publish.gains import crowd_gain, loss, paired_gain
from beforehand.publish.rows import Row, judge_runs
from beforehand.records.forecast import Answer
from beforehand.scoring.exact import Grid, decimal_places
from beforehand.site.cards import Card, make_cards
from beforehand.site.ledger import Ledger, LineFact
from beforehand.site.proofdays import Day, proof_days
from beforehand.site.text import NOTHING, number, sealed_until, short_hash, signed
from beforehand.site.view import SiteView

# A stated probability of more characters is cut in a table; `given` has them all.
LONG_P = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """A row in words: what a table prints of one forecast. Values of nothing are a dash.

    `brier` holds the status as a word where the forecast does not count. `gain`
    is over the crowd where the league ranks by that, else over the others' median.
    """

    row: Row
    card: Card
    anchor: str
    stated: str
    given: str
    crowd: str
    others: str
    brier: str
    gain: str


class Catalogue:
    """What all pages of a league share."""

    def __init__(self, view: SiteView) -> None:
        self.view = view
        self.fold = view.fold
        self.grid = Grid.of(view.fold.declaration.grid)
        self._in_words = lru_cache(maxsize=None)(self._units_in_words)
        self.cards = make_cards(self.fold.questions, self.fold.settled, view.read_body)
        self.ledger = Ledger(view)
        self.asked = view.board["runs"] is not None
        self.against_crowd = view.board["rules"]["against"] == "crowd"
        self.skilled = self.asked and self.against_crowd
        self.answers: dict[int, Answer] = {line: held for line, held, _ in self.fold.answers}
        self.entries = {entry["forecaster"]: entry for entry in view.board["forecasters"]}
        self.by_question: dict[str, list[Shown]] = {name: [] for name in self.cards}
        self.by_forecaster: dict[str, list[Shown]] = {name: [] for name in self._seated()}
        self.siblings: dict[str, list[Card]] = {}
        for card in self.cards.values():
            self.siblings.setdefault(card.record.cluster, []).append(card)
        taken: set[tuple[str, str]] = set()
        for row in view.rows:
            shown = self._show(row, taken)
            self.by_question[row.question].append(shown)
            self.by_forecaster.setdefault(row.forecaster, []).append(shown)
        self._bodies: dict[str, bool] = {}

    @cached_property
    def attempts(self) -> Sequence[Attempt]:
        """Every call, in the order of the book; none in a league that asks nobody."""
        if not self.asked:
            return ()
        if self.view.attempts is not None:
            return self.view.attempts
        return build_attempts(judge_runs(self.fold), self.view.rows)

    @cached_property
    def attempts_by_run(self) -> dict[str, list[Attempt]]:
        """The calls of each run."""
        return self._attempts_by(lambda attempt: attempt.run)

    @cached_property
    def attempts_by_forecaster(self) -> dict[str, list[Attempt]]:
        """The calls to each forecaster."""
        return self._attempts_by(lambda attempt: attempt.forecaster)

    @cached_property
    def accepted_by_run(self) -> dict[str, list[tuple[int, Answer]]]:
        """The answers of each run that nobody was asked for, with their lines."""
        held: dict[str, list[tuple[int, Answer]]] = {}
        for line, answer in self.answers.items():
            if answer.ask_line is None:
                held.setdefault(answer.run, []).append((line, answer))
        return held

    @cached_property
    def run_told(self) -> dict[str, dict[str, Any]]:
        """What the board says of each run, by its name."""
        return {run["run"]: run for run in self.view.board["runs"] or ()}

    @cached_property
    def rows_by_run(self) -> dict[str, list[Shown]]:
        """The forecasts of each run, in the order of the rows."""
        held: dict[str, list[Shown]] = {}
        for found in self.by_question.values():
            for shown in found:
                held.setdefault(shown.row.run, []).append(shown)
        return held

    @cached_property
    def proof_days(self) -> dict[str, Day]:
        """Every day of the book and its evidence, the oldest first."""
        return proof_days(self.view, self.ledger)

    @cached_property
    def proof_lines(self) -> dict[int, dict[str, list[LineFact]]]:
        """The proof lines by the size of their checkpoint and by anchor."""
        held: dict[int, dict[str, list[LineFact]]] = {}
        for fact in self.ledger.facts.values():
            size, anchor = fact.content.get("checkpoint_size"), fact.content.get("anchor")
            if fact.kind == "proof" and isinstance(size, int) and isinstance(anchor, str):
                held.setdefault(size, {}).setdefault(anchor, []).append(fact)
        return held

    @cached_property
    def _proof_pages(self) -> dict[int, str]:
        """The name of the proof page that lists each line."""
        return {
            fact.n: name
            for day in self.proof_days.values()
            for name, part in zip(day.names(), day.parts(), strict=True)
            for fact in part
        }

    def proof_href(self, line: int | None) -> str:
        """The proof page of a line's day, below `proof/` and at that line; "" where it has none."""
        name = self._proof_pages.get(line) if line is not None else None
        return f"{name}.html#n{line}" if name else ""

    def _attempts_by(self, key: Callable[[Attempt], str]) -> dict[str, list[Attempt]]:
        held: dict[str, list[Attempt]] = {}
        for attempt in self.attempts:
            held.setdefault(key(attempt), []).append(attempt)
        return held

    def _seated(self) -> Iterator[str]:
        """Everybody the pages may name: on a roster, or an answer's author."""
        for roster in self.fold.rosters.values():
            yield from (seat.forecaster for seat in roster.seats)
        yield from (answer.forecaster for answer in self.answers.values())

    def label(self, forecaster: str) -> str:
        """The forecaster's name for people."""
        entry = self.entries.get(forecaster)
        return entry["label"] if entry else self.fold.declaration.labels.get(forecaster, forecaster)

    def rule(self, forecaster: str) -> str | None:
        """The rule of a derived forecaster, None for others."""
        return self.fold.declaration.derived.get(forecaster)

    def href_of(self, line: int | None) -> str:
        """Where "line N" leads, below the league: its place on its run's page, or on the book's."""
        run = self.ledger.run_of(line) if self.asked and line is not None else ""
        if run in self.fold.runs:
            return f"run/{run}.html#n{line}"
        return f"runs.html#n{line}" if run in self.fold.closes else self.ledger.href(line)

    def sealed_words(self, due: str | None) -> str:
        """What stands in place of a body that is not there: until when, or that it is withheld.

        A body is awaited until the book goes on after its due time.
        """
        if due and instant_key(due) > instant_key(self.fold.last_at):
            return sealed_until(due)
        return "withheld"

    def body(self, sha256: str, role: str) -> dict[str, Any]:
        """A body as a link: `path` below the league's data folder, `there` False if withheld."""
        there = self._bodies.get(sha256)
        if there is None:
            there = self._bodies[sha256] = self.view.read_body(sha256) is not None
        return {
            "role": role,
            "short": short_hash(sha256),
            "sha256": sha256,
            "path": body_path(sha256),
            "there": there,
            "why_not": "" if there else self._why_not(sha256),
        }

    def _why_not(self, sha256: str) -> str:
        said = self.fold.undisclosed.get(sha256)
        if said is not None:
            return said or "not revealed"
        return self.sealed_words(self.ledger.due.get(sha256))

    # ---- rows in words

    def _show(self, row: Row, taken: set[tuple[str, str]]) -> Shown:
        if row.cell is None:
            anchor = f"d-{row.forecaster}"
            if (row.question, anchor) in taken:  # the same question in another run
                anchor += f"~{row.run}"
            taken.add((row.question, anchor))
        else:
            anchor = f"n{row.line}-{row.cell}"
        stated, given = row.p or self._without_number(row), ""
        if row.kind == "derived" and row.units is not None:
            stated = self._in_words(row.units)
        elif row.p and len(row.p) > LONG_P:
            stated, given = row.p[: LONG_P - 2] + "…", row.p
        brier, gain = row.status.replace("_", " "), NOTHING
        if row.status == "counted" and row.units is not None:
            brier = self._loss_in_words(row)
            gain = self._gain_in_words(row)
        elif row.status in ("sealed", "pending", "not_revealed"):
            brier = stated
        return Shown(
            row,
            self.cards[row.question],
            anchor,
            stated,
            given,
            self._in_words(row.crowd_units),
            self._in_words(row.others_units),
            brier,
            gain,
        )

    def _without_number(self, row: Row) -> str:
        """What stands where a probability would."""
        if row.status == "pending":
            return "waiting"
        if row.status == "not_revealed":
            return "not revealed"
        if row.status == "sealed":
            answer = self.answers.get(row.line)
            due = next((b.due for b in answer.bodies if b.role == "answer"), None) if answer else ""
            return self.sealed_words(due)
        return f"missing ({(row.why or 'no reason').replace('_', ' ')})"

    def _units_in_words(self, units: int | None) -> str:
        if units is None:
            return NOTHING
        text = decimal_places(self.grid.probability(units), len(str(self.grid.steps)) - 1)
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _loss_in_words(self, row: Row) -> str:
        return number(decimal_places(self.grid.brier(loss(row, self.grid)), 8))

    def _gain_in_words(self, row: Row) -> str:
        gain = (crowd_gain if self.against_crowd else paired_gain)(row, self.grid)
        return NOTHING if gain is None else signed(decimal_places(gain, 8))
