"""Made-up leagues for the pages: every status a forecast can have, and texts that attack."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from beforehand.book.line import make_line
from beforehand.leagues import shipped
from beforehand.publish.fold import fold_book
from beforehand.publish.leaderboard import build_board
from beforehand.publish.rows import build_rows
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.league import League, Segment
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef, Record
from beforehand.records.resolution import Correction, Resolution
from beforehand.records.run import Roster, Run, Seat
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.site.view import SiteView

LEAGUE = "made-up"
ROOT = "ab" * 32
CHECKER = "c0" * 32
FILES = [
    ("book.jsonl", "the sealed book"),
    ("forecasts.csv", "one row a forecast"),
    ("checkpoint", "the last signed tree head"),
    ("tile/", "the tree"),
]
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "javascript:alert(3)",
    "\u202egnp.exe\u2066\u200f\u0085",
    "</style></title></table>{{ 7 * 7 }}{% raw %}&amp;<!--",
    "http://evil.example/ data:text/html,<b>x",
)
ATTACK = " ".join(HOSTILE)
NUL = "\x00\x1b[31m"


class Bookmaker:
    """Writes lines and keeps bodies, in memory."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.bodies: dict[str, bytes] = {}
        self._prev = ""

    def add(self, record: Record | dict[str, Any]) -> int:
        """The number of the line that holds the record."""
        content = record.content() if isinstance(record, Record) else record
        line = make_line(content, len(self.lines) + 1, self._prev)
        self.lines.append(line.raw)
        self._prev = line.link
        return line.n

    def body(self, role: str, data: bytes, at: str, *, kept: bool = True) -> BodyRef:
        """The reference of a body; one that is not kept is withheld."""
        sha256 = digest(data)
        if kept:
            self.bodies[sha256] = data
        return BodyRef(role, sha256, at)


def declaration(title: str, time: str = "simulated", attribution: str = "nobody") -> Declaration:
    """The shipped replay declaration under another name, with a low bar for a rank."""
    text = shipped()["replay"].decode("utf-8")
    head, _, rest = text.partition("[segment]")
    declared = {
        "name": LEAGUE,
        "title": title,
        "about": title,
        "origin": "test.example/made-up/book",
        "licence": "CC-BY-4.0",
        "attribution": attribution,
    }
    head = head.partition("[league]")[0] + "[league]\n"
    head += "".join(f"{key} = {json.dumps(value)}\n" for key, value in declared.items())
    rest = rest.replace("min_events = 100", "min_events = 5")
    rest = rest.replace('time = "simulated"', f'time = "{time}"')
    return Declaration.parse((head + "\n[segment]" + rest).encode("utf-8"), "made-up.toml")


def make_view(
    *,
    title: str = "A made-up league",
    words: str = "Will it be drawn",
    url: str = "https://example.org/q?a=1&b=2",
    time: str = "simulated",
    clusters: int = 12,
    answers: bool = True,
    with_lines: bool = True,
    horizons: Sequence[str] = ("2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01"),
) -> SiteView:
    """A league of `clusters` questions, the first at several dates, and its view."""
    book = Bookmaker()
    declared = declaration(title[:200], time, title[:400])
    _begin(book, declared, time, words)
    ids = _questions(book, clusters, words, url, horizons)
    if answers:
        _run(book, ids, words)
        _settle(book, ids, words)
    fold = fold_book(book.lines, book.bodies.get)
    rows = build_rows(fold)
    note = {
        "title": words[:300],
        "ours": "0.1223",
        "theirs": "0.122",
        "n": 521,
        "note": words[:300],
    }
    return SiteView(
        league=LEAGUE,
        fold=fold,
        rows=rows,
        board=build_board(fold, rows),
        read_body=book.bodies.get,
        checkpoints=[(2, "2026-01-01T00:00:00Z", "01" * 32), (len(book.lines), "", ROOT)],
        checker_sha256=CHECKER,
        published=[note],
        files=FILES,
        lines=book.lines if with_lines else (),
    )


def _begin(book: Bookmaker, declared: Declaration, time: str, words: str) -> None:
    at = "2026-01-01T00:00:00Z"
    book.add(
        League(
            at=at,
            bodies=(book.body("declaration", declared.data, at),),
            league=LEAGUE,
            origin=declared.origin,
            key="test.example/made-up/book+00000000+AAAA",
            recovery="0" * 64,
            declaration_sha256=declared.sha256,
        )
    )
    book.add(
        Segment(
            at=at, segment="one", methodology=words[:60], time=time, why=words[:2000], counted=True
        )
    )


