"""One market of Kalshi's API as a binary market, or the reason why it is none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from beforehand.sources.market import Market, Refused
from beforehand.sources.venue_fields import Row, amount, instant, number, quote, text

VENUE = "kalshi"
SITE = "https://kalshi.com/markets/"

# Generated combinations of other markets; they flood every open listing.
COMBINATION = "KXMVE"

OPEN_STATES = ("active", "open")
CLOSED_STATES = ("closed", "determined", "disputed", "amended", "settled", "finalized")

_QUOTES = ("yes_bid", "yes_ask")
_HUNDRED = Decimal(100)


def is_combination(row: Row, event: str) -> bool:
    """Whether a market is a generated combination of other markets.

    >>> is_combination({"ticker": "KXMVESPORTS-1"}, ""), is_combination({"ticker": "KXCPI-1"}, "")
    (True, False)
    """
    return (
        text(row.get("ticker")).startswith(COMBINATION)
        or event.startswith(COMBINATION)
        or bool(text(row.get("mve_collection_ticker")))
        or bool(row.get("mve_selected_legs"))
    )


def price(row: Row, name: str) -> Decimal | None:
    """A price of a row in any of its forms: `NAME_dollars` as text, else whole cents in `NAME`.

    A price of 0 or 1 is how an empty side is written, in every form: no quote.

    >>> price({"yes_bid": 29}, "yes_bid"), price({"yes_bid_dollars": "0.0650"}, "yes_bid")
    (Decimal('0.29'), Decimal('0.0650'))
    >>> price({"yes_ask_dollars": "0.0000", "yes_ask": 0}, "yes_ask") is None
    True
    """
    dollars = row.get(f"{name}_dollars")
    if dollars is not None:
        return quote(dollars)
    cents = number(row.get(name))
    return quote(cents / _HUNDRED) if cents is not None else None


def has_quote_fields(row: Row) -> bool:
    """Whether a row has its prices under a name that is known; else their form changed."""
    return all(name in row or f"{name}_dollars" in row for name in _QUOTES)


def read_market(row: Any, event: Row, where: str) -> Market | Refused:
    """The market in a row that is nested in its event; `where` names a row without a ticker.

    Volumes are contracts, each of one dollar's notional, and one side of a
    match. The venue's fee is not in its markets: it is not known here.
    """
    if not isinstance(row, dict) or not text(row.get("ticker")):
        return Refused(where, "no ticker" if isinstance(row, dict) else "no object")
    name = text(row.get("ticker"))
    group = text(event.get("event_ticker")) or text(row.get("event_ticker"))
    reason = _why_not(row, group)
    if reason:
        return Refused(name, reason)
    bid, ask = (price(row, side) for side in _QUOTES)
    category, series = text(event.get("category")), text(event.get("series_ticker"))
    return Market(
        venue=VENUE,
        id=name,
        event=group,
        topic=category.lower() or "other",
        question=_question(row),
        description=_rules(row),
        yes_token=name,
        closes=instant(row.get("close_time")),
        accepting=text(row.get("status")).lower() in OPEN_STATES,
        closed=False,
        tags=tuple(tag for tag in (category, series) if tag),
        bid=bid,
        ask=ask,
        last=price(row, "last_price"),
        volume=_count(row, "volume"),
        volume_24h=_count(row, "volume_24h"),
        liquidity=_money(row, "liquidity"),
        url=SITE + series.lower() if series else "",
        expected=instant(row.get("expected_expiration_time")),
        expires=instant(row.get("latest_expiration_time")),
    )


def _why_not(row: Row, event: str) -> str:
    if is_combination(row, event):
        return "a generated combination of other markets"
    kind = text(row.get("market_type"))
    if kind not in ("", "binary"):
        return f"market_type is {kind[:40]}, not binary"
    state = text(row.get("status")).lower()
    if state in CLOSED_STATES:
        return "closed"
    if state not in OPEN_STATES:
        return f"its status is {state[:40] or 'absent'}, not open"
    if not event:
        return "belongs to no event"
    if not text(row.get("title")):
        return "no question"
    if not text(row.get("rules_primary")):
        return "no rules text"
    if not has_quote_fields(row):
        return "no known price field; the form of a market changed"
    return ""


def _question(row: Row) -> str:
    """The title, with what YES stands for where several markets share the title."""
    title, label = text(row.get("title")), text(row.get("yes_sub_title"))
    return title if not label or label.lower() in title.lower() else f"{title} [{label}]"


def _rules(row: Row) -> str:
    parts = (text(row.get("rules_primary")), text(row.get("rules_secondary")))
    return "\n\n".join(part for part in parts if part)


def _count(row: Row, name: str) -> Decimal | None:
    fixed = amount(row.get(f"{name}_fp"))
    return fixed if fixed is not None else amount(row.get(name))


def _money(row: Row, name: str) -> Decimal | None:
    dollars = amount(row.get(f"{name}_dollars"))
    cents = amount(row.get(name))
    return dollars if dollars is not None else cents / _HUNDRED if cents is not None else None
