"""Kalshi's order book: bids only, of YES and of NO, in three spellings.

Who bids n for NO sells YES at 1 - n, so the asks of YES are the bids of NO
turned round, each with its own size.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from beforehand.errors import RemoteError
from beforehand.sources.market import Depth
from beforehand.sources.venue_depth import Pair, book_flags, levels
from beforehand.sources.venue_fields import Row, number

_HUNDRED = Decimal(100)


def read_book(content: Any, ticker: str, where: str) -> Depth:
    """Depth of YES without evidence; RemoteError where the book is in no known form.

    A null side is an empty side.

    >>> depth = read_book({"orderbook": {"yes": [[41, 7]], "no": [[55, 3], [57, 2]]}}, "T", "")
    >>> depth.bid, depth.ask, depth.asks[0].size
    (Decimal('0.41'), Decimal('0.43'), Decimal('2'))
    """
    wrappers = content if isinstance(content, dict) else {}
    book = wrappers.get("orderbook_fp") or wrappers.get("orderbook")
    if not isinstance(book, dict):
        raise RemoteError(f"{where}: no order book in a known form; its form changed")
    yes, no = _side(book, "yes", where), _side(book, "no", where)
    bids, bad_bids = levels(yes, best_high=True)
    asks, bad_asks = levels(((_turned(price), size) for price, size in no), best_high=False)
    return Depth(
        market=ticker,
        read_at="",
        bids=bids,
        asks=asks,
        last=None,
        evidence=(),
        flags=book_flags(bids, asks, bad_bids + bad_asks),
    )


def _side(book: Row, name: str, where: str) -> Iterator[Pair]:
    dollars, cents = book.get(f"{name}_dollars"), book.get(name)
    if f"{name}_dollars" not in book and name not in book:
        raise RemoteError(f"{where}: the order book has no side {name!r}; its form changed")
    if not isinstance(dollars, list | None) or not isinstance(cents, list | None):
        raise RemoteError(f"{where}: side {name!r} of the order book is no list; its form changed")
    return _pairs(dollars) if dollars is not None else _from_cents(cents)


def _pairs(side: list[Any] | None) -> Iterator[Pair]:
    for level in side or ():
        fit = isinstance(level, list) and len(level) == 2
        yield (level[0], level[1]) if fit else (None, None)


def _from_cents(side: list[Any] | None) -> Iterator[Pair]:
    for price, size in _pairs(side):
        cents = number(price)
        yield (None if cents is None else cents / _HUNDRED, size)


def _turned(price: object) -> Decimal | None:
    found = number(price)
    return None if found is None else 1 - found
