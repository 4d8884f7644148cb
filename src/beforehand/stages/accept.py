"""Opening a run and accepting answers that were given elsewhere, one line an answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from beforehand.book.bodies import SALT_BYTES, SealedBody
from beforehand.errors import RuleError
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.question import Question
from beforehand.records.record import BodyRef
from beforehand.records.run import Roster, Run, Seat
from beforehand.records.snapshot import Snapshot
from beforehand.sources.forecastbench import ArchivedAnswer, Key
from beforehand.stages.pen import Pen
from beforehand.stages.withheld import withheld_answer, withheld_root


def open_run(pen: Pen, roster: Callable[[str], Roster], run: str, segment: str, slot: str) -> None:
    """Seal the roster, then the run over every question in the book; done once."""
    held = pen.records()
    if not any(isinstance(record, Roster) and record.run == run for _, record in held):
        pen.write(lambda at: [roster(at)])
        held = pen.records()
    if any(isinstance(record, Run) and record.run == run for _, record in held):
        return
    questions = [n for n, record in held if isinstance(record, Question)]
    snapshots = [n for n, r in held if isinstance(r, Snapshot) and r.run == run]
    rosters = [n for n, r in held if isinstance(r, Roster) and r.run == run]
    if not questions or not snapshots:
        raise RuleError(f"the run {run} has no questions or no snapshot yet")
    pen.write(
        lambda at: [
            Run(
                at=at,
                run=run,
                segment=segment,
                slot=slot,
                counted=True,
                snapshot_line=snapshots[-1],
                roster_line=rosters[-1],
                question_lines=(questions[0], questions[-1]),
            )
        ]
    )


def accepted_seats(names: Sequence[str], mode: str) -> tuple[Seat, ...]:
    """Seats of forecasters whose answers are accepted, not asked for."""
    return tuple(Seat(forecaster=name, entry="accepted", mode=mode) for name in names)


def accept_answers(
    pen: Pen,
    declaration: Declaration,
    run: str,
    answers: Sequence[ArchivedAnswer],
    ids: Mapping[Key, str],
    wrote: Callable[[int], None] | None = None,
) -> None:
    """One answer line a person with all their cells, each sealed on its own; done once each.

    The cells stand in the line where the league declares answers public at
    once, and in a salted body until the deadline where it withholds them.
    """
    held = {
        record.forecaster
        for _, record in pen.records()
        if isinstance(record, Answer) and record.run == run
    }
    deadline = _deadline(pen, run)
    for answer in answers:
        if answer.forecaster in held:
            continue
        cells = tuple(Cell(question=ids[key], p=p) for key, p in answer.cells)
        parts = {"answer_rows": answer.evidence}
        withheld = declaration.bodies.get("answer", "line") == "deadline"
        if withheld:
            parts["answer"] = withheld_answer(declaration, cells)
        bodies = {
            role: _body(declaration, run, answer.forecaster, role, data)
            for role, data in parts.items()
        }

        def build(
            at: str,
            forecaster: str = answer.forecaster,
            shown: tuple[Cell, ...] | None = None if withheld else cells,
            bodies: dict[str, bytes] = bodies,
            root: str | None = withheld_root(bodies.get("answer")),
        ) -> list[Answer]:
            refs = tuple(
                BodyRef(role, digest(data), at if _is_open(declaration, role) else deadline)
                for role, data in bodies.items()
            )
            return [
                Answer(
                    at=at,
                    bodies=refs,
                    run=run,
                    forecaster=forecaster,
                    status="answered",
                    cells=shown,
                    cells_root=root,
                )
            ]

        pen.write(build, list(bodies.values()), wrote)


def _is_open(declaration: Declaration, role: str) -> bool:
    return declaration.bodies.get(role, "line") == "line"


def _body(declaration: Declaration, run: str, forecaster: str, role: str, data: bytes) -> bytes:
    """The bytes as they are, or behind a fresh salt where the league withholds the role."""
    if _is_open(declaration, role):
        return data
    salt = secrets.token_hex(SALT_BYTES)
    return SealedBody(declaration.origin, run, forecaster, role, salt, data).data()


def _deadline(pen: Pen, run: str) -> str:
    for _, record in pen.records():
        if isinstance(record, Roster) and record.run == run:
            return record.deadline
    raise RuleError(f"the run {run} has no roster: open it first")
