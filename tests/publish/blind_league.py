"""A blind league's book, written line by line as the stages write it, for tests of what counts.

`BlindBook` collects the records; `fold` folds them in memory, `write` puts the
same records in a real book with a pen, so that verify and recount can run.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from beforehand.book.bodies import SealedBody
from beforehand.book.line import make_line
from beforehand.book.store import FileStore
from beforehand.clock import SimulatedClock, instant_key, instant_text
from beforehand.leagues import methodology, shipped
from beforehand.publish.fold import LeagueFold, fold_book
from beforehand.publish.leaderboard import LeagueScores, score_league
from beforehand.records.codec import digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.league import League, Segment
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef, Record
from beforehand.records.resolution import Correction, Resolution
from beforehand.records.run import Ask, Close, Roster, Run, Seat
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen

from .plain import Table

BEGAN = "2026-01-05T09:00:00Z"
SLOT = "2026-01-05T10:00:00Z"
CLOSES = "2026-01-20T00:00:00Z"
SETTLED = "2026-01-20T06:00:00Z"
MODELS = ("ant", "bee", "cat", "dog", "elk", "fox")
Sides = tuple[str | None, str | None]


def later(at: str, **span: float) -> str:
    """An instant a span later."""
    return instant_text(instant_key(at) + timedelta(**span))


def slot_number(number: int) -> str:
    """The slots of the schedule, 10:00 and 22:00 UTC, from a Monday on."""
    return later(SLOT, hours=12 * number)


def blind_declaration(**changed: str) -> Declaration:
    """The shipped blind league in simulated time; `changed` are further texts to exchange."""
    text = shipped()["blind"].decode("utf-8")
    for old, new in (
        ('name = "blind"', 'name = "blind-test"'),
        ("blind.beforehand.example/blind/book", "test.example/blind/book"),
        ('time = "live"', 'time = "simulated"'),
        *(tuple(pair.split("=>", 1)) for pair in changed.values()),
    ):
        assert old in text, old
        text = text.replace(old, new)
    return Declaration.parse(text.encode("utf-8"), "blind.toml")


def model_seats(names: Iterable[str] = MODELS) -> tuple[Seat, ...]:
    return tuple(
        Seat(
            name,
            "asked",
            model=f"lab/{name}-1",
            provider="lab",
            company=f"{name} company",
            family=name,
            open_weights=False,
        )
        for name in names
    )


@dataclass
class BlindBook:
    """Records in the order of the book. Questions are known by number."""

    declaration: Declaration = field(default_factory=blind_declaration)
    steps: list[tuple[str, list[Record], list[bytes]]] = field(default_factory=list)
    bodies: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    lines: int = 2
    salts: int = 0

    def add(self, at: str, *records: Record, bodies: Sequence[bytes] = ()) -> int:
        """Append records of one instant; the line number of the last."""
        held = [body for record in records for body in record.bodies]
        given = {digest(data): data for data in bodies}
        for body in held:
            if body.sha256 in given:
                self.bodies[body.sha256] = given[body.sha256], body.due or at
        self.steps.append((at, list(records), list(bodies)))
        self.lines += len(records)
        return self.lines

    def not_before(self, at: str) -> str:
        """The instant, or that of the last line where it is later."""
        last = self.steps[-1][0] if self.steps else BEGAN
        return max(at, last, key=instant_key)

    # ---- a slot

    def question(self, number: int, event: str | None, closes: str, at: str) -> Question:
        contract = {
            "source": "polymarket",
            "market": f"m{number}",
            "question": f"Will number {number} be drawn?",
            "description_sha256": digest(b"as drawn"),
            "closes": closes,
        }
        text = seal_json({"question": contract["question"], "description": "as drawn"})
        self.ids[number] = question_id(contract)
        self.bodies[digest(text)] = text, at
        return Question(
            at=at,
            bodies=(BodyRef("text", digest(text), at),),
            question=self.ids[number],
            contract=contract,
            cluster=f"polymarket:{event or f'e{number}'}",
            horizon=closes,
            source="polymarket",
            type="market",
        )

    def run(
        self,
        slot: str,
        quotes: Mapping[int, Sides],
        *,
        seats: Sequence[Seat] | None = None,
        events: Mapping[int, str] | None = None,
        closes: Mapping[int, str] | None = None,
        read_at: str | None = None,
        counted: bool = True,
    ) -> str:
        """One batch: new questions, prices, roster and run; the run's name."""
        name = slot[:13]
        fresh = [number for number in quotes if number not in self.ids]
        made = [
            self.question(n, (events or {}).get(n), (closes or {}).get(n, CLOSES), slot)
            for n in fresh
        ]
        raw = seal_json({"run": name})
        shown = tuple(
            Quote(question=self.ids[n], read_at=read_at or slot, bid=bid, ask=ask, volume="900")
            for n, (bid, ask) in quotes.items()
        )
        first = self.lines + len(made) + 1
        records: list[Record] = [
            *made,
            Snapshot(
                at=slot, bodies=(BodyRef("snapshot", digest(raw), slot),), run=name, quotes=shown
            ),
            Roster(
                at=slot,
                run=name,
                seats=tuple(seats or model_seats()),
                deadline=later(slot, minutes=60),
                retry="as declared",
                counted_run="every run",
            ),
            Run(
                at=slot,
                run=name,
                segment="s1",
                slot=slot,
                counted=counted,
                why=None if counted else "a trial",
                snapshot_line=first,
                roster_line=first + 1,
                questions=tuple(self.ids[n] for n in quotes),
            ),
        ]
        texts = [self.bodies[q.bodies[0].sha256][0] for q in made]
        self.add(slot, *records, bodies=[raw, *texts])
        return name

    def ask(
        self,
        run: str,
        name: str,
        number: int,
        *,
        at: str | None = None,
        attempt: int = 1,
        why: str = "first",
        again: int | None = None,
        reserved: str | None = "0.01",
    ) -> int:
        """An ask line, sealed a minute after the slot where no time is given."""
        at = at or self.not_before(later(f"{run}:00:00Z", minutes=1))
        text = f"{name} on {number}, attempt {attempt}\n".encode()
        return self.add(
            at,
            Ask(
                at=at,
                bodies=(BodyRef("ask", digest(text), at),),
                run=run,
                forecaster=name,
                attempt=attempt,
                questions=(self.ids[number],),
                reserved=reserved,
                why=why,
                again=again,
            ),
            bodies=[text],
        )

    def answer(
        self,
        run: str,
        name: str,
        number: int,
        p: str | None = None,
        *,
        failure: str = "timeout",
        ask_line: int | None = None,
        at: str | None = None,
        received_at: str | None = None,
        cost: str | None = "0.004",
        **more: Any,
    ) -> int:
        """An answer line: sealed until the deadline where it states something."""
        at = at or self.not_before(later(f"{run}:00:00Z", minutes=2))
        kept: dict[str, Any] = {
            "at": at,
            "run": run,
            "forecaster": name,
            "status": "answered" if p is not None else failure,
            "ask_line": ask_line,
            "requested_model": f"lab/{name}-1",
            "served_model": f"lab/{name}-1-0105",
            "received_at": received_at or at,
            "cost": cost,
            "latency_ms": 900,
            **more,
        }
        if p is None:
            cell = Cell(self.ids[number], missing=failure)
            return self.add(at, Answer(**kept, cells=(cell,)))
        hidden = {"cells": [{"question": self.ids[number], "p": p}], "rationale": "a reason"}
        due = later(f"{run}:00:00Z", minutes=60)
        sealed = [
            self._sealed(run, name, role, data)
            for role, data in (("answer", seal_json(hidden)), ("reply", b'{"raw": 1}'))
        ]
        roles = ("answer", "reply")
        refs = tuple(
            BodyRef(role, digest(data), due) for role, data in zip(roles, sealed, strict=True)
        )
        return self.add(at, Answer(**kept, bodies=refs), bodies=sealed)

    def _sealed(self, run: str, name: str, role: str, data: bytes) -> bytes:
        self.salts += 1
        salt = f"{self.salts:064x}"
        return SealedBody(self.declaration.origin, run, name, role, salt, data).data()

    def say(self, run: str, name: str, number: int, p: str | None, **more: Any) -> int:
        """An ask and its answer; None is a timeout. The ask's line."""
        line = self.ask(run, name, number)
        self.answer(run, name, number, p, ask_line=line, **more)
        return line

    def end(self, run: str, quotes: Mapping[int, Sides]) -> int:
        """The prices at a run's end."""
        at = later(f"{run}:00:00Z", minutes=30)
        shown = tuple(
            Quote(question=self.ids[n], read_at=at, bid=bid, ask=ask)
            for n, (bid, ask) in quotes.items()
        )
        return self.add(at, Snapshot(at=at, run=run, quotes=shown, moment="end"))

    def close(self, run: str, status: str = "complete", why: str | None = None) -> int:
        at = later(f"{run}:00:00Z", minutes=61)
        return self.add(at, Close(at=at, run=run, slot=f"{run}:00:00Z", status=status, why=why))

    def settle(
        self, number: int, outcome: str, *, at: str = SETTLED, instant: str | None = None
    ) -> int:
        text = f"{number} {outcome}\n".encode()
        record = Resolution(
            at=at,
            bodies=(BodyRef("evidence", digest(text), at),),
            question=self.ids[number],
            outcome=outcome,
            instant=instant or at,
            source="polymarket",
            final="the venue's resolution",
        )
        return self.add(at, record, bodies=[text])

    def correct(self, line: int, outcome: str, at: str) -> int:
        record = Correction(
            at=at, lines=(line,), what="outcome", source="venue", reason="changed", outcome=outcome
        )
        return self.add(at, record)

    # ---- what is made of it

    def head(self) -> list[Record]:
        """Lines 1 and 2."""
        text = methodology(self.declaration.methodology)
        self.bodies[digest(text)] = text, BEGAN
        self.bodies[self.declaration.sha256] = self.declaration.data, BEGAN
        return [
            League(
                at=BEGAN,
                bodies=(BodyRef("declaration", self.declaration.sha256, BEGAN),),
                league=self.declaration.name,
                origin=self.declaration.origin,
                key="test.example/blind/book+00000000+AAAA",
                recovery="0" * 64,
                declaration_sha256=self.declaration.sha256,
            ),
            Segment(
                at=BEGAN,
                bodies=(BodyRef("methodology", digest(text), BEGAN),),
                segment="s1",
                methodology=self.declaration.methodology,
                time="simulated",
                why="a test",
                counted=True,
            ),
        ]

    def fold(self, as_of: str = "2027-01-01T00:00:00Z") -> LeagueFold:
        """The fold, with the bodies that are due."""
        records = [*self.head(), *(record for _, held, _ in self.steps for record in held)]
        lines, prev = [], ""
        for n, record in enumerate(records, 1):
            line = make_line(record.content(), n, prev)
            lines.append(line.raw)
            prev = line.link

        def read_body(sha256: str) -> bytes | None:
            data, due = self.bodies[sha256]
            return data if instant_key(due) <= instant_key(as_of) else None

        return fold_book(lines, read_body)

    def scores(self, as_of: str = "2027-01-01T00:00:00Z") -> LeagueScores:
        return score_league(self.fold(as_of))

    def write(self, folder: Path) -> Pen:
        """The same lines in a real book at `folder`, with a checkpoint; the pen stays open."""
        clock = SimulatedClock(folder / "clock", BEGAN)
        key = SigningKey.keep(self.declaration.origin, folder / "keys/signing.pem")
        pen = Pen(FileStore(folder), clock, key)
        league, segment = self.head()
        first = {**league.content(), "key": key.verifier.text()}
        texts = [self.declaration.data, methodology(self.declaration.methodology)]
        pen.write(lambda at: [League.of(first), segment], texts)
        for at, records, bodies in self.steps:
            if instant_key(at) > instant_key(clock.now()):
                clock.step_to(at)
            pen.write(lambda at, records=records: records, bodies)  # type: ignore[misc]
        pen.checkpoint()
        return pen


