"""Events, markets and order books as Kalshi writes them.

Markets come in the new format (`*_dollars` and `*_fp` texts) or, for the first
event of a day, in that of the transition, which has whole cents beside them.
An empty book is an ask of 0.0000, never a missing field.
"""

from __future__ import annotations

from typing import Any

from beforehand.testing.chance import digest, uniform
from beforehand.testing.depth import Levels, book_of, quote_of
from beforehand.testing.gamma_shapes import instant, volume_of
from beforehand.testing.rows import words
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import DAY, SimEvent, SimMarket
from beforehand.testing.walk import HOUR

COMBOS = 120
_FINE = [{"start": "0.0000", "end": "1.0000", "step": "0.0010"}]
_COARSE = [{"start": "0.0000", "end": "1.0000", "step": "0.0100"}]


def dollars(thousandths: float) -> str:
    """A price in dollars, with the four places of the recordings."""
    return f"{thousandths / 1000:.4f}"


def event_shape(event: SimEvent) -> dict[str, Any]:
    """An event; the category stands here and not on its markets."""
    return {
        "available_on_brokers": False,
        "category": words()["topics"][event.topic]["kalshi"],
        "collateral_return_type": "MECNET" if event.neg_risk else "",
        "event_ticker": event.id,
        "mutually_exclusive": event.neg_risk,
        "series_ticker": event.id.partition("-")[0],
        "strike_period": "",
        "sub_title": "Simulated",
        "title": event.title,
    }


def market_shape(market: SimMarket, now: int, settling: Settling) -> dict[str, Any]:
    """A market in the format of its event."""
    event, fate = market.event, market.fate
    status = _status(market, now)
    bid, ask, last, before = _quotes(market, now)
    total, day = volume_of(market, now)
    found: dict[str, Any] = {
        "can_close_early": True,
        "close_time": instant(fate.closes if now >= fate.closes else event.ends),
        # A sentinel instead of a time, for some, as recorded.
        "created_time": instant(event.start, 82451) if event.number % 3 else "0001-01-01T00:00:00Z",
        "event_ticker": event.id,
        "expected_expiration_time": instant(event.ends + 3 * HOUR),
        "expiration_time": instant(event.ends + 7 * DAY),
        "expiration_value": "",
        "last_price_dollars": dollars(last),
        "latest_expiration_time": instant(event.ends + 7 * DAY),
        "liquidity_dollars": f"{market.volume if status == 'active' else 0:.4f}",
        "market_type": "binary",
        "no_ask_dollars": dollars(1000 - bid),
        "no_bid_dollars": dollars(1000 - ask),
        "no_sub_title": market.title,
        "notional_value_dollars": "1.0000",
        "open_time": instant(event.start),
        "previous_price_dollars": dollars(before),
        "previous_yes_ask_dollars": dollars(before),
        "previous_yes_bid_dollars": dollars(before),
        "price_level_structure": "linear_cent" if market.place % 2 == 0 else "deci_cent",
        "price_ranges": _COARSE if market.place % 2 == 0 else _FINE,
        "response_price_units": "usd_cent",
        "result": "",
        "rules_primary": market.description,
        "rules_secondary": "",
        "settlement_timer_seconds": 1800,
        "status": status,
        "ticker": market.id,
        "title": market.question,
        "yes_ask_dollars": dollars(ask),
        "yes_bid_dollars": dollars(bid),
        "yes_sub_title": market.title,
    }
    if event.number == 0:
        found.update(_cents(found, total, day))
    else:
        found.update(
            created_time=instant(event.start, 82451),
            fractional_trading_enabled=True,
            is_provisional=False,
            strike_type="custom",
            open_interest_fp=f"{total / 4:.2f}",
            updated_time=instant(now, 170256),
            volume_24h_fp=f"{day:.2f}",
            volume_fp=f"{total:.2f}",
            yes_ask_size_fp="100.00" if ask else "0.00",
            yes_bid_size_fp="100.00" if bid else "0.00",
        )
    if status in ("determined", "finalized"):
        found.update(_result(market, now, settling, status))
    return found


def _status(market: SimMarket, now: int) -> str:
    state = market.fate.state(now)
    words_of = {"open": "active", "closed": "closed", "resolved": "finalized"}
    return words_of.get(state, "determined")


def _quotes(market: SimMarket, now: int) -> tuple[int, int, int, int]:
    """YES bid and ask, last and earlier price in thousandths; an empty side is 0 as recorded."""
    before = quote_of(market, max(now - DAY, market.event.start)).last
    if now >= market.fate.closes:
        return 0, 0, quote_of(market, market.fate.closes - 1).last, before
    quote = quote_of(market, now)
    if market.book == "missing":
        return 0, 0, quote.last, before
    return quote.bid or 0, quote.ask or 0, quote.last, before


