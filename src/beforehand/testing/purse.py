"""What a model replica was asked and what it charged, so that every cent can be reconciled."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

# Costs have this step, so that a JSON number holds one exactly.
STEP = Decimal("0.00000001")
MILLION = Decimal(1_000_000)


def cost_of(prompt: int, completion: int, prices: tuple[Decimal, Decimal]) -> Decimal:
    """The cost of so many tokens at two prices a million, rounded to STEP."""
    return ((prompt * prices[0] + completion * prices[1]) / MILLION).quantize(STEP)


class Purse:
    """Requests and charges. The log holds one JSON line a request, in the order they came.

    A log that is there already is read first, so that a replica that is
    started again goes on counting attempts and charges where it was; only
    what was not delivered is forgotten.
    """

    def __init__(self, credit: Decimal | None, log: Path | None) -> None:
        self.credit = credit
        self.charged = Decimal(0)
        self.undelivered = Decimal(0)
        self._by_model: defaultdict[str, Decimal] = defaultdict(Decimal)
        self._statuses: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._behaviours: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._bodies: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._log: IO[str] | None = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            self._go_on(log)
            # Line buffered and never synced: it tells a test what came, not a court.
            self._log = log.open("a", buffering=1, encoding="ascii")

    def forget(self) -> None:
        """Begin anew, as if nothing had ever been asked; the log is emptied."""
        self.charged = self.undelivered = Decimal(0)
        for held in (self._by_model, self._statuses, self._behaviours, self._bodies):
            held.clear()
        if self._log is not None:
            self._log.truncate(0)

    def _go_on(self, log: Path) -> None:
        """Count what an earlier run wrote; a last line that was cut off is cut away."""
        if not log.exists():
            return
        data = log.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(log, len(whole))
        for text in whole.splitlines():
            line = json.loads(text)
            model = line.pop("model")
            self.received(model, line["body"])
            self.record(model, line.pop("status"), Decimal(line.pop("cost")), **line)

    def received(self, model: str, body: str) -> int:
        """Count a request; which attempt of this body it is, from 1."""
        self._bodies[model][body] += 1
        return self._bodies[model][body]

    def can_pay(self, cost: Decimal) -> bool:
        """Whether the credit left covers a cost."""
        return self.credit is None or self.charged + cost <= self.credit

    def record(self, model: str, status: int, cost: Decimal, **more: Any) -> None:
        """Take the cost of a request, which is 0 where nothing is charged, and log it."""
        self.charged += cost
        self._by_model[model] += cost
        self._statuses[model][str(status)] += 1
        self._behaviours[model][str(more.get("behaviour", ""))] += 1
        if self._log is not None:
            line = {"model": model, "status": status, "cost": str(cost), **more}
            self._log.write(json.dumps(line) + "\n")

    def lost(self, cost: Decimal) -> None:
        """A charge whose answer was not delivered whole."""
        self.undelivered += cost

    def stats(self) -> dict[str, Any]:
        """Totals as decimal texts, and requests by model and by the body's SHA-256."""
        return {
            "charged": str(self.charged),
            "undelivered": str(self.undelivered),
            "credit": None if self.credit is None else str(self.credit),
            "models": {
                model: {
                    "requests": sum(bodies.values()),
                    "charged": str(self._by_model[model]),
                    "statuses": dict(self._statuses[model]),
                    "behaviours": dict(self._behaviours[model]),
                    "bodies": dict(bodies),
                }
                for model, bodies in self._bodies.items()
            },
        }
