"""Money: what every call cost, by run, cohort and forecaster, to the last digit of the book.

An attempt is charged its cost; while none is known its reservation stands.
Spent and standing together are what a cap is compared with, and every table
here is a sum over the same attempts. Derived forecasters make no calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beforehand.publish.attempts import Attempt
from beforehand.publish.gains import board_text
from beforehand.records.declaration import Declaration


@dataclass(frozen=True)
class Spending:
    """Sums over attempts. `unpriced` attempts had neither a cost nor a reservation."""

    attempts: int
    spent: Fraction
    standing: Fraction
    unpriced: int

    @property
    def committed(self) -> Fraction:
        """What a cap is compared with."""
        return self.spent + self.standing

    def told(self) -> dict[str, Any]:
        """As JSON, amounts exact."""
        return {
            "attempts": self.attempts,
            "spent": money_text(self.spent),
            "standing": money_text(self.standing),
            "committed": money_text(self.committed),
            "unpriced": self.unpriced,
        }


def spending_of(attempts: Iterable[Attempt]) -> Spending:
    """The sums over some attempts."""
    held = list(attempts)
    charged = [(attempt.stands, attempt.charged) for attempt in held if attempt.charged is not None]
    return Spending(
        attempts=len(held),
        spent=sum((value for stands, value in charged if not stands), Fraction(0)),
        standing=sum((value for stands, value in charged if stands), Fraction(0)),
        unpriced=len(held) - len(charged),
    )


def spending_by(
    attempts: Iterable[Attempt], key: Callable[[Attempt], str]
) -> dict[str, list[Attempt]]:
    """Attempts by a key, in their order."""
    held: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        held.setdefault(key(attempt), []).append(attempt)
    return held


def costs_told(attempts: Sequence[Attempt], declaration: Declaration) -> dict[str, Any]:
    """The league's costs as JSON: in all, and by forecaster with the cost of a valid answer."""
    budget = declaration.content.get("budget", {})
    return {
        "currency": budget.get("currency"),
        "cap": budget.get("cap"),
        "per": budget.get("per"),
        **spending_of(attempts).told(),
        "forecasters": [
            {"forecaster": name, **forecaster_costs(held)}
            for name, held in sorted(spending_by(attempts, lambda a: a.forecaster).items())
        ],
    }


def forecaster_costs(held: Sequence[Attempt]) -> dict[str, Any]:
    """One forecaster's calls: what they cost, and what a valid answer cost on average."""
    total, valid = spending_of(held), sum(attempt.valid for attempt in held)
    latencies = sorted(
        attempt.answer.latency_ms
        for attempt in held
        if attempt.answer is not None and attempt.answer.latency_ms is not None
    )
    return {
        **total.told(),
        "valid": valid,
        "committed_a_valid": board_text(total.committed / valid) if valid else None,
        "median_latency_ms": latencies[len(latencies) // 2] if latencies else None,
    }


def money_text(value: Fraction) -> str:
    """An amount exactly, with two places at least.

    >>> money_text(Fraction(1, 2)), money_text(Fraction(1, 8000))
    ('0.50', '0.000125')
    """
    places = 2
    while (value * 10**places).denominator != 1:
        places += 1
    whole, part = divmod(abs(value.numerator) * 10**places // value.denominator, 10**places)
    return f"{'-' if value < 0 else ''}{whole}.{part:0{places}}"
