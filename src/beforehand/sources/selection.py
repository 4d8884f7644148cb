"""Which of a venue's markets a slot asks, and why each of the others is not asked.

Pure: the same listing, depth, rules and instant choose the same markets, for
the same reasons.

A slot first reads the listing and drops what the listing alone rules out
(`shortlist`). Then it goes down the order; for the markets that it would
choose it wants their depth (`Selection.wanted`), and asked again with it,
drops those whose depth is unfit, until nothing more is wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self

from beforehand.clock import instant_key
from beforehand.errors import RuleError
from beforehand.sources.market import Depth, Listing, Market

MAX_DEPTH_MINUTES = 5

_ORDERS = ("volume_24h", "volume", "liquidity")


@dataclass(frozen=True)
class Rules:
    """`[questions.select]` of a declaration; what it leaves out is None and drops nothing.

    Hours are whole, prices and amounts decimal.
    """

    order: str
    markets: int
    per_event: int | None = None
    per_topic: int | None = None
    min_hours: int | None = None
    max_hours: int | None = None
    price_low: Decimal | None = None
    price_high: Decimal | None = None
    max_spread: Decimal | None = None
    min_volume_24h: Decimal | None = None
    tags_out: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @classmethod
    def of(cls, select: Mapping[str, Any]) -> Self:
        """The rules in a declaration's table, which was checked when it was read.

        >>> Rules.of({"order": "volume", "markets": 12, "price_low": "0.05"}).price_low
        Decimal('0.05')
        """
        unknown = sorted(set(select) - {field.name for field in fields(cls)})
        if unknown or select.get("order") not in _ORDERS:
            what = unknown[0] if unknown else "order"
            raise RuleError(f"questions.select.{what} is not known to this version")
        given = {key: _rule(value) for key, value in select.items() if key != "order"}
        return cls(order=select["order"], **given)

    @property
    def prices(self) -> bool:
        """Whether a market needs a price of its own: the middle of bid and ask."""
        wanted = (self.price_low, self.price_high, self.max_spread)
        return any(each is not None for each in wanted)


@dataclass(frozen=True)
class Chosen:
    """A market that is asked. `crowd` is the middle of its depth where one was wanted."""

    market: Market
    depth: Depth | None
    crowd: Decimal | None


@dataclass(frozen=True)
class Dropped:
    """A market that is not asked, and why: `reason` is a word, `said` the figures."""

    market: Market
    reason: str
    said: str


@dataclass(frozen=True)
class Shortlist:
    """What the listing does not rule out, in the order of the rules; and what it does."""

    markets: tuple[Market, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True)
class Selection:
    """The markets chosen, the others with reasons, and whose depth is still wanted.

    While `wanted` is not empty the choice is provisional.
    """

    chosen: tuple[Chosen, ...]
    dropped: tuple[Dropped, ...]
    wanted: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be read."""
        return not self.wanted


def shortlist(listing: Listing, rules: Rules, now: str) -> Shortlist:
    """What the listing alone decides: flags, horizon, tags, volume, quotes; ordered, ties by id.

    >>> empty = shortlist(Listing(()), Rules("volume", 3), "2026-01-05T10:00:00Z")
    >>> empty.markets
    ()
    """
    moment = instant_key(now)
    kept: list[Market] = []
    dropped: list[Dropped] = []
    for market in _ordered(listing, rules):
        found = next(_listed_faults(market, rules, moment), None)
        if found is None:
            kept.append(market)
        else:
            dropped.append(Dropped(market, *found))
    return Shortlist(tuple(kept), tuple(dropped))


def select(
    listing: Listing,
    depths: Mapping[str, Depth | str] | None,
    rules: Rules,
    now: str,
    *,
    max_minutes: int = MAX_DEPTH_MINUTES,
) -> Selection:
    """The choice from a listing and the depth read so far, by market id, at the instant `now`.

    In place of a depth may stand why it could not be read. With None instead
    of `depths` the listing alone decides and nothing is wanted. A depth more
    than `max_minutes` from `now` is unfit: a crowd price is of its own slot.
    """
    found = shortlist(listing, rules, now)
    dropped = list(found.dropped)
    chosen: list[Chosen] = []
    wanted: list[str] = []
    events: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    for market in found.markets:
        fault = _cap_fault(market, rules, len(chosen), events, topics)
        depth = None
        if fault is None and depths is not None:
            given = depths.get(market.id)
            if given is None:
                wanted.append(market.id)
            elif isinstance(given, str):
                fault = ("depth_unread", given)
            else:
                depth = given
                fault = next(_depth_faults(depth, rules, now, max_minutes), None)
        if fault is not None:
            dropped.append(Dropped(market, *fault))
            continue
        events[market.event] += 1
        topics[market.topic] += 1
        chosen.append(Chosen(market, depth, _crowd(depth)))
    return Selection(tuple(chosen), tuple(dropped), tuple(wanted))