def entry_of(scores: LeagueScores, name: str) -> dict[str, Any]:
    """A forecaster's entry on the board."""
    found: dict[str, Any] = next(
        entry for entry in scores.board["forecasters"] if entry["forecaster"] == name
    )
    return found


def rows_of(scores: LeagueScores, name: str) -> list[Any]:
    """A forecaster's rows."""
    return [row for row in scores.rows if row.forecaster == name]


def text_of(p: Fraction) -> str:
    """A grid point as decimal text."""
    return str(Decimal(p.numerator) / Decimal(p.denominator))


def book_of(table: Table, *, declaration: Declaration | None = None) -> BlindBook:
    """The book of a table of answers: every slot asked in order, everything settled at the end."""
    book = asked_book(table, declaration)
    settle_all(book, table)
    return book


def asked_book(table: Table, declaration: Declaration | None = None) -> BlindBook:
    """The book of a table of answers, with no outcome yet."""
    book = BlindBook(declaration or blind_declaration())
    slots = sorted({slot for slot, _ in table.quotes})
    for slot in slots:
        asked = {q: pair for (at, q), pair in sorted(table.quotes.items()) if at == slot}
        names = [name for name, held in table.said.items() if any(at == slot for at, _ in held)]
        quotes = {q: (text_of(bid), text_of(ask)) for q, (bid, ask) in asked.items()}
        run = book.run(slot, quotes, events=table.events, seats=model_seats(names))
        for number in asked:
            for name in names:
                if (slot, number) in table.said[name]:
                    p = table.said[name][slot, number]
                    book.say(run, name, number, None if p is None else text_of(p))
        book.close(run)
    return book


