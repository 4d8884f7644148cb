"""What a call may cost at most, and whether it still fits: pure arithmetic, before every call.

A reservation is at list price for the longest prompt, the longest completion
and every search. It is rounded up to a millionth of the currency. A cost that
nobody states keeps its reservation for ever; one above its reservation counts
in full, and is flagged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from beforehand.errors import RuleError

_EXACT = Context(prec=80, rounding=ROUND_CEILING)
_STEP = Decimal("0.000001")
_MILLION = Decimal(1_000_000)
NOTHING = Decimal(0)


def rounded_up(amount: Decimal) -> Decimal:
    """To a millionth, never down.

    >>> rounded_up(Decimal("0.0000001"))
    Decimal('0.000001')
    """
    return amount.quantize(_STEP, context=_EXACT)


@dataclass(frozen=True)
class Prices:
    """List prices: money per million tokens, and per search."""

    prompt: Decimal
    completion: Decimal
    search: Decimal = NOTHING

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> Prices:
        """The prices in a model's table; RuleError where it searches and no fee stands there."""
        if model.get("search", "none") != "none" and "price_search" not in model:
            raise RuleError(
                f"{model['forecaster']}: it searches, so price_search must stand beside its prices"
            )
        return cls(
            Decimal(model["price_prompt"]),
            Decimal(model["price_completion"]),
            Decimal(model.get("price_search", "0")),
        )

    def cost(self, prompt_tokens: int, completion_tokens: int, searches: int = 0) -> Decimal:
        """The price of tokens and searches, rounded up."""
        tokens = _EXACT.add(
            _EXACT.multiply(self.prompt, Decimal(prompt_tokens)),
            _EXACT.multiply(self.completion, Decimal(completion_tokens)),
        )
        fees = _EXACT.multiply(self.search, Decimal(searches))
        return rounded_up(_EXACT.add(_EXACT.divide(tokens, _MILLION), fees))


def prompt_tokens_at_most(body: bytes) -> int:
    """An upper bound on the prompt's tokens: one for every byte of the whole request.

    A tokenizer with byte fallback never makes more tokens than there are
    bytes. What a chat template adds (a few tokens a message) is less than the
    names, quotes and brackets of the request, which are counted too.
    """
    return len(body)


@dataclass(frozen=True)
class Searches:
    """How much searching one ask may do: rounds, and the tokens that each adds to the prompt."""

    rounds: int = 0
    tokens_a_round: int = 0
    asks_again: bool = False


def reservation(body: bytes, max_tokens: int, prices: Prices, searches: Searches) -> Decimal:
    """The most that one ask may cost at list price.

    Where the model is asked again after every search, each further request
    carries what was said and found so far.
    """
    prompt = prompt_tokens_at_most(body)
    if not searches.asks_again:
        prompt += searches.rounds * searches.tokens_a_round
        return prices.cost(prompt, max_tokens, searches.rounds)
    calls = searches.rounds + 1
    grown = (max_tokens + searches.tokens_a_round) * (searches.rounds * calls // 2)
    return prices.cost(prompt * calls + grown, max_tokens * calls, searches.rounds)


@dataclass(frozen=True)
class Ledger:
    """A cap and what has been taken of it.

    `spent` is what settled attempts cost, `reserved` what open ones may.
    `overruns` counts the attempts that cost more than was reserved for them,
    and `overrun` is by how much.
    """

    cap: Decimal
    spent: Decimal = NOTHING
    reserved: Decimal = NOTHING
    overruns: int = 0
    overrun: Decimal = NOTHING

    @property
    def free(self) -> Decimal:
        """What may still be reserved; below zero after an overrun."""
        return self.cap - self.spent - self.reserved

    def fits(self, amounts: Iterable[Decimal]) -> bool:
        """Whether all of these may be reserved together.

        >>> Ledger(Decimal("1.00")).fits([Decimal("0.10")] * 11)
        False
        """
        return sum(amounts, NOTHING) <= self.free

    def reserve(self, amounts: Iterable[Decimal]) -> Ledger:
        """With these reserved; RuleError where they do not fit."""
        wanted = tuple(amounts)
        if any(not amount.is_finite() or amount < 0 for amount in wanted):
            raise RuleError("a reservation is an amount from 0 up")
        if not self.fits(wanted):
            raise RuleError(f"{sum(wanted, NOTHING)} does not fit: {self.free} of {self.cap} left")
        return replace(self, reserved=self.reserved + sum(wanted, NOTHING))

    def settle(self, reserved: Decimal, cost: Decimal | None) -> Ledger:
        """With one open reservation replaced by its cost; None keeps it at what was reserved."""
        if reserved > self.reserved:
            raise RuleError(f"{reserved} was not reserved: {self.reserved} is open")
        actual = reserved if cost is None else cost
        over = max(actual - reserved, NOTHING)
        return Ledger(
            self.cap,
            self.spent + actual,
            self.reserved - reserved,
            self.overruns + (over > 0),
            self.overrun + over,
        )

    @classmethod
    def of(cls, cap: Decimal, attempts: Iterable[tuple[Decimal, Decimal | None]]) -> Ledger:
        """The ledger of a book: each attempt's reservation, and its cost where it was stated."""
        ledger = cls(cap)
        for reserved, cost in attempts:
            ledger = replace(ledger, reserved=ledger.reserved + reserved).settle(reserved, cost)
        return ledger
