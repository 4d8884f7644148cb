"""The body of a chat completion: who served it, what it says, what it cost.

The OpenAI wire format as its many speakers write it. Whatever a far side puts
in a field, reading it raises nothing: a field of another type is absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beforehand.forecasters.money import Prices
from beforehand.forecasters.parse import Parsed, failed, parse

MAX_CITATIONS = 200
MAX_URL_CHARACTERS = 2000
# A cost or a count above this is no cost.
_MOST_MONEY = Decimal(1_000_000)
_MOST_TOKENS = 1 << 40

_TRUNCATED = {"length", "max_tokens", "max_output_tokens", "model_length"}
_REFUSED = {
    *("content_filter", "content_filtered", "refusal", "safety", "prohibited_content"),
    *("blocklist", "recitation", "spii"),
}

_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: None, strict=False)


@dataclass(frozen=True)
class FarError:
    """An error object in a body: `code` where it is a number, and all its words in lower case."""

    code: int | None
    words: str
    moderation: bool = False


@dataclass(frozen=True)
class Completion:
    """One read body. `content` is None where there is none; reasoning is never an answer."""

    served_model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    error: FarError | None = None
    choices: int = 0
    finish: frozenset[str] = frozenset()
    content: str | None = None
    reasoning: str = ""
    refusal: str = ""
    message: Mapping[str, Any] | None = None
    citations: tuple[str, ...] = ()
    cost: Decimal | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def price(self, prices: Prices, searches: int = 0) -> Decimal | None:
        """What it cost: as stated, else tokens at list price, else None."""
        if self.cost is not None:
            return self.cost
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return prices.cost(self.prompt_tokens, self.completion_tokens, searches)

    def calls(self) -> list[Mapping[str, Any]]:
        """The tool calls of its message."""
        return [each for each in _list(_table(self.message).get("tool_calls")) if _table(each)]


def read_completion(data: bytes) -> Completion | None:
    """The completion in a body; None where the body is not a JSON object in UTF-8."""
    try:
        body = _DECODER.decode(data.decode("utf-8-sig"))
    except (ValueError, ArithmeticError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    choices = _list(body.get("choices"))
    choice = _table(choices[0]) if choices else {}
    message = _table(choice.get("message"))
    usage = _table(body.get("usage"))
    return Completion(
        served_model=_text(body.get("model")),
        provider=_text(body.get("provider")),
        fingerprint=_text(body.get("system_fingerprint")),
        error=_error(body.get("error")) or _error(choice.get("error")),
        choices=len(choices),
        finish=frozenset(
            str(choice[key]).lower()
            for key in ("finish_reason", "native_finish_reason")
            if isinstance(choice.get(key), str)
        ),
        content=_content(message.get("content")),
        reasoning=_reasoning(message),
        refusal=_text(message.get("refusal")) or "",
        message=message,
        citations=_citations(body, message),
        cost=_cost(usage),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def answer_of(completion: Completion) -> Parsed:
    """The verdict on what the model said, in the order in which reasons are looked for.

    A refusal, then a length that ran out, both before the content is looked
    at: a null content after either is not an empty answer.
    """
    if completion.choices == 0:
        return Parsed("empty", detail="no_choice")
    if completion.refusal:
        return Parsed("refused", detail="message_refusal", rationale=completion.refusal[:2000])
    if completion.finish & _REFUSED:
        return Parsed("refused", detail="content_filter")
    if completion.finish & _TRUNCATED:
        return Parsed("truncated", detail="length")
    if completion.choices > 1:
        return Parsed("unparseable", detail="choices")
    if completion.content is None or not completion.content.strip():
        if completion.calls():
            return Parsed("empty", detail="tool_calls")
        return failed("reasoning_only" if completion.reasoning else "blank")
    return parse(completion.content)


def identity_of(
    completion: Completion, accepted: Iterable[str], provider: str | None = None
) -> str:
    """ "" where the asked model answered, else a sub-code of `model_mismatch`.

    A body without a served id is a mismatch: what was not checked has not
    passed. A provider is compared where one was pinned and one is named,
    spelling aside; `accepted` may name it as well.
    """
    known = set(accepted)
    if completion.served_model is None:
        return "served_absent"
    if completion.served_model not in known:
        return "served_other"
    served = completion.provider
    if provider and served and served not in known and _bare(served) != _bare(provider):
        return "provider_other"
    return ""


def _bare(provider: str) -> str:
    """`DeepInfra` and `deepinfra/fp8` are one provider."""
    return re.sub(r"[^a-z0-9]", "", provider.partition("/")[0].lower())


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if good else None


def _money(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    amount = Decimal(value)
    if not amount.is_finite() or not 0 <= amount <= _MOST_MONEY:
        return None
    return amount


def _cost(usage: Mapping[str, Any]) -> Decimal | None:
    """`usage.cost`, and what an upstream charges its own key beside it."""
    cost = _money(usage.get("cost"))
    if cost is not None and usage.get("is_byok") is True:
        upstream = _money(_table(usage.get("cost_details")).get("upstream_inference_cost"))
        return None if upstream is None else cost + upstream
    return cost


def _content(value: Any) -> str | None:
    """A text, or the text parts of a list of parts; thinking parts are not content."""
    if isinstance(value, str):
        return value
    parts = [_table(part) for part in _list(value)]
    told = [part.get("text") for part in parts if part.get("type") == "text"]
    texts = [text for text in told if isinstance(text, str)]
    return "".join(texts) if texts else None


def _reasoning(message: Mapping[str, Any]) -> str:
    texts = [message.get("reasoning"), message.get("reasoning_content")]
    details = [*_list(message.get("reasoning_details")), *_list(message.get("content"))]
    for part in map(_table, details):
        texts += [part.get("summary"), part.get("thinking")]
        if part.get("type") != "text":
            texts.append(part.get("text"))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _citations(body: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[str, ...]:
    """Every page that is cited, in the three shapes there are, each once and in order."""
    found = [
        _table(_table(note).get("url_citation")).get("url") or _table(note).get("url")
        for note in _list(message.get("annotations"))
    ]
    for key in ("citations", "search_results"):
        for page in (*_list(body.get(key)), *_list(message.get(key))):
            found.append(page if isinstance(page, str) else _table(page).get("url"))
    urls = [url[:MAX_URL_CHARACTERS] for url in found if isinstance(url, str) and url]
    return tuple(dict.fromkeys(urls))[:MAX_CITATIONS]


def _error(value: Any) -> FarError | None:
    """An error in the shapes there are: a text, or an object with code, type, message."""
    if isinstance(value, str) and value:
        return FarError(None, value.lower()[:2000])
    if not isinstance(value, dict) or not value:
        return None
    code = value.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    if isinstance(code, str) and re.fullmatch(r"[1-5][0-9]{2}", code, re.ASCII):
        number = int(code)
    inner = _table(value.get("innererror"))
    metadata = _table(value.get("metadata"))
    words = [value.get(key) for key in ("code", "type", "message", "param", "status")]
    words += [inner.get("code"), metadata.get("raw")]
    told = " ".join(word for word in words if isinstance(word, str)).lower()
    flagged = bool({"flagged_input", "reasons"} & metadata.keys())
    flagged = flagged or "content_filter_result" in inner
    return FarError(number, told[:4000], flagged)
