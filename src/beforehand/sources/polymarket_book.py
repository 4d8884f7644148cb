"""The order book that Polymarket's CLOB gives for one token.

The book of NO is the mirror of the book of YES: every bid of one is an ask of
the other at 1 - p. It is never read and never added, or all depth would count
twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from beforehand.errors import RemoteError
from beforehand.sources.market import Depth, Market
from beforehand.sources.venue_depth import Pair, book_flags, levels
from beforehand.sources.venue_fields import Row, amount, quote, text, unix_instant

# In this order; the hash is over the texts as they were sent.
_HASHED = (
    *("market", "asset_id", "timestamp", "hash", "bids", "asks"),
    *("min_order_size", "tick_size", "neg_risk", "last_trade_price"),
)
_MIDPOINT_SLACK = Decimal("0.005")


def book_hash(book: Row) -> str | None:
    """The hash that a book should carry: SHA-1 of its compact JSON with an empty hash.

    None where a hashed field is missing or is no text (the old form, or a new
    one): then the hash cannot be recomputed. It has no key, so it tells a
    damaged book from a whole one, not a false one from a true one.

    >>> book_hash({"market": "0x"}) is None
    True
    """
    if any(name not in book for name in _HASHED):
        return None
    content = {name: book[name] for name in _HASHED} | {"hash": ""}
    try:
        packed = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return hashlib.sha1(packed.encode(), usedforsecurity=False).hexdigest()
    except (TypeError, ValueError):
        return None


def read_book(book: Any, market: Market, where: str) -> Depth:
    """The book as depth of YES, without evidence; RemoteError where it is not this market's book.

    Null sides are empty sides. The best price is the highest bid and the
    lowest ask, whatever the order of the list.
    """
    if not isinstance(book, dict):
        raise RemoteError(f"{where}: the order book is no object; its form changed")
    if text(book.get("asset_id")) != market.yes_token:
        raise RemoteError(f"{where}: the order book is of another token than was asked for")
    if market.condition and text(book.get("market")).lower() not in ("", market.condition.lower()):
        raise RemoteError(f"{where}: the order book is of another market than was asked for")
    for side in ("bids", "asks"):
        if side not in book or not isinstance(book[side], list | None):
            raise RemoteError(f"{where}: the order book has no {side}; its form changed")
    bids, bad_bids = levels(_pairs(book["bids"]), best_high=True)
    asks, bad_asks = levels(_pairs(book["asks"]), best_high=False)
    flags, notes = list(book_flags(bids, asks, bad_bids + bad_asks)), []
    wanted, carried = book_hash(book), text(book.get("hash"))
    if wanted is None or not carried:
        notes.append("hash not checked: the book lacks a field that it is made of")
    elif carried != wanted:
        flags.append("hash_mismatch")
    return Depth(
        market=market.id,
        read_at="",
        bids=bids,
        asks=asks,
        last=quote(book.get("last_trade_price")),
        evidence=(),
        flags=tuple(flags),
        notes=tuple(notes),
        tick=quote(book.get("tick_size")),
        least=amount(book.get("min_order_size")),
        changed_at=unix_instant(book.get("timestamp"), 1000),
    )


def disagrees(depth: Depth, midpoint: Decimal | None) -> bool:
    """Whether the venue's own midpoint is another than the book's, by more than half a tick.

    A book with one side is not compared: the venue counts the empty side as a
    price of 0, which is no quote.
    """
    if depth.bid is None or depth.ask is None or midpoint is None:
        return False
    slack = max(_MIDPOINT_SLACK, (depth.tick or Decimal(0)) / 2)
    return abs((depth.bid + depth.ask) / 2 - midpoint) > slack


def token_problem(content: Any, market: Market) -> str | None:
    """Whether the CLOB's own record of a market has YES under another token; None: it agrees.

    "" where the record says nothing that could be compared.
    """
    tokens = content.get("tokens") if isinstance(content, dict) else None
    found = {
        text(each.get("outcome")).casefold(): text(each.get("token_id"))
        for each in (tokens if isinstance(tokens, list) else ())
        if isinstance(each, dict)
    }
    if "yes" not in found or not found["yes"]:
        return ""
    if found["yes"] != market.yes_token or found.get("no", "") != market.no_token:
        return "the two endpoints name different tokens for YES"
    return None


def _pairs(side: list[Any] | None) -> Iterator[Pair]:
    for level in side or ():
        yield (level.get("price"), level.get("size")) if isinstance(level, dict) else (None, None)
