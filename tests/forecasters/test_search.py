"""Faults B15 and E42: the harness searches under its own rules, and writes everything down."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import RuleError
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import Reply
from beforehand.forecasters.reparse import reparse
from beforehand.forecasters.search import (
    RESULTS_BYTES,
    SEARCH_KEY_VARIABLE,
    SEARCH_URL_VARIABLE,
    TOOL,
    Found,
    HttpSearch,
    Page,
    SearchTool,
    read_found,
)
from beforehand.forecasters.searching import SearchingForecaster, chat_forecaster
from beforehand.forecasters.transcript import bytes_of, round_trips, text_of
from beforehand.testing.forecaster_contract import check_reply
from tests.forecasters.chat_server import (
    KEY,
    QUESTION,
    Act,
    ChatServer,
    completion,
    model,
    says,
    serving,
    stalls,
)

AS_OF = "2026-01-05T10:00:00Z"
DENY = ("polymarket.com",)


class FixedClock:
    simulated = False

    def now(self) -> str:
        return "2026-01-05T10:00:07Z"


@dataclass
class FakeSearch:
    """A backend that gives these pages and remembers what it was asked."""

    found: Found
    asked: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)

    async def find(
        self, query: str, *, as_of: str, deny_sites: Sequence[str], most: int, seconds: float
    ) -> Found:
        self.asked.append((query, as_of, tuple(deny_sites)))
        return self.found


def page(url: str = "https://news.example/1", published: str = "2026-01-04", **more: str) -> Page:
    return Page(url, more.get("title", "A title"), more.get("text", "It rained."), published)


def tool(*pages: Page, cost: str | None = "0.01", **more: Any) -> SearchTool:
    found = Found(pages, b'{"results": []}', None if cost is None else Decimal(cost))
    return SearchTool(FakeSearch(replace(found, **more)), FixedClock(), AS_OF, DENY)


def call(query: str = "rain Oslo", **more: Any) -> dict[str, Any]:
    arguments = json.dumps({"query": query, **more})
    function = {"name": "search", "arguments": arguments}
    return {"id": "c1", "type": "function", "function": function}


def wants(*calls: dict[str, Any], **more: Any) -> Act:
    """The model asks for a search."""
    return says(
        completion(
            more.pop("content", None),
            message={"tool_calls": list(calls)},
            choice={"finish_reason": "tool_calls"},
            **more,
        )
    )


def ask(
    given: SearchTool, *acts: Act, seconds: float = 5.0, **more: Any
) -> tuple[Reply, ChatServer]:
    async def asked() -> tuple[Reply, ChatServer]:
        async with serving(*acts) as server:
            connections = Connections()
            forecaster = SearchingForecaster(
                model(server.url, search="tool", price_search="0.02", **more),
                tool=given,
                key=KEY,
                connections=connections,
                deny_sites=DENY,
            )
            request = forecaster.request(QUESTION)
            try:
                reply = await forecaster.ask(request, seconds=seconds)
            finally:
                await connections.close()
            if server.bodies:
                assert server.bodies[0] == request.body
            if reply.cost is not None:
                assert reply.cost <= request.reserved
            return reply, server

    reply, server = asyncio.run(asked())
    check_reply(reply)
    assert KEY.encode() not in reply.raw
    return reply, server


def test_b15_the_tool_has_no_field_for_a_date() -> None:
    properties = TOOL["function"]["parameters"]["properties"]  # type: ignore[index]
    assert list(properties) == ["query"]


def test_b15_the_cutoff_is_the_harnesss_whatever_the_model_writes() -> None:
    given = tool(page())
    tricky = call("rain", as_of="2030-01-01T00:00:00Z", date="2030-01-01", deny_sites=[])
    ask(given, wants(tricky), says(completion()))
    assert given.backend.asked == [("rain", AS_OF, DENY)]  # type: ignore[attr-defined]


def test_b15_undated_late_and_denied_pages_are_dropped() -> None:
    pages = (
        page("https://a.example/undated", ""),
        page("https://a.example/words", "January 2026"),
        page("https://a.example/late", "2026-01-05T10:00:01Z"),
        page("https://a.example/today", "2026-01-05"),
        page("https://www.polymarket.com/event", "2026-01-01"),
        page("javascript:alert(1)", "2026-01-01"),
        page("https://a.example/good", "2026-01-05T09:59:59Z"),
        page("https://a.example/yesterday", "2026-01-04"),
    )
    shown = asyncio.run(tool(*pages).search("q", 1))
    assert shown.urls == ("https://a.example/good", "https://a.example/yesterday")
    assert [each.get("dropped") for each in shown.kept] == [
        *("no date", "no date", "after the cutoff", "after the cutoff"),
        *("denied site", "no address", None, None),
    ]


def test_e42_what_was_shown_has_address_dates_and_hash() -> None:
    shown = asyncio.run(tool(page(text="It rained.")).search("q", 1))
    assert shown.kept == (
        {
            "url": "https://news.example/1",
            "published": "2026-01-04",
            "fetched": "2026-01-05T10:00:07Z",
            "sha256": hashlib.sha256(b"It rained.").hexdigest(),
        },
    )


def test_b15_results_are_bounded() -> None:
    urls = [f"https://a.example/{n}" for n in range(30)]
    big = [page(url, text='"' * 90_000, title="\x01" * 9000) for url in urls]
    shown = asyncio.run(tool(*big).search("q", 1))
    assert len(shown.text.encode()) <= RESULTS_BYTES
    assert {each.get("dropped") for each in shown.kept} == {None, "no room"}
    lone = asyncio.run(tool(page(text="a\ud800b", title="\udfff")).search("q", 1))
    lone.text.encode()


def test_a1_a_search_and_then_an_answer() -> None:
    reply, server = ask(tool(page()), wants(call()), says(completion()))
    assert (reply.status, reply.probability, reply.detail) == ("answered", "0.62", "")
    assert reply.citations == ("https://news.example/1",)
    messages = server.sent()["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "tool"]
    assert messages[3]["tool_call_id"] == "c1" and "It rained." in messages[3]["content"]
    assert reply.cost == Decimal("0.0006") * 2 + Decimal("0.01")


def test_d1_every_round_trip_is_in_the_raw_bytes() -> None:
    reply, server = ask(tool(page()), wants(call()), says(completion()))
    trips = list(round_trips(reply.raw))
    assert [trip["to"] for trip in trips] == ["model", "search", "model"]
    assert [trip["n"] for trip in trips] == [1, 2, 3]
    assert [bytes_of(trips[n]["sent"]) for n in (0, 2)] == server.bodies
    assert (trips[1]["sent"], trips[1]["as_of"]) == ("rain Oslo", AS_OF)
    assert trips[1]["pages"][0]["url"] == "https://news.example/1"
    assert json.loads(trips[1]["received"]) == {"results": []}
    assert reparse(reply.raw).probability == "0.62"


def test_u1_rounds_are_bounded_and_then_the_model_must_answer() -> None:
    reply, server = ask(tool(page()), wants(call()))
    assert (reply.status, reply.detail) == ("empty", "tool_calls")
    assert len(server.bodies) == 4
    assert [json.loads(body)["tool_choice"] for body in server.bodies] == ["auto"] * 3 + ["none"]


def test_u1_one_unknown_cost_makes_the_whole_unknown() -> None:
    reply, _ = ask(tool(page()), wants(call(), usage=None), says(completion()))
    assert reply.status == "answered" and reply.cost is None
    listed, _ = ask(tool(page(), cost=None), wants(call()), says(completion()))
    assert listed.cost == Decimal("0.0006") * 2 + Decimal("0.02")
    broken, server = ask(tool(cost=None, failure="timeout"), wants(call()), says(completion()))
    assert broken.cost is None and broken.detail == "no_search"
    assert json.loads(server.sent()["messages"][3]["content"]) == {"error": "the search failed"}


def test_b9_a_round_by_another_model_ends_the_ask() -> None:
    reply, server = ask(tool(page()), wants(call(), model="other"), says(completion()))
    assert (reply.status, len(server.bodies)) == ("model_mismatch", 1)
    later, _ = ask(tool(page()), wants(call()), says(completion(model="other")))
    assert later.status == "model_mismatch" and later.cost is not None


def test_b16_what_was_shown_can_leak_too() -> None:
    reply, _ = ask(tool(page(text="Bookmakers have it at 7%")), wants(call()), says(completion()))
    assert reply.leaks == ("shown_odds_words",)


@pytest.mark.parametrize(
    "made",
    [
        {"id": None, "function": None},
        {"function": {"name": "write", "arguments": "{}"}},
        {"function": {"name": "search", "arguments": "{"}},
        {"function": {"name": "search", "arguments": '{"query": 7}'}},
        {"function": {"name": "search", "arguments": '{"query": " "}'}},
        {"function": {"name": "search", "arguments": "[" * 5000}},
    ],
)
def test_b3_a_call_to_anything_else_does_nothing(made: dict[str, Any]) -> None:
    given = tool(page())
    reply, server = ask(given, wants(made), says(completion()))
    assert reply.status == "answered"
    assert given.backend.asked == []  # type: ignore[attr-defined]
    assert "error" in json.loads(server.sent()["messages"][3]["content"])


def test_b15_one_search_a_round() -> None:
    given = tool(page())
    reply, server = ask(given, wants(call("a"), call("b"), call("c")), says(completion()))
    assert [query for query, _, _ in given.backend.asked] == ["a"]  # type: ignore[attr-defined]
    assert reply.status == "answered" and len(server.sent()["messages"]) == 6


def test_a1_words_beside_a_call_are_no_answer_yet() -> None:
    reply, _ = ask(tool(page()), wants(call(), content="Let me look."), says(completion()))
    assert reply.probability == "0.62"
    cut = says(
        completion(None, message={"tool_calls": [call()]}, choice={"finish_reason": "length"})
    )
    assert ask(tool(page()), cut, says(completion()))[0].status == "truncated"


def test_p2_the_time_covers_every_round() -> None:
    reply, _ = ask(tool(page()), wants(call()), stalls(b"{"), seconds=0.5)
    assert (reply.status, reply.retryable, reply.cost) == ("timeout", True, None)
    assert len(list(round_trips(reply.raw))) == 3


def test_u1_the_reservation_holds_every_round() -> None:
    with_tool = chat_forecaster(
        model(search="tool", price_search="0.02"),
        key=KEY,
        connections=Connections(),
        tool=tool(),
    )
    without = chat_forecaster(model(), key=KEY, connections=Connections())
    assert isinstance(with_tool, SearchingForecaster)
    most = with_tool.request(QUESTION).reserved
    assert most > 4 * without.request(QUESTION).reserved + 3 * Decimal("0.02")


# ---- the HTTP backend


def find(*acts: Act, seconds: float = 5) -> tuple[Found, ChatServer]:
    key = "search-key-0123456789"

    async def found() -> tuple[Found, ChatServer]:
        async with serving(*acts) as server:
            connections = Connections()
            named = {SEARCH_URL_VARIABLE: f"{server.url}/search", SEARCH_KEY_VARIABLE: key}
            backend = HttpSearch.of(named, connections)
            assert key not in repr(backend)
            try:
                got = await backend.find(
                    "rain", as_of=AS_OF, deny_sites=DENY, most=5, seconds=seconds
                )
            finally:
                await connections.close()
            return got, server

    return asyncio.run(found())


def test_b15_the_backend_is_told_the_cutoff() -> None:
    answer = {"results": [{"url": "u", "title": "t", "text": "x", "published": "p"}], "cost": 0.005}
    found, server = find(says(answer))
    assert found.pages == (Page("u", "t", "x", "p"),) and found.cost == Decimal("0.005000")
    assert server.sent() == {
        "query": "rain",
        "max_results": 5,
        "as_of": AS_OF,
        "exclude_domains": ["polymarket.com"],
    }
    assert server.headers[0]["Authorization"] == "Bearer search-key-0123456789"


def test_b15_a_backend_that_fails_is_a_value() -> None:
    assert find(says({}, 500))[0].failure == "http_500"
    assert find(stalls(b"{"), seconds=0.3)[0].failure == "timeout"
    assert find(says({"echo": "search-key-0123456789"}, 403))[0].raw == b'{"echo": "[key]"}'
    assert read_found(b"<html>").failure == "not_json"
    assert read_found(b"[" * 100_000).failure == "not_json"
    assert read_found(b"{}").failure == "no_results"
    assert read_found(b'{"results": [7, {"url": 3}], "cost": -1}') == Found(
        (Page("", "", "", ""),), b'{"results": [7, {"url": 3}], "cost": -1}'
    )
    with pytest.raises(RuleError, match=SEARCH_URL_VARIABLE):
        HttpSearch.of({}, Connections())


def test_d1_bytes_that_are_no_text_are_kept() -> None:
    for data in (b"", b"text", "π".encode(), b"\xff\x00"):
        assert bytes_of(json.loads(json.dumps(text_of(data)))) == data
    assert bytes_of({"base64": "%"}) == bytes_of(7) == b""
