"""What `doctor` spent on asks of its own: they are paid for, and stand in no run.

`state/trials.jsonl` has a line an ask: when, whom, and the stated cost (null
where none was). The league's book and cap know nothing of them, so `status`
and `costs` say them beside the book's money.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

TRIALS_NAME = "state/trials.jsonl"
MAX_TRIALS_BYTES = 16 << 20


@dataclass(frozen=True)
class Trials:
    """How many asks, what those that stated a cost came to, and how many stated none."""

    asks: int = 0
    spent: Decimal = Decimal(0)
    unknown: int = 0

    def content(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "asks": self.asks,
            "spent": format(self.spent, "f"),
            "without_stated_cost": self.unknown,
        }


def note_trial(folder: Path, at: str, forecaster: str, cost: Decimal | None) -> None:
    """Write one ask down, synced before anything else is asked."""
    path = folder / TRIALS_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    stated = None if cost is None else format(cost, "f")
    line = json.dumps({"at": at, "forecaster": forecaster, "cost": stated})
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_trials(folder: Path) -> Trials:
    """What was written down; a line that a dying process left half is not one."""
    path = folder / TRIALS_NAME
    if not path.is_file():
        return Trials()
    if path.stat().st_size > MAX_TRIALS_BYTES:
        raise FormatError(f"{path} is over {MAX_TRIALS_BYTES} bytes: move it away")
    costs: list[Decimal | None] = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            stated = decode_json(line)["cost"]
            costs.append(None if stated is None else Decimal(stated))
        except (FormatError, KeyError, TypeError, ArithmeticError):
            raise FormatError(f"{path} holds a line that doctor did not write") from None
    known = [cost for cost in costs if cost is not None]
    return Trials(len(costs), sum(known, Decimal(0)), len(costs) - len(known))
