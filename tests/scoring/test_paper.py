"""The paper account: exact stakes, and what must hold of every account."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring.paper import NO_STAKE, kelly_edge, kelly_stake

UNIT = st.integers(0, 10_000).map(lambda units: Fraction(units, 10_000))
CAP = Fraction(1, 4)


@given(UNIT, UNIT, UNIT)
def test_a_stake_is_never_more_than_the_cap_and_never_loses_in_expectation(
    p: Fraction, one: Fraction, other: Fraction
) -> None:
    bid, ask = min(one, other), max(one, other)
    crowd = (bid + ask) / 2
    stake = kelly_stake(p, crowd, bid, ask, CAP)
    assert 0 <= stake.share <= CAP
    assert p * stake.profit(True) + (1 - p) * stake.profit(False) >= 0
    if bid <= p <= ask or not Fraction(2, 100) < crowd < Fraction(98, 100):
        assert stake == NO_STAKE
    # By its own price the account gains nothing: the spread is a cost, never a gift.
    assert crowd * stake.profit(True) + (1 - crowd) * stake.profit(False) <= 0


@given(UNIT, UNIT, UNIT)
def test_yes_and_no_exchanged_are_the_same_account(
    p: Fraction, one: Fraction, other: Fraction
) -> None:
    bid, ask = min(one, other), max(one, other)
    stake, turned = kelly_edge(p, bid, ask), kelly_edge(1 - p, 1 - ask, 1 - bid)
    assert stake.profit(True) == turned.profit(False)
    assert stake.profit(False) == turned.profit(True)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(FormatError):
        kelly_edge(Fraction(2), Fraction(1, 2), Fraction(1, 2))