def _cents(found: dict[str, Any], total: float, day: float) -> dict[str, Any]:
    """The whole cents of the transition format beside the dollars."""
    names = (
        "last_price",
        "no_ask",
        "no_bid",
        "notional_value",
        "previous_price",
        "previous_yes_ask",
        "previous_yes_bid",
        "yes_ask",
        "yes_bid",
        "liquidity",
    )
    cents = {name: round(float(found[name + "_dollars"]) * 100) for name in names}
    return {
        **cents,
        "early_close_condition": "This market will close early if the event occurs.",
        "open_interest": int(total / 4),
        "subtitle": "",
        "tick_size": 1,
        "volume": int(total),
        "volume_24h": int(day),
    }


def _result(market: SimMarket, now: int, settling: Settling, status: str) -> dict[str, Any]:
    """How it was settled: a side, or `scalar` with the fraction that YES is paid."""
    yes = settling.yes(market, now)
    value = 1000 if yes else 0
    result = "yes" if yes else "no"
    if market.fate.kind == "scalar":
        # Ties pay a half; other fractions come from measured values.
        result = "scalar"
        tied = uniform("tie", market.id) < 0.5
        value = 500 if tied else 10 + int(uniform("scalar", market.id) * 980)
    found: dict[str, Any] = {"result": result, "expiration_value": result}
    if status == "finalized":
        settled = market.fate.settled or now
        found["settlement_value_dollars"] = dollars(value)
        found["settlement_ts"] = instant(settled, 120000)
    return found


def new_book(market: SimMarket, now: int) -> dict[str, Any]:
    """The book as it is now: bids only, of both sides, the best last."""
    yes, no = _bids(market, now)
    return {
        "orderbook_fp": {
            "yes_dollars": [[dollars(price), f"{size:.2f}"] for price, size in yes],
            "no_dollars": [[dollars(price), f"{size:.2f}"] for price, size in no],
        }
    }


def legacy_book(market: SimMarket, now: int) -> dict[str, Any]:
    """The book as it was: whole cents and counts beside dollars, an empty side is null."""
    yes, no = _bids(market, now)
    sides: dict[str, Any] = {}
    for name, levels in (("no", no), ("yes", yes)):
        whole = [(price // 10, int(size)) for price, size in levels if price >= 10]
        sides[name] = [[cents, count] for cents, count in whole] or None
        sides[name + "_dollars"] = [[dollars(cents * 10), count] for cents, count in whole] or None
    return {"orderbook": sides}


def _bids(market: SimMarket, now: int) -> tuple[Levels, Levels]:
    """Bids of YES and of NO, each ascending. An ask of YES at p is a bid of NO at 1 - p."""
    found = book_of(market, now)
    if found is None:
        return [], []
    bids, asks, _ = found
    return bids[::-1], [(1000 - price, size) for price, size in asks][::-1]


def combos(seed: int, now: int) -> list[dict[str, Any]]:
    """The generated combinations that flood the list of open markets: all with an empty book."""
    rows = []
    for number in range(COMBOS):
        name = digest("combo", seed, now // DAY, number).hex().upper()
        event = f"KXMVESIMULATED-S{name[:15]}"
        rows.append(
            {
                "can_close_early": True,
                "close_time": instant(now + 3 * DAY),
                "created_time": instant(now - HOUR, 82451),
                "custom_strike": {"Associated Events": "", "Associated Market Sides": "yes,yes"},
                "event_ticker": event,
                "expected_expiration_time": instant(now + DAY),
                "expiration_time": instant(now + 3 * DAY),
                "expiration_value": "",
                "fractional_trading_enabled": True,
                "is_provisional": True,
                "last_price_dollars": "0.0000",
                "latest_expiration_time": instant(now + 3 * DAY),
                "liquidity_dollars": "0.0000",
                "market_type": "binary",
                "mve_collection_ticker": "KXMVESIMULATED-R",
                "mve_selected_legs": [],
                "no_ask_dollars": "1.0000",
                "no_bid_dollars": "1.0000",
                "no_sub_title": "Simulated market: yes A,yes B",
                "notional_value_dollars": "1.0000",
                "open_interest_fp": "0.00",
                "open_time": instant(now - HOUR),
                "previous_price_dollars": "0.0000",
                "previous_yes_ask_dollars": "0.0000",
                "previous_yes_bid_dollars": "0.0000",
                "price_level_structure": "deci_cent",
                "price_ranges": _FINE,
                "response_price_units": "usd_cent",
                "result": "",
                "rules_primary": "",
                "rules_secondary": "",
                "settlement_timer_seconds": 5,
                "status": "active",
                "strike_type": "custom",
                "ticker": f"{event}-{name[15:26]}",
                "title": "Simulated market: yes A,yes B",
                "updated_time": instant(now - HOUR, 170256),
                "volume_24h_fp": "0.00",
                "volume_fp": "0.00",
                "yes_ask_dollars": "0.0000",
                "yes_ask_size_fp": "0.00",
                "yes_bid_dollars": "0.0000",
                "yes_bid_size_fp": "0.00",
                "yes_sub_title": "Simulated market: yes A,yes B",
            }
        )
    return rows
