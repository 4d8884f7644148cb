"""The model replica: the chat protocol, every behaviour, and an account that adds up."""

from __future__ import annotations

import asyncio
import hashlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.errors import FormatError
from beforehand.testing.faults import parse_faults
from beforehand.testing.model_replica import ModelReplica
from beforehand.testing.purse import Purse
from beforehand.testing.replica import Answer, Call
from beforehand.testing.replies import BEHAVIOURS
from beforehand.testing.truth import Truth, write_truth
from tests.testing.asking import asked, read

QUESTION = "Simulated market 42: Will it be told by March 9, 2026?"
SYSTEM = 'Answer with one JSON object with the keys "rationale" and "probability".'


def replica_of(folder: Path, *, seed: int = 1, faults: str = "", **options: Any) -> ModelReplica:
    credit = options.pop("credit", None)
    log = options.pop("log", None)
    truth = Truth(folder / "truth.json")
    return ModelReplica(seed, truth, Purse(credit, log), parse_faults(faults), **options)


def body_of(model: str, question: str = QUESTION, **more: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Question: {question}\n\nDescription:\nIt is simulated."},
    ]
    return {"model": model, "messages": messages, "max_tokens": 300, **more}


def chat(replica: ModelReplica, model: str, question: str = QUESTION, **more: Any) -> Answer:
    return asked(replica, "/v1/chat/completions", body_of(model, question, **more))


def said(replica: ModelReplica, model: str, question: str = QUESTION, **more: Any) -> Any:
    answer = chat(replica, model, question, **more)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def message(completion: Any) -> Any:
    return completion["choices"][0]["message"]


def tell(folder: Path, chance: float, question: str = QUESTION) -> None:
    known = {"market": "42", "chance": chance, "end": "yes"}
    write_truth(folder / "truth.json", {"questions": {question: known}})


def test_a_completion_has_the_form_of_the_protocol(tmp_path: Path) -> None:
    found = said(replica_of(tmp_path), "sim/plain-1")
    assert found["object"] == "chat.completion"
    assert found["model"] == "sim/plain-1"
    assert {"id", "created", "provider", "choices", "usage"} <= set(found)
    choice = found["choices"][0]
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert choice["message"]["role"] == "assistant"
    content = json.loads(choice["message"]["content"])
    assert 0 < content["probability"] < 1 and content["rationale"]
    usage = found["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["cost"] > 0


def test_the_list_of_models_and_the_account(tmp_path: Path) -> None:
    replica = replica_of(tmp_path, credit=Decimal("5"))
    names = {row["id"] for row in read(replica, "/v1/models")["data"]}
    assert {"sim/sharp-1", "sim/flaky-1", "script/refuse-text"} <= names
    cost = said(replica, "sim/plain-1")["usage"]["cost"]
    assert read(replica, "/api/v1/credits")["data"] == {"total_credits": 5.0, "total_usage": cost}
    key = read(replica, "/v1/key")["data"]
    assert (key["limit"], key["usage"]) == (5.0, cost)


def test_an_answer_is_a_function_of_seed_model_question_and_truth(tmp_path: Path) -> None:
    tell(tmp_path, 0.3)
    first = said(replica_of(tmp_path), "sim/sharp-1")
    assert said(replica_of(tmp_path), "sim/sharp-1") == first
    assert message(said(replica_of(tmp_path, seed=2), "sim/sharp-1")) != message(first)
    assert message(said(replica_of(tmp_path), "sim/sharp-2")) != message(first)
    replica = replica_of(tmp_path)
    before = json.loads(message(said(replica, "sim/sharp-1"))["content"])["probability"]
    tell(tmp_path, 0.9)
    after = json.loads(message(said(replica, "sim/sharp-1"))["content"])["probability"]
    assert after > before


def test_an_unknown_question_is_answered_too(tmp_path: Path) -> None:
    replica = ModelReplica(1, Truth(None), Purse(None, None))
    one, other = (said(replica, "sim/plain-1", text) for text in ("Rain?", "Snow?"))
    assert message(one) != message(other)


def test_the_number_of_a_question_alone_is_not_the_question(tmp_path: Path) -> None:
    """A truth of the same number and another text is not used."""
    tell(tmp_path, 0.99)
    truth = Truth(tmp_path / "truth.json")
    assert truth.find(f"Question: {QUESTION}") is not None
    assert truth.find("Question: Simulated market 42: Will it be something else?") is None


def test_a_model_that_honours_a_schema_fills_it(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "rationale": {"type": "string"},
            "p": {"type": "number"},
            "cells": {
                "type": "array",
                "minItems": 2,
                "items": {"type": "object", "properties": {"q": {"type": ["number", "null"]}}},
            },
            "side": {"enum": ["yes", "no"]},
        },
    }
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    content = json.loads(
        message(said(replica_of(tmp_path), "sim/plain-1", response_format=form))["content"]
    )
    assert list(content) == ["rationale", "p", "cells", "side"]
    assert 0 < content["p"] < 1 and content["side"] == "yes"
    assert [0 < cell["q"] < 1 for cell in content["cells"]] == [True, True]
    # Another ignores it, as some do.
    other = message(said(replica_of(tmp_path), "sim/noisy-1", response_format=form))["content"]
    assert "probability" in other