def horizon(market: Market) -> str:
    """The earliest instant at which a market may be over, "" where the venue names none.

    The venue's close can lie weeks after the result it expects.
    """
    times = [each for each in (market.closes, market.expected) if each]
    return min(times, key=instant_key) if times else ""


def _ordered(listing: Listing, rules: Rules) -> list[Market]:
    """The largest first; what has no figure last; ties by id, so that no page order shows."""

    def key(market: Market) -> tuple[bool, Decimal, str]:
        figure: Decimal | None = getattr(market, rules.order)
        return (figure is None, -(figure or Decimal(0)), market.id)

    return sorted(listing.markets, key=key)


def _listed_faults(market: Market, rules: Rules, now: datetime) -> Iterator[tuple[str, str]]:
    if market.closed or not market.accepting:
        yield "not_trading", "closed" if market.closed else "takes no orders"
    if market.event_at and instant_key(market.event_at) <= now:
        yield "event_begun", f"what it asks about began {market.event_at}"
    yield from _horizon_faults(market, rules, now)
    if not market.closes:  # no question can be sealed without one
        yield "horizon", "the venue names no closing time"
    out = {tag.strip().casefold() for tag in rules.tags_out}
    for tag in (*market.tags, market.topic):
        if tag.strip().casefold() in out:
            yield "tag", tag
    if rules.min_volume_24h is not None:
        if market.volume_24h is None:
            yield "volume", "volume of 24 hours is not given"
        elif market.volume_24h < rules.min_volume_24h:
            yield "volume", f"{market.volume_24h:f} in 24 hours, least is {rules.min_volume_24h:f}"
    if rules.prices:
        yield from _price_faults(market.bid, market.ask, rules)


def _horizon_faults(market: Market, rules: Rules, now: datetime) -> Iterator[tuple[str, str]]:
    if rules.min_hours is None and rules.max_hours is None:
        return
    end = horizon(market)
    if not end:
        yield "horizon", "the venue names no end"
        return
    left = instant_key(end) - now
    if rules.min_hours is not None and left < timedelta(hours=rules.min_hours):
        yield "horizon", f"may end {end}, under {rules.min_hours} hours from now"
    if rules.max_hours is not None and left > timedelta(hours=rules.max_hours):
        yield "horizon", f"ends {end}, over {rules.max_hours} hours from now"


def _price_faults(
    bid: Decimal | None, ask: Decimal | None, rules: Rules
) -> Iterator[tuple[str, str]]:
    if bid is None or ask is None:
        yield "one_sided", "no bid" if bid is None else "no ask"
        return
    middle, spread = (bid + ask) / 2, ask - bid
    if rules.max_spread is not None and spread > rules.max_spread:
        yield "spread", f"{spread:f}, most is {rules.max_spread:f}"
    low, high = rules.price_low, rules.price_high
    if (low is not None and middle < low) or (high is not None and middle > high):
        yield "price", f"middle {middle:f}, outside of {_said(low)} to {_said(high)}"


def _cap_fault(
    market: Market, rules: Rules, count: int, events: Counter[str], topics: Counter[str]
) -> tuple[str, str] | None:
    if count >= rules.markets:
        return "full", f"{rules.markets} markets stand before it"
    if rules.per_event is not None and events[market.event] >= rules.per_event:
        return "per_event", f"{rules.per_event} of event {market.event} stand before it"
    if rules.per_topic is not None and topics[market.topic] >= rules.per_topic:
        return "per_topic", f"{rules.per_topic} of topic {market.topic} stand before it"
    return None


def _depth_faults(
    depth: Depth, rules: Rules, now: str, max_minutes: int
) -> Iterator[tuple[str, str]]:
    apart = abs(instant_key(now) - instant_key(depth.read_at))
    if apart > timedelta(minutes=max_minutes):
        yield "depth_old", f"read {depth.read_at}, over {max_minutes} minutes from now"
    if depth.flags:
        yield "depth_unfit", ", ".join(depth.flags)
    if "depth" in rules.needs and not (depth.bids or depth.asks):
        yield "depth_unfit", "empty"
    if rules.prices:
        yield from _price_faults(depth.bid, depth.ask, rules)


def _crowd(depth: Depth | None) -> Decimal | None:
    if depth is None or depth.bid is None or depth.ask is None:
        return None
    return (depth.bid + depth.ask) / 2


def _rule(value: Any) -> Any:
    if isinstance(value, str):
        return Decimal(value)
    return tuple(value) if isinstance(value, list | tuple) else value


def _said(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"
