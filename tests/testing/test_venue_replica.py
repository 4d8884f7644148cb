"""The venue replica in time: prices, closes, settlements, reversals, and the truth it tells."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from beforehand.testing.faults import Faults
from beforehand.testing.gamma_shapes import instant, market_json
from beforehand.testing.settling import Settling
from beforehand.testing.simulated import DAY
from beforehand.testing.venue_replica import routed
from beforehand.testing.walk import HOUR
from tests.testing.asking import Venue, asked, ending
from tests.testing.shapes import texts


def test_prices_move_with_the_clock_and_not_without(venue: Venue) -> None:
    before = venue.markets()
    assert venue.markets() == before
    venue.move("2026-03-02T22:00:00Z")
    prices = {row["id"]: row["outcomePrices"] for row in before if row["conditionId"]}
    moved = [
        row
        for row in venue.markets()
        if row["id"] in prices and row["outcomePrices"] != prices[row["id"]]
    ]
    assert len(moved) > 100


def test_a_restart_shows_the_same_bytes(tmp_path: Path) -> None:
    paths = [
        "/markets/keyset?limit=100",
        "/events/keyset?limit=50",
        "/trade-api/v2/events?limit=50",
    ]
    one = Venue(tmp_path / "one", seed=8)
    one.replica.world.day("polymarket", 20_000)
    one.get("/markets/keyset?limit=3&order=volume")
    other = Venue(tmp_path / "other", seed=8)
    for path in paths:
        assert asked(one.replica, path).body == asked(other.replica, path).body
    third = Venue(tmp_path / "third", seed=9)
    assert asked(third.replica, paths[0]).body != asked(one.replica, paths[0]).body


def test_a_market_closes_is_proposed_and_is_settled(venue: Venue) -> None:
    market = ending(venue, "usual")
    fate = market.fate
    assert fate.proposed is not None and fate.settled is not None
    token = market.tokens[0]
    venue.move(instant(fate.closes))
    row = venue.get(f"/markets/{market.id}")
    assert (row["closed"], row["active"]) == (True, True)
    assert "umaResolutionStatus" not in row and row["umaResolutionStatuses"] == "[]"
    assert set(texts(row["outcomePrices"])) == {"0.9995", "0.0005"}
    assert venue.status(f"/book?token_id={token}") == 404
    venue.move(instant(fate.proposed))
    row = venue.get(f"/markets/{market.id}")
    assert row["umaResolutionStatus"] == "proposed"
    shape = venue.get(f"/markets/{market.condition}")
    assert not any(token["winner"] for token in shape["tokens"])
    venue.move(instant(fate.settled))
    row = venue.get(f"/markets/{market.id}")
    assert texts(row["umaResolutionStatuses"]) == ["proposed", "resolved"]
    assert texts(row["outcomePrices"]) == (["1", "0"] if market.won else ["0", "1"])
    shape = venue.get(f"/markets/{market.condition}")
    assert [token["winner"] for token in shape["tokens"]] == [market.won, not market.won]


def test_a_dispute_may_turn_the_proposal(venue: Venue) -> None:
    markets = [
        event.markets[0]
        for event in venue.replica.world.listed("polymarket", venue.moment.now())
        if event.fate.kind == "disputed" and event.markets[0].kind == "market"
    ]
    settling = Settling(1, Faults(1))
    turned = 0
    for market in markets:
        fate = market.fate
        assert fate.disputed is not None and fate.settled is not None
        row = market_json(market, fate.disputed, settling)
        assert row["umaResolutionStatus"] == "disputed"
        final = market_json(market, fate.settled, settling)
        assert texts(final["umaResolutionStatuses"]) == ["proposed", "disputed", "resolved"]
        turned += row["outcomePrices"] != final["outcomePrices"]
    assert 0 < turned < len(markets)


def test_a_fifty_fifty_is_shown_before_it_is_final(tmp_path: Path) -> None:
    venue = Venue(tmp_path, seed=2)
    market = ending(venue, "fifty")
    assert market.fate.proposed is not None and market.fate.settled is not None
    venue.move(instant(market.fate.proposed))
    row = venue.get(f"/markets/{market.id}")
    assert (row["outcomePrices"], row["umaResolutionStatus"]) == ('["0.5", "0.5"]', "proposed")
    venue.move(instant(market.fate.settled))
    assert venue.get(f"/markets/{market.id}")["umaResolutionStatus"] == "resolved"
    assert venue.get(f"/markets/{market.condition}")["is_50_50_outcome"] is True


def test_some_never_settle(tmp_path: Path) -> None:
    venue = Venue(tmp_path, seed=2)
    market = ending(venue, "unproposed")
    venue.move(instant(market.fate.closes + 60 * DAY))
    row = venue.get(f"/markets/{market.id}")
    assert row["closed"] is True and "umaResolutionStatus" not in row


def test_kalshi_settles_some_by_a_fraction(venue: Venue) -> None:
    market = ending(venue, "scalar", "kalshi")
    assert market.fate.proposed is not None and market.fate.settled is not None
    path = f"/trade-api/v2/markets/{market.id}"
    assert venue.get(path)["market"]["status"] == "active"
    venue.move(instant(market.fate.closes))
    assert venue.get(path)["market"]["status"] == "closed"
    venue.move(instant(market.fate.proposed))
    assert venue.get(path)["market"]["status"] == "determined"
    venue.move(instant(market.fate.settled))
    row = venue.get(path)["market"]
    assert (row["status"], row["result"]) == ("finalized", "scalar")
    assert 0 < Decimal(row["settlement_value_dollars"]) < 1


def test_price_history_of_a_settled_market_needs_a_coarse_fidelity(venue: Venue) -> None:
    market = ending(venue, "usual")
    token = market.tokens[0]
    points = venue.get(f"/prices-history?market={token}&fidelity=60")["history"]
    assert points and set(points[0]) == {"t", "p"}
    assert venue.status(f"/prices-history?market={token}&startTs=1&endTs=99999999") == 400
    venue.move(instant(market.fate.settled or 0))
    assert venue.get(f"/prices-history?market={token}&fidelity=60") == {"history": []}
    assert venue.get(f"/prices-history?market={token}&fidelity=720")["history"]


def test_a_reversal_is_wrong_first_and_corrected_later(venue: Venue) -> None:
    market = ending(venue, "usual")
    settled = market.fate.settled or 0
    true = ["1", "0"] if market.won else ["0", "1"]
    venue.replica.control({"faults": [{"kind": "reversal", "market": market.id, "hours": 24}]})
    venue.move(instant(settled))
    assert texts(venue.get(f"/markets/{market.id}")["outcomePrices"]) == true[::-1]
    venue.move(instant(settled + 24 * HOUR))
    assert texts(venue.get(f"/markets/{market.id}")["outcomePrices"]) == true


def test_an_overturn_holds_while_it_is_in_force(venue: Venue) -> None:
    market = ending(venue, "usual")
    venue.move(instant(market.fate.settled or 0))
    path = f"/markets/{market.id}"
    true = venue.get(path)["outcomePrices"]
    venue.replica.control({"faults": [{"kind": "overturn", "market": market.id}]})
    assert venue.get(path)["outcomePrices"] != true
    venue.replica.control({"faults": []})
    assert venue.get(path)["outcomePrices"] == true


def test_the_truth_is_written_when_the_clock_moves(venue: Venue, tmp_path: Path) -> None:
    rows = venue.markets()
    path = tmp_path / "state" / "truth.json"
    truth = json.loads(path.read_text(encoding="ascii"))
    for row in rows:
        if row["conditionId"]:
            assert truth["questions"][row["question"]]["market"] == row["id"]
    venue.move("2026-03-05T10:00:00Z")
    venue.get("/markets/keyset")
    later = json.loads(path.read_text(encoding="ascii"))
    assert later["now"] == truth["now"] + 3 * DAY


def test_paths_lead_to_their_hosts() -> None:
    assert routed("/gamma/markets/12") == ("gamma", ["markets", "12"])
    assert routed("/clob/markets/0xab") == ("clob", ["markets", "0xab"])
    assert routed("/kalshi/trade-api/v2/events") == ("kalshi", ["events"])
    assert routed("/trade-api/v2/markets/T/orderbook")[0] == "kalshi"
    assert routed("/admin")[0] == "unknown"
