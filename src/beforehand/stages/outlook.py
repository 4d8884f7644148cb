"""What a league would ask, and what that costs at most: known before the first line is sealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beforehand.forecasters.forecaster import BlindQuestion, Forecaster
from beforehand.records.declaration import Declaration
from beforehand.stages.ledger import ZERO
from beforehand.stages.slots import later, slots_between

# A question as long as most are, where none was read from the venue.
SAMPLE = BlindQuestion("Will the sample of a question resolve YES?", "Its rules. " * 150)


@dataclass(frozen=True)
class SeatCost:
    """One model's ask at list price, and a week of them without and with every retry."""

    forecaster: str
    model: str
    an_ask: Decimal
    a_week: Decimal
    a_week_at_most: Decimal


@dataclass(frozen=True)
class Outlook:
    """A week of the league: slots, questions and asks at most, and what each seat reserves."""

    slots: tuple[str, ...]
    questions_a_slot: int
    asks: int
    seats: tuple[SeatCost, ...]
    currency: str
    cap: Decimal | None
    per: str

    @property
    def a_week(self) -> Decimal:
        """Every first ask of a week at list price."""
        return sum((seat.a_week for seat in self.seats), ZERO)

    @property
    def a_week_at_most(self) -> Decimal:
        """The same with every retry and re-ask the policy allows."""
        return sum((seat.a_week_at_most for seat in self.seats), ZERO)


def outlook(
    declaration: Declaration,
    forecasters: Mapping[str, Forecaster],
    models: Mapping[str, str],
    now: str,
    question: BlindQuestion = SAMPLE,
) -> Outlook:
    """The coming seven days. Reservations are upper bounds: real costs are usually far below."""
    content: Mapping[str, Any] = declaration.content
    slots = slots_between(content["schedule"], now, later(now, days=7))
    a_slot = int(content["questions"]["select"]["markets"])
    rules, budget = content["answers"], content.get("budget")
    tries = rules["attempts"] + rules["reasks"]
    seats = []
    for name, forecaster in forecasters.items():
        each = forecaster.request(question).reserved
        week = each * a_slot * len(slots)
        seats.append(SeatCost(name, models.get(name, ""), each, week, week * tries))
    return Outlook(
        tuple(slot.at for slot in slots),
        a_slot,
        len(slots) * a_slot * len(seats),
        tuple(seats),
        budget["currency"] if budget else "USD",
        Decimal(budget["cap"]) if budget else None,
        budget["per"] if budget else "league",
    )
