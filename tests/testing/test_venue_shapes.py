"""The venue replica answers in the recorded shapes: keys, types, order, double encoding."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.sources.shared_data import shared_file
from tests.testing.asking import Venue, asked, ending, read
from tests.testing.shapes import departures, shape_of, texts

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "recorded_shapes.json").read_text(encoding="utf-8")
)
# Keys that stand only where they apply, in the recordings too.
_OPTIONAL = frozenset({"bestBid", "groupItemTitle", "feeSchedule", "feeType"})
# Keys of later states and of neg-risk, recorded elsewhere (samples 11 and 12).
_LATER = {"umaResolutionStatus", "closedTime", "umaEndDate", "negRiskMarketID"}


def test_open_markets_have_the_recorded_keys_and_types(venue: Venue) -> None:
    rows = [row for row in venue.markets() if row["conditionId"]]
    for row in rows:
        kept = {key: value for key, value in row.items() if key not in _LATER}
        assert departures(kept, RECORDED["gamma_market"]["shape"], missing=_OPTIONAL) == []
        assert row["question"].startswith("Simulated market ")
        assert row["description"].startswith("Simulated market ")
        assert len(texts(row["outcomes"])) == len(texts(row["clobTokenIds"])) == 2
        assert sum(map(Decimal, texts(row["outcomePrices"]))) == 1
    assert len({row["question"] for row in rows}) == len(rows)


def test_events_have_the_recorded_keys_and_types(venue: Venue) -> None:
    rows = venue.get("/events/keyset?limit=100")["events"]
    for row in rows:
        assert {tag["slug"] for tag in row.pop("tags")} >= {"simulated"}
        assert row.pop("markets")
        row.pop("negRiskMarketID", None)
        assert departures(row, RECORDED["gamma_event"]["shape"]) == []


def test_a_placeholder_has_no_prices_no_tokens_and_no_condition(venue: Venue) -> None:
    rows = [row for row in venue.markets() if not row["conditionId"]]
    assert rows
    for row in rows:
        assert not {"outcomePrices", "clobTokenIds"} & set(row)
        assert (row["active"], row["bestBid"], row["bestAsk"]) == (False, 0, 1)
    assert all(row["conditionId"] for row in venue.markets("limit=100&active=true"))


def test_books_have_the_recorded_shape_order_and_hash(venue: Venue) -> None:
    seen = 0
    for row in venue.markets():
        token = texts(row["clobTokenIds"])[0] if row["conditionId"] else ""
        answer = asked(venue.replica, f"/book?token_id={token}")
        if answer.status != 200:
            continue
        book = json.loads(answer.body)
        seen += 1
        kinds = {**RECORDED["clob_book"]["shape"]}
        assert departures(book, kinds) == []
        for side, order in (("bids", 1), ("asks", -1)):
            prices = [Decimal(level["price"]) for level in book[side]]
            assert prices == sorted(prices)[::order]
            assert all(isinstance(level["size"], str) for level in book[side])
        said, book["hash"] = book["hash"], ""
        compact = json.dumps(book, separators=(",", ":")).encode()
        assert said == hashlib.sha1(compact, usedforsecurity=False).hexdigest()
    assert seen > 200


def test_the_book_of_no_mirrors_that_of_yes(venue: Venue) -> None:
    market = ending(venue, "usual")
    yes, no = (venue.get(f"/clob/book?token_id={token}") for token in market.tokens)
    mirrored = [
        {"price": f"{1 - Decimal(level['price']):f}", "size": level["size"]} for level in no["asks"]
    ]
    assert [Decimal(level["price"]) for level in yes["bids"]] == [
        Decimal(level["price"]) for level in mirrored
    ]
    assert [level["size"] for level in yes["bids"]] == [level["size"] for level in mirrored]


def test_small_answers_about_a_token(venue: Venue) -> None:
    market = next(
        each
        for event in venue.replica.world.open("polymarket", venue.moment.now())
        for each in event.markets
        if each.book == "usual" and 0.2 < each.chance(venue.moment.now()) < 0.8
    )
    token = market.tokens[0]
    book = venue.get(f"/book?token_id={token}")
    bid, ask = Decimal(book["bids"][-1]["price"]), Decimal(book["asks"][-1]["price"])
    assert Decimal(venue.get(f"/midpoint?token_id={token}")["mid"]) == (bid + ask) / 2
    assert Decimal(venue.get(f"/spread?token_id={token}")["spread"]) == ask - bid
    assert Decimal(venue.get(f"/price?token_id={token}&side=BUY")["price"]) == bid
    assert Decimal(venue.get(f"/price?token_id={token}&side=SELL")["price"]) == ask
    assert venue.get(f"/neg-risk?token_id={token}") == {"neg_risk": market.event.neg_risk}
    assert set(venue.get(f"/last-trade-price?token_id={token}")) == {"price", "side"}
    assert set(venue.get(f"/tick-size?token_id={token}")) == {"minimum_tick_size"}
    assert set(venue.get(f"/fee-rate?token_id={token}")) == {"base_fee"}
    assert read(venue.replica, "/books", [{"token_id": token}]) == [book]


def test_the_orders_own_market_names_the_tokens(venue: Venue) -> None:
    market = ending(venue, "usual")
    shape = venue.get(f"/markets/{market.condition}")
    assert [token["token_id"] for token in shape["tokens"]] == list(market.tokens)
    assert [token["winner"] for token in shape["tokens"]] == [False, False]
    assert shape["end_date_iso"].endswith("T00:00:00Z")
    assert venue.status("/markets/0x" + "0" * 64) == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/book?token_id=simulated-1", 400),
        ("/book?token_id=123", 404),
        ("/markets/999999999999", 404),
        ("/events/slug/nothing", 404),
        ("/trade-api/v2/markets/KXSIMPOL-1", 404),
        ("/nowhere", 404),
        ("/markets?offset=5000", 422),
        ("/markets/keyset?offset=5", 422),
        ("/markets/keyset?after_cursor=junk", 422),
        ("/trade-api/v2/markets?limit=5000", 400),
    ],
)
def test_what_a_venue_refuses(venue: Venue, path: str, status: int) -> None:
    answer = asked(venue.replica, path)
    assert answer.status == status
    assert "error" in json.loads(answer.body)


def test_kalshi_markets_come_in_both_recorded_formats(venue: Venue) -> None:
    rows = venue.get("/trade-api/v2/markets?status=open&limit=1000")["markets"]
    legacy = [row for row in rows if "yes_bid" in row]
    combos = [row for row in rows if row["ticker"].startswith("KXMVE")]
    usual = [row for row in rows if "yes_bid" not in row and row not in combos]
    assert legacy and combos and usual
    new = RECORDED["kalshi_market_new"]["shape"]
    mve = frozenset({"custom_strike", "mve_collection_ticker", "mve_selected_legs"})
    assert [departures(row, new) for row in combos] == [[]] * len(combos)
    assert [departures(row, new, missing=mve) for row in usual] == [[]] * len(usual)
    old = RECORDED["kalshi_market_transition"]["shape"]
    assert [departures(row, old) for row in legacy] == [[]] * len(legacy)
    assert all(row["title"].startswith("Simulated market") for row in rows)
    empty = [row for row in combos if row["yes_ask_dollars"] == "0.0000"]
    assert len(empty) == len(combos)


def test_kalshi_books_come_in_both_recorded_shapes(venue: Venue) -> None:
    legacy = new = nulls = 0
    for event in venue.replica.world.open("kalshi", venue.moment.now()):
        for market in event.markets:
            book = venue.get(f"/trade-api/v2/markets/{market.id}/orderbook")
            if "orderbook" in book:
                legacy += 1
                assert set(book["orderbook"]) == set(RECORDED["kalshi_book_legacy"]["shape"])
                nulls += None in book["orderbook"].values()
            else:
                new += 1
                sides = book["orderbook_fp"]
                assert set(sides) == {"yes_dollars", "no_dollars"}
                for levels in sides.values():
                    prices = [Decimal(price) for price, _ in levels]
                    assert prices == sorted(prices)
    assert legacy and new and nulls


def test_the_shipped_shapes_are_those_of_the_recordings() -> None:
    sample = shared_file("api_samples", "01_pm_gamma_markets_open_gta6_later_5050.json")
    rows = json.loads(sample.read_bytes())
    assert shape_of(rows) == RECORDED["gamma_market"]["shape"]
    rows = json.loads(
        shared_file("api_samples", "02_kalshi_markets_fp_degenerate_quotes.json").read_bytes()
    )
    assert shape_of(rows) == RECORDED["kalshi_market_new"]["shape"]
    event = json.loads(shared_file("api_samples", "05_kalshi_event_single.json").read_bytes())
    assert shape_of([event["response"]["event"]]) == RECORDED["kalshi_event"]["shape"]
