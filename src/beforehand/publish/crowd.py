"""The crowd: what a run's own prices at its start say, and how far they moved until its end.

A price that was shown on one side only, whose two sides are wide apart, on
which too little was traded, or that was read too long before the first call
is no forecast; nothing is taken from another run in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from beforehand.clock import instant_key
from beforehand.publish.rules import MOVED, Rules
from beforehand.records.snapshot import Quote


@dataclass(frozen=True)
class CrowdPrice:
    """A crowd's price in grid steps, exactly, and the two sides it is the middle of."""

    units: int
    price: Fraction
    bid: str = ""
    ask: str = ""


def crowd_prices(
    quotes: Mapping[str, Quote], rules: Rules, first_asked: Mapping[str, str], opened: str
) -> dict[str, CrowdPrice]:
    """The crowd by question. `first_asked` is when each was asked first, `opened` the run's time.

    `price = "mid"` is the middle of bid and ask within the declared spread and
    age; "freeze_value" what the source gives, else the middle.
    """
    prices = {}
    for name, quote in quotes.items():
        price = _price_of(quote, rules, first_asked.get(name, opened))
        if price is not None:
            prices[name] = price
    return prices


def _price_of(quote: Quote, rules: Rules, asked_at: str) -> CrowdPrice | None:
    strict = rules.crowd_price == "mid"
    if quote.crowd is not None and not strict:
        price = Fraction(quote.crowd)
        return CrowdPrice(rules.grid.units(price), price)
    middle = middle_of(quote, rules.max_spread if strict else None)
    if middle is None or (strict and not _fresh(quote, rules.max_age_minutes, asked_at)):
        return None
    if rules.min_volume is not None and not _traded(quote, rules.min_volume):
        return None
    return CrowdPrice(rules.grid.units(middle), middle, quote.bid or "", quote.ask or "")


def middle_of(quote: Quote, max_spread: Fraction | None) -> Fraction | None:
    """The middle of bid and ask; None for one side alone, and for a spread over the most."""
    if quote.bid is None or quote.ask is None:
        return None
    bid, ask = Fraction(quote.bid), Fraction(quote.ask)
    if max_spread is not None and not 0 <= ask - bid <= max_spread:
        return None
    return (bid + ask) / 2


def _fresh(quote: Quote, minutes: int | None, asked_at: str) -> bool:
    """Read before the first call, and not longer before it than declared.

    A price read later would know more than the models did.
    """
    if minutes is None:
        return True
    age = (instant_key(asked_at) - instant_key(quote.read_at)).total_seconds()
    return 0 <= age <= 60 * minutes


def _traded(quote: Quote, least: Fraction) -> bool:
    """Whether enough was traded; a volume that is not told is not enough."""
    return quote.volume is not None and Fraction(quote.volume) >= least


@dataclass(frozen=True)
class PriceMove:
    """What the price at a run's end says: None where there is nothing to say it from.

    `moved`: further than a tenth from the start. `lookup`: outside the band
    that questions were chosen from, so that the answer may have been there to
    be looked up.
    """

    moved: bool | None = None
    lookup: bool | None = None


def price_move(start: CrowdPrice | None, end: Quote | None, rules: Rules) -> PriceMove:
    """The flags of one question. One side alone can show a move and never deny one."""
    if start is None or end is None:
        return PriceMove()
    middle = middle_of(end, rules.max_spread)
    lowest = Fraction(end.bid) if end.bid is not None else None
    highest = Fraction(end.ask) if end.ask is not None else None
    if middle is not None:
        lowest = highest = middle
    rose = lowest is not None and lowest - start.price > MOVED
    fell = highest is not None and start.price - highest > MOVED
    return PriceMove(
        True if rose or fell else (None if middle is None else False),
        _outside(lowest, highest, middle, rules),
    )


def _outside(
    lowest: Fraction | None, highest: Fraction | None, middle: Fraction | None, rules: Rules
) -> bool | None:
    low, high = rules.price_low, rules.price_high
    if low is None or high is None:
        return None
    if (lowest is not None and lowest > high) or (highest is not None and highest < low):
        return True
    return None if middle is None else False
