"""Events whose YES prices cannot all be right; said, and never normalised.

In a complete negative-risk event exactly one market ends YES, so that their
prices sum to about 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from beforehand.sources.market import Market

TOLERANCE = Decimal("0.05")


@dataclass(frozen=True)
class Sum:
    """The YES prices of one event added: the bids, the middles and the asks of `markets` markets.

    `bids` over 1 or `asks` under 1 would be free money; `middles` far from 1
    are incoherent forecasts.
    """

    event: str
    markets: int
    bids: Decimal
    middles: Decimal
    asks: Decimal

    @property
    def incoherent(self) -> bool:
        """Whether the middles are further from 1 than 0.05, or money lies on the table."""
        return self.bids > 1 or self.asks < 1 or abs(self.middles - 1) > TOLERANCE


def event_sums(markets: Iterable[Market], incomplete: frozenset[str] = frozenset()) -> list[Sum]:
    """The sums of every complete negative-risk event of two markets or more, by event id.

    An event with a market that has no two quotes, or one of `incomplete`,
    has no sum: what is missing is not taken for 0.
    """
    grouped: dict[str, list[Market]] = {}
    for market in markets:
        if market.neg_risk:
            grouped.setdefault(market.event, []).append(market)
    sums = []
    for event in sorted(set(grouped) - incomplete):
        quotes = [
            (market.bid, market.ask)
            for market in grouped[event]
            if market.bid is not None and market.ask is not None
        ]
        if len(quotes) < 2 or len(quotes) < len(grouped[event]):
            continue
        bids = sum((bid for bid, _ in quotes), Decimal(0))
        asks = sum((ask for _, ask in quotes), Decimal(0))
        sums.append(Sum(event, len(quotes), bids, (bids + asks) / 2, asks))
    return sums


def incoherent_events(markets: Iterable[Market], incomplete: frozenset[str]) -> tuple[str, ...]:
    """One line for each complete event whose YES prices do not sum to about 1."""
    return tuple(
        f"event {found.event}: the {found.markets} YES prices sum to {found.middles:f} "
        f"(bids {found.bids:f}, asks {found.asks:f})"
        for found in event_sums(markets, incomplete)
        if found.incoherent
    )
