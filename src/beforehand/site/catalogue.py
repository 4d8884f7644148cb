"""The rows of a league grouped once, with the addresses that pages link to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from beforehand.book.bodies import body_path
from beforehand.publish.leaderboard import loss, paired_gain
from beforehand.publish.rows import Row
from beforehand.records.forecast import Answer
from beforehand.scoring.exact import Grid, decimal_places
from beforehand.site.cards import Card, make_cards
from beforehand.site.ledger import Ledger
from beforehand.site.text import NOTHING, number, short_hash, signed
from beforehand.site.view import SiteView

# A stated probability of more characters is cut in a table; `given` has them all.
LONG_P = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """A row in words: what a table prints of one forecast. Values of nothing are a dash.

    `brier` holds the status as a word where the forecast does not count.
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
        }

    # ---- rows in words

    def _show(self, row: Row, taken: set[tuple[str, str]]) -> Shown:
        if row.cell is None:
            anchor = f"d-{row.forecaster}"
            if (row.question, anchor) in taken:  # the same question in another run
                anchor += f"~{row.run}"
            taken.add((row.question, anchor))
        else:
            anchor = f"n{row.line}-{row.cell}"
        stated, given = row.p or f"missing ({row.why or 'no reason'})", ""
        if row.kind == "derived" and row.units is not None:
            stated = self._in_words(row.units)
        elif row.p and len(row.p) > LONG_P:
            stated, given = row.p[: LONG_P - 2] + "…", row.p
        brier, gain = row.status.replace("_", " "), NOTHING
        if row.status == "counted" and row.units is not None:
            brier = self._loss_in_words(row)
            gain = self._gain_in_words(row)
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

    def _units_in_words(self, units: int | None) -> str:
        if units is None:
            return NOTHING
        text = decimal_places(self.grid.probability(units), len(str(self.grid.steps)) - 1)
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _loss_in_words(self, row: Row) -> str:
        return number(decimal_places(self.grid.brier(loss(row, self.grid)), 8))

    def _gain_in_words(self, row: Row) -> str:
        gain = paired_gain(row, self.grid)
        return NOTHING if gain is None else signed(decimal_places(gain, 8))
