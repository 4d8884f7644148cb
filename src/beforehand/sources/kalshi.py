"""Kalshi: events with their markets, order books of bids, settlement by ticker."""

from __future__ import annotations

import re
from dataclasses import replace

from beforehand.clock import Clock
from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http
from beforehand.sources.http_urls import base_url, place, printable
from beforehand.sources.kalshi_book import read_book
from beforehand.sources.kalshi_market import COMBINATION, VENUE, read_market
from beforehand.sources.kalshi_settlement import judge
from beforehand.sources.market import Depth, Evidence, Listing, Market, Refused, Settlement
from beforehand.sources.venue_fields import Row, text
from beforehand.sources.venue_pages import Paging, Walk, walk_pages

API = "https://api.elections.kalshi.com/trade-api/v2"

_GONE = 404
_EVENTS = Paging("events", "cursor", "cursor", "event_ticker", 200)
_TICKER = re.compile(r"[A-Za-z0-9._-]{1,120}", re.ASCII)


class Kalshi:
    """The venue as a `MarketSource`; public reads, no key."""

    name = VENUE

    def __init__(self, http: Http, clock: Clock, *, kalshi_url: str = API) -> None:
        self._http = http
        self._clock = clock
        self._url = base_url(kalshi_url)

    async def listing(self) -> Listing:
        """All open binary markets, by way of their events, as categories stand only there."""
        walk = Walk()
        markets: dict[str, Market] = {}
        refused: list[Refused] = []
        query = {"status": "open", "with_nested_markets": "true", "limit": str(_EVENTS.size)}
        async for event in walk_pages(self._http, f"{self._url}/events", query, _EVENTS, walk):
            for read in _markets_of(event):
                if isinstance(read, Refused):
                    refused.append(read)
                elif read.id in markets:
                    refused.append(Refused(read.id, "stands in two events; the first is kept"))
                else:
                    markets[read.id] = read
        return Listing(
            tuple(markets.values()),
            (*walk.refused, *refused),
            tuple(walk.evidence),
            (*walk.problems, *_drift(refused)),
            walk.complete,
            self._http.warnings,
        )

    async def depth(self, market: Market) -> Depth:
        """The book of YES now; its asks are the bids of NO turned round."""
        ticker = _ticker(market.id)
        response = await self._http.get(f"{self._url}/markets/{ticker}/orderbook", allow=(_GONE,))
        evidence = (response.evidence(),)
        if response.status == _GONE:
            return Depth(ticker, response.read_at, (), (), None, evidence, ("no_book",))
        depth = read_book(response.json(), ticker, place(response.url))
        return replace(depth, read_at=response.read_at, evidence=evidence)

    async def settlement(self, market_id: str) -> Settlement:
        """How one market stands now, by its ticker, which never changes, and by nothing else.

        What has left the live endpoint is looked for in the historical one;
        what is found nowhere stays open, with the problem said.
        """
        ticker = _ticker(market_id)
        evidence: list[Evidence] = []
        for path in ("markets", "historical/markets"):
            response = await self._http.get(f"{self._url}/{path}/{ticker}", allow=(_GONE,))
            evidence.append(response.evidence())
            if response.status == _GONE:
                continue
            content = response.json()
            row = content.get("market") if isinstance(content, dict) else None
            if not isinstance(row, dict):
                raise RemoteError(f"{place(response.url)}: no market in it; its form changed")
            if text(row.get("ticker")) != ticker:
                raise RemoteError(f"{place(response.url)}: another market than was asked for")
            return replace(judge(row), evidence=tuple(evidence))
        return Settlement(
            ticker,
            "open",
            "not found under its ticker; that is not read as gone",
            tuple(evidence),
            problems=(f"{VENUE}: no market {printable(ticker)!r}, live or historical",),
        )

    async def close(self) -> None:
        """Give back connections."""
        await self._http.close()


def _markets_of(event: Row) -> list[Market | Refused]:
    ticker = text(event.get("event_ticker"))
    rows = event.get("markets")
    if ticker.startswith(COMBINATION):
        return [Refused(ticker, "an event of generated combinations")]
    if not isinstance(rows, list):
        return [Refused(ticker, "an event without its markets")]
    return [
        read_market(row, event, f"event {ticker} market {index}")
        for index, row in enumerate(rows, start=1)
    ]


def _drift(refused: list[Refused]) -> tuple[str, ...]:
    """An alarm where markets have no price under any name that is known here."""
    count = sum("form of a market changed" in each.reason for each in refused)
    return (f"{count} markets have no known price field: the venue changed it",) if count else ()


def _ticker(name: str) -> str:
    if _TICKER.fullmatch(name) is None or name in (".", ".."):
        raise FormatError(f"{printable(name)!r} is no ticker of {VENUE}")
    return name
