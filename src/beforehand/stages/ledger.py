"""The ledger of a league's money, read from its book: nothing is kept anywhere else.

An ask reserves at list price before it is sent. Its answer's cost takes the
reservation's place; where the far side named none, the reservation stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact
from typing import Any

from beforehand.records.forecast import Answer
from beforehand.records.record import Record, Unknown
from beforehand.records.run import Ask, Run
from beforehand.stages.slots import cohort

ZERO = Decimal(0)
# Sums of money are exact: no digit is rounded away, however many there are.
EXACT = Context(prec=200, traps=[Inexact])


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, with every digit."""
    total = ZERO
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


@dataclass
class Account:
    """Money of one period: `spent` was charged, `standing` is reserved and may yet be.

    `unknown` is the part of `standing` whose call has ended without a cost;
    `over` how much single calls cost beyond what was reserved for them.
    """

    spent: Decimal = ZERO
    standing: Decimal = ZERO
    unknown: Decimal = ZERO
    over: Decimal = ZERO
    asks: int = 0

    @property
    def committed(self) -> Decimal:
        """What the cap is compared with."""
        return EXACT.add(self.spent, self.standing)


@dataclass
class Ledger:
    """Every period's account under a declared cap; `cap` is None where there is no budget."""

    currency: str
    cap: Decimal | None
    per: str
    accounts: dict[str, Account] = field(default_factory=dict)
    _period_of_run: dict[str, str] = field(default_factory=dict)
    _open: dict[int, tuple[str, Decimal]] = field(default_factory=dict)

    @classmethod
    def begin(cls, declaration: Mapping[str, Any]) -> Ledger:
        """The empty ledger of a declaration's content."""
        budget = declaration.get("budget")
        if budget is None:
            return cls("USD", None, "league")
        return cls(budget["currency"], Decimal(budget["cap"]), budget["per"])

    @classmethod
    def of(
        cls, records: Iterable[tuple[int, Record | Unknown]], declaration: Mapping[str, Any]
    ) -> Ledger:
        """The ledger of a book's records under a declaration's content."""
        ledger = cls.begin(declaration)
        for n, record in records:
            ledger.take(n, record)
        return ledger

    def take(self, n: int, record: Record | Unknown) -> None:
        """What line `n` changes."""
        if isinstance(record, Run):
            self._period_of_run[record.run] = self.period(record.slot)
        elif isinstance(record, Ask):
            period = self._period_of_run.get(record.run, "")
            reserved = Decimal(record.reserved or "0")
            account = self.account(period)
            account.standing = EXACT.add(account.standing, reserved)
            account.asks += 1
            self._open[n] = period, reserved
        elif isinstance(record, Answer) and record.ask_line in self._open:
            period, reserved = self._open.pop(record.ask_line)
            self._settle(self.account(period), reserved, record.cost)

    def _settle(self, account: Account, reserved: Decimal, cost: str | None) -> None:
        if cost is None:
            account.unknown = EXACT.add(account.unknown, reserved)
            return
        account.standing = EXACT.subtract(account.standing, reserved)
        account.spent = EXACT.add(account.spent, Decimal(cost))
        over = max(ZERO, EXACT.subtract(Decimal(cost), reserved))
        account.over = EXACT.add(account.over, over)

    def period(self, slot: str) -> str:
        """The period that a slot's money belongs to."""
        if self.per == "cohort":
            return cohort(slot)
        return slot[:7] if self.per == "month" else "league"

    def account(self, period: str) -> Account:
        """A period's account."""
        return self.accounts.setdefault(period, Account())

    def fits(self, slot: str, amounts: Iterable[Decimal]) -> bool:
        """Whether all amounts together stay within the cap of the slot's period."""
        if self.cap is None:
            return True
        return exact_sum((self.account(self.period(slot)).committed, *amounts)) <= self.cap

    def total(self) -> Account:
        """All periods together."""
        total = Account()
        for account in self.accounts.values():
            for name in ("spent", "standing", "unknown", "over"):
                setattr(total, name, EXACT.add(getattr(total, name), getattr(account, name)))
            total.asks += account.asks
        return total
