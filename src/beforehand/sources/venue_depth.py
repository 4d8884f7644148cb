"""Levels of an order book, sorted here, and what can be told from the book alone."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from beforehand.sources.market import Level
from beforehand.sources.venue_fields import amount, quote

# A book this wide is what is left when everybody has gone: its middle says nothing.
GHOST_BID = Decimal("0.02")
GHOST_ASK = Decimal("0.98")

Pair = tuple[object, object]


def levels(pairs: Iterable[Pair], *, best_high: bool) -> tuple[tuple[Level, ...], int]:
    """Levels of (price, size) from the best on, and how many pairs were none.

    The order in which a venue lists them does not matter. `best_high` for
    bids. Sizes at one price are added, as one venue lists them per order.

    >>> found, bad = levels([("0.2", "5"), ("0.3", "1"), ("1", "9")], best_high=True)
    >>> [(str(level.price), str(level.size)) for level in found], bad
    ([('0.3', '1'), ('0.2', '5')], 1)
    """
    sizes: dict[Decimal, Decimal] = {}
    bad = 0
    for given_price, given_size in pairs:
        price, size = quote(given_price), amount(given_size)
        if price is None or size is None:
            bad += 1
        elif size > 0:
            sizes[price] = sizes.get(price, Decimal(0)) + size
    order = sorted(sizes, reverse=best_high)
    return tuple(Level(price, sizes[price]) for price in order), bad


def book_flags(bids: tuple[Level, ...], asks: tuple[Level, ...], bad: int) -> tuple[str, ...]:
    """What makes a book unfit to price from, as far as it shows by itself."""
    flags = []
    if bad:
        flags.append("bad_levels")
    if not bids and not asks:
        flags.append("no_book")
    if bids and asks and bids[0].price >= asks[0].price:
        flags.append("crossed")
    if bids and asks and bids[0].price <= GHOST_BID and asks[0].price >= GHOST_ASK:
        flags.append("ghost")
    return tuple(flags)


def middle(bids: tuple[Level, ...], asks: tuple[Level, ...]) -> Decimal | None:
    """The middle of a two-sided book; None where a side is empty, whatever the other says."""
    return (bids[0].price + asks[0].price) / 2 if bids and asks else None
