"""Polymarket's order books and prices: numbers are texts, the best level stands last."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from beforehand.testing.depth import Levels, book_of, price_text, quote_of
from beforehand.testing.gamma_shapes import FEES, instant, slug_of
from beforehand.testing.replica import Answer, Call, answer_of, dumped
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import DAY, SimMarket
from beforehand.testing.walk import HOUR
from beforehand.testing.world import World

MAX_BOOKS = 500
MAX_HISTORY_DAYS = 15
# Finer histories of settled markets come back empty.
SETTLED_FIDELITY_MINUTES = 720

Token = tuple[SimMarket, int]

_NO_BOOK = "No orderbook exists for the requested token id"


class Clob:
    """The endpoints of clob.polymarket.com over one world."""

    def __init__(self, world: World, settling: Settling) -> None:
        self._world = world
        self._settling = settling

    def respond(self, call: Call, parts: list[str], now: int) -> Answer:
        """The answer to a path, split at its slashes."""
        if parts[0] == "markets":
            market = self._world.by_condition(parts[-1], now)
            if market is None:
                return answer_of({"error": "market not found"}, 404)
            return answer_of(market_shape(market, now, self._settling))
        if parts[0] == "books":
            return self._books(call, now)
        query = {key: values[0] for key, values in call.query.items()}
        if parts[0] == "prices-history":
            return self._history(query, now)
        token = query.get("token_id", "")
        if not token.isdecimal():
            return answer_of({"error": "Invalid token id"}, 400)
        found = self._world.by_token(token, now)
        if found is None:
            return answer_of({"error": _NO_BOOK}, 404)
        return _one(parts[0], found, query, now)

    def _books(self, call: Call, now: int) -> Answer:
        try:
            asked = json.loads(call.body)
            tokens = [str(each["token_id"]) for each in asked][:MAX_BOOKS]
        except (ValueError, TypeError, KeyError):
            return answer_of({"error": "Invalid payload"}, 400)
        found = (self._world.by_token(token, now) for token in tokens)
        books = (book_shape(token, now) for token in found if token is not None)
        return answer_of([book for book in books if book is not None])

    def _history(self, query: dict[str, str], now: int) -> Answer:
        found = self._world.by_token(query.get("market", ""), now)
        if found is None:
            return answer_of({"history": []})
        market, side = found
        try:
            fidelity = max(int(query.get("fidelity", "60")), 1)
            start = int(query.get("startTs", market.event.start))
            end = int(query.get("endTs", now))
        except ValueError:
            return answer_of({"error": "invalid filters"}, 400)
        if "startTs" in query and end - start > MAX_HISTORY_DAYS * DAY:
            return answer_of({"error": "invalid filters: interval is too long"}, 400)
        if market.fate.state(now) == "resolved" and fidelity < SETTLED_FIDELITY_MINUTES:
            return answer_of({"history": []})
        start = max(start, market.event.start)
        end = min(end, now, market.fate.closes - 1)
        step = max(fidelity * 60, HOUR)
        points = []
        for moment in range(start, end + 1, step):
            middle = quote_of(market, moment).middle / 1000
            points.append({"t": moment, "p": round(1 - middle if side else middle, 4)})
        return answer_of({"history": points})


def _one(what: str, token: Token, query: dict[str, str], now: int) -> Answer:
    """What is asked about one token."""
    market, side = token
    if what == "neg-risk":
        return answer_of({"neg_risk": market.event.neg_risk})
    if what == "fee-rate":
        # In basis points, and not what the schedule of the market says: as reported.
        return answer_of({"base_fee": 1000 if market.event.topic in FEES else 0})
    if what == "book":
        book = book_shape(token, now)
        return Answer(dumped(book)) if book is not None else answer_of({"error": _NO_BOOK}, 404)
    if now >= market.fate.closes:
        return answer_of({"error": _NO_BOOK}, 404)
    quote = quote_of(market, now)
    bid, ask = (quote.bid, quote.ask) if not side else (_mirror(quote.ask), _mirror(quote.bid))
    if what == "tick-size":
        return answer_of({"minimum_tick_size": quote.tick / 1000})
    if what == "midpoint":
        middle = 1000 - quote.middle if side else quote.middle
        return answer_of({"mid": price_text(middle)})
    if what == "spread":
        if bid is None or ask is None:
            return answer_of({"error": _NO_BOOK}, 404)
        return answer_of({"spread": price_text(ask - bid)})
    if what == "last-trade-price":
        last = 1000 - quote.last if side else quote.last
        return answer_of({"price": price_text(last), "side": "BUY"})
    # A BUY is answered with the best bid: what one joins, not what one would pay.
    wanted = bid if query.get("side", "").upper() == "BUY" else ask
    return answer_of({"price": price_text(wanted) if wanted is not None else "0"})


def _mirror(price: int | None) -> int | None:
    return None if price is None else 1000 - price


def book_shape(token: Token, now: int) -> dict[str, Any] | None:
    """The book of a token. The book of NO is the mirror of that of YES, with the same sizes."""
    market, side = token
    found = book_of(market, now)
    if found is None:
        return None
    bids, asks, quote = found
    last = quote.last
    if side:
        bids, asks, last = _mirrored(asks), _mirrored(bids), 1000 - last
    age = 6 * HOUR if market.book == "stale" else 0
    book: dict[str, Any] = {
        "market": market.condition,
        "asset_id": market.tokens[side],
        "timestamp": str((now - age) * 1000 + int(market.id) % 1000),
        "hash": "",
        "bids": _levels(reversed(bids)),
        "asks": _levels(reversed(asks)),
        "min_order_size": "5",
        "tick_size": price_text(quote.tick),
        "neg_risk": market.event.neg_risk,
        "last_trade_price": price_text(last) if market.book != "one_sided" else "",
    }
    # The venue's own rule: SHA-1 of the compact text with an empty hash.
    book["hash"] = hashlib.sha1(dumped(book), usedforsecurity=False).hexdigest()
    return book


def _mirrored(levels: Levels) -> Levels:
    return [(1000 - price, size) for price, size in levels]


def _levels(levels: Any) -> list[dict[str, str]]:
    return [
        {"price": price_text(price), "size": f"{size:.2f}".rstrip("0").rstrip(".")}
        for price, size in levels
    ]


def market_shape(market: SimMarket, now: int, settling: Settling) -> dict[str, Any]:
    """A market as the order book's own endpoint has it; `winner` only once it is settled."""
    event, fate = market.event, market.fate
    paid = settling.prices(market, now)
    final = fate.state(now) == "resolved"
    middle = quote_of(market, min(now, fate.closes - 1)).middle / 1000
    prices = [float(text) for text in paid] if paid else [round(middle, 4), round(1 - middle, 4)]
    closed = now >= fate.closes
    return {
        "enable_order_book": True,
        "active": True,
        "closed": closed,
        "archived": False,
        "accepting_orders": not closed or int(market.id) % 7 == 0,
        "accepting_order_timestamp": instant(event.start),
        "minimum_order_size": 5,
        "minimum_tick_size": 0.01,
        "condition_id": market.condition,
        "question_id": market.question_id,
        "question": market.question,
        "description": market.description,
        "market_slug": slug_of(event, market),
        # The date alone, at midnight: hours away from Gamma's endDate.
        "end_date_iso": instant(event.ends)[:10] + "T00:00:00Z",
        "game_start_time": None,
        "seconds_delay": 0,
        "fpmm": "",
        "maker_base_fee": 0,
        "taker_base_fee": 0,
        "notifications_enabled": True,
        "neg_risk": event.neg_risk,
        "neg_risk_market_id": "",
        "neg_risk_request_id": "",
        "icon": "",
        "image": "",
        "rewards": {"rates": None, "min_size": 0, "max_spread": 0},
        "is_50_50_outcome": final and fate.kind == "fifty",
        "tokens": [
            {
                "token_id": market.tokens[side],
                "outcome": market.outcomes[side],
                "price": prices[side],
                "winner": final and prices[side] == 1,
            }
            for side in (0, 1)
        ],
        "tags": [event.topic, "Simulated"],
    }
