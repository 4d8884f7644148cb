"""Polymarket: markets from the Gamma API, order books and prices from the CLOB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from beforehand.clock import Clock
from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http, Response
from beforehand.sources.http_urls import base_url, place, printable
from beforehand.sources.market import Depth, Evidence, Listing, Market, Refused, Settlement
from beforehand.sources.polymarket_book import disagrees, read_book, token_problem
from beforehand.sources.polymarket_history import PriceHistory, read_history
from beforehand.sources.polymarket_lookup import find_row
from beforehand.sources.polymarket_market import (
    OTHER,
    VENUE,
    EventInfo,
    embedded_event,
    event_info,
    is_condition,
    is_token,
    read_market,
    with_event,
)
from beforehand.sources.polymarket_negrisk import incoherent_events
from beforehand.sources.polymarket_settlement import ClobWord, clob_word, judge, yes_token_of
from beforehand.sources.venue_fields import Row, amount, flag, number, text
from beforehand.sources.venue_pages import Paging, Walk, walk_pages

GAMMA = "https://gamma-api.polymarket.com"
CLOB = "https://clob.polymarket.com"

_GONE = 404
_MARKETS = Paging("markets", "next_cursor", "after_cursor", "id", 500)
_EVENTS = Paging("events", "next_cursor", "after_cursor", "id", 100)


class Polymarket:
    """The venue as a `MarketSource`.

    `order` asks Gamma for an order (camelCase, such as `volume24hr`, from the
    largest down) and checks that it came. `narrow` are further parameters of
    the listing, such as `volume_num_min`. `reviewed` are ids of markets from
    before the oracle whose outcome a person has looked at.
    """

    name = VENUE

    def __init__(
        self,
        http: Http,
        clock: Clock,
        *,
        gamma_url: str = GAMMA,
        clob_url: str = CLOB,
        order: str = "",
        narrow: Mapping[str, str] | None = None,
        reviewed: frozenset[str] = frozenset(),
    ) -> None:
        self._http = http
        self._clock = clock
        self._gamma = base_url(gamma_url)
        self._clob = base_url(clob_url)
        self._order = order
        self._narrow = dict(narrow or {})
        self._reviewed = reviewed
        self._checked: dict[str, str] = {}

    async def listing(self) -> Listing:
        """All open binary markets; every row that is none is counted with its reason.

        Events are walked too where a market's own row does not carry its
        category. What is missing after an error is said, and what was read is
        kept; RemoteError only where nothing could be read.
        """
        walk = Walk()
        markets: list[Market] = []
        refused: list[Refused] = []
        incomplete: set[str] = set()
        check = self._unsorted if self._order else None
        url = f"{self._gamma}/markets/keyset"
        # Row by row, as all rows of a venue at once are some hundred megabytes.
        async for row in walk_pages(self._http, url, self._query(_MARKETS), _MARKETS, walk, check):
            read = read_market(row)
            if isinstance(read, Market):
                markets.append(read)
            else:
                refused.append(read)
                incomplete.add(embedded_event(row).id)
        if any(market.topic == OTHER for market in markets):
            events = await self._events(walk)
            markets = [with_event(market, events.get(market.event)) for market in markets]
        return Listing(
            tuple(markets),
            (*walk.refused, *refused),
            tuple(walk.evidence),
            tuple(walk.problems),
            walk.complete,
            (*self._http.warnings, *incoherent_events(markets, frozenset(incomplete))),
        )

    async def depth(self, market: Market) -> Depth:
        """The book of YES now, checked against its hash, the midpoint and the CLOB's own record.

        FormatError where the market's token is no token id (a slug or a
        condition id would be answered 404 for ever).
        """
        self._check_ids(market)
        depth = await self._book(market)
        depth = await self._against_midpoint(market, depth)
        return await self._against_tokens(market, depth)

    async def price_history(
        self, market: Market, start: str, end: str, minutes: int = 60
    ) -> PriceHistory:
        """Prices of YES from `start` to `end`, a point every `minutes`, in windows of 15 days.

        Resolved markets answer from 720 minutes on only, and an empty list
        says nothing: prices are to be recorded while a market is open.
        """
        self._check_ids(market)
        return await read_history(self._http, self._clob, market.yes_token, start, end, minutes)

    async def settlement(self, market_id: str) -> Settlement:
        """How one market stands now, by the id that was sealed and by nothing else.

        A market that is found nowhere stays open, with the problem said:
        Gamma's lists leave out what is closed, so an empty one proves nothing.
        """
        row, evidence = await find_row(self._http, self._gamma, market_id)
        if row is None:
            return Settlement(
                market_id,
                "open",
                "not found under its id; that is not read as gone",
                evidence,
                problems=(f"{VENUE}: no market {printable(market_id)!r} by id or among closed",),
            )
        clob, more, problems = await self._clob_word(row)
        found = judge(row, clob, reviewed=market_id in self._reviewed)
        return Settlement(
            market_id,
            found.state,
            found.why,
            (*evidence, *more),
            found.outcome,
            found.payout,
            found.instant,
            (*found.problems, *problems),
        )

    async def close(self) -> None:
        """Give back connections."""
        await self._http.close()

    def _query(self, paging: Paging) -> dict[str, str]:
        query = {"closed": "false", "limit": str(paging.size)}
        if paging is _MARKETS:
            query |= {"include_tag": "true", **self._narrow}
            if self._order:
                query |= {"order": self._order, "ascending": "false"}
        return query

    def _unsorted(self, rows: list[Row]) -> str:
        values = [number(row.get(self._order)) for row in rows]
        known = [value for value in values if value is not None]
        if rows and not known:
            return f"no row has the field {self._order!r} that was asked to sort by"
        if any(later > earlier for earlier, later in pairwise(known)):
            return f"not sorted by {self._order!r}; the key is ignored"
        return ""

    async def _events(self, walk: Walk) -> dict[str, EventInfo]:
        found = {}
        try:
            async for row in walk_pages(
                self._http, f"{self._gamma}/events/keyset", self._query(_EVENTS), _EVENTS, walk
            ):
                info = event_info(row)
                found[info.id] = info
        except RemoteError as error:
            walk.fail(f"categories of events are missing: {error}")
        return found

    def _check_ids(self, market: Market) -> None:
        if not is_token(market.yes_token):
            kind = "a condition id" if is_condition(market.yes_token) else "no id of a token"
            raise FormatError(
                f"market {printable(market.id)!r}: {printable(market.yes_token)!r} is {kind}; the "
                "order book is asked for by the token id of YES, up to 78 digits"
            )

    async def _book(self, market: Market) -> Depth:
        response = await self._http.get(
            f"{self._clob}/book", {"token_id": market.yes_token}, allow=(_GONE,)
        )
        evidence = (response.evidence(),)
        if response.status == _GONE:
            return Depth(market.id, response.read_at, (), (), None, evidence, ("no_book",))
        depth = read_book(response.json(), market, place(response.url))
        return replace(depth, read_at=response.read_at, evidence=evidence)

    async def _against_midpoint(self, market: Market, depth: Depth) -> Depth:
        """The book, flagged where the venue's own midpoint is another one.

        The two are read a moment apart, so that a difference is looked at
        again, with a fresh book, before it is believed.
        """
        if depth.bid is None or depth.ask is None:
            return depth
        for last in (False, True):
            try:
                midpoint, evidence = await self._midpoint(market)
            except RemoteError as error:
                return replace(depth, notes=(*depth.notes, f"midpoint not checked: {error}"))
            depth = replace(depth, evidence=(*depth.evidence, evidence))
            if midpoint is None:
                return replace(depth, notes=(*depth.notes, "midpoint not checked: none given"))
            if not disagrees(depth, midpoint):
                return depth
            if last:
                return replace(depth, flags=(*depth.flags, "stale"))
            depth = await self._book(market)
        return depth

    async def _midpoint(self, market: Market) -> tuple[Decimal | None, Evidence]:
        response = await self._http.get(
            f"{self._clob}/midpoint", {"token_id": market.yes_token}, allow=(_GONE,)
        )
        content = response.json() if response.status != _GONE else {}
        mid = amount(content.get("mid")) if isinstance(content, dict) else None
        return mid, response.evidence()

    async def _against_tokens(self, market: Market, depth: Depth) -> Depth:
        """The book, flagged where the CLOB has YES under another token; asked once a market."""
        if not market.condition:
            return replace(depth, notes=(*depth.notes, "tokens not checked: no condition id"))
        if self._checked.get(market.condition) == market.yes_token:
            return depth
        try:
            response = await self._market_of(market.condition)
            problem = token_problem(response.json(), market)
        except RemoteError as error:
            return replace(depth, notes=(*depth.notes, f"tokens not checked: {error}"))
        depth = replace(depth, evidence=(*depth.evidence, response.evidence()))
        if problem is None:
            self._checked[market.condition] = market.yes_token
            return depth
        if not problem:
            note = "tokens not checked: the CLOB names no YES and NO"
            return replace(depth, notes=(*depth.notes, note))
        return replace(depth, flags=(*depth.flags, "token_mismatch"))

    async def _market_of(self, condition: str) -> Response:
        return await self._http.get(f"{self._clob}/markets/{condition}")

    async def _clob_word(self, row: Row) -> tuple[ClobWord, tuple[Evidence, ...], tuple[str, ...]]:
        """What the CLOB says of a market that is closed; nothing where it cannot be asked."""
        condition, token = text(row.get("conditionId")), yes_token_of(row)
        if flag(row.get("closed")) is not True or not is_condition(condition) or not token:
            return ClobWord(), (), ()
        try:
            response = await self._market_of(condition)
            return clob_word(response.json(), token), (response.evidence(),), ()
        except RemoteError as error:
            return ClobWord(), (), (f"the CLOB's word is missing: {error}",)