@pytest.mark.parametrize(
    ("script", "content", "finish"),
    [
        ("refuse-text", "I'm sorry, but I can't help with forecasting this event.", "stop"),
        ("refuse-field", None, "stop"),
        ("refuse-filter", "", "content_filter"),
        ("truncated", None, "length"),
        ("empty", "", "stop"),
        ("null", '{"probability": null, "rationale": "unknown"}', "stop"),
        ("zero", '{"probability": 0}', "stop"),
        ("one", '{"probability": 1}', "stop"),
        ("out-of-range", '{"probability": 1.2}', "stop"),
        ("range", '{"probability": "60-70%"}', "stop"),
        ("comma", '{"probability": "0,62"}', "stop"),
        ("nan", '{"probability": NaN}', "stop"),
        ("error-choice", "", "error"),
    ],
)
def test_scripted_replies(tmp_path: Path, script: str, content: str | None, finish: str) -> None:
    found = said(replica_of(tmp_path), f"script/{script}")
    assert found["choices"][0]["finish_reason"] == finish
    assert message(found)["content"] == content
    if script == "refuse-field":
        assert message(found)["refusal"]
    if script == "truncated":
        assert message(found)["reasoning"]


@pytest.mark.parametrize(
    ("script", "status"),
    [("rate-limited", 429), ("error", 502), ("no-credit", 402), ("bad-key", 401)],
)
def test_scripted_failures_are_not_charged(tmp_path: Path, script: str, status: int) -> None:
    replica = replica_of(tmp_path)
    answer = chat(replica, f"script/{script}")
    assert answer.status == status
    assert json.loads(answer.body)["error"]["code"] == status
    assert ("Retry-After" in answer.headers) == (status == 429)
    assert replica.stats()["charged"] == "0"


def test_every_behaviour_can_be_asked_for(tmp_path: Path) -> None:
    replica = replica_of(tmp_path)
    for name in BEHAVIOURS:
        answer = chat(replica, "script/" + name.replace("_", "-"))
        assert answer.status in (200, 400, 401, 402, 429, 502)
        assert answer.stall == (name == "stall")
    assert chat(replica, "script/sing").status == 404
    assert chat(replica, "gpt-of-nobody").status == 404
    assert asked(replica, "/v1/chat/completions", {"messages": []}).status == 400


def test_percents_answers_that_differ_and_a_swapped_model(tmp_path: Path) -> None:
    replica = replica_of(tmp_path)
    percent = json.loads(message(said(replica, "script/percent"))["content"])["probability"]
    assert percent.endswith("%") and 0 < float(percent[:-1]) < 100
    assert message(said(replica, "script/two-answers"))["content"].count("probability") == 2
    assert said(replica, "script/swapped")["model"] == "script/swapped-lite"
    assert "usage" not in said(replica, "script/no-usage")
    assert "choices" not in said(replica, "script/error-inside")


def test_a_reasoning_model_refuses_a_temperature(tmp_path: Path) -> None:
    replica = replica_of(tmp_path)
    answer = chat(replica, "sim/strict-1", temperature=0)
    assert answer.status == 400
    assert "temperature" in json.loads(answer.body)["error"]["message"]
    assert chat(replica, "sim/strict-1").status == 200


def test_a_leak_names_a_venue_and_cites_it(tmp_path: Path) -> None:
    found = message(said(replica_of(tmp_path), "script/leak"))
    assert "Polymarket" in found["content"]
    urls = [each["url_citation"]["url"] for each in found["annotations"]]
    assert any(url.startswith("https://polymarket.com/") for url in urls)
    searched = message(said(replica_of(tmp_path), "sim/plain-1", plugins=[{"id": "web"}]))
    assert len(searched["annotations"]) == 3
    assert "annotations" not in message(said(replica_of(tmp_path), "sim/plain-1"))


def test_a_flaky_model_fails_now_and_then_and_the_same_way_again(tmp_path: Path) -> None:
    def run() -> list[bytes]:
        replica = replica_of(tmp_path)
        return [chat(replica, "sim/flaky-1", f"Question {n}?").body for n in range(300)]

    first = run()
    assert first == run()
    replica = replica_of(tmp_path)
    for number in range(300):
        chat(replica, "sim/flaky-1", f"Question {number}?")
    habits = replica.stats()["models"]["sim/flaky-1"]["behaviours"]
    assert 0.75 * 300 < habits["answer"] < 0.92 * 300
    assert {"refuse_text", "prose", "percent", "error"} <= set(habits)


