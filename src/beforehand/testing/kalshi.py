"""Kalshi's public reads: events, markets and order books, in both recorded formats."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

from beforehand.testing.kalshi_shapes import (
    combos,
    event_shape,
    legacy_book,
    market_shape,
    new_book,
)
from beforehand.testing.replica import Answer, Call, answer_of
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import SimEvent, SimMarket
from beforehand.testing.world import World

MAX_MARKETS = 1000
MAX_EVENTS = 200
DEFAULT_PAGE = 100

# A row of a list: the key it is ordered by, and what makes its shape.
Row = tuple[tuple[int, int, int], Callable[[], dict[str, Any]]]


class BadQueryError(Exception):
    """A parameter that the venue answers with 400."""


class Kalshi:
    """The endpoints below /trade-api/v2 over one world."""

    def __init__(self, world: World, settling: Settling) -> None:
        self._world = world
        self._settling = settling

    def respond(self, call: Call, parts: list[str], now: int) -> Answer:
        """The answer to a path, split at its slashes."""
        try:
            return self._respond(call, parts, now)
        except BadQueryError as error:
            return _problem("bad_request", str(error), 400)

    def _respond(self, call: Call, parts: list[str], now: int) -> Answer:
        query = {key: values[0] for key, values in call.query.items()}
        if parts == ["markets"]:
            return self._markets(query, now)
        if parts == ["events"]:
            return self._events(query, now)
        if parts[0] == "events" and len(parts) == 2:
            event = self._world.event("kalshi", parts[1], now)
            if event is None:
                return _problem("not_found", "not found", 404)
            markets = [market_shape(each, now, self._settling) for each in event.markets]
            return answer_of({"event": event_shape(event), "markets": markets})
        market = self._world.market("kalshi", parts[1], now) if len(parts) > 1 else None
        if parts[0] != "markets" or market is None:
            return _problem("not_found", "not found", 404)
        if len(parts) == 2:
            return answer_of({"market": market_shape(market, now, self._settling)})
        if parts[2:] == ["orderbook"]:
            legacy = market.event.number == 0
            return answer_of(legacy_book(market, now) if legacy else new_book(market, now))
        return _problem("not_found", "not found", 404)

    def _listed(self, query: dict[str, str], now: int) -> list[SimEvent]:
        """Events that a list with these filters holds."""
        status = query.get("status", "")
        found = (
            list(self._world.open("kalshi", now))
            if status in ("open", "active")
            else list(self._world.listed("kalshi", now))
        )
        if status in ("closed", "settled"):
            found = [
                event
                for event in found
                if now >= event.fate.closes
                and (event.fate.state(now) == "resolved") == (status == "settled")
            ]
        series = query.get("series_ticker")
        if series:
            found = [event for event in found if event.id.partition("-")[0] == series]
        return found

    def _markets(self, query: dict[str, str], now: int) -> Answer:
        rows: list[Row] = []
        narrow = {"event_ticker", "series_ticker", "tickers"} & set(query)
        if query.get("status") == "open" and not narrow and query.get("mve_filter") != "exclude":
            shapes = combos(self._world.seed, now)
            rows.extend(((0, place, 0), _same(shape)) for place, shape in enumerate(shapes))
        tickers = set(query["tickers"].split(",")) if "tickers" in query else None
        least, status = _whole(query, "min_close_ts", 0), query.get("status", "")
        for event in self._listed(query, now):
            if query.get("event_ticker", event.id) != event.id or event.ends < least:
                continue
            rows.extend(
                ((1, event.day * 100 + event.number, market.place), self._shaped(market, now))
                for market in event.markets
                if (tickers is None or market.id in tickers) and _has(market, status, now)
            )
        page, cursor = _paged(rows, query, MAX_MARKETS)
        return answer_of({"cursor": cursor, "markets": page})

    def _shaped(self, market: SimMarket, now: int) -> Callable[[], dict[str, Any]]:
        return lambda: market_shape(market, now, self._settling)

    def _events(self, query: dict[str, str], now: int) -> Answer:
        nested = query.get("with_nested_markets") == "true"

        def shaped(event: SimEvent) -> dict[str, Any]:
            row = event_shape(event)
            if nested:
                row["markets"] = [self._shaped(each, now)() for each in event.markets]
            return row

        rows: list[Row] = [
            ((1, event.day * 100 + event.number, 0), partial(shaped, event))
            for event in self._listed(query, now)
        ]
        page, cursor = _paged(rows, query, MAX_EVENTS)
        return answer_of({"cursor": cursor, "events": page, "milestones": []})


def _has(market: SimMarket, status: str, now: int) -> bool:
    """Whether a market has the status that a list is asked for; a candidate may leave early."""
    return status not in ("open", "active") or now < market.fate.closes


def _same(shape: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: shape


def _whole(query: dict[str, str], name: str, default: int) -> int:
    if name not in query:
        return default
    if not (query[name].isascii() and query[name].isdecimal()):
        raise BadQueryError(f"invalid {name}")
    return int(query[name])


def _paged(rows: list[Row], query: dict[str, str], most: int) -> tuple[list[dict[str, Any]], str]:
    """A page and the cursor to the next one, which is empty at the end.

    The cursor holds the key of the last row and not a place, because rows
    close between two pages.
    """
    limit = _whole(query, "limit", DEFAULT_PAGE)
    if not 1 <= limit <= most:
        raise BadQueryError(f"limit must be from 1 to {most}")
    if query.get("cursor"):
        try:
            after = tuple(map(int, base64.urlsafe_b64decode(query["cursor"]).split()))
        except ValueError:
            raise BadQueryError("invalid cursor") from None
        rows = [row for row in rows if row[0] > after]
    page, rest = rows[:limit], rows[limit:]
    key = b" ".join(b"%d" % part for part in page[-1][0]) if rest else b""
    return [shape() for _, shape in page], base64.urlsafe_b64encode(key).decode()


def _problem(code: str, message: str, status: int) -> Answer:
    return answer_of({"error": {"code": code, "message": message}}, status)
