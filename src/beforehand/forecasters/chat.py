"""A model behind any endpoint that speaks the OpenAI chat completions protocol.

The body of a request is a pure function of the question and the model's
table, so that it can be sealed before it is sent: everything that was asked
for stands in it, and nothing else is sent but the key, which is in one header
and nowhere else. One ask is one request; whoever wants another attempt makes
it, and books it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from beforehand.errors import RuleError
from beforehand.forecasters.completion import (
    Completion,
    answer_of,
    identity_of,
    read_completion,
)
from beforehand.forecasters.connections import Connections, Exchange
from beforehand.forecasters.failures import Failure, failure_of
from beforehand.forecasters.forecaster import BlindQuestion, Reply, Request
from beforehand.forecasters.leaks import audit
from beforehand.forecasters.money import NOTHING, Prices, Searches, reservation
from beforehand.forecasters.parse import Parsed
from beforehand.forecasters.prompt import ANSWER_SCHEMA, PROMPT_VERSION, Prompt, blind_prompt

DEFAULT_TIMEOUT_SECONDS = 120
# A second ask may say more: reasoning that ate the first one's tokens is the
# most common reason for it.
REASK_TOKENS_TIMES = 2

# The one search engine for every model that searches through its endpoint.
PLUGIN_ENGINE = "exa"
PLUGIN_RESULTS = 4
# What the endpoint may add to the prompt for one search; it does not say.
PLUGIN_TOKENS = PLUGIN_RESULTS * 4000

_QUANTISATIONS = {"int4", "int8", "fp4", "fp6", "fp8", "fp16", "bf16", "fp32", "unknown"}
# A shorter key is a word that local servers want ("none", "EMPTY"), not a secret.
_LEAST_SECRET = 12


class ChatForecaster:
    """A model of the lineup. `model` is a checked MODEL_TABLE with `via = "chat"`.

    `temperature` is the league's, as decimal text; None leaves it out for all.
    RuleError where the table cannot be asked at all.
    """

    prompt_version = PROMPT_VERSION
    has_tool = False

    def __init__(
        self,
        model: Mapping[str, Any],
        *,
        key: str | None,
        connections: Connections,
        deny_sites: Sequence[str] = (),
        temperature: str | None = "0",
    ) -> None:
        self.name: str = model["forecaster"]
        self.model = dict(model)
        self.prices = Prices.of(model)
        self.deny_sites = tuple(deny_sites)
        self._temperature = temperature if model["temperature"] == "sent" else None
        self._connections = connections
        self._key = _good_key(self.name, key)
        self._url = endpoint_url(self.name, model["endpoint"], "chat/completions")
        if (model["search"] == "tool") is not self.has_tool:
            raise RuleError(
                f'{self.name}: search = "{model["search"]}" in its table does not go with '
                f"{type(self).__name__}"
            )
        if model["model"].endswith(":online"):
            raise RuleError(f"{self.name}: search is declared as search, never as :online")

    def __repr__(self) -> str:
        return f"ChatForecaster({self.name!r}, model={self.model['model']!r})"

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """The exact bytes for one question and the most they may cost; pure."""
        prompt = blind_prompt(question, reask=reask)
        most = self.model["max_tokens"] * (REASK_TOKENS_TIMES if reask else 1)
        body = encoded(self.content(prompt, most))
        return Request(body, reservation(body, most, self.prices, self.searches()))

    def searches(self) -> Searches:
        """How much searching one ask may do."""
        return Searches(1, PLUGIN_TOKENS) if self.model["search"] == "plugin" else Searches()

    def content(self, prompt: Prompt, max_tokens: int) -> dict[str, Any]:
        """The request as an object: each parameter that is sent, in a fixed order."""
        model = self.model
        content: dict[str, Any] = {
            "model": model["model"],
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            model.get("token_limit", "max_tokens"): max_tokens,
        }
        if self._temperature is not None:
            content["temperature"] = _json_number(self._temperature)
        if model["structured"] != "none":
            content["response_format"] = _response_format(model["structured"])
        return content | self._routing()

    @property
    def routes(self) -> bool:
        """Whether the endpoint is a gateway to many providers, as far as its table tells."""
        model = self.model
        declared = bool(model.get("provider")) or model["search"] == "plugin"
        return declared or _is_openrouter(model["endpoint"])

    def _routing(self) -> dict[str, Any]:
        """What only a gateway to many providers understands."""
        model = self.model
        content: dict[str, Any] = {}
        pinned = model.get("provider")
        if pinned:
            content["provider"] = {
                "order": [pinned],
                "only": [pinned],
                "allow_fallbacks": False,
            }
            if model.get("quantisation") in _QUANTISATIONS:
                content["provider"]["quantizations"] = [model["quantisation"]]
        if model["search"] == "plugin":
            content["plugins"] = [
                {
                    "id": "web",
                    "engine": PLUGIN_ENGINE,
                    "max_results": PLUGIN_RESULTS,
                    **({"exclude_domains": list(self.deny_sites)} if self.deny_sites else {}),
                }
            ]
        if self.routes:
            content["usage"] = {"include": True}
        return content

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Send exactly `request.body` once; whatever happens then is a Reply."""
        limit = min(seconds, self.model.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS))
        return self.reply(await self.send(request.body, limit))

    async def send(self, body: bytes, seconds: float) -> Exchange:
        """One exchange with the endpoint, the key taken out of what it echoes."""
        exchange = await self._connections.exchange(
            "POST", self._url, headers=self.headers(), seconds=seconds, body=body
        )
        return replace(exchange, data=self.without_key(exchange.data))

    async def look(self, path: str, seconds: float) -> Exchange:
        """Read what stands at a path below the endpoint, with the model's key."""
        url = endpoint_url(self.name, self.model["endpoint"], path)
        exchange = await self._connections.exchange(
            "GET", url, headers=self.headers(), seconds=seconds
        )
        return replace(exchange, data=self.without_key(exchange.data))

    def headers(self) -> dict[str, str]:
        """The headers of every request; the key stands here and nowhere else."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def without_key(self, data: bytes) -> bytes:
        """Bytes of a far side without the key, should it have echoed it."""
        if self._key is None or len(self._key) < _LEAST_SECRET:
            return data
        return data.replace(self._key.encode(), b"[key]")

    def reply(self, exchange: Exchange) -> Reply:
        """The reply that one exchange is."""
        completion = read_completion(exchange.data)
        failure = failure_of(exchange, completion.error if completion else None)
        if failure is None and completion is None:
            # A proxy's page or half a body: the model said nothing.
            failure = Failure("transport", "not_json", True)
        cost = self.cost(exchange, completion)
        if failure is not None:
            return self.failed(failure, exchange, completion, cost)
        assert completion is not None
        return self.judged(completion, exchange, cost)

    def cost(self, exchange: Exchange, completion: Completion | None) -> Decimal | None:
        """What an exchange cost; 0 where the request was turned away at the door."""
        searches = 1 if self.model["search"] == "plugin" else 0
        stated = completion.price(self.prices, searches) if completion else None
        if stated is not None:
            return stated
        turned_away = exchange.code in (401, 402, 429) and not searches
        return NOTHING if turned_away or not exchange.sent else None

    def failed(
        self,
        failure: Failure,
        exchange: Exchange,
        completion: Completion | None,
        cost: Decimal | None,
    ) -> Reply:
        """The reply without an answer."""
        return Reply(
            failure.status,
            raw=exchange.data,
            served_model=completion.served_model if completion else None,
            provider=completion.provider if completion else None,
            cost=cost,
            latency_ms=exchange.latency_ms,
            retryable=failure.retryable,
            retry_after=failure.retry_after,
            detail=failure.detail,
            out_of_credit=failure.out_of_credit,
        )

    def judged(self, completion: Completion, exchange: Exchange, cost: Decimal | None) -> Reply:
        """The reply that a completion is: who answered first, then what was said."""
        accepted = (self.model["model"], *self.model.get("served_as", ()))
        other = identity_of(completion, accepted, self.model.get("provider"))
        parsed = Parsed("model_mismatch", detail=other) if other else answer_of(completion)
        said = "\n".join(filter(None, (completion.content, completion.reasoning)))
        return Reply(
            parsed.status,
            probability=parsed.probability,
            raw=exchange.data,
            rationale=parsed.rationale,
            served_model=completion.served_model,
            provider=completion.provider,
            cost=cost,
            citations=completion.citations,
            leaks=audit(said, completion.citations, deny_sites=self.deny_sites),
            latency_ms=exchange.latency_ms,
            detail=parsed.detail or self._no_search(parsed, completion.citations),
        )

    def _no_search(self, parsed: Parsed, citations: tuple[str, ...]) -> str:
        """A model that was to search and cites nothing did not search, as far as anyone knows."""
        missing = self.model["search"] != "none" and not citations
        return "no_search" if parsed.status == "answered" and missing else ""

    async def close(self) -> None:
        """Nothing: the connections belong to the tick, which closes them."""


def encoded(content: Mapping[str, Any]) -> bytes:
    """The bytes of a request; the same object always gives the same ones."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair can only come from a far side, on its way back to it.
    return text.encode("utf-8", "replace")


def endpoint_url(name: str, endpoint: str, path: str) -> str:
    """The URL of a path below an endpoint's base; RuleError where the base holds a secret."""
    parts = urlsplit(endpoint)
    if parts.username or parts.password:
        raise RuleError(f"{name}: a secret in the endpoint would be sealed; use key_env")
    base = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, parts.netloc, f"{base}/{path}", parts.query, ""))


def _is_openrouter(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host == "openrouter.ai" or host.endswith(".openrouter.ai")


def _good_key(name: str, key: str | None) -> str | None:
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise RuleError(f"{name}: the key has characters that no header takes (a line break?)")
    return key


def _json_number(text: str) -> int | float:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else float(number)


def _response_format(structured: str) -> dict[str, Any]:
    if structured == "json_object":
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "forecast", "strict": True, "schema": ANSWER_SCHEMA},
    }
