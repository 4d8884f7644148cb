"""Rule U1: reserve before the call, settle to what it cost, never pass the cap unseen."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import RuleError
from beforehand.forecasters.money import (
    Ledger,
    Prices,
    Searches,
    prompt_tokens_at_most,
    reservation,
    rounded_up,
)

D = Decimal
AMOUNTS = st.decimals(0, 10, places=6, allow_nan=False).map(abs)


def test_u1_a_reservation_covers_prompt_completion_and_search() -> None:
    prices = Prices(D("3"), D("15"), D("0.004"))
    body = b"x" * 2000
    plain = reservation(body, 1000, prices, Searches())
    assert plain == D("0.006000") + D("0.015000")
    assert reservation(body, 1000, prices, Searches(1, 5000)) == plain + D("0.015") + D("0.004")


def test_u1_a_tool_that_asks_again_reserves_every_round() -> None:
    """Three rounds: the prompt grows by what was said and found in each."""
    prices = Prices(D("1"), D("2"), D("0.01"))
    got = reservation(b"x" * 100, 10, prices, Searches(2, 50, asks_again=True))
    prompt = 100 + (100 + 60) + (100 + 120)
    assert got == rounded_up((prompt * D(1) + 30 * D(2)) / D(1_000_000) + D("0.02"))


def test_u1_a_reservation_is_rounded_up() -> None:
    assert Prices(D("0.01"), D("0")).cost(1, 0) == D("0.000001")
    assert Prices(D("0"), D("0")).cost(10**6, 10**6) == D("0")
    assert rounded_up(D("1.0000011")) == D("1.000002")


@given(st.text(max_size=200))
def test_u1_no_tokenizer_with_byte_fallback_makes_more_tokens(text: str) -> None:
    assert prompt_tokens_at_most(text.encode()) >= len(text)


def test_u1_a_search_without_a_price_is_refused() -> None:
    table = {"forecaster": "m", "search": "plugin", "price_prompt": "1", "price_completion": "1"}
    with pytest.raises(RuleError, match="price_search"):
        Prices.of(table)


def test_b30_fifty_parallel_calls_stay_within_the_cap() -> None:
    """Every call looks first; the reservation, not the cost, is what the next one sees."""
    ledger, spent = Ledger(D("1.00")), []

    async def call() -> None:
        nonlocal ledger
        if not ledger.fits([D("0.10")]):
            return
        ledger = ledger.reserve([D("0.10")])
        await asyncio.sleep(0.01)
        ledger = ledger.settle(D("0.10"), D("0.10"))
        spent.append(D("0.10"))

    async def round_of_calls() -> None:
        await asyncio.gather(*(call() for _ in range(50)))

    asyncio.run(round_of_calls())
    assert sum(spent) == ledger.spent == D("1.00")
    assert (ledger.reserved, ledger.free) == (D(0), D(0))


def test_b30_free_models_are_not_stopped() -> None:
    """A cap that is used up still lets a call through that costs nothing."""
    ledger = Ledger(D("1"), spent=D("1"))
    assert ledger.fits([D(0)]) and not ledger.fits([D("0.000001")])
    assert Ledger(D(0)).fits([])


def test_b31_every_attempt_is_paid_for() -> None:
    """Failed, failed, answered: three costs, of which one was never stated."""
    ledger = Ledger.of(D("1"), [(D("0.1"), D("0.02")), (D("0.1"), None), (D("0.1"), D("0.03"))])
    assert ledger.spent == D("0.15")


def test_u1_an_unknown_cost_keeps_its_reservation() -> None:
    ledger = Ledger(D("1")).reserve([D("0.4")]).settle(D("0.4"), None)
    assert (ledger.spent, ledger.reserved, ledger.overruns) == (D("0.4"), D("0"), 0)


def test_u1_a_cost_above_its_reservation_counts_in_full_and_is_flagged() -> None:
    ledger = Ledger(D("1")).reserve([D("0.4")]).settle(D("0.4"), D("1.5"))
    assert (ledger.spent, ledger.overruns, ledger.overrun) == (D("1.5"), 1, D("1.1"))
    assert ledger.free < 0 and not ledger.fits([D(0)])


def test_u1_all_of_a_question_fit_or_none() -> None:
    ledger = Ledger(D("1"), spent=D("0.5"))
    assert ledger.fits([D("0.2"), D("0.3")]) and not ledger.fits([D("0.2"), D("0.31")])
    with pytest.raises(RuleError, match="does not fit"):
        ledger.reserve([D("0.2"), D("0.31")])
    with pytest.raises(RuleError, match="from 0 up"):
        ledger.reserve([D("-1")])
    with pytest.raises(RuleError, match="was not reserved"):
        ledger.settle(D("0.1"), D(0))


@given(st.lists(st.tuples(AMOUNTS, st.none() | AMOUNTS)))
def test_u1_nothing_is_lost_in_any_order(attempts: list[tuple[Decimal, Decimal | None]]) -> None:
    forward, back = Ledger.of(D(9), attempts), Ledger.of(D(9), reversed(attempts))
    assert forward == back
    assert forward.spent == sum((r if c is None else c for r, c in attempts), D(0))
    assert forward.reserved == 0
