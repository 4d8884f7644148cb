"""The lines of the book as the book page lists them: kind, time, link, where it leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import decode_json
from beforehand.records.record import BodyRef, Record
from beforehand.site.view import SiteView

# Lines of these kinds are many: the book page shows the first and the last.
MANY = ("question", "resolution", "reference", "ask", "fill", "mark")
# Where the raw lines are not at hand, what the fold does not keep.
OTHER = "other"
# The lines of one run: where models are asked, its page lists them.
OF_A_RUN = ("ask", "answer", "snapshot", "roster", "run", "close")


@dataclass(frozen=True)
class LineFact:
    """What is known of one line. `link` and `seal` are empty where the raw line is not at hand."""

    n: int
    kind: str
    at: str
    link: str
    bodies: tuple[BodyRef, ...] = ()
    content: dict[str, Any] = field(default_factory=dict)
    seal: str = ""


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines of one kind."""

    kind: str
    first: LineFact
    last: LineFact

    @property
    def count(self) -> int:
        return self.last.n - self.first.n + 1


class Ledger:
    """All lines of a book, in order, and which of them the book page lists."""

    def __init__(self, view: SiteView) -> None:
        facts = _from_raw(view) if view.lines else _from_fold(view)
        self.facts = {fact.n: fact for fact in facts}
        self.stretches = list(_stretches(self.facts.values()))
        self.kinds: dict[str, int] = {}
        for fact in self.facts.values():
            self.kinds[fact.kind] = self.kinds.get(fact.kind, 0) + 1
        many = tuple(dict.fromkeys((*MANY, *OF_A_RUN))) if view.board["runs"] is not None else MANY
        self.listed = {n for n, fact in self.facts.items() if fact.kind not in (*many, OTHER)}
        self.corrections = {
            n: fact.content.get("lines") or ()
            for n, fact in self.facts.items()
            if fact.kind == "correction"
        }
        self.due = {body.sha256: body.due for f in self.facts.values() for body in f.bodies}
        for kind in many:
            lines = [n for n, fact in self.facts.items() if fact.kind == kind]
            self.listed.update(lines[:1] + lines[-1:])

    def href(self, n: int | None) -> str:
        """Where "line N" leads: its place on the book page, or how to read any line."""
        return f"book.html#n{n}" if n in self.listed else "book.html#any-line"

    def evidence(self, n: int) -> tuple[BodyRef, ...]:
        """What a line's bodies are."""
        fact = self.facts.get(n)
        return fact.bodies if fact else ()

    def outcome_lines(self, first: int, last: int) -> list[LineFact]:
        """The resolution on line `first` and every correction that leads from it to `last`."""
        numbers, found = {first, last}, []
        for n in sorted({first, last, *self.corrections}):
            fact = self.facts.get(n)
            named = self.corrections.get(n, ())
            if fact is not None and (n in numbers or numbers.intersection(named)):
                numbers.add(n)
                found.append(fact)
        return found

    def run_of(self, n: int) -> str:
        """The run that a line belongs to, "" of other lines."""
        fact = self.facts.get(n)
        return str(fact.content.get("run", "")) if fact and fact.kind in OF_A_RUN else ""


def _from_raw(view: SiteView) -> Iterator[LineFact]:
    for n, raw in enumerate(view.lines, 1):
        value = decode_json(raw, strict=False)
        if not isinstance(value, dict):
            raise FormatError(f"line {n}: not an object")
        kind, at, link, seal = (str(value.get(key, "")) for key in ("kind", "at", "link", "seal"))
        yield LineFact(n, kind, at, link, tuple(_raw_refs(value.get("bodies"))), value, seal)


def _raw_refs(bodies: Any) -> Iterator[BodyRef]:
    """The well-formed references: a line of a later kind may hold anything under this key."""
    for body in bodies if isinstance(bodies, list) else ():
        try:
            BodyRef.shape.check(body, "bodies")
        except FormatError:
            continue
        yield BodyRef.of(body)


def _from_fold(view: SiteView) -> Iterator[LineFact]:
    """The lines that a fold keeps by number; the rest are `other`."""
    fold = view.fold
    held: dict[int, Record] = {1: fold.league, **fold.rosters, **fold.snapshots}
    held.update(fold.questions.values())
    held.update(fold.runs.values())
    held.update(fold.asks)
    held.update(fold.closes.values())
    held.update((line, answer) for line, answer, _ in fold.answers)
    settled = {item.line for item in fold.settled.values()}
    for n in range(1, fold.lines + 1):
        record = held.get(n)
        if record is not None:
            yield LineFact(n, record.kind, record.at, "", record.bodies, record.content())
        else:
            yield LineFact(n, "resolution" if n in settled else OTHER, "", "")


def _stretches(facts: Any) -> Iterator[Stretch]:
    first = last = None
    for fact in facts:
        if last is not None and first is not None and fact.kind != last.kind:
            yield Stretch(last.kind, first, last)
            first = None
        first = first or fact
        last = fact
    if first is not None and last is not None:
        yield Stretch(last.kind, first, last)