def settle_all(book: BlindBook, table: Table) -> None:
    """Every outcome of a table."""
    words = {True: "yes", False: "no"}
    for number, outcome in table.outcomes.items():
        if outcome is not None and number in book.ids:
            book.settle(number, words[outcome])


def drawn_table(
    questions: int = 32,
    slots: int = 2,
    names: Sequence[str] = MODELS,
    *,
    seed: int = 5,
    failing: Mapping[str, float] | None = None,
    per_event: int = 1,
) -> Table:
    """A made-up table: outcomes, prices near them, models of differing error; fixed by its seed."""
    rng = random.Random(seed)
    truth = {q: rng.random() for q in range(1, questions + 1)}
    outcomes: dict[int, bool | None] = {q: rng.random() < t for q, t in truth.items()}
    quotes: dict[tuple[str, int], tuple[Fraction, Fraction]] = {}
    said: dict[str, dict[tuple[str, int], Fraction | None]] = {name: {} for name in names}
    for n in range(slots):
        for q, t in truth.items():
            middle = min(9200, max(800, round(10_000 * (t + rng.gauss(0, 0.05)))))
            half = rng.choice([50, 100, 200])
            bid, ask = Fraction(middle - half, 10_000), Fraction(middle + half, 10_000)
            quotes[slot_number(n), q] = (bid, ask)
            tilt = rng.gauss(0, 0.15)
            for k, name in enumerate(names):
                p = Fraction(
                    min(10_000, max(0, round(10_000 * (t + tilt + rng.gauss(0, 0.05 * (k + 1)))))),
                    10_000,
                )
                fails = rng.random() < (failing or {}).get(name, 0.0)
                said[name][slot_number(n), q] = None if fails else p
    events = {q: f"e{(q - 1) // per_event}" for q in truth}
    return Table(said, quotes, outcomes, events)
