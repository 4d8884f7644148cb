"""Rules P2, A2, A3 and D1 against a real server: every way in which an ask ends."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from decimal import Decimal
from typing import Any

import pytest

from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.connections import MAX_REPLY_BYTES, Connections
from beforehand.forecasters.forecaster import Reply
from beforehand.records.forecast import FAILURES
from beforehand.testing.forecaster_contract import check_reply
from tests.forecasters.chat_server import (
    KEY,
    QUESTION,
    Act,
    asking,
    breaks,
    completion,
    model,
    pours,
    says,
    stalls,
)


def ask(act: Act, seconds: float = 5.0, **more: Any) -> Reply:
    """One ask of a server that does this."""

    async def asked() -> Reply:
        async with asking(act, **more) as (forecaster, server):
            request = forecaster.request(QUESTION)
            reply = await forecaster.ask(request, seconds=seconds)
            assert server.bodies in ([], [request.body]), "exactly the sealed bytes, once"
            return reply

    reply = asyncio.run(asked())
    check_reply(reply)
    assert KEY.encode() not in reply.raw and KEY not in repr(reply)
    return reply


def ended(reply: Reply) -> tuple[str, str, bool]:
    return reply.status, reply.detail, reply.retryable


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


# ---- answers


def test_p2_a_good_answer_with_everything_that_is_known_of_it() -> None:
    reply = ask(says(completion(provider="DeepInfra", system_fingerprint="fp_1")))
    assert (reply.status, reply.probability, reply.rationale) == ("answered", "0.62", "r")
    assert (reply.served_model, reply.provider) == ("maker/model-1", "DeepInfra")
    assert json.loads(reply.raw)["system_fingerprint"] == "fp_1"
    assert ended(reply) == ("answered", "", False)


def test_p1_content_in_parts_is_one_text_without_its_thoughts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": '{"probability": 0.1}'}]},
        {"type": "text", "text": '{"probability": '},
        {"type": "text", "text": "0.7}"},
    ]
    assert ask(says(completion(parts))).probability == "0.7"


def test_d1_blank_lines_before_a_body_are_no_fault() -> None:
    """A gateway keeps a slow connection alive with white space."""
    body = b"\n\n   \n" + json.dumps(completion()).encode()
    assert ask(says(body)).probability == "0.62"


# ---- cost


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.0123456}, "0.0123456"),
        ({"cost": 0}, "0.000000"),
        ({"prompt_tokens": 100, "completion_tokens": 20}, "0.000600"),
        ({"prompt_tokens": 100}, None),
        ({}, None),
        (None, None),
        ({"cost": "0.1"}, None),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": 1e300}, None),
        ({"prompt_tokens": -5, "completion_tokens": 20}, None),
        ({"prompt_tokens": 1.5, "completion_tokens": 20}, None),
        ({"cost": 0.01, "is_byok": True}, None),
        (
            {
                "cost": 0.01,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.2},
            },
            "0.210000",
        ),
    ],
)
def test_u1_cost_as_stated_else_tokens_else_unknown(usage: Any, cost: str | None) -> None:
    reply = ask(says(completion(usage=usage)))
    assert reply.status == "answered"
    assert reply.cost == (None if cost is None else Decimal(cost))


def test_u1_a_search_fee_is_added_to_the_tokens() -> None:
    reply = ask(says(completion()), search="plugin", price_search="0.004")
    assert reply.cost == Decimal("0.004600")


def test_b31_a_failure_that_was_paid_for_says_so() -> None:
    reply = ask(says(completion(None, choice={"finish_reason": "length"})))
    assert (reply.status, reply.cost) == ("truncated", Decimal("0.000600"))


# ---- identity


def test_b9_another_model_that_answers_is_a_mismatch() -> None:
    reply = ask(says(completion(model="maker/model-1-mini")))
    assert ended(reply) == ("model_mismatch", "served_other", False)
    assert (reply.served_model, reply.probability) == ("maker/model-1-mini", None)
    assert reply.cost == Decimal("0.000600")


def test_b9_an_alias_that_was_declared_is_the_model() -> None:
    reply = ask(
        says(completion(model="maker/model-1-2026-01")), served_as=["maker/model-1-2026-01"]
    )
    assert reply.status == "answered" and reply.served_model == "maker/model-1-2026-01"


def test_b9_a_body_without_an_id_has_not_passed() -> None:
    assert ended(ask(says(completion(model=None)))) == ("model_mismatch", "served_absent", False)


def test_b9_a_provider_that_was_not_pinned_is_a_mismatch() -> None:
    pinned = {"provider": "deep-infra/fp8"}
    assert ask(says(completion(provider="DeepInfra")), **pinned).status == "answered"
    assert ask(says(completion()), **pinned).status == "answered"
    other = ask(says(completion(provider="Together")), **pinned)
    assert ended(other) == ("model_mismatch", "provider_other", False)
    named = ask(says(completion(provider="Google")), provider="vertex", served_as=["Google"])
    assert named.status == "answered"


def test_b9_who_answered_is_looked_at_before_what_was_said() -> None:
    body = completion(None, model="other", choice={"finish_reason": "content_filter"})
    assert ask(says(body)).status == "model_mismatch"


# ---- what a model says instead


def test_b6_a_length_that_ran_out_is_looked_at_before_null_content() -> None:
    for reason in ("length", "max_tokens", "MAX_TOKENS"):
        body = completion(None, choice={"finish_reason": reason})
        assert ended(ask(says(body))) == ("truncated", "length", False)
    native = completion(choice={"finish_reason": "stop", "native_finish_reason": "MAX_TOKENS"})
    assert ask(says(native)).status == "truncated"


def test_b6_the_reasoning_channel_is_never_an_answer() -> None:
    thought = '{"rationale": "", "probability": 0.7}'
    for key in ("reasoning", "reasoning_content"):
        reply = ask(says(completion(None, message={key: thought})))
        assert ended(reply) == ("empty", "reasoning_only", False)
    details = [{"type": "reasoning.text", "text": thought}]
    reply = ask(says(completion("", message={"reasoning_details": details})))
    assert ended(reply) == ("empty", "reasoning_only", False)
    both = ask(
        says(completion(None, message={"reasoning": thought}, choice={"finish_reason": "length"}))
    )
    assert both.status == "truncated"


REFUSALS: dict[str, Act] = {
    "finish_reason": says(completion("", choice={"finish_reason": "content_filter"})),
    "native": says(completion(None, choice={"native_finish_reason": "SAFETY"})),
    "stop_reason": says(completion("I can't.", choice={"finish_reason": "refusal"})),
    "message": says(completion(None, message={"refusal": "I'm sorry, I can't help with that."})),
    "403": says(
        error("Input flagged", code=403, metadata={"reasons": ["violence"], "flagged_input": "x"}),
        403,
    ),
    "400": says(error("rejected by our safety system", code="content_policy_violation"), 400),
    "azure": says(
        error(
            "The response was filtered",
            code="content_filter",
            innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
        ),
        400,
    ),
    "200": says(error("flagged by moderation", code=403)),
}


@pytest.mark.parametrize("shape", REFUSALS)
def test_b7_every_shape_of_refusal_is_one_code_and_not_asked_again(shape: str) -> None:
    reply = ask(REFUSALS[shape])
    assert (reply.status, reply.retryable, reply.probability) == ("refused", False, None)


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (completion(""), "empty", "blank"),
        (completion(None), "empty", "blank"),
        (completion("  \n"), "empty", "blank"),
        (completion(17), "empty", "blank"),
        ({**completion(), "choices": []}, "empty", "no_choice"),
        ({**completion(), "choices": None}, "empty", "no_choice"),
        ({**completion(), "choices": [None]}, "empty", "blank"),
        (completion(None, message={"tool_calls": [{"id": "1"}]}), "empty", "tool_calls"),
        (completion("I think 70%."), "unparseable", "no_object"),
        (completion('{"probability": 70}'), "out_of_range", "above_one"),
        (completion('{"probability": null}'), "unparseable", "null"),
        ({**completion(), "choices": completion()["choices"] * 2}, "unparseable", "choices"),
    ],
)
def test_p2_content_that_is_no_answer(body: Any, status: str, detail: str) -> None:
    assert ended(ask(says(body))) == (status, detail, False)


# ---- what an endpoint says instead


@pytest.mark.parametrize(
    ("code", "body", "wanted"),
    [
        (401, error("bad key"), ("auth_or_credit", "http_401", False)),
        (402, error("Insufficient credits", code=402), ("auth_or_credit", "http_402", False)),
        (403, error("no access to this model"), ("auth_or_credit", "http_403", False)),
        (429, error("slow down"), ("rate_limited", "http_429", True)),
        (429, error("x", code="insufficient_quota"), ("auth_or_credit", "http_429", False)),
        (400, error("Your credit balance is too low"), ("auth_or_credit", "http_400", False)),
        (500, error("oops"), ("transport", "http_500", True)),
        (502, b"<html>Bad gateway</html>", ("transport", "http_502", True)),
        (503, b"", ("transport", "http_503", True)),
        (529, error("overloaded"), ("transport", "http_529", True)),
        (408, error("timed out"), ("timeout", "http_408", True)),
        (504, b"", ("timeout", "http_504", True)),
        (400, error("no such parameter: foo"), ("internal", "http_400", False)),
        (404, error("no such model"), ("internal", "http_404", False)),
        (413, b"", ("internal", "http_413", False)),
        (307, b"", ("internal", "redirect", False)),
        (200, b"<html>hello</html>", ("transport", "not_json", True)),
        (200, b"", ("transport", "not_json", True)),
        (200, b'{"choices": [{"mess', ("transport", "not_json", True)),
        (200, b"\xff\xfe{}", ("transport", "not_json", True)),
        (200, b"[" * 100_000, ("transport", "not_json", True)),
        (200, b'{"usage": {"cost": ' + b"9" * 5000 + b"}}", ("transport", "not_json", True)),
        (200, error("upstream failed", code=502), ("transport", "body_502", True)),
        (200, error("upstream failed"), ("transport", "body_500", True)),
        (200, error("slow down", code=429), ("rate_limited", "body_429", True)),
        (
            200,
            completion(None, choice={"error": {"code": 502, "message": "x"}}),
            ("transport", "body_502", True),
        ),
    ],
)
def test_p2_every_answer_of_an_endpoint_has_its_word(
    code: int, body: Any, wanted: tuple[str, str, bool]
) -> None:
    reply = ask(says(body, code))
    assert ended(reply) == wanted
    assert reply.status in FAILURES
    assert reply.raw == (body if isinstance(body, bytes) else json.dumps(body).encode())


def test_p2_an_empty_account_stops_the_run() -> None:
    assert ask(says(error("Insufficient credits"), 402)).out_of_credit
    assert ask(says(error("x", code="insufficient_quota"), 429)).out_of_credit
    assert not ask(says(error("bad key"), 401)).out_of_credit
    assert not ask(says(error("slow down"), 429)).out_of_credit


def test_b10_a_400_that_names_temperature_is_the_lineups_fault() -> None:
    body = error("Unsupported value: 'temperature' does not support 0 with this model.")
    assert ended(ask(says(body, 400))) == ("internal", "temperature", False)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "0.5"}, 0.5),
        ({"Retry_After": "-1"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "9" * 12}, 86_400.0),
        ({"retry_after_ms": "250"}, 0.25),
        (
            {
                "Date": "Mon, 05 Jan 2026 10:00:00 GMT",
                "Retry_After": "Mon, 05 Jan 2026 10:00:30 GMT",
            },
            30.0,
        ),
        (
            {
                "Date": "Mon, 05 Jan 2026 10:00:00 GMT",
                "Retry_After": "Mon, 05 Jan 2026 09:00:00 GMT",
            },
            0.0,
        ),
        ({}, None),
    ],
)
def test_a3_retry_after_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert ask(says(error("slow down"), 429, **headers)).retry_after == seconds


def test_u1_a_request_that_was_turned_away_costs_nothing() -> None:
    for code in (401, 402, 429):
        assert ask(says(error("no"), code)).cost == 0
    assert ask(says(error("no"), 500)).cost is None
    searched = ask(says(error("no"), 429), search="plugin", price_search="0.004")
    assert searched.cost is None, "the search may have been paid for before"


# ---- the wire


def test_p2_a_body_that_stalls_is_a_timeout() -> None:
    """The limit covers the body, and not only the headers before it."""
    started = time.monotonic()
    reply = ask(stalls(b'{"choices": ['), seconds=0.4)
    assert time.monotonic() - started < 3
    assert ended(reply) == ("timeout", "body", True)
    assert (reply.raw, reply.cost) == (b'{"choices": [', None)
    assert reply.latency_ms >= 390


def test_p2_a_server_that_says_nothing_is_a_timeout() -> None:
    async def silent(_: Any) -> Any:
        await asyncio.sleep(30)

    assert ended(ask(silent, seconds=0.3)) == ("timeout", "no_answer", True)
    assert ended(ask(silent, seconds=5, timeout_seconds=1)) == ("timeout", "no_answer", True)
    assert ended(ask(silent, seconds=0)) == ("timeout", "no_answer", True)


def test_p2_a_connection_that_is_cut_is_transport() -> None:
    reply = ask(breaks(b'{"choices": ['))
    assert ended(reply) == ("transport", "half_body", True)
    assert (reply.raw, reply.cost) == (b'{"choices": [', None)


def test_p2_a_server_that_hangs_up_is_transport_and_may_have_cost() -> None:
    async def hangs_up(request: Any) -> Any:
        request.transport.close()
        await asyncio.sleep(1)

    reply = ask(hangs_up)
    assert (reply.status, reply.retryable, reply.cost) == ("transport", True, None)


def test_p2_a_body_without_end_is_cut_off() -> None:
    reply = ask(pours(b"x" * 65_536, 200))
    assert ended(reply) == ("unparseable", "too_large", False)
    assert len(reply.raw) == MAX_REPLY_BYTES


def test_p2_nobody_there_is_transport_and_free() -> None:
    async def asked() -> Reply:
        connections = Connections()
        forecaster = ChatForecaster(model(), key=KEY, connections=connections)
        try:
            return await forecaster.ask(forecaster.request(QUESTION), seconds=5)
        finally:
            await connections.close()

    reply = asyncio.run(asked())
    assert ended(reply) == ("transport", "not_connected", True)
    assert reply.cost == 0


def test_a3_an_ask_is_sent_once() -> None:
    async def asked() -> int:
        async with asking(says(error("no"), 503)) as (forecaster, server):
            await forecaster.ask(forecaster.request(QUESTION), seconds=5)
            return len(server.bodies)

    assert asyncio.run(asked()) == 1


def test_d1_a_redirect_does_not_carry_the_key_away() -> None:
    async def asked() -> list[str]:
        async with asking(says(b"", 307, Location="/elsewhere")) as (forecaster, server):
            await forecaster.ask(forecaster.request(QUESTION), seconds=5)
            return server.paths

    assert asyncio.run(asked()) == ["/v1/chat/completions"]


def test_d1_the_key_is_in_one_header_and_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def asked() -> list[Reply]:
        echo = says(error(f"the key {KEY} is wrong"), 401)
        async with asking(echo, breaks(b"x"), stalls()) as (forecaster, server):
            request = forecaster.request(QUESTION)
            replies = [await forecaster.ask(request, seconds=0.3) for _ in range(3)]
            for headers, body in zip(server.headers, server.bodies, strict=True):
                assert headers["Authorization"] == f"Bearer {KEY}"
                assert sum(KEY in value for value in headers.values()) == 1
                assert KEY.encode() not in body
            return replies

    with caplog.at_level(logging.DEBUG):
        replies = asyncio.run(asked())
    assert KEY not in caplog.text
    assert [reply.status for reply in replies] == ["auth_or_credit", "transport", "timeout"]
    assert b"the key [key] is wrong" in replies[0].raw
    assert all(KEY not in repr(reply) and KEY.encode() not in reply.raw for reply in replies)


def test_b4_a_bad_reply_fails_its_own_answer_and_no_other() -> None:
    """One prose answer among seventy-two: seventy-one are there."""

    async def asked() -> list[Reply]:
        acts = [says(completion()) for _ in range(72)]
        acts[36] = says(completion("It could be 0.4 or 0.6."))
        acts.append(says(completion()))
        async with asking(*acts) as (forecaster, _):
            request = forecaster.request(QUESTION)
            return list(
                await asyncio.gather(*(forecaster.ask(request, seconds=10) for _ in range(72)))
            )

    statuses = [reply.status for reply in asyncio.run(asked())]
    assert (statuses.count("answered"), statuses.count("unparseable")) == (71, 1)


def test_b2_a_dead_provider_gives_no_number() -> None:
    for act in (says(b"", 500), breaks(b""), says(completion("")), says(error("no"), 402)):
        assert ask(act).probability is None


# ---- citations and leaks


def test_b11_citations_of_every_shape_are_kept_once() -> None:
    notes = [
        {"type": "url_citation", "url_citation": {"url": "https://a.example/1", "title": "t"}},
        {"type": "url_citation", "url_citation": {"url": "https://a.example/1"}},
        {"type": "file"},
        None,
    ]
    body = completion(
        message={"annotations": notes},
        citations=["https://b.example/2", 7],
        search_results=[{"url": "https://c.example/3"}, {}],
    )
    reply = ask(says(body), search="plugin", price_search="0.004")
    assert reply.citations == ("https://a.example/1", "https://b.example/2", "https://c.example/3")
    assert reply.detail == ""


def test_b11_an_answer_of_a_searching_model_without_citations_says_so() -> None:
    reply = ask(says(completion()), search="plugin", price_search="0.004")
    assert (reply.status, reply.detail) == ("answered", "no_search")
    assert ask(says(completion())).detail == ""


def test_b16_a_price_that_was_found_is_flagged() -> None:
    said = '{"rationale": "Polymarket at 7%", "probability": 0.07}'
    reply = ask(says(completion(said)))
    assert (reply.status, reply.leaks) == ("answered", ("venue_name",))
    thought = ask(says(completion(message={"reasoning": "Bookmakers say so"})))
    assert thought.leaks == ("odds_words",)
    cited = [{"url_citation": {"url": "https://odds.example/x"}}]
    denied = ask(says(completion(message={"annotations": cited})), deny_sites=("odds.example",))
    assert denied.leaks == ("venue_citation",)


# ---- many at once


def test_a1_many_calls_are_in_flight_together() -> None:
    """Two hundred replies of half a second each take about that long together."""

    async def slow(request: Any) -> Any:
        await asyncio.sleep(0.5)
        return await says(completion())(request)

    async def asked() -> tuple[float, int]:
        async with asking(slow) as (forecaster, _):
            request = forecaster.request(QUESTION)
            started = time.monotonic()
            replies = await asyncio.gather(
                *(forecaster.ask(request, seconds=20) for _ in range(200))
            )
            return time.monotonic() - started, sum(r.status == "answered" for r in replies)

    elapsed, answered = asyncio.run(asked())
    assert answered == 200 and elapsed < 6
