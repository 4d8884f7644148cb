"""Rules A1 and A2 before anything is sent: what stands in the sealed bytes of an ask."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import RuleError
from beforehand.forecasters.chat import ChatForecaster, endpoint_url
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import BlindQuestion
from beforehand.forecasters.prompt import blind_prompt, price_in_text
from beforehand.forecasters.searching import chat_forecaster
from beforehand.records.lineup import MODEL_TABLE
from tests.forecasters.chat_server import KEY, QUESTION, model


def made(key: str | None = KEY, league: str | None = "0", **more: Any) -> ChatForecaster:
    table = model(**more)
    MODEL_TABLE.check(table, "model")
    return ChatForecaster(
        table,
        key=key,
        connections=Connections(),
        deny_sites=("polymarket.com",),
        temperature=league,
    )


def sent(**more: Any) -> dict[str, Any]:
    return json.loads(made(**more).request(QUESTION).body)


def test_a1_the_same_question_gives_the_same_bytes() -> None:
    bodies = {made().request(QUESTION).body for _ in range(3)}
    assert len(bodies) == 1
    assert made(key="another-key-0123456789").request(QUESTION).body in bodies
    digest = hashlib.sha256(bodies.pop()).hexdigest()
    assert digest[:16] == "48e0a464539b935c", "the sealed form of a request has changed"


def test_a1_the_body_holds_both_prompts_and_every_parameter() -> None:
    prompt = blind_prompt(QUESTION)
    content = sent()
    assert [message["content"] for message in content["messages"]] == [prompt.system, prompt.user]
    assert [message["role"] for message in content["messages"]] == ["system", "user"]
    assert set(content) == {"model", "messages", "max_tokens", "temperature", "response_format"}
    assert (content["model"], content["max_tokens"]) == ("maker/model-1", 1000)


def test_a1_temperature_is_sent_or_left_out_and_the_bytes_say_which() -> None:
    assert sent()["temperature"] == 0
    assert b'"temperature":0,' in made().request(QUESTION).body
    assert sent(temperature="omitted").get("temperature", "absent") == "absent"
    assert "temperature" not in json.loads(made(league=None).request(QUESTION).body)
    assert json.loads(made(league="0.5").request(QUESTION).body)["temperature"] == 0.5


def test_a1_structured_output_by_capability() -> None:
    schema = sent()["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["rationale", "probability"]
    assert schema["schema"]["additionalProperties"] is False
    assert sent(structured="json_object")["response_format"] == {"type": "json_object"}
    assert "response_format" not in sent(structured="none")
    limited = sent(token_limit="max_completion_tokens")
    assert limited["max_completion_tokens"] == 1000 and "max_tokens" not in limited


def test_b9_a_provider_is_pinned_without_fallbacks_where_one_is_declared() -> None:
    pinned = sent(provider="deepinfra/fp8", quantisation="fp8")
    assert pinned["provider"] == {
        "order": ["deepinfra/fp8"],
        "only": ["deepinfra/fp8"],
        "allow_fallbacks": False,
        "quantizations": ["fp8"],
    }
    assert pinned["usage"] == {"include": True}
    assert "quantizations" not in sent(provider="p", quantisation="Q4_K_M")["provider"]
    assert "provider" not in sent() and "usage" not in sent()
    assert sent(endpoint="https://openrouter.ai/api/v1")["usage"] == {"include": True}


def test_b11_search_is_one_forced_engine_and_never_online() -> None:
    content = sent(search="plugin", price_search="0.004")
    assert content["plugins"] == [
        {
            "id": "web",
            "engine": "exa",
            "max_results": 4,
            "exclude_domains": ["polymarket.com"],
        }
    ]
    assert "plugins" not in sent()
    with pytest.raises(RuleError, match=":online"):
        made(model="maker/model-1:online")
    with pytest.raises(RuleError, match="price_search"):
        made(search="plugin")
    with pytest.raises(RuleError, match="does not go with"):
        made(search="tool", price_search="0.01")
    with pytest.raises(RuleError, match="BEFOREHAND_SEARCH_URL"):
        chat_forecaster(model(search="tool", price_search="1"), key=None, connections=Connections())


def test_b1_no_price_can_enter_a_request() -> None:
    body = made().request(QUESTION).body.decode()
    assert price_in_text(body, Decimal("0.62")) == ()


def test_u1_the_reservation_is_an_upper_bound_at_list_price() -> None:
    request = made().request(QUESTION)
    wanted = (len(request.body) * Decimal(3) + 1000 * Decimal(15)) / Decimal(1_000_000)
    assert request.reserved == wanted.quantize(Decimal("0.000001"), rounding="ROUND_CEILING")
    searching = made(search="plugin", price_search="0.004").request(QUESTION)
    assert searching.reserved > request.reserved + Decimal("0.004")
    assert made(price_prompt="0", price_completion="0").request(QUESTION).reserved == 0


def test_b6_a_second_ask_has_a_larger_cap_and_is_reserved_for_it() -> None:
    first, again = made().request(QUESTION), made().request(QUESTION, reask=True)
    assert json.loads(again.body)["max_tokens"] == 2 * json.loads(first.body)["max_tokens"]
    assert again.reserved > first.reserved + Decimal("0.015") - Decimal("0.000001")
    assert "second ask" in json.loads(again.body)["messages"][1]["content"]


def test_d1_a_key_stands_nowhere_but_in_one_header() -> None:
    forecaster = made()
    assert KEY not in repr(forecaster)
    assert KEY.encode() not in forecaster.request(QUESTION).body
    assert forecaster.headers()["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in made(key=None).headers()
    with pytest.raises(RuleError) as raised:
        made(key=f"{KEY}\n")
    assert KEY not in str(raised.value)


def test_d1_an_endpoint_holds_no_secret() -> None:
    assert endpoint_url("m", "https://h/v1/", "chat/completions") == "https://h/v1/chat/completions"
    assert endpoint_url("m", "https://h/v1/chat/completions", "models") == "https://h/v1/models"
    assert (
        endpoint_url("m", "https://h/x?api-version=1", "models")
        == "https://h/x/models?api-version=1"
    )
    with pytest.raises(RuleError, match="key_env") as raised:
        endpoint_url("m", "https://u:hunter2@h/v1", "models")
    assert "hunter2" not in str(raised.value)


def test_b17_one_ask_holds_one_question() -> None:
    other = BlindQuestion("Will the bridge open?", "By the notice of the city.")
    body = made().request(other).body.decode()
    assert QUESTION.question not in body and QUESTION.description not in body
