"""A league of a dozen lines that has every part of a book: open and sealed bodies, a void, a late.

It is made up and says so; its purpose is to be attacked.
"""

from __future__ import annotations

from pathlib import Path

from beforehand.book.bodies import SealedBody
from beforehand.clock import SimulatedClock
from beforehand.leagues import shipped
from beforehand.records.codec import digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef
from beforehand.records.resolution import Resolution
from beforehand.records.run import Roster, Run, Seat
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.stages.declare import declare, open_league
from beforehand.stages.pen import Pen

RUN = "run-1"
DEADLINE = "2026-01-02T00:00:00Z"
SALT = "5a" * 32
START = "2026-01-01T00:00:00Z"


def small_declaration() -> Declaration:
    """The shipped replay declaration, without comments, with sealed answers and a low bar."""
    kept = []
    for line in shipped()["replay"].decode("utf-8").split("\n"):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        for old, new in (
            ('name = "human-2024-07"', 'name = "small"'),
            ("demo.beforehand.example/human-2024-07/book", "test.example/small/book"),
            ("min_events = 100", "min_events = 1"),
            ('answer = "line"', 'answer = "deadline"'),
        ):
            if text.startswith(old) or old in text:
                text = text.replace(old, new)
        kept.append(text)
    return Declaration.parse("\n".join(kept).encode("utf-8") + b"\n", "small.toml")


def small_question(number: int, at: str) -> tuple[Question, bytes]:
    """A made-up question and its text."""
    contract = {"source": "made-up", "source_id": f"q{number}", "rule": "as drawn"}
    text = seal_json({"question": f"Will number {number} be drawn? – π ≥ 3"}) + b"\n"
    question = Question(
        at=at,
        bodies=(BodyRef("text", digest(text), at),),
        question=question_id(contract),
        contract=contract,
        cluster=f"made-up:q{number}",
        horizon="1d",
        source="made-up",
        type="market" if number % 2 else "dataset",
    )
    return question, text


def play_small_league(folder: Path, *, questions: int = 3, settle: bool = True) -> Pen:
    """The league in a book at `folder`, with its checkpoints; the pen stays open."""
    declaration = small_declaration()
    clock = SimulatedClock(folder / "clock", START)
    pen = open_league(folder, declaration, clock)
    declare(pen, declaration, folder)
    made = [small_question(number, START) for number in range(1, questions + 1)]
    ids = [question.question for question, _ in made]
    pen.write(lambda at: [question for question, _ in made], [text for _, text in made])
    raw = b'{"made": "up"}\n'
    quote = Quote(question=ids[0], read_at=START, bid="0.40", ask="0.44")
    pen.write(
        lambda at: [
            Snapshot(
                at=at, bodies=(BodyRef("snapshot", digest(raw), at),), run=RUN, quotes=(quote,)
            )
        ],
        [raw],
    )
    _open_run(pen, questions)
    pen.checkpoint()
    _answers(pen, declaration, ids)
    pen.checkpoint()
    if settle:
        clock.step_to("2026-01-03T00:00:00Z")
        _settle(pen, ids)
    pen.checkpoint()
    return pen


def _open_run(pen: Pen, questions: int) -> None:
    seats = (Seat("ada", "accepted", mode="human"), Seat("bob", "accepted", mode="human"))
    first = pen.store.size - questions
    snapshot = pen.store.size
    pen.write(
        lambda at: [
            Roster(at=at, run=RUN, seats=seats, deadline=DEADLINE, retry="none", counted_run="only")
        ]
    )
    pen.write(
        lambda at: [
            Run(
                at=at,
                run=RUN,
                segment="replay",
                slot=DEADLINE,
                counted=True,
                snapshot_line=snapshot,
                roster_line=snapshot + 1,
                question_lines=(first, snapshot - 1),
            )
        ]
    )


def _answers(pen: Pen, declaration: Declaration, ids: list[str]) -> None:
    """Ada's answer stands in the line, Bob's in a sealed body until the deadline."""
    cells = tuple(Cell(question=name, p="0.62") for name in ids)
    pen.write(lambda at: [Answer(at=at, run=RUN, forecaster="ada", status="answered", cells=cells)])
    hidden = {"cells": [{"question": name, "p": "0.35"} for name in ids]}
    body = SealedBody(declaration.origin, RUN, "bob", "answer", SALT, seal_json(hidden) + b"\n")
    ref = BodyRef("answer", digest(body.data()), DEADLINE)
    pen.write(
        lambda at: [Answer(at=at, bodies=(ref,), run=RUN, forecaster="bob", status="answered")],
        [body.data()],
    )


def _settle(pen: Pen, ids: list[str]) -> None:
    evidence = b"yes, then no, then void\n"
    outcomes = ("yes", "no", "void")
    pen.write(
        lambda at: [
            Resolution(
                at=at,
                bodies=(BodyRef("evidence", digest(evidence), at),),
                question=name,
                outcome=outcomes[place % 3],
                instant="2026-01-02",
                source="made up",
                final="made up",
            )
            for place, name in enumerate(ids)
        ],
        [evidence],
    )
