"""The status of a league: what is due, what was asked, what it cost, what failed and why.

Everything is counted from the book, so that attempts and money add up: every
ask is in exactly one row, and so is every cent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from beforehand.clock import instant_key
from beforehand.stages.ledger import EXACT, ZERO, Account
from beforehand.stages.situation import Attempt, Situation
from beforehand.stages.slots import cohort, later


@dataclass
class SeatAccount:
    """One forecaster: attempts by their end, questions asked and answered, and money."""

    attempts: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    valid: int = 0
    spent: Decimal = ZERO
    standing: Decimal = ZERO

    def take(self, held: list[Attempt]) -> None:
        """Count the attempts of one forecaster on one question in one run."""
        self.asked += 1
        self.valid += any(attempt.valid for attempt in held)
        for attempt in held:
            answer = attempt.answer
            self.attempts["in flight or lost" if answer is None else answer.status] += 1
            if answer is not None and answer.cost is not None:
                self.spent = EXACT.add(self.spent, Decimal(answer.cost))
            else:
                reserved = Decimal(attempt.ask.reserved or "0")
                self.standing = EXACT.add(self.standing, reserved)

    def content(self) -> dict[str, Any]:
        """As JSON values, money as text."""
        return {
            "attempts": dict(sorted(self.attempts.items())),
            "asked": self.asked,
            "valid": self.valid,
            "spent": money(self.spent),
            "standing": money(self.standing),
        }


def money(amount: Decimal) -> str:
    """Exact decimal text, no exponent, at least two places.

    >>> money(Decimal("0.5"))
    '0.50'
    """
    whole, _, places = format(amount, "f").partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}"


def counted(number: int, one: str, many: str = "") -> str:
    """How many there are, in words that fit one as well.

    >>> counted(1, "body", "bodies"), counted(2, "line"), counted(0, "line")
    ('1 body', '2 lines', '0 lines')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def status_of(situation: Situation, now: str, due: str | None) -> dict[str, Any]:
    """The status as JSON values; `due` is when a tick next has something to do."""
    seats: dict[str, SeatAccount] = {}
    for run in situation.runs.values():
        for (_, name), held in run.attempts.items():
            seats.setdefault(name, SeatAccount()).take(held)
    ledger = situation.ledger
    return {
        "league": situation.declaration.name,
        "now": now,
        "lines": situation.lines,
        "next_due": due,
        "runs": _runs(situation),
        "questions": _questions(situation, now),
        "seats": {name: seat.content() for name, seat in seats.items()},
        "attempts": sum(sum(seat.attempts.values()) for seat in seats.values()),
        "budget": {
            "currency": ledger.currency,
            "cap": None if ledger.cap is None else money(ledger.cap),
            "per": ledger.per,
            "periods": {
                name: account_content(account, ledger.cap)
                for name, account in sorted(ledger.accounts.items())
            },
            "total": account_content(ledger.total(), None),
        },
    }


def account_content(account: Account, cap: Decimal | None) -> dict[str, Any]:
    """A period's account as JSON values."""
    share = None
    if cap is not None and cap > 0:
        share = format((account.committed / cap * 100).quantize(Decimal("0.1")), "f")
    return {
        "spent": money(account.spent),
        "standing": money(account.standing),
        "of_which_unknown_cost": money(account.unknown),
        "over_reservation": money(account.over),
        "asks": account.asks,
        "percent_of_cap": share,
    }


def _runs(situation: Situation) -> dict[str, Any]:
    ended = Counter(close.status for close in situation.closes.values())
    going = situation.open_runs()
    troubled = [
        {"run": close.run, "slot": close.slot, "status": close.status, "why": close.why}
        for close in situation.closes.values()
        if close.status != "complete"
    ]
    return {
        "ended": dict(sorted(ended.items())),
        "open": [
            {
                "run": run.run.run,
                "deadline": run.roster.deadline,
                "questions": len(run.questions),
                "asked": len(run.attempts),
            }
            for run in going
        ],
        "not_complete": troubled,
        "cohorts": sorted({cohort(run.run.slot) for run in situation.runs.values()}),
    }


def _questions(situation: Situation, now: str) -> dict[str, int]:
    rules = situation.declaration.content["resolution"]
    moment = instant_key(now)
    counts: Counter[str] = Counter(asked=0, open=0, stale=0, yes=0, no=0, void=0)
    for name, question in situation.questions.items():
        counts["asked"] += 1
        held = situation.outcomes.get(name)
        closes = question.contract.get("closes")
        if held is not None:
            counts[held.outcome] += 1
        elif closes and instant_key(later(closes, days=rules["stale_days"])) < moment:
            counts["stale"] += 1
        else:
            counts["open"] += 1
    return dict(counts)
