"""Polymarket's Gamma: lists by keyset and by offset, and single events and markets."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

from beforehand.testing.gamma_shapes import (
    event_json,
    instant,
    liquidity_of,
    market_json,
    slug_of,
    tag_ids,
    tags_of,
    volume_of,
)
from beforehand.testing.replica import Answer, Call, answer_of, dumped
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import SimEvent, SimMarket
from beforehand.testing.world import World

# The venue's own: at most 100 markets a page (and up to 500 events; we page both).
PAGE = 100
DEFAULT_PAGE = 20
MAX_IDS = 100
MAX_OFFSET = 2000

Query = dict[str, list[str]]
Sort = Callable[[Any, int], Any]

# Sort keys are camelCase; any other is ignored without a word, as the venue does.
_MARKET_SORTS: dict[str, Sort] = {
    "id": lambda market, now: int(market.id),
    "volume24hr": lambda market, now: volume_of(market, now)[1],
    "volume": lambda market, now: volume_of(market, now)[0],
    "volumeNum": lambda market, now: volume_of(market, now)[0],
    "liquidity": liquidity_of,
    "liquidityNum": liquidity_of,
    "endDate": lambda market, now: market.event.ends,
    "startDate": lambda market, now: market.event.start,
    "createdAt": lambda market, now: market.event.start,
}
_EVENT_SORTS: dict[str, Sort] = {
    "id": lambda event, now: int(event.id),
    "volume24hr": lambda event, now: sum(volume_of(each, now)[1] for each in event.markets),
    "volume": lambda event, now: sum(volume_of(each, now)[0] for each in event.markets),
    "liquidity": lambda event, now: sum(liquidity_of(each, now) for each in event.markets),
    "endDate": lambda event, now: event.ends,
    "startDate": lambda event, now: event.start,
    "createdAt": lambda event, now: event.start,
}


class BadQueryError(Exception):
    """A parameter that the venue answers with 422."""


class Gamma:
    """The endpoints of gamma-api.polymarket.com over one world."""

    def __init__(self, world: World, settling: Settling) -> None:
        self._world = world
        self._settling = settling
        self._kept_at = -1
        self._texts: dict[str, bytes] = {}

    def forget(self) -> None:
        """Drop what was rendered; for when faults changed what is reported."""
        self._kept_at = -1

    def respond(self, call: Call, parts: list[str], now: int) -> Answer:
        """The answer to a path, split at its slashes."""
        if now != self._kept_at:
            self._kept_at = now
            self._texts.clear()
        key = "p" + call.name
        if key in self._texts:
            return Answer(self._texts[key])
        try:
            found = self._respond(call.query, parts, now)
        except BadQueryError as error:
            return answer_of({"type": "validation error", "error": str(error)}, 422)
        if found.status == 200:
            self._texts[key] = found.body
        return found

    def _respond(self, query: Query, parts: list[str], now: int) -> Answer:
        if parts[-1] == "keyset":
            return self._keyset(parts[0], query, now)
        if len(parts) == 1:
            return self._by_offset(parts[0], query, now)
        if parts[0] == "markets":
            market = self._market(parts, now)
            return Answer(self._market_text(market, now, query)) if market else _not_found()
        event = self._event(parts, now)
        return Answer(self._event_text(event, now)) if event else _not_found()

    def _market(self, parts: list[str], now: int) -> SimMarket | None:
        market_id = parts[-1].removeprefix("simulated-") if parts[1] == "slug" else parts[1]
        return self._world.market("polymarket", market_id, now)

    def _event(self, parts: list[str], now: int) -> SimEvent | None:
        event_id = parts[-1].removeprefix("simulated-event-") if parts[1] == "slug" else parts[1]
        return self._world.event("polymarket", event_id, now)

    def _keyset(self, what: str, query: Query, now: int) -> Answer:
        if "offset" in query:
            raise BadQueryError("offset is not supported; use after_cursor")
        found, sort, down = self._selected(what, query, now)
        if "after_cursor" in query:
            after = _read_cursor(query["after_cursor"][0])
            # By key and not by place: the clock may have moved between pages.
            found = [each for each in found if _later(_key(each, sort, now), after, down)]
        limit = min(_whole(query, "limit", DEFAULT_PAGE), PAGE)
        page, rest = found[:limit], found[limit:]
        body = b'{"%s":[%s]' % (what.encode(), self._joined(what, page, query, now))
        if rest and page:
            cursor = base64.urlsafe_b64encode(dumped(_key(page[-1], sort, now))).decode()
            body += b',"next_cursor":"%s"' % cursor.encode()
        return Answer(body + b"}")

    def _by_offset(self, what: str, query: Query, now: int) -> Answer:
        offset = _whole(query, "offset", 0)
        if offset > MAX_OFFSET:
            raise BadQueryError(f"offset too large: {offset}")
        found, _, _ = self._selected(what, query, now)
        limit = min(_whole(query, "limit", DEFAULT_PAGE), PAGE)
        page = found[offset : offset + limit]
        return Answer(b"[%s]" % self._joined(what, page, query, now))

    def _selected(self, what: str, query: Query, now: int) -> tuple[list[Any], Sort, bool]:
        """What a list holds, in its order, before paging."""
        sorts = _EVENT_SORTS if what == "events" else _MARKET_SORTS
        name = query.get("order", ["id"])[0]
        sort = sorts.get(name, sorts["id"])
        down = name in sorts and query.get("ascending", ["true"])[0] == "false"
        events = self._events(query, now)
        found: Iterable[Any] = events
        if what == "markets":
            found = (
                each for event in events for each in event.markets if _wanted(each, query, now)
            )
        else:
            closed = _flag(query, "closed")
            found = (
                event
                for event in events
                if (now >= event.fate.closes) == closed and _named(event.id, slug_of(event), query)
            )
        return sorted(found, key=lambda each: _key(each, sort, now), reverse=down), sort, down

    def _events(self, query: Query, now: int) -> list[SimEvent]:
        """Events that may stand in a list; closed ones only where they are asked for."""
        if _flag(query, "archived"):
            return []
        closed = _flag(query, "closed")
        if "condition_ids" in query:
            markets = (self._world.by_condition(each, now) for each in query["condition_ids"])
            # A dictionary, because several ids may be of one event.
            return list({each.event.id: each.event for each in markets if each}.values())
        if closed:
            listed = self._world.listed("polymarket", now)
            found = [event for event in listed if any(now >= m.fate.closes for m in event.markets)]
        else:
            found = list(self._world.open("polymarket", now))
        tags = {*query.get("tag_id", []), *query.get("tag_slug", [])}
        if tags:
            found = [event for event in found if tags & tag_ids(event)]
        low, high = query.get("end_date_min", [""])[0], query.get("end_date_max", [""])[0]
        if low:
            found = [event for event in found if instant(event.ends) >= low]
        if high:
            found = [event for event in found if instant(event.ends) <= high]
        return found

    def _joined(self, what: str, page: list[Any], query: Query, now: int) -> bytes:
        if what == "events":
            return b",".join(self._event_text(event, now) for event in page)
        return b",".join(self._market_text(market, now, query) for market in page)

    def _inner_text(self, market: SimMarket, now: int) -> bytes:
        """A market without its closing brace, so that keys can be added after it."""
        key = "m" + market.id
        if key not in self._texts:
            self._texts[key] = dumped(market_json(market, now, self._settling))[:-1]
        return self._texts[key]

    def _bare_event_text(self, event: SimEvent, now: int) -> bytes:
        key = "e" + event.id
        if key not in self._texts:
            self._texts[key] = dumped(event_json(event, now))[:-1]
        return self._texts[key]

    def _market_text(self, market: SimMarket, now: int, query: Query) -> bytes:
        text = self._inner_text(market, now)
        text += b',"events":[%s}]' % self._bare_event_text(market.event, now)
        if _flag(query, "include_tag"):
            text += b',"tags":' + dumped(tags_of(market.event))
        return text + b"}"

    def _event_text(self, event: SimEvent, now: int) -> bytes:
        markets = b",".join(self._inner_text(each, now) + b"}" for each in event.markets)
        text = self._bare_event_text(event, now)
        return text + b',"markets":[%s],"tags":%s}' % (markets, dumped(tags_of(event)))


def _wanted(market: SimMarket, query: Query, now: int) -> bool:
    """Whether a list of markets with these filters holds the market."""
    conditions, tokens = query.get("condition_ids"), query.get("clob_token_ids")
    if len(conditions or tokens or ()) > MAX_IDS:
        raise BadQueryError(f"more than {MAX_IDS} ids")
    if conditions and market.condition not in conditions:
        return False
    if tokens and not set(tokens) & set(market.tokens):
        return False
    if (now >= market.fate.closes) != _flag(query, "closed"):
        return False
    if _flag(query, "active") and market.kind == "placeholder":
        return False
    least, liquid = _number(query, "volume_num_min"), _number(query, "liquidity_num_min")
    if least is not None and volume_of(market, now)[0] < least:
        return False
    if liquid is not None and liquidity_of(market, now) < liquid:
        return False
    return _named(market.id, slug_of(market.event, market), query)


def _named(ident: str, slug: str, query: Query) -> bool:
    ids, slugs = query.get("id"), query.get("slug")
    return (not ids or ident in ids) and (not slugs or slug in slugs)


def _key(item: Any, sort: Sort, now: int) -> list[Any]:
    return [sort(item, now), int(item.id)]


def _later(key: list[Any], after: list[Any], down: bool) -> bool:
    return key < after if down else key > after


def _read_cursor(text: str) -> list[Any]:
    try:
        value, ident = json.loads(base64.urlsafe_b64decode(text))
        return [float(value), int(ident)]
    except (ValueError, TypeError):
        raise BadQueryError("invalid cursor") from None


def _whole(query: Query, name: str, default: int) -> int:
    try:
        value = int(query.get(name, [str(default)])[0])
    except ValueError:
        raise BadQueryError(f"invalid {name}") from None
    if value < 0:
        raise BadQueryError(f"invalid {name}")
    return value


def _flag(query: Query, name: str) -> bool:
    return query.get(name, ["false"])[0] == "true"


def _number(query: Query, name: str) -> float | None:
    try:
        return float(query[name][0]) if name in query else None
    except ValueError:
        raise BadQueryError(f"invalid {name}") from None


def _not_found() -> Answer:
    return answer_of({"type": "not found error", "error": "id not found"}, 404)
