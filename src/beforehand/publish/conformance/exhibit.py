"""All that one league publishes, read once; the checks look nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from beforehand.book.folder import Folder
from beforehand.errors import FormatError
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import (
    Answer,
    Ask,
    Body,
    Confirmation,
    Contract,
    Correction,
    Evidence,
    Outcome,
    ProofSaid,
    Replication,
    Roster,
    Row,
    Run,
    Seat,
    Segment,
    Stamp,
    listed,
    text,
)

MAX_REACHED = 2_000_000


@dataclass
class Exhibit:
    """All that is published by one league. `form` is `folder`, `book` or `table`.

    `rules` are the lines of a book in the seed's format that declare one, with their times.
    `earlier_boards` are those of segments that have ended, by their files.
    """

    form: str
    title: str
    folder: Folder
    base: str
    profile: Profile
    as_of: str
    book: str = ""
    origin: str = ""
    lines: int = 0
    first_at: str = ""
    last_at: str = ""
    simulated: bool = False
    declared: dict[str, Any] | None = None
    declared_line: int = 1
    rules: list[tuple[Pointer, str]] = field(default_factory=list)
    board: dict[str, Any] | None = None
    earlier_boards: dict[str, dict[str, Any]] = field(default_factory=dict)
    diagnostics: dict[str, Any] | None = None
    climatology: dict[str, Any] | None = None
    contracts: list[Contract] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    rosters: dict[int, Roster] = field(default_factory=dict)
    snapshots: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    closes: dict[str, str] = field(default_factory=dict)
    references: list[Outcome] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)
    replications: list[Replication] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    proofs: list[ProofSaid] = field(default_factory=list)
    releases: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    bodies: list[Body] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    listed: dict[int, Stamp] = field(default_factory=dict)
    misfits: set[Stamp] = field(default_factory=set)
    evidence: list[Evidence] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    rows: list[Row] | None = None
    readers: list[dict[str, str]] | None = None
    chain: list[tuple[Pointer, str]] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    recount: tuple[int, int, list[str]] | None = None
    recount_why: str = ""
    published_at: str = ""
    declarations: list[tuple[int, dict[str, Any] | None]] = field(default_factory=list)
    has_code: bool = False
    read_body: Callable[[str], bytes | None] = lambda sha256: None

    def at_line(self, n: int | None, note: str = "") -> Pointer:
        """A pointer to a line of the book."""
        return Pointer(self.book or self.base or self.title, n, note)

    def at_declaration(self) -> Pointer:
        """A pointer to the line that seals the declaration."""
        return self.at_line(self.declared_line)

    def rule_of(self, forecaster: str) -> str:
        """The declared rule of a derived forecaster; "" for anybody else."""
        for declared in (self.declared, *(held for _, held in reversed(self.declarations))):
            for item in listed(declared, "derived"):
                if isinstance(item, dict) and item.get("forecaster") == forecaster:
                    return text(item, "rule")
        return ""

    def declaration(self, *path: str) -> Any:
        """A value of the declaration by its path, None where it is not there.

        Of several segments it is the last one's, which the board is of.
        """
        return _under(self.declared, path)

    def declaration_at(self, n: int, *path: str) -> Any:
        """The same in the declaration that was in force at a line."""
        held = [declared for line, declared in self.declarations if line <= n]
        return _under(held[-1] if held else self.declared, path)

    def outcome_of(self, question: str) -> tuple[str, Outcome] | None:
        """The outcome as it stands after corrections, and the line that first gave it."""
        first = next((held for held in self._by_question().get(question, ())), None)
        if first is None:
            return None
        return self._corrected().get(first.n, first.outcome), first

    def roster_of(self, run: Run) -> Roster | None:
        """The roster that a run names."""
        return self.rosters.get(run.roster_line or 0)

    def seat_of(self, run: str, forecaster: str) -> Seat | None:
        """The seat of a forecaster in a run."""
        return self._seats().get((run, forecaster))

    def run_named(self, name: str) -> Run | None:
        """The first run of a name."""
        return self._once("runs", lambda: {run.run: run for run in reversed(self.runs)}).get(name)  # type: ignore[no-any-return]

    def contract_named(self, question: str) -> Contract | None:
        """The first contract of an id."""
        return self._once(  # type: ignore[no-any-return]
            "contracts", lambda: {held.id: held for held in reversed(self.contracts)}
        ).get(question)

    def bodies_at(self, n: int | None) -> list[Body]:
        """The bodies that a line names."""

        def build() -> dict[int, list[Body]]:
            held: dict[int, list[Body]] = {}
            for body in self.bodies:
                held.setdefault(body.n, []).append(body)
            return held

        return self._once("bodies", build).get(n, [])  # type: ignore[no-any-return]

    def board_rows(self) -> list[Row]:
        """The rows that the board is of: those of its segment, where it names one."""
        rows, wanted = self.rows or [], text(self.board, "segment")
        if not wanted:
            return rows
        runs = {run.run for run in self.runs if run.segment == wanted}
        return [row for row in rows if row.run in runs]

    def _by_question(self) -> dict[str, list[Outcome]]:
        def build() -> dict[str, list[Outcome]]:
            held: dict[str, list[Outcome]] = {}
            for outcome in self.outcomes:
                held.setdefault(outcome.question, []).append(outcome)
            return held

        return self._once("outcomes", build)  # type: ignore[no-any-return]

    def _corrected(self) -> dict[int, str]:
        def build() -> dict[int, str]:
            """The last word on each outcome line; a correction of a correction reaches it too."""
            held: dict[int, str] = {}
            reach: dict[int, set[int]] = {}
            total = 0
            for item in self.corrections:
                if not item.outcome:
                    continue
                named = {n for n in item.lines if type(n) is int}
                roots = set().union(*(reach.get(n, {n}) for n in named)) if named else set()
                reach[item.n] = roots
                total += len(roots)
                if total > MAX_REACHED:
                    raise FormatError(f"corrections reach over {MAX_REACHED} lines in all")
                held.update(dict.fromkeys(roots, item.outcome))
            return held

        return self._once("corrected", build)  # type: ignore[no-any-return]

    def _seats(self) -> dict[tuple[str, str], Seat]:
        def build() -> dict[tuple[str, str], Seat]:
            held: dict[tuple[str, str], Seat] = {}
            for run in self.runs:
                roster = self.roster_of(run)
                for seat in roster.seats if roster else ():
                    held.setdefault((run.run, seat.forecaster), seat)
            return held

        return self._once("seats", build)  # type: ignore[no-any-return]

    def _once(self, name: str, build: Callable[[], Any]) -> Any:
        """An index that is built when it is first asked for, after reading is over."""
        held = self.__dict__.setdefault("_built", {})
        if name not in held:
            held[name] = build()
        return held[name]


def _under(declared: Any, path: tuple[str, ...]) -> Any:
    value = declared
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
