"""Events and markets as Polymarket's Gamma writes them: every key and type as recorded.

Lists inside a market are JSON texts, prices inside those are texts too, and
one market mixes two forms of time.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from beforehand.testing.chance import digest, uniform
from beforehand.testing.depth import price_text, quote_of
from beforehand.testing.rows import words
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import SimEvent, SimMarket
from beforehand.testing.walk import HOUR

# Fee type and rate by topic; a topic that is not here trades without fees.
FEES = {
    "Politics": ("politics_fees", 0.04),
    "Economy": ("general_fees", 0.05),
    "Tech": ("tech_fees", 0.04),
    "Culture": ("culture_fees", 0.05),
    "Crypto": ("crypto_fees", 0.07),
    "Sports": ("sports_fees", 0.03),
    "Weather": ("weather_fees", 0.05),
}
_TAG_IDS = {topic: str(100 + place) for place, topic in enumerate(words()["topics"])}
_IMAGE = "https://polymarket-upload.s3.us-east-2.amazonaws.com/simulated.png"


def instant(seconds: int, micros: int | None = None) -> str:
    """An instant as most fields have it, with a fraction where `micros` is given."""
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    return text + ("Z" if micros is None else f".{micros:06d}Z")


def spaced_instant(seconds: int) -> str:
    """An instant as `closedTime` has it."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}+00"


def slug_of(event: SimEvent, market: SimMarket | None = None) -> str:
    """The slug of an event, or of one of its markets."""
    return f"simulated-{market.id}" if market is not None else f"simulated-event-{event.id}"


def tags_of(event: SimEvent) -> list[dict[str, Any]]:
    """The tags of an event: its topic, and one that every simulated event has."""
    named = ((event.topic, words()["topics"][event.topic]["tag"]), ("Simulated", "simulated"))
    return [
        {
            "id": _TAG_IDS.get(label, "99"),
            "label": label,
            "slug": slug,
            "forceShow": False,
            "createdAt": "2023-11-02T21:08:51.297Z",
            "updatedAt": "2024-06-18T14:47:58.207224Z",
            "requiresTranslation": False,
        }
        for label, slug in named
    ]


def tag_ids(event: SimEvent) -> set[str]:
    """The ids and slugs a list can be filtered by."""
    return {tag["id"] for tag in tags_of(event)} | {tag["slug"] for tag in tags_of(event)}


