"""Made rows of the venues, in the shapes that were recorded, and a small venue to read from."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from beforehand.sources.http_body import decode_json
from beforehand.sources.market import Market
from beforehand.sources.polymarket_market import read_market
from tests.sources.venue_server import Reply, packed


def condition(name: str) -> str:
    return "0x" + hashlib.sha256(name.encode()).hexdigest()


def token(name: str, side: str) -> str:
    """A token id of 77 digits, which no float and no 64-bit integer holds."""
    return "7" + str(int(hashlib.sha256(f"{name}{side}".encode()).hexdigest(), 16)).zfill(78)[-76:]


def gamma(name: str, **changes: Any) -> dict[str, Any]:
    """A row of Gamma's `/markets`; a change to None takes the key away."""
    row = {
        "id": name,
        "question": f"Will {name} happen?",
        "conditionId": condition(name),
        "slug": f"will-{name}-happen",
        "endDate": "2026-06-25T12:00:00Z",
        "description": f"Resolves Yes if {name} happens.",
        "outcomes": '["Yes", "No"]',
        "outcomePrices": '["0.41", "0.59"]',
        "clobTokenIds": json.dumps([token(name, "yes"), token(name, "no")]),
        "active": True,
        "closed": False,
        "archived": False,
        "acceptingOrders": True,
        "enableOrderBook": True,
        "negRisk": False,
        "bestBid": 0.4,
        "bestAsk": 0.42,
        "lastTradePrice": 0.41,
        "volume": "5000.5",
        "volumeNum": 5000.5,
        "volume24hr": 700.25,
        "liquidity": "900",
        "liquidityNum": 900,
        "feesEnabled": True,
        "feeSchedule": {"exponent": 1, "rate": 0.05, "takerOnly": True, "rebateRate": 0.25},
        "umaResolutionStatuses": "[]",
        "events": [
            {"id": f"e{name}", "slug": f"event-{name}", "tags": [{"slug": "politics"}]},
        ],
    } | changes
    return {key: value for key, value in row.items() if value is not None}


def market(name: str = "1", **changes: Any) -> Market:
    """The market in a made row."""
    found = read_market(decode_json(packed(gamma(name, **changes))))
    assert isinstance(found, Market), found
    return found


def book(
    of: Market, bids: list[tuple[str, str]], asks: list[tuple[str, str]], **changes: Any
) -> dict[str, Any]:
    """A CLOB order book in the order in which it is sent, best last, with its right hash."""
    content: dict[str, Any] = {
        "market": of.condition,
        "asset_id": of.yes_token,
        "timestamp": "1782043200000",
        "hash": "",
        "bids": [{"price": price, "size": size} for price, size in bids],
        "asks": [{"price": price, "size": size} for price, size in asks],
        "min_order_size": "5",
        "tick_size": "0.01",
        "neg_risk": False,
        "last_trade_price": "0.41",
    }
    text = json.dumps(content, separators=(",", ":"))
    content["hash"] = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return content | changes


def clob_market(of: Market, winner: str = "", **changes: Any) -> dict[str, Any]:
    """The CLOB's own record of a market; `winner` is "Yes", "No" or nobody."""
    return {
        "condition_id": of.condition,
        "closed": bool(winner),
        "is_50_50_outcome": False,
        "tokens": [
            {"token_id": of.yes_token, "outcome": "Yes", "winner": winner == "Yes"},
            {"token_id": of.no_token, "outcome": "No", "winner": winner == "No"},
        ],
    } | changes


class Gamma:
    """Pages of rows by keyset, as Gamma and Kalshi give them, `size` rows each."""

    def __init__(
        self, rows: dict[str, list[Any]], size: int = 500, parameter: str = "after_cursor"
    ) -> None:
        self.rows = rows
        self.size = size
        self.parameter = parameter

    def __call__(self, path: str, query: dict[str, str]) -> Any:
        name = path.split("/")[1]
        if name not in self.rows:
            return Reply(status=404)
        start = int(query.get(self.parameter, "c0")[1:])
        page = self.rows[name][start : start + self.size]
        following = start + self.size
        more = following < len(self.rows[name])
        return {name: page, **({"next_cursor": f"c{following}"} if more else {})}
