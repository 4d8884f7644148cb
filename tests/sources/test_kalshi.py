"""Kalshi: events with markets, two spellings of an order book, settlement by ticker."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import Any, TypeVar

import pytest

from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http
from beforehand.sources.kalshi import Kalshi
from beforehand.sources.kalshi_book import read_book
from beforehand.sources.kalshi_market import price, read_market
from beforehand.sources.kalshi_settlement import judge
from beforehand.sources.market import Depth, Listing, Market, Refused, Settlement
from tests.sources.shared_data import shared_file
from tests.sources.venue_server import Answer, FixedClock, Reply, Server, recorded, talk

T = TypeVar("T")


def kalshi(name: str = "KXCPI-26JUN-T0.3", **changes: Any) -> dict[str, Any]:
    """A market's row in today's form; a change to None takes the key away."""
    row = {
        "ticker": name,
        "event_ticker": "KXCPI-26JUN",
        "market_type": "binary",
        "title": "Will CPI rise more than 0.3%?",
        "yes_sub_title": "Above 0.3%",
        "rules_primary": "If CPI rises more than 0.3%, then Yes.",
        "rules_secondary": "",
        "status": "active",
        "result": "",
        "yes_bid_dollars": "0.4100",
        "yes_ask_dollars": "0.4350",
        "last_price_dollars": "0.4200",
        "volume_fp": "1200.50",
        "volume_24h_fp": "300.25",
        "liquidity_dollars": "900.1000",
        "open_time": "2026-06-01T14:00:00Z",
        "close_time": "2026-07-10T12:25:00Z",
        "expected_expiration_time": "2026-06-24T14:00:00Z",
        "latest_expiration_time": "2026-07-17T14:00:00Z",
        "created_time": "0001-01-01T00:00:00Z",
    } | changes
    return {key: value for key, value in row.items() if value is not None}


def event(*markets: Any, name: str = "KXCPI-26JUN", **changes: Any) -> dict[str, Any]:
    return {
        "event_ticker": name,
        "series_ticker": "KXCPI",
        "category": "Economics",
        "title": "CPI in June",
        "markets": list(markets),
    } | changes


def call(answer: Answer, what: str, *given: Any) -> tuple[Any, Server]:
    async def work(server: Server, http: Http) -> Any:
        source = Kalshi(http, FixedClock(), kalshi_url=server.url)
        return await getattr(source, what)(*given)

    return talk(answer, work)


def listed(*events: Any) -> Listing:
    found, _ = call(lambda *_: {"events": list(events), "cursor": ""}, "listing")
    assert isinstance(found, Listing)
    return found


def read(**changes: Any) -> Market | Refused:
    return read_market(kalshi(**changes), event(), "here")


def one(**changes: Any) -> Market:
    found = read(**changes)
    assert isinstance(found, Market), found
    return found


def why(**changes: Any) -> str:
    found = read(**changes)
    assert isinstance(found, Refused), found
    return found.reason


def test_a_recorded_event_is_read() -> None:
    content = recorded("kalshi_event_single.json")
    found = listed(content["event"] | {"markets": content["markets"]})
    (market,) = found.markets
    assert (market.id, market.event, market.topic) == ("KXELONMARS-99", "KXELONMARS-99", "world")
    assert (market.bid, market.ask, market.last) == (
        Decimal("0.0600"),
        Decimal("0.0700"),
        Decimal("0.0600"),
    )
    assert market.volume_24h == 10 and market.liquidity == Decimal("68148.0600")
    assert market.closes == "2099-08-01T04:59:00Z"
    assert found.complete and not found.refused and not found.problems


def test_v25_events_are_paged_by_an_opaque_cursor() -> None:
    def answer(path: str, query: dict[str, str]) -> Any:
        number = int(query.get("cursor", "c0")[1:])
        following = f"c{number + 1}" if number < 3 else ""
        name = f"KXA-{number}"
        rows = [event(kalshi(f"{name}-T1"), name=name)]
        return {"events": rows, "cursor": following}

    found, server = call(answer, "listing")
    assert [market.id for market in found.markets] == [f"KXA-{n}-T1" for n in range(4)]
    assert found.complete
    assert server.asked[0] == (
        "/events",
        {"status": "open", "with_nested_markets": "true", "limit": "200"},
    )
    assert [query.get("cursor") for _, query in server.asked] == [None, "c1", "c2", "c3"]


def test_v25_page_one_for_ever_is_noticed() -> None:
    found, server = call(lambda *_: {"events": [event(kalshi())], "cursor": "c1"}, "listing")
    assert len(server.asked) == 2
    assert not found.complete and found.problems
    assert len(found.markets) == 1


def test_generated_combinations_are_refused_and_counted() -> None:
    combos = recorded("kalshi_markets_fp.json")
    found = listed(
        event(kalshi(), *combos),
        event(*combos, name=combos[0]["event_ticker"]),
        event(recorded("kalshi_market_zero_ask.json")["market"], name="KXNFL-1"),
    )
    assert [market.id for market in found.markets] == ["KXCPI-26JUN-T0.3"]
    assert len(found.refused) == len(combos) + 2
    assert all("generated combination" in each.reason for each in found.refused)


def test_v33_a_zero_ask_is_no_quote_in_any_form() -> None:
    for row in (
        *recorded("kalshi_markets_fp.json"),
        recorded("kalshi_market_zero_ask.json")["market"],
    ):
        assert price(row, "yes_bid") is None and price(row, "yes_ask") is None
    assert one(yes_ask_dollars="0.0000").ask is None
    assert one(yes_ask_dollars="1.0000", yes_bid_dollars="0.0000").bid is None
    cents = dict.fromkeys(("yes_bid_dollars", "yes_ask_dollars", "last_price_dollars"))
    assert one(**cents, yes_bid=41, yes_ask=0).ask is None


def test_v33_a_renamed_price_field_raises_an_alarm() -> None:
    gone = {"yes_bid_dollars": None, "yes_ask_dollars": None, "best_yes_bid": "0.41"}
    found = listed(event(kalshi(**gone), kalshi("KXCPI-26JUN-T0.4")))
    assert len(found.markets) == 1
    assert "the form of a market changed" in found.refused[0].reason
    assert found.problems == ("1 markets have no known price field: the venue changed it",)


def test_v34_cents_and_dollars_are_exact() -> None:
    for cents in range(1, 100):
        assert price({"yes_bid": cents}, "yes_bid") == Decimal(cents) / 100
    assert price({"yes_bid": 6, "yes_bid_dollars": "0.0650"}, "yes_bid") == Decimal("0.065")


def test_v48_times_are_kept_apart() -> None:
    market = one()
    assert market.closes == "2026-07-10T12:25:00Z"
    assert market.expected == "2026-06-24T14:00:00Z"
    assert market.expires == "2026-07-17T14:00:00Z"
    assert one(close_time="0001-01-01T00:00:00Z").closes == ""


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"market_type": "scalar"}, "not binary"),
        ({"status": "initialized"}, "not open"),
        ({"status": None}, "not open"),
        ({"status": "finalized"}, "closed"),
        ({"title": ""}, "no question"),
        ({"rules_primary": ""}, "no rules text"),
    ],
)
def test_a_row_that_is_no_open_binary_market(changes: dict[str, Any], reason: str) -> None:
    assert reason in why(**changes)


def test_v16_rows_and_events_that_are_none_are_counted() -> None:
    found = listed(
        event("x", {}, 7), event(name="KXA-1", markets=None), {"title": "no ticker"}, "x"
    )
    assert not found.markets
    assert len(found.refused) == 6


def test_a_market_of_many_says_what_yes_stands_for() -> None:
    assert one(title="Who will win?", yes_sub_title="Ann").question == "Who will win? [Ann]"
    assert one(title="Will Ann win?", yes_sub_title="Ann").question == "Will Ann win?"
    assert one().fee_rate is None


def deep(answer: Any) -> Depth:
    found, server = call(lambda *_: answer, "depth", one())
    assert server.paths() == ["/markets/KXCPI-26JUN-T0.3/orderbook"]
    assert isinstance(found, Depth)
    return found


LEGACY = {"orderbook": {"yes": [[39, 20], [41, 7]], "no": [[50, 9], [55, 3]]}}
NOW = {
    "orderbook_fp": {
        "yes_dollars": [["0.3900", "20.00"], ["0.4100", "7.00"]],
        "no_dollars": [["0.5000", "9.00"], ["0.5500", "3.00"]],
    }
}
BOTH = {
    "orderbook": LEGACY["orderbook"]
    | {
        "yes_dollars": [["0.3900", 20], ["0.4100", 7]],
        "no_dollars": [["0.5000", 9], ["0.5500", 3]],
    }
}


@pytest.mark.parametrize("answer", [LEGACY, NOW, BOTH])
def test_v31_the_ask_of_yes_is_one_minus_the_bid_of_no_with_its_size(answer: Any) -> None:
    found = deep(answer)
    assert (found.bid, found.ask) == (Decimal("0.41"), Decimal("0.45"))
    assert (found.bids[0].size, found.asks[0].size) == (7, 3)
    assert [each.price for each in found.asks] == [Decimal("0.45"), Decimal("0.5")]
    assert found.flags == ()


def test_v32_null_sides_are_empty_sides() -> None:
    found = deep(recorded("kalshi_orderbook_all_null.json"))
    assert (found.bids, found.asks, found.flags) == ((), (), ("no_book",))
    half = deep({"orderbook_fp": {"yes_dollars": None, "no_dollars": [["0.5500", "3"]]}})
    assert (half.bid, half.ask, half.flags) == (None, Decimal("0.45"), ())


def test_v36_the_bids_of_no_are_asks_and_are_counted_once() -> None:
    found = deep(LEGACY)
    assert sum(each.size for each in found.bids) == 27
    assert sum(each.size for each in found.asks) == 12


def test_a_crossed_or_broken_book_is_flagged() -> None:
    crossed = {"orderbook": {"yes": [[60, 1]], "no": [[50, 1]]}}
    assert deep(crossed).flags == ("crossed",)
    broken = {"orderbook": {"yes": [[41, 7], [0, 5], [100, 1], ["x", 1], [41], 3], "no": []}}
    found = deep(broken)
    assert found.flags == ("bad_levels",) and len(found.bids) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"orderbook": []},
        {"orderbook_v3": {}},
        {"orderbook": {"yes": []}},
        {"orderbook": {"yes": {}, "no": []}},
        Reply(b"{"),
    ],
)
def test_v33_a_book_in_another_form_is_an_error_and_no_empty_book(answer: Any) -> None:
    with pytest.raises(RemoteError):
        deep(answer)


def test_recorded_books_turn_round_without_crossing() -> None:
    path = shared_file("local-only", "books", "kalshi_2024_l2", "orderbooks.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            content = {"orderbook": {"yes": row["yes_bids_cents"], "no": row["no_bids_cents"]}}
            found = read_book(content, row["ticker"], "here")
            assert "crossed" not in found.flags and "bad_levels" not in found.flags
            if row["no_bids_cents"]:
                best = max(cents for cents, _ in row["no_bids_cents"])
                assert found.ask == Decimal(100 - best) / 100


def settled(status: str, result: str = "", value: str | None = None, **changes: Any) -> Settlement:
    row = kalshi(status=status, result=result, settlement_value_dollars=value, **changes)
    found, _ = call(lambda *_: {"market": row}, "settlement", "KXCPI-26JUN-T0.3")
    assert isinstance(found, Settlement)
    return found


@pytest.mark.parametrize("status", ["finalized", "settled"])
@pytest.mark.parametrize("value", [None, "1.0000"])
def test_only_a_finalized_result_is_final(status: str, value: str | None) -> None:
    found = settled(status, "yes", value, settlement_ts="2026-06-24T15:00:00Z")
    assert (found.state, found.outcome, found.payout) == ("final", "yes", (1, 0))
    assert found.instant == "2026-06-24T15:00:00Z"
    assert settled(status, "no").payout == (0, 1)


@pytest.mark.parametrize(
    "status, state",
    [
        ("active", "open"),
        ("closed", "closed"),
        ("determined", "proposed"),
        ("amended", "proposed"),
        ("disputed", "disputed"),
        ("brand_new_state", "open"),
        ("", "open"),
    ],
)
def test_everything_else_waits_whatever_its_result(status: str, state: str) -> None:
    for result in ("", "yes", "no", "scalar"):
        found = settled(status, result, "1.0000")
        assert (found.state, found.outcome, found.payout) == (state, None, None)
        assert found.why


@pytest.mark.parametrize("value, said", [("0.5000", "0.5"), ("0.0100", "0.01"), ("0.7200", "0.72")])
def test_v9_a_scalar_settlement_is_void_and_keeps_its_value(value: str, said: str) -> None:
    found = settled("finalized", "scalar", value)
    assert (found.state, found.outcome) == ("final", "void")
    assert found.payout == (Decimal(said), 1 - Decimal(said))
    assert found.why == f"finalized as scalar: YES settles at {said}"


@pytest.mark.parametrize(
    "result, value",
    [("scalar", None), ("scalar", "1.5"), ("", None), ("maybe", "1.0000"), ("yes", "0.0000")],
)
def test_a_final_state_without_a_clear_result_settles_nothing(
    result: str, value: str | None
) -> None:
    found = settled("finalized", result, value)
    assert (found.state, found.outcome) == ("closed", None)
    assert found.problems


def test_v6_settlement_is_by_ticker_and_a_sibling_is_an_error() -> None:
    row = kalshi("KXCPI-26JUN-T0.4", status="finalized", result="yes")
    with pytest.raises(RemoteError, match="another market"):
        call(lambda *_: {"market": row}, "settlement", "KXCPI-26JUN-T0.3")


def test_v23_an_old_market_is_found_in_the_historical_endpoint() -> None:
    row = kalshi(status="finalized", result="no")

    def answer(path: str, query: dict[str, str]) -> Any:
        return {"market": row} if path.startswith("/historical/") else Reply(status=404)

    found, server = call(answer, "settlement", "KXCPI-26JUN-T0.3")
    assert found.outcome == "no" and len(found.evidence) == 2
    assert server.paths()[1] == "/historical/markets/KXCPI-26JUN-T0.3"
    lost, _ = call(lambda *_: Reply(status=404), "settlement", "KXCPI-26JUN-T0.3")
    assert lost.state == "open" and lost.problems and "not read as gone" in lost.why


def test_v14_another_kind_of_id_is_refused_before_anything_is_sent() -> None:
    for wrong in ("", "../../etc", "a b", "540817?x=1", "x" * 200):
        with pytest.raises(FormatError):
            call(lambda *_: {}, "settlement", wrong)


def test_settlement_values_in_cents() -> None:
    row = kalshi(status="settled", result="scalar", settlement_value=24)
    assert judge(row).payout == (Decimal("0.24"), Decimal("0.76"))