def volume_of(market: SimMarket, now: int) -> tuple[float, float]:
    """Volume traded so far, and in the last day."""
    life = max(market.event.walk.step(now), 1)
    daily = market.volume * (0.6 + 0.8 * uniform("day", market.id, now // (24 * HOUR)))
    total = market.volume * life / 24
    return round(total, 6), round(min(daily, total), 6) if now < market.fate.closes else 0.0


def liquidity_of(market: SimMarket, now: int) -> float:
    """Money resting in the book, roughly."""
    return round(market.volume * 1.3, 4) if now < market.fate.closes else 0.0


def market_json(market: SimMarket, now: int, settling: Settling) -> dict[str, Any]:
    """A market as it stands inside an event, without the key `events`."""
    if market.kind == "placeholder":
        return _placeholder(market, now)
    found = {**_static(market), **_volumes(market, now), **_prices(market, now, settling)}
    event, fate = market.event, market.fate
    states = fate.states(now)
    found["umaResolutionStatuses"] = json.dumps(states)
    found["closed"] = now >= fate.closes
    # The flag lags behind the close for some, as recorded.
    lags = HOUR if int(market.id) % 7 == 0 else 0
    found["acceptingOrders"] = now < fate.closes + lags
    if states:
        found["umaResolutionStatus"] = states[-1]
    if now >= fate.closes:
        found["closedTime"] = spaced_instant(fate.closes)
    if fate.settled is not None and now >= fate.settled:
        found["umaEndDate"] = instant(fate.settled)
    if event.neg_risk:
        found["negRiskMarketID"] = "0x" + digest("negrisk", event.id).hex()[:-2] + "00"
    return found


def _static(market: SimMarket) -> dict[str, Any]:
    event = market.event
    micros = int(digest("micros", market.id)[0]) * 3907
    created = event.start - HOUR
    fee = FEES.get(event.topic)
    found: dict[str, Any] = {
        "id": market.id,
        "question": market.question,
        "conditionId": market.condition,
        "slug": slug_of(event, market),
        "resolutionSource": "",
        "endDate": instant(event.ends),
        "startDate": instant(event.start, micros),
        "image": _IMAGE,
        "icon": _IMAGE,
        "description": market.description,
        "outcomes": json.dumps(market.outcomes),
        "clobTokenIds": json.dumps(market.tokens),
        "active": True,
        "marketMakerAddress": "",
        "createdAt": instant(created, micros),
        "new": False,
        "featured": False,
        "archived": False,
        "restricted": True,
        "groupItemThreshold": str(market.place),
        "questionID": market.question_id,
        "enableOrderBook": True,
        "orderMinSize": 5,
        "endDateIso": instant(event.ends)[:10],
        "startDateIso": instant(event.start)[:10],
        "hasReviewedDates": True,
        "makerBaseFee": 1000,
        "takerBaseFee": 1000,
        "acceptingOrdersTimestamp": instant(event.start),
        "approved": True,
        "automaticallyActive": True,
        "clearBookOnStart": True,
        "clobRewards": [],
        "comboStatus": "disabled",
        "customLiveness": 0,
        "cyom": False,
        "deploying": False,
        "deployingTimestamp": instant(created, micros),
        "funded": False,
        "holdingRewardsEnabled": False,
        "manualActivation": False,
        "negRisk": event.neg_risk,
        "negRiskOther": market.kind == "other",
        "negRiskRequestID": "0x" + digest("request", market.id).hex() if event.neg_risk else "",
        "pagerDutyNotificationEnabled": False,
        "pendingDeployment": False,
        "ready": False,
        "requiresTranslation": False,
        "resolvedBy": "0x" + digest("resolver").hex()[:40],
        "rewardsMaxSpread": 0,
        "rewardsMinSize": 0,
        "rfqEnabled": False,
        "seriesColor": "",
        "showGmpOutcome": False,
        "showGmpSeries": False,
        "submitted_by": "0x" + digest("submitter").hex()[:40],
        "umaBond": "500",
        "umaReward": "5",
        "feesEnabled": fee is not None,
    }
    if market.title:
        found["groupItemTitle"] = market.title
    if fee is not None:
        found["feeType"] = fee[0]
        found["feeSchedule"] = {
            "exponent": 1,
            "rate": fee[1],
            "takerOnly": True,
            "rebateRate": 0.25,
        }
    return found


def _volumes(market: SimMarket, now: int) -> dict[str, Any]:
    total, day = volume_of(market, now)
    week = round(min(total, 7 * day), 6)
    liquidity = liquidity_of(market, now)
    return {
        "volume": str(total),
        "volumeNum": total,
        "volumeClob": total,
        "volume24hr": day,
        "volume24hrClob": day,
        "volume1wk": week,
        "volume1wkClob": week,
        "volume1mo": total,
        "volume1moClob": total,
        "volume1yr": total,
        "volume1yrClob": total,
        "liquidity": str(liquidity),
        "liquidityNum": liquidity,
        "liquidityClob": liquidity,
    }


def _prices(market: SimMarket, now: int, settling: Settling) -> dict[str, Any]:
    quote = quote_of(market, min(now, market.fate.closes - 1))
    paid = settling.prices(market, now)
    middle = quote.middle
    bid, ask = (quote.bid or 0) / 1000, (quote.ask or 1000) / 1000
    moved = _moved(market, now, middle)
    found = {
        "outcomePrices": json.dumps(paid or (price_text(middle), price_text(1000 - middle))),
        "bestBid": bid if paid is None else 0,
        "bestAsk": ask if paid is None else 1,
        "spread": round(ask - bid, 3) if paid is None else 1,
        "lastTradePrice": quote.last / 1000,
        "oneDayPriceChange": moved,
        "oneWeekPriceChange": moved,
        "oneMonthPriceChange": moved,
        "oneYearPriceChange": moved,
        "competitive": round(1 / (1 + (middle / 1000 - 0.5) ** 2), 16),
        "orderPriceMinTickSize": quote.tick / 1000,
        "updatedAt": instant(now, 382157),
    }
    # Without a bid the key is missing; without an ask it is 1: as recorded.
    if quote.bid is None:
        del found["bestBid"]
    return found


def _moved(market: SimMarket, now: int, middle: float) -> float:
    before = quote_of(market, max(now - 24 * HOUR, market.event.start)).middle
    return round((middle - before) / 1000, 4)


def _placeholder(market: SimMarket, now: int) -> dict[str, Any]:
    """A child that was listed and never deployed: no condition, no prices, no tokens."""
    found = {**_static(market), "closed": False, "active": False, "conditionId": ""}
    del found["clobTokenIds"]
    found.update(bestBid=0, bestAsk=1, spread=1, updatedAt=instant(now), umaResolutionStatuses="[]")
    found.update(acceptingOrders=False, pendingDeployment=True, orderPriceMinTickSize=0.001)
    return found


def event_json(event: SimEvent, now: int) -> dict[str, Any]:
    """An event as it stands inside a market, without its markets and tags."""
    traded = [market for market in event.markets if market.kind != "placeholder"]
    volumes = [volume_of(market, now) for market in traded]
    total = round(sum(each for each, _ in volumes), 6)
    day = round(sum(each for _, each in volumes), 6)
    liquidity = round(sum(liquidity_of(market, now) for market in traded), 5)
    found: dict[str, Any] = {
        "id": event.id,
        "ticker": slug_of(event),
        "slug": slug_of(event),
        "title": event.title,
        "description": event.markets[0].description,
        "resolutionSource": "",
        "startDate": instant(event.start, 582000),
        "creationDate": instant(event.start, 262669),
        "endDate": instant(event.ends),
        "image": _IMAGE,
        "icon": _IMAGE,
        "active": True,
        "closed": now >= event.fate.closes,
        "archived": False,
        "new": False,
        "featured": False,
        "restricted": True,
        "liquidity": liquidity,
        "liquidityClob": liquidity,
        "volume": total,
        "openInterest": round(total / 5, 6),
        "createdAt": instant(event.start - HOUR, 249386),
        "updatedAt": instant(now, 945364),
        "competitive": 0.9,
        "volume24hr": day,
        "volume1wk": round(min(total, day * 7), 6),
        "volume1mo": total,
        "volume1yr": total,
        "enableOrderBook": True,
        "negRisk": event.neg_risk,
        "enableNegRisk": event.neg_risk,
        "negRiskAugmented": event.neg_risk,
        "commentCount": 0,
        "cyom": False,
        "showAllOutcomes": True,
        "showMarketImages": False,
        "automaticallyActive": True,
        "cumulativeMarkets": False,
        "gmpChartMode": "default",
        "sortBy": "price",
        "eventMetadata": {"context_description": "Simulated.", "context_requires_regen": False},
        "pendingDeployment": False,
        "deploying": False,
        "requiresTranslation": False,
    }
    if event.neg_risk:
        found["negRiskMarketID"] = "0x" + digest("negrisk", event.id).hex()[:-2] + "00"
    if now >= event.fate.closes:
        found["closedTime"] = instant(event.fate.closes)
    return found
