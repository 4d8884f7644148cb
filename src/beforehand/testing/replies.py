"""What a simulated model says: one function a behaviour, from an answer to every known fault.

A behaviour makes a `Reply`: a status with an error, or the parts of a chat
completion. What it is asked in is an `Ask`, read from the request's body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from beforehand.testing.chance import digest, pick, uniform

_FIELDS = ("probability", "p_yes", "forecast", "prob", "p")
_REASONS = (
    "The base rate of such events is the best guide, and little has changed lately.",
    "Reports point in one direction, though the deadline is short.",
    "Both outcomes are plausible; the status quo weighs most.",
)


@dataclass(frozen=True)
class Ask:
    """A request as the model reads it. `search` says that pages may be cited."""

    model: str
    text: str
    field: str
    schema: Mapping[str, Any] | None
    search: bool
    temperature: bool


@dataclass(frozen=True)
class Reply:
    """What goes back. A `status` other than 200 carries `error` and is not charged."""

    status: int = 200
    error: str = ""
    content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    finish: str = "stop"
    citations: tuple[str, ...] = ()
    served: str | None = None
    usage: bool = True
    stall: bool = False
    # The whole body, for replies that are no chat completion at all.
    whole: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def read_ask(body: Mapping[str, Any], honours_schema: bool) -> Ask:
    """The ask in a chat request; KeyError, TypeError where it has not that form."""
    text = "\n".join(_text_of(message["content"]) for message in body["messages"])
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema") if honours_schema else None
    quoted = next((name for name in _FIELDS if f'"{name}"' in text), _FIELDS[0])
    return Ask(
        model=str(body["model"]),
        text=text,
        field=_named(schema) or quoted,
        schema=schema,
        search=bool(body.get("plugins") or body.get("tools")),
        temperature="temperature" in body,
    )


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def _named(schema: Mapping[str, Any] | None) -> str | None:
    """The first number among the properties of a schema."""
    properties = (schema or {}).get("properties", {})
    return next((name for name, each in properties.items() if "number" in _types(each)), None)


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type", "string")
    return (kind,) if isinstance(kind, str) else tuple(kind)


def answer(ask: Ask, said: float) -> Reply:
    """The usual reply: an object with the number and a reason."""
    reason = pick(_REASONS, "reason", ask.model, ask.text)
    cited = _pages(ask) if ask.search else ()
    if ask.schema is not None:
        filled = _filled(ask.schema, said, reason, ask.text)
        return Reply(content=json.dumps(filled), citations=cited)
    return Reply(content=json.dumps({ask.field: said, "rationale": reason}), citations=cited)


def _pages(ask: Ask) -> tuple[str, ...]:
    name = digest("page", ask.text).hex()
    return tuple(f"https://news.example/{name[at : at + 8]}" for at in (0, 8, 16))


def _filled(schema: Mapping[str, Any], said: float, reason: str, path: str) -> Any:
    """A value that fits a schema: its first number is `said`, further ones are near it."""
    if "enum" in schema:
        return schema["enum"][0]
    types = _types(schema)
    if "object" in types:
        found = {}
        for place, (name, each) in enumerate(schema.get("properties", {}).items()):
            found[name] = _filled(each, said, reason, f"{path}/{place}")
        return found
    if "array" in types:
        count = int(schema.get("minItems", 0))
        items = schema.get("items", {})
        return [_filled(items, _near(said, path, at), reason, path) for at in range(count)]
    if "number" in types:
        return said
    if "integer" in types:
        return 1
    return True if "boolean" in types else reason


def _near(said: float, path: str, place: int) -> float:
    if place == 0:
        return said
    shift = 0.1 * (uniform("near", path, place) - 0.5)
    return round(min(max(said + shift, 0.01), 0.99), 2)


def _with_content(form: str) -> Callable[[Ask, float], Reply]:
    """A behaviour whose content is a form with FIELD, P and PERCENT to fill in."""

    def say(ask: Ask, said: float) -> Reply:
        gaps = {"FIELD": ask.field, "PERCENT": f"{said * 100:g}", "P": f"{said:g}"}
        content = re.sub("FIELD|PERCENT|P(?![A-Za-z])", lambda found: gaps[found[0]], form)
        return Reply(content=content)

    return say


def _refused(reply: Reply) -> Callable[[Ask, float], Reply]:
    return lambda ask, said: reply


def _leak(ask: Ask, said: float) -> Reply:
    """An answer whose reason gives away what a blind model must not know."""
    usual = answer(ask, said)
    told = f"Polymarket traders have this at {said * 100:.0f}%, and bookmakers agree."
    content = (usual.content or "").replace(
        json.dumps(pick(_REASONS, "reason", ask.model, ask.text)), json.dumps(told)
    )
    page = "https://polymarket.com/event/" + digest("page", ask.text).hex()[:12]
    return replace(usual, content=content, citations=(page, *usual.citations))


def _fenced(ask: Ask, said: float) -> Reply:
    usual = answer(ask, said)
    return replace(usual, content=f"Here is my forecast.\n\n```json\n{usual.content}\n```")


def _think(ask: Ask, said: float) -> Reply:
    usual = answer(ask, said)
    decoy = json.dumps({ask.field: round(1 - said, 3)})
    return replace(usual, content=f"<think>One view: {decoy}. No.</think>\n{usual.content}")


def _no_temperature(ask: Ask, said: float) -> Reply:
    if not ask.temperature:
        return answer(ask, said)
    return Reply(400, "Unsupported parameter: 'temperature' is not supported with this model.")


def _swapped(ask: Ask, said: float) -> Reply:
    return replace(answer(ask, said), served=f"{ask.model}-lite")


def _no_usage(ask: Ask, said: float) -> Reply:
    return replace(answer(ask, said), usage=False)


def _stall(ask: Ask, said: float) -> Reply:
    return replace(answer(ask, said), stall=True)


_SORRY = "I'm sorry, but I can't help with forecasting this event."

BEHAVIOURS: Mapping[str, Callable[[Ask, float], Reply]] = {
    "answer": answer,
    "leak": _leak,
    "fenced": _fenced,
    "think": _think,
    # Refusals in the three forms that providers use.
    "refuse_text": _refused(Reply(content=_SORRY)),
    "refuse_field": _refused(Reply(content=None, refusal=_SORRY)),
    "refuse_filter": _refused(Reply(content="", finish="content_filter")),
    # Replies without a number that counts.
    "truncated": _refused(
        Reply(content=None, reasoning='Let me weigh this: {"probability": 0.5', finish="length")
    ),
    "cut_text": _refused(Reply(content='{"rationale": "It began', finish="length")),
    "empty": _refused(Reply(content="")),
    "prose": _refused(Reply(content="It could go either way; I would rather not put a number.")),
    "reasoning_only": lambda ask, said: Reply(
        content=None, reasoning=json.dumps({ask.field: said})
    ),
    "null": _with_content('{"FIELD": null, "rationale": "unknown"}'),
    "boolean": _with_content('{"FIELD": true}'),
    "nan": _with_content('{"FIELD": NaN}'),
    "two_answers": _with_content('{"FIELD": P}\n\nOn reflection:\n\n{"FIELD": 0.123456}'),
    "range": _with_content('{"FIELD": "60-70%"}'),
    "comma": _with_content('{"FIELD": "0,62"}'),
    # Numbers in other forms.
    "percent": _with_content('{"FIELD": "PERCENT%"}'),
    "bare_percent": _with_content('{"FIELD": PERCENT}'),
    "out_of_range": _with_content('{"FIELD": 1.2}'),
    "zero": _with_content('{"FIELD": 0}'),
    "one": _with_content('{"FIELD": 1}'),
    # The far side itself.
    "stall": _stall,
    "swapped": _swapped,
    "no_usage": _no_usage,
    "no_choices": _refused(
        Reply(whole={"id": "gen-0", "object": "chat.completion", "choices": []})
    ),
    "error_inside": _refused(
        Reply(whole={"error": {"message": "Provider returned error", "code": 502}})
    ),
    "error_choice": _refused(Reply(content="", finish="error")),
    "no_temperature": _no_temperature,
    "rate_limited": _refused(Reply(429, "Rate limit exceeded", headers={"Retry-After": "1"})),
    "error": _refused(Reply(502, "Provider returned error")),
    "no_credit": _refused(Reply(402, "Insufficient credits")),
    "bad_key": _refused(Reply(401, "No auth credentials found")),
}
