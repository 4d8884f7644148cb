"""The lists of the venue replica: every row once, whatever the order, the page or the clock."""

from __future__ import annotations

import pytest

from beforehand.testing.gamma_shapes import instant
from beforehand.testing.walk import HOUR
from tests.testing.asking import Venue, ending


@pytest.mark.parametrize("order", ["", "&order=volume24hr&ascending=false", "&order=endDate"])
def test_pages_hold_every_market_once_and_in_order(venue: Venue, order: str) -> None:
    rows = venue.markets(f"limit=50{order}")
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids)) > 200
    now = venue.moment.now()
    expected = {
        market.id
        for event in venue.replica.world.open("polymarket", now)
        for market in event.markets
        if market.kind == "placeholder" or now < market.fate.closes
    }
    assert set(ids) == expected
    if "volume24hr" in order:
        volumes = [row.get("volume24hr", 0) for row in rows if row["conditionId"]]
        assert volumes == sorted(volumes, reverse=True)


def test_a_page_is_never_longer_than_the_venue_allows(venue: Venue) -> None:
    assert len(venue.get("/markets/keyset?limit=500")["markets"]) == 100
    assert len(venue.get("/markets/keyset")["markets"]) == 20


def test_a_cursor_survives_a_move_of_the_clock(venue: Venue) -> None:
    """Markets close between two pages; those that stay are neither skipped nor shown twice."""
    before = {row["id"] for row in venue.markets()}
    page = venue.get("/markets/keyset?limit=100")
    seen = [row["id"] for row in page["markets"]]
    venue.move("2026-03-02T22:00:00Z")
    after = {row["id"] for row in venue.markets()}
    while "next_cursor" in page:
        page = venue.get(f"/markets/keyset?limit=100&after_cursor={page['next_cursor']}")
        seen += [row["id"] for row in page["markets"]]
    assert len(seen) == len(set(seen))
    assert before & after <= set(seen)


def test_a_wrong_name_of_the_cursor_or_of_a_sort_key_is_ignored_without_a_word(
    venue: Venue,
) -> None:
    first = venue.get("/markets/keyset?limit=5")
    again = venue.get(f"/markets/keyset?limit=5&cursor={first['next_cursor']}")
    assert first == again
    assert venue.get("/markets/keyset?limit=5&order=volume_num&ascending=false") == first


def test_kalshi_pages_hold_every_row_once(venue: Venue) -> None:
    path = "/trade-api/v2/markets?status=open&limit=37"
    pages = list(venue.pages(path, "markets", "cursor", "cursor"))
    tickers = [row["ticker"] for page in pages for row in page]
    assert len(tickers) == len(set(tickers)) > 150
    events = venue.pages(
        "/trade-api/v2/events?status=open&with_nested_markets=true&limit=10",
        "events",
        "cursor",
        "cursor",
    )
    markets = [market for page in events for row in page for market in row["markets"]]
    # A candidate that left early stands in its event and not among the open.
    nested = {market["ticker"] for market in markets if market["status"] == "active"}
    assert nested == {ticker for ticker in tickers if not ticker.startswith("KXMVE")}


def test_a_lookup_by_condition_misses_a_closed_market_unless_asked(venue: Venue) -> None:
    market = ending(venue, "usual")
    path = f"/markets?condition_ids={market.condition}"
    assert [row["id"] for row in venue.get(path)] == [market.id]
    venue.move(instant(market.fate.closes + HOUR))
    assert venue.get(path) == []
    assert [row["id"] for row in venue.get(path + "&closed=true")] == [market.id]
    assert venue.get(f"/markets/{market.id}")["closed"] is True
