"""The order book of YES: sorted here, hashed, and checked against what else the venue says."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http
from beforehand.sources.market import Depth, Market
from beforehand.sources.polymarket import Polymarket
from beforehand.sources.polymarket_book import book_hash
from beforehand.sources.polymarket_history import PriceHistory
from tests.sources.shared_data import shared_file
from tests.sources.venue_rows import book, clob_market, condition, market
from tests.sources.venue_server import (
    NOON,
    Answer,
    FixedClock,
    Reply,
    Server,
    recorded,
    talk,
)

BIDS = [("0.01", "900"), ("0.39", "20"), ("0.40", "10.5")]
ASKS = [("0.99", "800"), ("0.44", "7"), ("0.42", "30")]


class Clob:
    """A CLOB with one market; what is None is answered 404."""

    def __init__(self, of: Market, **given: Any) -> None:
        self.given = {
            "/book": book(of, BIDS, ASKS),
            "/midpoint": {"mid": "0.41"},
            f"/markets/{of.condition}": clob_market(of),
        } | {f"/{name}": value for name, value in given.items()}

    def __call__(self, path: str, query: dict[str, str]) -> Any:
        found = self.given.get(path)
        return Reply(status=404) if found is None else found


def deep(of: Market, answer: Answer) -> tuple[Depth, Server]:
    async def work(server: Server, http: Http) -> Depth:
        source = Polymarket(http, FixedClock(), gamma_url=server.url, clob_url=server.url)
        return await source.depth(of)

    return talk(answer, work)


def test_v28_levels_are_sorted_here_and_the_best_is_not_the_first() -> None:
    of = market()
    for bids, asks in ((BIDS, ASKS), (BIDS[::-1], ASKS[::-1])):
        found, _ = deep(of, Clob(of, book=book(of, bids, asks)))
        assert (found.bid, found.ask) == (Decimal("0.40"), Decimal("0.42"))
        assert [str(each.price) for each in found.asks] == ["0.42", "0.44", "0.99"]
        assert [str(each.price) for each in found.bids] == ["0.40", "0.39", "0.01"]
        assert found.flags == () and found.notes == ()


def test_the_book_comes_with_its_time_and_evidence() -> None:
    of = market()
    found, _ = deep(of, Clob(of))
    assert (found.market, found.read_at, found.last) == ("1", NOON, Decimal("0.41"))
    assert (found.tick, found.least) == (Decimal("0.01"), Decimal(5))
    assert found.changed_at == "2026-06-21T12:00:00Z"
    assert [each.url.split("/")[3].split("?")[0] for each in found.evidence] == [
        "book",
        "midpoint",
        "markets",
    ]


def test_a_recorded_book_verifies_and_one_digit_more_does_not() -> None:
    content = recorded("clob_book.json")
    assert book_hash(content) == content["hash"]
    of = replace(market(), yes_token=content["asset_id"], condition=content["market"])
    found, _ = deep(of, Clob(of, book=content))
    assert found.flags == ()
    assert (found.bid, found.ask, len(found.asks)) == (None, Decimal("0.001"), 104)
    assert sum(each.size for each in found.asks[:2]) == Decimal("385509.39")
    content["asks"][3]["size"] = "2758.1"
    found, _ = deep(of, Clob(of, book=content))
    assert found.flags == ("hash_mismatch",)


def test_the_hash_of_a_one_sided_recorded_book() -> None:
    content = json.loads(
        shared_file("local-only", "api_samples", "06_pm_clob_book_empty_asks.json").read_text()
    )
    assert book_hash(content) == content["hash"]
    of = replace(market(), yes_token=content["asset_id"], condition=content["market"])
    found, _ = deep(of, Clob(of, book=content))
    assert (found.bid, found.ask, found.last, found.flags) == (Decimal("0.002"), None, None, ())


def test_a_hash_that_cannot_be_recomputed_is_noted_and_not_passed() -> None:
    of = market()
    old = book(of, BIDS, ASKS)
    del old["tick_size"]
    found, _ = deep(of, Clob(of, book=old))
    assert found.flags == () and "hash not checked" in found.notes[0]


def test_v32_null_sides_are_empty_sides() -> None:
    of = market()
    found, _ = deep(of, Clob(of, book=book(of, [], []) | {"bids": None, "asks": None, "hash": ""}))
    assert (found.bids, found.asks, found.flags) == ((), (), ("no_book",))


def test_no_book_is_a_value_and_not_an_error() -> None:
    of = market()
    found, _ = deep(of, Clob(of, book=None))
    assert found.flags == ("no_book",) and found.evidence[0].data == b""


@pytest.mark.parametrize(
    "level",
    [
        {"price": "0", "size": "5"},
        {"price": "1", "size": "5"},
        {"price": "1.2", "size": "5"},
        {"price": "-0.1", "size": "5"},
        {"price": "x", "size": "5"},
        {"price": "0.3", "size": "-5"},
        {"price": None},
        "0.3",
        None,
    ],
)
def test_a_level_that_is_none_is_flagged_and_never_filled(level: Any) -> None:
    of = market()
    content = book(of, BIDS, ASKS)
    content["asks"] = [*content["asks"], level]
    found, _ = deep(of, Clob(of, book=content))
    assert "bad_levels" in found.flags
    assert len(found.asks) == 3


def test_a_crossed_book_is_flagged() -> None:
    of = market()
    found, _ = deep(of, Clob(of, book=book(of, [("0.5", "1")], [("0.4", "1")])))
    assert "crossed" in found.flags


def test_v29_a_ghost_book_is_flagged() -> None:
    of = market()
    ghost = book(of, [("0.01", "1000")], [("0.99", "1000")])
    found, _ = deep(of, Clob(of, book=ghost, midpoint={"mid": "0.73"}))
    assert found.flags == ("ghost", "stale")


def test_v29_a_book_that_disagrees_with_the_midpoint_twice_is_stale() -> None:
    of = market()
    found, server = deep(of, Clob(of, midpoint={"mid": "0.73"}))
    assert found.flags == ("stale",)
    assert server.paths().count("/book") == server.paths().count("/midpoint") == 2


def test_v29_a_price_that_moved_between_two_reads_is_read_again() -> None:
    of = market()
    moved = book(of, [("0.72", "5")], [("0.74", "5")])
    books = iter([book(of, BIDS, ASKS), moved])
    clob = Clob(of, midpoint={"mid": "0.73"})

    def answer(path: str, query: dict[str, str]) -> Any:
        return next(books) if path == "/book" else clob(path, query)

    found, _ = deep(of, answer)
    assert found.flags == () and found.bid == Decimal("0.72")


def test_the_recorded_midpoint_of_a_one_sided_book_is_no_price() -> None:
    # The venue counts the empty side as 0 and says 0.0005.
    assert recorded("clob_midpoint.json") == {"mid": "0.0005"}
    of = market()
    one_sided = book(of, [], [("0.001", "5")])
    found, server = deep(of, Clob(of, book=one_sided, midpoint={"mid": "0.0005"}))
    assert "/midpoint" not in server.paths()
    assert found.bid is None and found.flags == ()


@pytest.mark.parametrize("answer", [None, Reply(status=500), {"mid": ""}, [], Reply(b"<html>")])
def test_a_midpoint_that_cannot_be_read_is_noted(answer: Any) -> None:
    of = market()
    found, _ = deep(of, Clob(of, midpoint=answer))
    assert found.flags == ()
    assert "midpoint not checked" in found.notes[0]


def test_v13_tokens_are_checked_once_against_the_second_endpoint() -> None:
    of = market()

    async def work(server: Server, http: Http) -> list[Depth]:
        source = Polymarket(http, FixedClock(), gamma_url=server.url, clob_url=server.url)
        return [await source.depth(of), await source.depth(of)]

    _, server = talk(Clob(of), work)
    assert server.paths().count(f"/markets/{of.condition}") == 1
    turned = clob_market(of)
    turned["tokens"][0]["outcome"], turned["tokens"][1]["outcome"] = "No", "Yes"
    found, _ = deep(of, Clob(of, **{f"markets/{of.condition}": turned}))
    assert found.flags == ("token_mismatch",)
    unread, _ = deep(of, Clob(of, **{f"markets/{of.condition}": None}))
    assert unread.flags == () and "tokens not checked" in unread.notes[0]


@pytest.mark.parametrize(
    "wrong, named", [(condition("1"), "a condition id"), ("will-it-rain", "no id of a token")]
)
def test_v14_the_wrong_kind_of_id_is_refused_before_anything_is_sent(
    wrong: str, named: str
) -> None:
    of = replace(market(), yes_token=wrong)

    async def work(server: Server, http: Http) -> None:
        source = Polymarket(http, FixedClock(), gamma_url=server.url, clob_url=server.url)
        with pytest.raises(FormatError, match=f"is {named}; .* token id of YES"):
            await source.depth(of)

    _, server = talk(Clob(of), work)
    assert server.asked == []


def test_v36_the_mirrored_book_of_no_is_never_read_or_added() -> None:
    of = market()
    found, server = deep(of, Clob(of))
    tokens = [query["token_id"] for _, query in server.asked if "token_id" in query]
    assert set(tokens) == {of.yes_token}
    assert sum(each.size for each in found.asks) == Decimal(837)


def test_v30_a_buy_is_priced_from_asks_and_price_is_never_asked() -> None:
    of = market()
    found, server = deep(of, Clob(of))
    assert found.ask == min(each.price for each in found.asks) == Decimal("0.42")
    assert "/price" not in server.paths()


def test_v34_a_price_keeps_its_decimals() -> None:
    of = market()
    found, _ = deep(of, Clob(of, book=book(of, [("0.29", "0.1")], [("0.57", "0.2")])))
    assert isinstance(found.bids[0].price, Decimal) and isinstance(found.bids[0].size, Decimal)
    assert 1 - (found.ask or 0) == Decimal("0.43")
    assert int((found.bid or 0) * 100) == 29


@pytest.mark.parametrize(
    "content",
    [[], "x", {}, {"bids": [], "asks": []}, Reply(b"{"), Reply(b'{"bids":[],"bids":[]}')],
)
def test_a_book_in_another_form_is_an_error(content: Any) -> None:
    of = market()
    with pytest.raises(RemoteError):
        deep(of, Clob(of, book=content))


@pytest.mark.parametrize(
    "change", [{"asset_id": "5"}, {"market": condition("other")}, {"bids": {}}, {"asks": "none"}]
)
def test_the_book_of_something_else_is_an_error(change: dict[str, Any]) -> None:
    of = market()
    with pytest.raises(RemoteError):
        deep(of, Clob(of, book=book(of, BIDS, ASKS) | change))


def history(answer: Answer, start: str, end: str, minutes: int = 60) -> tuple[PriceHistory, Server]:
    async def work(server: Server, http: Http) -> PriceHistory:
        source = Polymarket(http, FixedClock(), gamma_url=server.url, clob_url=server.url)
        return await source.price_history(market(), start, end, minutes)

    return talk(answer, work)


def test_a_recorded_price_history() -> None:
    content = recorded("clob_price_history.json")
    found, _ = history(lambda *_: content, "2026-03-22T07:00:00Z", "2026-03-22T09:00:00Z")
    assert [(each.at, str(each.price)) for each in found.points] == [
        ("2026-03-22T07:40:00Z", "0.42"),
        ("2026-03-22T07:45:00Z", "0.5"),
        ("2026-03-22T08:40:00Z", "0.65"),
        ("2026-03-22T08:45:00Z", "0.6"),
    ]


def test_v27_an_empty_history_is_nothing_known_and_no_price() -> None:
    found, _ = history(lambda *_: {"history": []}, "2026-03-22T07:00:00Z", "2026-03-22T09:00:00Z")
    assert found.points == ()
    assert found.evidence[0].data == b'{"history": []}'


def test_v27_a_long_history_is_asked_for_in_windows_of_15_days() -> None:
    _, server = history(
        lambda *_: {"history": []}, "2026-01-01T00:00:00Z", "2026-02-10T00:00:00Z", 720
    )
    spans = [(int(query["startTs"]), int(query["endTs"])) for _, query in server.asked]
    assert len(spans) == 3 and all(end - start <= 15 * 86_400 for start, end in spans)
    assert all(left[1] == right[0] for left, right in pairwise(spans))


def test_a_history_in_another_form_is_an_error() -> None:
    with pytest.raises(RemoteError, match="its form changed"):
        history(lambda *_: {"points": []}, "2026-03-22T07:00:00Z", "2026-03-22T09:00:00Z")
