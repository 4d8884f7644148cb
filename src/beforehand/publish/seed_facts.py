"""What levels of proof are computed from, of a book in the seed's format.

The seed's lines name no event's end: it stands in the table of forecasts beside
the book, as the operator's word. Without it nothing is said to be from before
an outcome. Its asks and the rule of the counted run stand in a chain of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.said import Ask, Row, before, moment
from beforehand.publish.run_facts import Rule, RunFacts

NO_ASKS = "no chain of asks is published: what was asked and not answered leaves no trace"
LIVE = "live"
UNSEALED = "an end or reference that the table beside the book says falsely: no line seals it"


class SeedFacts:
    """The runs of a seed's book. Its time is taken for live: nothing in it says otherwise."""

    by_itself = "the chain"
    undecided = "no table of forecasts names an end of each of this run's events"
    gaps: ClassVar[Mapping[str, str]] = {
        "P1a": UNSEALED,
        "P1b": UNSEALED,
        "P3": "an answer that counts and should not by the rule: it is prose, and was not applied",
    }

    def __init__(self, exhibit: Exhibit) -> None:
        self.times = {LIVE}
        self.runs: dict[str, RunFacts] = {}
        self.asks_file = next((ask.file for ask in exhibit.asks), "")
        self._book = exhibit.book
        self._rules = exhibit.rules
        for run in exhibit.runs:
            if run.run not in self.runs:
                self.runs[run.run] = RunFacts(run.run, run.n, run.at, no_asks=NO_ASKS)
        for ask in exhibit.asks:
            self._take_ask(ask)
        self._take_answers(exhibit)
        rows = exhibit.rows or []
        self._ended = _earliest((row.run, row.other.get("end_at", "")) for row in rows)
        # One event without an end may be the first that ended: then nothing is before it.
        for row in rows:
            if moment(row.other.get("end_at", "")) is None:
                self._ended.pop(row.run, None)
        # A cell that is scored from a reference of its own has none that was there before it.
        self._referred = _earliest(
            (row.run, row.other.get("reference_at", "")) for row in rows if not has_own(row)
        )
        self.own_references = sum(has_own(row) for row in rows)

    @property
    def rule_file(self) -> str:
        """The chain whose rule is taken: that of the asks, where one is declared there."""
        files = [place.file for place, _ in self._rules]
        return next((file for file in files if file != self._book), self._book)

    def _take_ask(self, ask: Ask) -> None:
        run = self.runs.get(ask.run)
        if run is not None:
            run.asks[ask.n] = set(ask.questions)
            run.asked_seats.add(ask.forecaster)
            run.seats_with_ask.add(ask.forecaster)

    def _take_answers(self, exhibit: Exhibit) -> None:
        """An answer ends every ask that its seat was sent before; resends get one answer.

        Nothing is ended by an answer whose time cannot be read, nor is an ask of no time.
        """
        asks: dict[tuple[str, str], list[tuple[datetime, int]]] = {}
        for ask in exhibit.asks:
            sent = moment(ask.at)
            if sent is not None:
                asks.setdefault((ask.run, ask.forecaster), []).append((sent, ask.n))
        first = {key: min(held)[0] for key, held in asks.items()}
        last: dict[tuple[str, str], datetime] = {}
        for answer in exhibit.answers:
            run, key = self.runs.get(answer.run), (answer.run, answer.forecaster)
            if run is None:
                continue
            if any(p is not None for p in (answer.cells or {}).values()):
                run.last_answer = max(run.last_answer, answer.n)
            came = moment(answer.received_at or answer.at)
            if came is not None and key in first and first[key] <= came:
                last[key] = max(came, last.get(key, came))
            elif run.asks:
                run.unasked += 1
        for key, came in last.items():
            self.runs[key[0]].ended |= {n for sent, n in asks[key] if sent <= came}

    def first_outcome(self, run: RunFacts) -> datetime | None:
        """The first end among the run's events, as the table names it."""
        return self._ended.get(run.name)

    def first_seen(self, run: RunFacts) -> datetime | None:
        """The same, or the first common reference; None where an end is not known."""
        ended = self._ended.get(run.name)
        return None if ended is None else min(ended, self._referred.get(run.name, ended))

    def rule_of(self, run: RunFacts) -> Rule | None:
        """The first rule that was declared before the run, in the chain that is taken."""
        for place, at in self._rules:
            if place.file != self.rule_file or place.line is None or not before(at, run.at):
                continue
            inside = place.file == self._book
            if inside and place.line >= run.line:
                continue
            words = f"the rule in line {place.line} of {place.file}"
            by_itself = f"{words}, before this run by the operator's clock"
            return Rule(place.line, run.line if inside else None, words, by_itself)
        return None


def has_own(row: Row) -> bool:
    """Whether a row is scored from a reference of its own, apart from its event's."""
    return row.other.get("same_event", "").lower() in ("false", "0")


def _earliest(told: Iterable[tuple[str, str]]) -> dict[str, datetime]:
    held: dict[str, datetime] = {}
    for run, text in told:
        at = moment(text) if text else None
        if at is not None:
            held[run] = min(at, held.get(run, at))
    return held