def test_an_attempt_is_a_request_received(tmp_path: Path) -> None:
    """A second request of the same body is attempt 2; another body begins at 1."""
    replica = replica_of(tmp_path)
    chat(replica, "sim/plain-1")
    again = said(replica, "sim/plain-1")
    other = said(replica, "sim/plain-1", "Another?")
    assert again["id"] != said(replica_of(tmp_path), "sim/plain-1")["id"]
    bodies = replica.stats()["models"]["sim/plain-1"]["bodies"]
    sha = hashlib.sha256(json.dumps(body_of("sim/plain-1")).encode()).hexdigest()
    assert bodies[sha] == 2 and sum(bodies.values()) == 3
    assert message(other) != message(again)


def test_every_cent_is_accounted_for(tmp_path: Path) -> None:
    """What replies say they cost, what the account charged and what the log holds are one sum."""
    log = tmp_path / "log.jsonl"
    replica = replica_of(tmp_path, log=log)
    told = Decimal(0)
    for number in range(200):
        model = ("sim/sharp-1", "sim/flaky-1", "sim/noisy-1")[number % 3]
        answer = chat(replica, model, f"Question {number}?", plugins=[{"id": "web"}])
        if answer.status == 200:
            # As a client reads it: the decimal text of the JSON number.
            body = json.loads(answer.body, parse_float=Decimal)
            told += body["usage"]["cost"]
    stats = replica.stats()
    lines = [json.loads(line) for line in log.read_text(encoding="ascii").splitlines()]
    assert Decimal(stats["charged"]) == told
    assert sum(Decimal(line["cost"]) for line in lines) == told
    assert sum(Decimal(each["charged"]) for each in stats["models"].values()) == told
    assert len(lines) == sum(each["requests"] for each in stats["models"].values()) == 200


def test_a_replica_that_starts_again_goes_on_counting(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = replica_of(tmp_path, log=log)
    for number in range(6):
        chat(first, "sim/plain-1", f"Question {number % 4}?")
    with log.open("ab") as file:
        file.write(b'{"model": "sim/pl')
    again = replica_of(tmp_path, log=log)
    assert again.purse.stats() == first.purse.stats()
    chat(again, "sim/plain-1", "Question 0?")
    last = json.loads(log.read_text(encoding="ascii").splitlines()[-1])
    assert last["attempt"] == 3
    assert len(log.read_text(encoding="ascii").splitlines()) == 7


def test_credit_is_never_overdrawn(tmp_path: Path) -> None:
    replica = replica_of(tmp_path, credit=Decimal("0.001"))
    statuses = [chat(replica, "sim/plain-1", f"Question {n}?").status for n in range(40)]
    assert statuses[0] == 200 and statuses[-1] == 402
    assert Decimal(replica.stats()["charged"]) <= Decimal("0.001")
    replica.control({"credit": "1"})
    assert chat(replica, "sim/plain-1").status == 200
    replica.control({"credit": None})
    assert read(replica, "/v1/key")["data"]["limit"] is None


def test_behaviours_can_be_put_on_from_outside(tmp_path: Path) -> None:
    replica = replica_of(tmp_path, faults="behaviour:name=empty,model=sim/plain-1")
    assert message(said(replica, "sim/plain-1"))["content"] == ""
    assert message(said(replica, "sim/sharp-1"))["content"] != ""
    replica.control({"faults": [{"kind": "behaviour", "name": "zero", "rate": 0.5}]})
    contents = [message(said(replica, "sim/plain-1", f"{n}?"))["content"] for n in range(60)]
    assert 15 < contents.count('{"probability": 0}') < 45
    with pytest.raises(FormatError, match="no behaviour"):
        replica.control({"faults": [{"kind": "behaviour", "name": "sing"}]})
    with pytest.raises(FormatError, match="no behaviour"):
        replica_of(tmp_path, faults="behaviour:name=sing")
    with pytest.raises(FormatError, match="no control"):
        replica.control({"volume": 11})


def test_a_refused_request_is_counted_and_not_charged(tmp_path: Path) -> None:
    replica = replica_of(tmp_path)
    body = json.dumps(body_of("sim/plain-1")).encode()
    call = Call("POST", "/v1/chat/completions", "", body, refused="error500")
    asyncio.run(replica.respond(call))
    stats = replica.stats()["models"]["sim/plain-1"]
    assert (stats["requests"], stats["charged"], stats["statuses"]) == (1, "0", {"500": 1})


def test_replies_take_as_long_as_they_are_told(tmp_path: Path) -> None:
    assert chat(replica_of(tmp_path), "sim/plain-1").delay == 0
    assert chat(replica_of(tmp_path, reply_seconds=10.0), "sim/plain-1").delay == 10
    spread = replica_of(tmp_path, reply_seconds=1.0, reply_spread=0.5)
    delays = {chat(spread, "sim/plain-1", f"{n}?").delay for n in range(50)}
    assert len(delays) == 50 and 0.5 < sorted(delays)[25] < 2