def _questions(
    book: Bookmaker, clusters: int, words: str, url: str, horizons: Sequence[str]
) -> list[str]:
    at = "2026-01-02T00:00:00Z"
    ids = []
    for number in range(clusters):
        for horizon in horizons if number == 0 else ("until it resolves",):
            dated = horizon if number == 0 else ""
            contract = {
                "source_id": f"{number} {words[:1000]}",
                "resolution_date": dated,
                "forecast_due": "2026-01-10",
            }
            text = {
                "question": f"{words} by {{resolution_date}}, due {{forecast_due_date}}?\n\nMore.",
                "background": words,
                "resolution_criteria": "As drawn on {resolution_date}.",
                "url": url,
                "freeze_datetime_value": words[:500],
                "source_intro": "N/A",
            }
            data = json.dumps(text).encode("utf-8") if number != 3 else words.encode("utf-8")
            body = book.body("text", data, at, kept=number != 4)
            ids.append(question_id(contract))
            book.add(
                Question(
                    at=at,
                    bodies=(body,) if number != 5 else (),
                    question=ids[-1],
                    contract=contract,
                    cluster=f"{number}:{words[:100]}",
                    horizon=horizon,
                    source="made-up",
                    type="market" if number % 2 else "dataset",
                )
            )
    return ids


def _run(book: Bookmaker, ids: list[str], words: str) -> None:
    at = "2026-01-03T00:00:00Z"
    first, last = 3, 2 + len(ids)
    quotes = tuple(Quote(question=name, read_at=at, crowd="0.7") for name in ids[5::2])
    snapshot = book.add(Snapshot(at=at, run="r1", quotes=quotes))
    names = ("ada", "bob", "cyd", "dan", "eve")
    seats = tuple(Seat(name, "accepted", model=words[:200], mode="human") for name in names)
    roster = book.add(
        Roster(
            at=at,
            run="r1",
            seats=seats,
            deadline="2026-01-10T00:00:00Z",
            retry=words[:400],
            counted_run=words[:400],
        )
    )
    book.add(
        Run(
            at=at,
            run="r1",
            segment="one",
            slot=at,
            counted=True,
            snapshot_line=snapshot,
            roster_line=roster,
            question_lines=(first, last),
            why=words[:400],
        )
    )
    steps = {"ada": "0.{}", "bob": "0.8{}", "cyd": "0.3{}00000000000001"}
    for turn, (name, form) in enumerate(steps.items()):
        cells = tuple(
            Cell(question, p=form.format((place * 3 + turn) % 9))
            for place, question in enumerate(ids)
        )
        if name == "bob":
            cells = (*cells[:-1], Cell(ids[-1], missing="timeout"))
        _answer(book, name, "2026-01-09T00:00:00Z", cells)
    hidden = book.body("answer", b"withheld", "2030-01-01T00:00:00Z", kept=False)
    book.add(
        Answer(at="2026-01-09T00:00:00Z", run="r1", forecaster="eve", status="answered",
               bodies=(hidden,))
    )  # fmt: skip
    _answer(book, "mallory", "2026-01-09T00:00:00Z", (Cell(ids[0], p="0.5"),))
    _answer(book, "ada", "2026-01-11T00:00:00Z", (Cell(ids[1], p="1"),))


def _answer(book: Bookmaker, name: str, at: str, cells: tuple[Cell, ...]) -> None:
    raw = book.body("answer_rows", name.encode() + at.encode(), at)
    book.add(
        Answer(at=at, bodies=(raw,), run="r1", forecaster=name, status="answered", cells=cells)
    )


def _settle(book: Bookmaker, ids: list[str], words: str) -> None:
    at = "2026-06-01T00:00:00Z"
    lines = []
    for place, question in enumerate(ids[:-1]):  # the last one stays open
        evidence = book.body("evidence", f"{place} {words}".encode(), at)
        outcome = ("yes", "no", "no", "void")[place] if place < 4 else ("yes", "no")[place % 2]
        lines.append(
            book.add(
                Resolution(at=at, bodies=(evidence,), question=question, outcome=outcome,
                           instant="2026-05-31", source=words[:200], final=words[:200])
            )
        )  # fmt: skip
    book.add(
        Correction(at=at, lines=(lines[1],), what=words[:400], source=words[:200],
                   reason=words[:2000], outcome="yes")
    )  # fmt: skip
    book.add({"at": at, "kind": "later-kind", "what": words[:2000], "bodies": "no list"})
