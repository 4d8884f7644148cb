"""Quotes and order books of simulated markets, made around the hidden probability.

Prices are whole thousandths here. The best bid is the hidden probability less
half a recorded spread, rounded down to a tick, the best ask likewise rounded
up, so their middle leans to neither side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from beforehand.testing.chance import integer, uniform
from beforehand.testing.rows import sizes
from beforehand.testing.simulated import SimMarket
from beforehand.testing.walk import HOUR

# Beyond these a venue quotes in tenths of a cent.
FINE_BELOW, FINE_ABOVE = 0.04, 0.96
LEVELS = 24
STALE_HOURS = 6

Levels = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Quote:
    """Best bid, best ask and last trade of YES in thousandths; a missing side is None."""

    bid: int | None
    ask: int | None
    last: int
    tick: int

    @property
    def middle(self) -> float:
        """The middle of both sides in thousandths; of one side alone, that side."""
        sides = [side for side in (self.bid, self.ask) if side is not None]
        return sum(sides) / len(sides) if sides else float(self.last)


def price_text(thousandths: float) -> str:
    """A price as the venues write it.

    >>> price_text(330), price_text(335.5), price_text(1000)
    ('0.33', '0.3355', '1')
    """
    return f"{thousandths / 1000:.4f}".rstrip("0").rstrip(".") or "0"


def quote_of(market: SimMarket, now: int) -> Quote:
    """What the venue shows at its hidden probability."""
    chance = market.chance(now)
    tick = 1 if not FINE_BELOW <= chance <= FINE_ABOVE else 10
    half = max(market.spread, tick / 1000) / 2
    bid = math.floor(round((chance - half) * 1000 / tick, 6)) * tick
    ask = math.ceil(round((chance + half) * 1000 / tick, 6)) * tick
    hour = market.event.walk.step(now)
    empty = _empty_side(market) if market.book == "one_sided" else ""
    low = bid if bid > 0 and empty != "bids" else None
    high = ask if ask < 1000 and empty != "asks" else None
    if low is None and high is None:
        high = 999
    known = [side for side in (low, high) if side is not None]
    last = known[integer(0, len(known) - 1, "last", market.id, hour)]
    return Quote(low, high, last, tick)


def _empty_side(market: SimMarket) -> str:
    return "bids" if uniform("empty", market.id) < 0.5 else "asks"


def book_of(market: SimMarket, now: int) -> tuple[Levels, Levels, Quote] | None:
    """Bids and asks of YES, each from the best on, with the quote; None where there is no book."""
    if market.book == "missing" or now >= market.fate.closes:
        return None
    seen = max(now - STALE_HOURS * HOUR, market.event.start) if market.book == "stale" else now
    quote = quote_of(market, seen)
    if market.book == "ghost":
        return [(10, 250.0)], [(990, 250.0)], quote
    bid, ask = quote.bid, quote.ask
    if market.book == "crossed" and bid is not None and ask is not None:
        bid, ask = ask, bid
    bids = _ladder(market, seen, "bid", bid, -quote.tick) if bid is not None else []
    asks = _ladder(market, seen, "ask", ask, quote.tick) if ask is not None else []
    return bids, asks, quote


def _ladder(market: SimMarket, now: int, side: str, best: int, step: int) -> Levels:
    """Levels from the best on, with recorded sizes that grow away from it."""
    table = sizes()
    name = (side, market.id, market.event.walk.step(now))
    first = integer(0, len(table) - 1, *name)
    count = 2 if market.book == "thin" else integer(8, LEVELS, "levels", *name)
    scale = 0.002 if market.book == "thin" else 0.02 * math.sqrt(market.volume / 3000)
    found: Levels = []
    for place in range(count):
        price = best + place * step
        if not 0 < price < 1000:
            break
        raw = table[(first + 7 * place) % len(table)]
        size = round(max(5.0, min(raw * scale * (1 + 0.2 * place), 50_000.0)), 2)
        found.append((price, size))
    return found
