"""What an operator's own scaffold is handed and hands back: a question and an answer as JSON.

In: `{"format", "question", "description", "end_date", "reask"}`. Out, one
object: `probability` as a number from 0 to 1, and where there are any
`rationale`, `citations` (a list of addresses), `model` (who answered) and
`cost` in the league's currency. A `cost` that is not there is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from beforehand.forecasters.completion import MAX_CITATIONS, MAX_URL_CHARACTERS
from beforehand.forecasters.forecaster import BlindQuestion, Reply
from beforehand.forecasters.leaks import audit
from beforehand.forecasters.money import rounded_up
from beforehand.forecasters.parse import parse

QUESTION_FORMAT = "beforehand-question/1"
MAX_ANSWER_BYTES = 1 << 18


def question_bytes(question: BlindQuestion, *, reask: bool) -> bytes:
    """The question as a scaffold gets it: these bytes are sealed before it runs."""
    content: dict[str, Any] = {
        "format": QUESTION_FORMAT,
        "question": question.question,
        "description": question.description,
        **({} if question.end_date is None else {"end_date": question.end_date}),
        "reask": reask,
    }
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def question_of(body: bytes) -> tuple[BlindQuestion, bool]:
    """The question in such bytes, and whether it is asked a second time."""
    content = json.loads(body)
    question = BlindQuestion(content["question"], content["description"], content.get("end_date"))
    return question, content["reask"]


def scaffold_reply(raw: bytes, *, latency_ms: int, deny_sites: Sequence[str] = ()) -> Reply:
    """The reply in a scaffold's output, read by the same parser as a model's text."""
    if len(raw) > MAX_ANSWER_BYTES:
        return Reply(
            "unparseable", raw=raw[:MAX_ANSWER_BYTES], latency_ms=latency_ms, detail="too_large"
        )
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Reply("unparseable", raw=raw, latency_ms=latency_ms, detail="not_utf8")
    parsed = parse(text)
    beside = _beside(text)
    citations = _addresses(beside.get("citations"))
    served = beside.get("model")
    return Reply(
        parsed.status,
        probability=parsed.probability,
        raw=raw,
        rationale=parsed.rationale,
        served_model=served if isinstance(served, str) and served else None,
        cost=_amount(beside.get("cost")),
        citations=citations,
        leaks=audit(text, citations, deny_sites=deny_sites),
        latency_ms=latency_ms,
        detail=parsed.detail,
    )


def _beside(text: str) -> Mapping[str, Any]:
    """What stands beside the probability, where the output is the one object it should be."""
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _addresses(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else []
    urls = [url[:MAX_URL_CHARACTERS] for url in listed if isinstance(url, str) and url]
    return tuple(dict.fromkeys(urls))[:MAX_CITATIONS]


def _amount(value: Any) -> Decimal | None:
    """A cost as a number or as decimal text; anything else is unknown."""
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except ArithmeticError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    amount = Decimal(value)
    return rounded_up(amount) if amount.is_finite() and 0 <= amount <= 1_000_000 else None
