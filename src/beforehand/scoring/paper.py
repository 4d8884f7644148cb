"""A paper account against the crowd: Kelly stakes on the edge, capped, at the prices on offer.

A second view and never a headline: one long shot that comes in can outweigh
everything else. Every stake is a share of a bankroll of 1 that never grows,
so that sums are exact and no row depends on the ones before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from beforehand.errors import FormatError

# At a crowd this sure the odds are so long that one row would be the account.
LOWEST_STAKED = Fraction(2, 100)
HIGHEST_STAKED = Fraction(98, 100)


@dataclass(frozen=True)
class Stake:
    """`share` of the bankroll on `side` ("yes", "no", or "" for none) at `price` a share."""

    side: str
    share: Fraction
    price: Fraction

    def profit(self, happened: bool) -> Fraction:
        """What the stake wins or loses, as a part of the bankroll; exact.

        >>> Stake("yes", Fraction(1, 4), Fraction(1, 5)).profit(True)
        Fraction(1, 1)
        """
        if not self.side:
            return Fraction(0)
        if (self.side == "yes") != happened:
            return -self.share
        return self.share * (1 - self.price) / self.price


NO_STAKE = Stake("", Fraction(0), Fraction(0))


def kelly_edge(p: Fraction, bid: Fraction, ask: Fraction) -> Stake:
    """The whole Kelly stake of one who believes p where YES costs `ask` and brings `bid`; exact.

    p > ask: f = (p - ask) / (1 - ask) on YES at ask. p < bid: f = (bid - p) / bid
    on NO at 1 - bid. Between the two, nothing (Kelly 1956, Bell System
    Technical Journal 35).

    >>> kelly_edge(Fraction(3, 4), Fraction(1, 2), Fraction(1, 2))
    Stake(side='yes', share=Fraction(1, 2), price=Fraction(1, 2))
    """
    for value in (p, bid, ask):
        if not 0 <= value <= 1:
            raise FormatError(f"{value} is not a number from 0 to 1")
    if p > ask > 0:
        return Stake("yes", (p - ask) / (1 - ask), ask)
    if p < bid < 1:
        return Stake("no", (bid - p) / bid, 1 - bid)
    return NO_STAKE


def kelly_stake(p: Fraction, crowd: Fraction, bid: Fraction, ask: Fraction, cap: Fraction) -> Stake:
    """The stake of the paper account: at most `cap`, and none against a crowd that is sure.

    Nothing is staked where the crowd is at 0.02 or below or at 0.98 or above.
    A cap costs growth and saves ruin (Thorp 2006, Handbook of Asset and
    Liability Management 1).

    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> kelly_stake(Fraction(9, 10), half, half, half, quarter).share
    Fraction(1, 4)
    """
    if not LOWEST_STAKED < crowd < HIGHEST_STAKED:
        return NO_STAKE
    stake = kelly_edge(p, bid, ask)
    return replace(stake, share=min(cap, stake.share))
