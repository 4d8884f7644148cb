"""What is due and was never shown: the bodies that a book names, and nobody finds.

Standard library only: `recount.py` is made of this very file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from beforehand.clock import instant_key
from beforehand.records.evidence import Erased, Revealed
from beforehand.records.record import Record, Unknown

HasBody = Callable[[str], bool]


@dataclass(frozen=True)
class Unrevealed:
    """A body that was due and is not there: the line that names it, as what, and since when.

    `due` is its due time, or that of the line which revealed it. `run` and
    `forecaster` are empty where the line has none.
    """

    line: int
    kind: str
    role: str
    run: str
    forecaster: str
    sha256: str
    due: str

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class BodyWatch:
    """Takes every record of a book in order; says at the end which bodies are not revealed.

    `as_of` is the moment that decides what is due, `has_body` whether the
    bytes of a hash are there. What was erased is not listed: its own line
    says so.
    """

    def __init__(self, as_of: str, has_body: HasBody) -> None:
        self._moment: datetime = instant_key(as_of)
        self._has_body = has_body
        self._lost: list[Unrevealed] = []
        self._waiting: dict[str, list[Unrevealed]] = {}
        self.erased: set[str] = set()

    def take(self, n: int, record: Record | Unknown) -> None:
        """Take one line."""
        if isinstance(record, Erased):
            self.erased.add(record.body_sha256)
        elif isinstance(record, Revealed):
            for held in self._waiting.pop(record.body_sha256, ()):
                self._look(held, record.at)
        if not isinstance(record, Record):
            return
        for body in record.bodies:
            named = Unrevealed(
                line=n,
                kind=record.kind,
                role=body.role,
                run=str(getattr(record, "run", "")),
                forecaster=str(getattr(record, "forecaster", "")),
                sha256=body.sha256,
                due=body.due or "",
            )
            if body.due is None:
                self._waiting.setdefault(body.sha256, []).append(named)
            elif instant_key(body.due) <= self._moment:
                self._look(named, body.due)

    def _look(self, named: Unrevealed, due: str) -> None:
        if not self._has_body(named.sha256):
            self._lost.append(Unrevealed(**{**asdict(named), "due": due}))

    def found(self) -> tuple[Unrevealed, ...]:
        """Every body that is due and not there, in the order of their lines."""
        held = [each for each in self._lost if each.sha256 not in self.erased]
        return tuple(sorted(held, key=lambda each: (each.line, each.role)))
