"""Leagues that ask models, for their pages: every end of a slot, seals, and texts that attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from beforehand.book.line import make_line
from beforehand.clock import instant_key
from beforehand.publish.fold import fold_book
from beforehand.publish.leaderboard import score_league
from beforehand.records.codec import decode_json, digest, seal_json
from beforehand.records.forecast import Answer, Cell
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef
from beforehand.records.resolution import Correction
from beforehand.records.run import Seat
from beforehand.site.view import SiteView
from tests.publish.blind_league import (
    SETTLED,
    BlindBook,
    asked_book,
    drawn_table,
    later,
    model_seats,
    settle_all,
    slot_number,
)
from tests.site.leagues import ATTACK, CHECKER, NUL, ROOT

NAMES = ("ant", "bee", "cat", "dog")
FILES = [
    ("book.jsonl", "the sealed book"),
    ("forecasts.csv", "one row a forecast"),
    ("attempts.csv", "one row a call"),
    ("checkpoint", "the last signed tree head"),
]
WORDS = ATTACK + NUL + "x" * 5000


def view_of(book: BlindBook, as_of: str = "2027-01-01T00:00:00Z") -> SiteView:
    """The view of a book, with the bodies that are due."""
    records = [*book.head(), *(record for _, held, _ in book.steps for record in held)]
    lines, prev = [], ""
    for n, record in enumerate(records, 1):
        line = make_line(record.content(), n, prev)
        lines.append(line.raw)
        prev = line.link
    moment = instant_key(as_of)
    bodies = {s: data for s, (data, due) in book.bodies.items() if instant_key(due) <= moment}
    fold = fold_book(lines, bodies.get)
    scores = score_league(fold)
    return SiteView(
        league=fold.league.league,
        fold=fold,
        rows=scores.rows,
        board=scores.board,
        read_body=bodies.get,
        checkpoints=[(len(lines), "", ROOT)],
        checker_sha256=CHECKER,
        published=[],
        files=FILES,
        lines=lines,
        attempts=scores.attempts,
    )


def full_book() -> BlindBook:
    """Scored slots, then one that was missed, one the budget stopped, one that failed.

    `dog` answers too little for a rank; an answer leaked, a price moved, a
    reply was read at the second try, and an outcome was corrected.
    """
    table = drawn_table(34, 2, NAMES, failing={"dog": 0.4}, per_event=2)
    book = asked_book(table)
    book.add(slot_number(2), *missed(slot_number(2), "the machine was off").steps[0][1])
    _stopped(book)
    _failed(book)
    settle_all(book, table)
    line = book.settle(101, "yes")
    book.correct(line, "no", later(SETTLED, hours=2))
    return book


def missed(slot: str, why: str) -> BlindBook:
    """A book with nothing but the close line of a slot that never began."""
    book = BlindBook()
    book.close(slot[:13], "missed", why)
    return book


def _stopped(book: BlindBook) -> None:
    slot = slot_number(3)
    quotes = {101: ("0.40", "0.44"), 102: ("0.20", "0.24")}
    seats = (*model_seats(NAMES), Seat("guest", "accepted", family="made at home"))
    run = book.run(slot, quotes, seats=seats)
    first = book.ask(run, "ant", 101)
    book.answer(run, "ant", 101, failure="unparseable", ask_line=first, cost=None)
    again = book.ask(run, "ant", 101, attempt=2, why="reask", again=first)
    book.answer(run, "ant", 101, "0.35", ask_line=again, leak_flag=True, leaks=("odds", "venue"))
    for name in ("bee", "cat"):
        book.say(run, name, 101, "0.30", leak_flag=False)
    _entrant(book, run)
    book.end(run, {101: ("0.60", "0.64"), 102: ("0.20", "0.24")})
    book.close(run, "stopped_budget", "the next call would pass the cap")


def _entrant(book: BlindBook, run: str) -> None:
    """An answer from outside, public at once."""
    at = book.not_before(later(f"{run}:00:00Z", minutes=3))
    cell = Cell(book.ids[101], p="0.61")
    book.add(at, Answer(at=at, run=run, forecaster="guest", status="answered", cells=(cell,),
                        submission="5" * 64))  # fmt: skip


def _failed(book: BlindBook) -> None:
    run = book.run(slot_number(4), {103: ("0.50", "0.54")}, seats=model_seats(NAMES))
    for name in NAMES:
        book.say(run, name, 103, None)
    book.close(run, "failed", "no model answered")


def one_slot(p: Sequence[str] = ("0.73211", "0.73212", "0.73213"), **said: Any) -> BlindBook:
    """A slot that has been asked and answered, whose deadline has not come."""
    book = BlindBook()
    run = book.run(slot_number(0), {1: ("0.40", "0.44")}, seats=model_seats(NAMES))
    for name, text in zip(NAMES, p, strict=False):
        book.say(run, name, 1, text, **said)
    book.ask(run, NAMES[-1], 1)
    return book


class HostileBook(BlindBook):
    """A book in which questions, descriptions and reasons attack."""

    def question(self, number: int, event: str | None, closes: str, at: str) -> Question:
        contract = {
            "source": "polymarket",
            "market": f"m{number} {WORDS[:300]}",
            "question": f"{number} {WORDS[:2000]}",
            "closes": closes,
        }
        text = seal_json(
            {
                "question": contract["question"],
                "description": WORDS,
                "url": "javascript:alert(4)//https://example.org",
                "closes": WORDS[:200],
            }
        )
        self.ids[number] = question_id(contract)
        self.bodies[digest(text)] = text, at
        return Question(
            at=at,
            bodies=(BodyRef("text", digest(text), at),),
            question=self.ids[number],
            contract=contract,
            cluster=f"{number}:{WORDS[:150]}",
            horizon=closes,
            source="polymarket",
            type="market",
        )

    def _sealed(self, run: str, name: str, role: str, data: bytes) -> bytes:
        if role == "answer":
            data = seal_json({**decode_json(data), "rationale": WORDS})
        return super()._sealed(run, name, role, data)


def hostile_seat(seat: Seat) -> Seat:
    """A seat whose every text attacks."""
    words = WORDS[:200]
    return replace(seat, model=words, provider=words, version=words, company=words[:100],
                   family=words[:100], quantisation=words[:40])  # fmt: skip


def attacked_book() -> BlindBook:
    """A slot of hostile texts, settled and corrected, and one that was missed for a reason."""
    book = HostileBook()
    seats = tuple(hostile_seat(seat) for seat in model_seats(NAMES))
    run = book.run(slot_number(0), {1: ("0.40", "0.44"), 2: ("0.10", "0.14")}, seats=seats)
    for number in (1, 2):
        for name in NAMES:
            book.say(run, name, number, "0.3", served_model=WORDS[:200], leaks=("odds",))
    book.close(run, "complete", WORDS[:400])
    book.close(slot_number(1)[:13], "missed", WORDS[:400])
    line = book.settle(1, "yes")
    at = later(SETTLED, hours=1)
    reason = Correction(at=at, lines=(line,), what=WORDS[:400], source=WORDS[:200],
                        reason=WORDS[:2000], outcome="no")  # fmt: skip
    book.add(at, reason)
    return book
