"""Draining the inbox: each waiting submission becomes one answer line, once.

A line carries the SHA-256 of its submission. A drain that was killed between
the line and the moving of the file finds the line, and only moves the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from beforehand.book.bodies import SealedBody
from beforehand.book.key_history import KeyHistory, key_history
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer, Cell
from beforehand.records.league import KeyChange
from beforehand.records.record import BodyRef
from beforehand.stages.declare import declaration_of
from beforehand.stages.inbox import Inbox, Item
from beforehand.stages.occasion import Occasion, Occasions
from beforehand.stages.pen import Pen
from beforehand.stages.receipt import Receipt
from beforehand.stages.withheld import withheld_answer, withheld_root

MAX_A_DRAIN = 2000


@dataclass
class Drained:
    """What one drain did: the lines it wrote, files it only moved, files it refused."""

    sealed: int = 0
    moved: int = 0
    refused: int = 0


def drain_inbox(pen: Pen, folder: Path, stamp: Callable[[], None] | None = None) -> Drained:
    """Seal what waits in a league's inbox, the first received first; safe to call again.

    Everything is judged anew: the inbox is a folder, and anything may lie in it.
    `stamp` is called after every line, where each answer is stamped by itself.
    """
    inbox, drained = Inbox(folder), Drained()
    waiting = _in_order(inbox, drained)
    if not waiting:
        return drained
    declaration = declaration_of(pen)
    occasions, keys = Occasions.of(pen.records()), _changed_keys(pen)
    for path in waiting:
        item = inbox.read(path)
        line = occasions.submissions.get(item.submission.sha256)
        if line is not None:
            drained.moved += 1
        else:
            reason = _reason_against(pen, keys, occasions, item)
            if reason is not None:
                inbox.refuse(path, reason)
                drained.refused += 1
                continue
            line = _seal(pen, declaration, occasions, item)
            if stamp is not None:
                stamp()
            drained.sealed += 1
        inbox.done(path, line)
    return drained


def _in_order(inbox: Inbox, drained: Drained) -> list[Path]:
    """The waiting files by time of arrival; what is no submission is refused here."""
    readable: list[tuple[str, str, Path]] = []
    for path in inbox.waiting()[:MAX_A_DRAIN]:
        try:
            item = inbox.read(path)
        except FormatError as error:
            inbox.refuse(path, str(error))
            drained.refused += 1
        else:
            readable.append((item.receipt.received_at, item.submission.sha256, path))
    readable.sort(key=lambda entry: (instant_key(entry[0]), entry[1]))
    return [path for _, _, path in readable]


def _reason_against(
    pen: Pen, keys: KeyHistory | None, occasions: Occasions, item: Item
) -> str | None:
    try:
        # Where the key was changed meanwhile, it is that of the time of arrival.
        key = pen.key.verifier if keys is None else keys.when(item.receipt.received_at)
        Receipt.open(item.note.encode("utf-8"), key)
    except (FormatError, IntegrityError) as error:
        # What lies in the folder is anybody's claim until the league's own key says otherwise.
        return f"its receipt is not this league's: {error}"
    refusal = occasions.judge(item.submission)
    return None if refusal is None else refusal.words


def _changed_keys(pen: Pen) -> KeyHistory | None:
    """The keys of a book whose key was changed."""
    if any(isinstance(record, KeyChange) for _, record in pen.records()):
        return key_history(pen.store.lines())
    return None


def _seal(pen: Pen, declaration: Declaration, occasions: Occasions, item: Item) -> int:
    run = occasions.runs[item.submission.run]
    cells = _cells(item, occasions)
    rules = rules_of(declaration)
    bodies = _bodies(declaration, item, cells, rules)

    def build(at: str) -> list[Answer]:
        dues = {"line": at, "deadline": run.deadline, "never": None}
        refs = [BodyRef(role, digest(data), dues[rules[role]]) for role, data in bodies.items()]
        return [
            Answer(
                at=at,
                bodies=tuple(refs),
                run=run.run,
                forecaster=item.submission.forecaster,
                status=_status(item, run),
                received_at=item.receipt.received_at,
                cells=cells if rules["answer"] == "line" else None,
                cells_root=withheld_root(bodies.get("answer")),
                submission=item.submission.sha256,
            )
        ]

    return pen.write(build, list(bodies.values()))[0].n


def _status(item: Item, run: Occasion) -> str:
    return "late" if run.is_over(item.receipt.received_at) else "answered"


def _cells(item: Item, occasions: Occasions) -> tuple[Cell, ...]:
    """What was stated; on a question whose outcome the book holds already, that it came late.

    The submission itself is kept as it was sent. Only its probability does
    not stand in the book as if it had been stated before the outcome.
    """
    return tuple(
        Cell(question=cell.question, missing="late") if cell.question in occasions.settled else cell
        for cell in item.submission.forecasts
    )


def rules_of(declaration: Declaration) -> dict[str, str]:
    """When the bodies of a submission are public: by role, `line`, `deadline` or `never`.

    The submission says what the answer says. Where it would be public before
    the answer, also because the league declares nothing of it, it is left out
    of the book and stays in the inbox, and the line holds its hash alone.
    """
    answer = declaration.bodies.get("answer", "line")
    submission = declaration.bodies.get("submission", "line")
    if submission == "line" and answer != "line":
        return {"answer": answer}
    return {"answer": answer, "submission": submission}


def _bodies(
    declaration: Declaration, item: Item, cells: tuple[Cell, ...], rules: dict[str, str]
) -> dict[str, bytes]:
    """The bodies by role: plain where they are public at once, else behind the item's own salt."""
    parts = {"submission": item.submission.data()}
    if rules["answer"] != "line":
        parts["answer"] = withheld_answer(declaration, cells, item.salts["answer"])
    made = {}
    for role, data in parts.items():
        if role not in rules:
            continue
        if rules[role] == "line":
            made[role] = data
            continue
        owner = (declaration.origin, item.submission.run, item.submission.forecaster)
        made[role] = SealedBody(*owner, role, item.salts[role], data).data()
    return made
