"""One row of Polymarket's Gamma API as a binary market, or the reason why it is none."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from beforehand.sources.market import Market, Refused
from beforehand.sources.venue_fields import (
    Row,
    amount,
    flag,
    instant,
    number,
    quote,
    text,
    texts,
)

VENUE = "polymarket"
SITE = "https://polymarket.com/event/"

_TOKEN = re.compile(r"[0-9]{1,78}", re.ASCII)
_CONDITION = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)

# The venue gives tags and, on old events only, a category. The first of these
# that stands among an event's tags is its category; the order is by how
# narrow a word is, so that an election is not filed under the world.
CATEGORY_TAGS = (
    *("sports", "esports", "crypto", "weather", "elections", "politics", "geopolitics"),
    *("economy", "finance", "business", "earnings", "tech", "ai", "science", "climate"),
    *("pop-culture", "culture", "mentions", "world"),
)
OTHER = "other"


@dataclass(frozen=True)
class EventInfo:
    """What an event says of its markets: its id, category, tags and address."""

    id: str
    topic: str
    tags: tuple[str, ...]
    slug: str = ""


def is_token(name: str) -> bool:
    """Whether a text has the form of a CLOB token id: up to 78 digits.

    >>> is_token("98022490269692409998126496127597"), is_token("0x1f"), is_token("a-slug")
    (True, False, False)
    """
    return _TOKEN.fullmatch(name) is not None


def is_condition(name: str) -> bool:
    """Whether a text has the form of a condition id, 0x and 64 hex digits."""
    return _CONDITION.fullmatch(name) is not None


def event_info(row: Row) -> EventInfo:
    """The event that a row of `/events` is, or that is embedded in a market's row.

    >>> event_info({"id": "7", "tags": [{"label": "All", "slug": "all"}, {"slug": "politics"}]})
    EventInfo(id='7', topic='politics', tags=('all', 'politics'), slug='')
    """
    tags = _tags(row.get("tags"))
    return EventInfo(
        text(row.get("id")), _topic(text(row.get("category")), tags), tags, text(row.get("slug"))
    )


def embedded_event(row: Row) -> EventInfo:
    """The event in a market's row; its id is "" where there is none."""
    events = row.get("events")
    first = events[0] if isinstance(events, list) and events else None
    if not isinstance(first, dict):
        return EventInfo("", OTHER, ())
    return event_info({**first, "tags": first.get("tags") or row.get("tags")})


def with_event(market: Market, event: EventInfo | None) -> Market:
    """The market with its event's category and tags, where its own row had no category."""
    if event is None or market.topic != OTHER:
        return market
    return replace(
        market,
        topic=event.topic,
        tags=event.tags or market.tags,
        url=SITE + event.slug if event.slug else market.url,
    )


def yes_index(outcomes: tuple[str, ...] | None) -> int | None:
    """Where YES stands in exactly two outcomes Yes and No; None where they are anything else.

    Blanks around a label and its case do not matter; its place does not either.

    >>> yes_index(("No ", "YES")), yes_index(("Up", "Down")), yes_index(("Yes",))
    (1, None, None)
    """
    named = [label.strip().casefold() for label in outcomes or ()]
    return named.index("yes") if sorted(named) == ["no", "yes"] else None


def read_market(row: Row) -> Market | Refused:
    """The market in a row of `/markets`, with what the event embedded in it says."""
    name = text(row.get("id"))
    reason = _why_not(row)
    if reason:
        return Refused(name, reason)
    outcomes = texts(row.get("outcomes"))
    tokens = texts(row.get("clobTokenIds")) or ()
    place = yes_index(outcomes)
    if place is None:
        shown = ", ".join(outcomes)[:80] if outcomes else "absent"
        return Refused(name, f"outcomes are not exactly Yes and No: {shown}")
    if len(tokens) != 2 or tokens[0] == tokens[1] or not all(map(is_token, tokens)):
        return Refused(name, "not two token ids")
    event = embedded_event(row)
    if not event.id:
        return Refused(name, "belongs to no event")
    rate, exponent = fee(row)
    return Market(
        venue=VENUE,
        id=name,
        event=event.id,
        topic=event.topic,
        question=text(row.get("question")),
        description=text(row.get("description")),
        yes_token=tokens[place],
        closes=instant(row.get("endDate")),
        accepting=flag(row.get("acceptingOrders")) is True,
        closed=flag(row.get("closed")) is True,
        tags=event.tags,
        bid=quote(row.get("bestBid")),
        ask=quote(row.get("bestAsk")),
        last=quote(row.get("lastTradePrice")),
        volume=_first_amount(row, "volumeNum", "volume"),
        volume_24h=_first_amount(row, "volume24hr"),
        liquidity=_first_amount(row, "liquidityNum", "liquidity"),
        neg_risk=flag(row.get("negRisk")) is True,
        fee_rate=rate,
        url=SITE + event.slug if event.slug else "",
        condition=text(row.get("conditionId")),
        no_token=tokens[1 - place],
        event_at=instant(row.get("gameStartTime")) or instant(row.get("eventStartTime")),
        fee_exponent=exponent,
    )


def fee(row: Row) -> tuple[Decimal | None, int | None]:
    """The taker's rate and exponent in the market's own schedule; None where that is not known.

    >>> fee({"feesEnabled": True, "feeSchedule": {"rate": "0.05", "exponent": 1}})
    (Decimal('0.05'), 1)
    >>> fee({"feesEnabled": False}), fee({})
    ((Decimal('0'), 1), (None, None))
    """
    enabled = flag(row.get("feesEnabled"))
    if enabled is False:
        return Decimal(0), 1
    schedule = row.get("feeSchedule")
    if enabled is None or not isinstance(schedule, dict):
        return None, None
    rate, exponent = amount(schedule.get("rate")), number(schedule.get("exponent"))
    if rate is None or exponent is None or exponent != int(exponent) or not 0 < exponent < 10:
        return None, None
    return rate, int(exponent)


def _why_not(row: Row) -> str:
    """Why a row is no market that can be asked, or ""; the outcomes are looked at elsewhere."""
    if flag(row.get("closed")) is None:
        return "no closed flag; the form of a market changed"
    if flag(row.get("closed")) or flag(row.get("archived")):
        return "closed"
    if not text(row.get("conditionId")):
        return "placeholder: not deployed, no condition id"
    if not is_condition(text(row.get("conditionId"))):
        return "its condition id is none"
    if flag(row.get("active")) is False:
        return "placeholder: not active"
    if flag(row.get("negRiskOther")) and row.get("outcomePrices") is None:
        return "placeholder: the catch-all of its event, without a price"
    if flag(row.get("enableOrderBook")) is False:
        return "no order book"
    if not text(row.get("question")):
        return "no question"
    if not text(row.get("description")):
        return "no rules text"
    return ""


def _tags(value: Any) -> tuple[str, ...]:
    found: list[str] = []
    for each in value if isinstance(value, list) else ():
        name = text(each.get("slug") or each.get("label")) if isinstance(each, dict) else text(each)
        if name:
            found.append(name)
    return tuple(dict.fromkeys(found))


def _topic(category: str, tags: tuple[str, ...]) -> str:
    if category:
        return category.lower()
    known = {tag.lower() for tag in tags}
    return next((tag for tag in CATEGORY_TAGS if tag in known), OTHER)


def _first_amount(row: Row, *names: str) -> Decimal | None:
    return next((found for each in names if (found := amount(row.get(each))) is not None), None)
