"""A model that searches by our tool: asked, searched for, asked again, within bounds.

Each round is one exchange with the model and at most one search. After the
last search the model is told to answer. Everything sent and received is in
the reply's raw bytes, every round trip's cost in its cost, and one cost that
is not known makes the whole one unknown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from beforehand.errors import RuleError
from beforehand.forecasters.chat import DEFAULT_TIMEOUT_SECONDS, ChatForecaster, encoded
from beforehand.forecasters.completion import Completion, read_completion
from beforehand.forecasters.connections import Connections, Exchange
from beforehand.forecasters.forecaster import Reply, Request
from beforehand.forecasters.leaks import audit
from beforehand.forecasters.money import NOTHING, Searches
from beforehand.forecasters.prompt import Prompt
from beforehand.forecasters.search import RESULTS_BYTES, SEARCH_URL_VARIABLE, TOOL, SearchTool
from beforehand.forecasters.transcript import Transcript

# The longest that a model's own call may be when it is sent back to it.
MAX_ARGUMENTS_CHARACTERS = 2000
MAX_CALLS = 8
# What a round adds to the prompt beside the model's own words: the results, and
# a line for each call that is turned down.
ROUND_TOKENS = RESULTS_BYTES + 400 * MAX_CALLS


class SearchingForecaster(ChatForecaster):
    """A `ChatForecaster` whose model has `search = "tool"`."""

    has_tool = True

    def __init__(self, model: Mapping[str, Any], *, tool: SearchTool, **more: Any) -> None:
        super().__init__(model, **more)
        self.tool = tool

    def searches(self) -> Searches:
        """One search a round, and the model is asked again after each."""
        return Searches(self.tool.queries, ROUND_TOKENS, asks_again=True)

    def content(self, prompt: Prompt, max_tokens: int) -> dict[str, Any]:
        """The request of the first round: the tool has a query and nothing else."""
        content = super().content(prompt, max_tokens)
        return {**content, "tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False}

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Send `request.body`, then what its answers call for, all within the time."""
        limit = min(seconds, self.model.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS))
        return await _Conversation(self, request, time.monotonic() + limit).run()


def chat_forecaster(
    model: Mapping[str, Any],
    *,
    key: str | None,
    connections: Connections,
    deny_sites: Sequence[str] = (),
    temperature: str | None = "0",
    tool: SearchTool | None = None,
) -> ChatForecaster:
    """The forecaster of a table with `via = "chat"`; RuleError where it has no tool to search."""
    if model["search"] == "tool":
        if tool is None:
            raise RuleError(
                f"{model['forecaster']}: it searches by tool; set {SEARCH_URL_VARIABLE} to a "
                "search API"
            )
        return SearchingForecaster(
            model,
            tool=tool,
            key=key,
            connections=connections,
            deny_sites=deny_sites,
            temperature=temperature,
        )
    return ChatForecaster(
        model, key=key, connections=connections, deny_sites=deny_sites, temperature=temperature
    )


@dataclass
class _Conversation:
    """One ask as it goes on."""

    forecaster: SearchingForecaster
    request: Request
    until: float
    transcript: Transcript = field(default_factory=Transcript)
    cost: Decimal | None = NOTHING
    started: float = field(default_factory=time.monotonic)
    searched: int = 0
    urls: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    async def run(self) -> Reply:
        body = self.request.body
        content: dict[str, Any] = json.loads(body)
        while True:
            exchange, completion = await self._exchange(body)
            if completion is None or not self._goes_on(exchange, completion):
                return self._ended(exchange)
            content["messages"] += await self._answers(completion)
            if self.searched >= self.forecaster.tool.queries:
                content["tool_choice"] = "none"
            body = encoded(content)

    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    async def _exchange(self, body: bytes) -> tuple[Exchange, Completion | None]:
        exchange = await self.forecaster.send(body, self._left())
        self.transcript.add(
            "model",
            body,
            exchange.data,
            code=exchange.code,
            failure=exchange.failure,
            detail=exchange.detail,
        )
        completion = read_completion(exchange.data)
        self._pays(self.forecaster.cost(exchange, completion))
        return exchange, completion

    def _pays(self, amount: Decimal | None) -> None:
        self.cost = None if self.cost is None or amount is None else self.cost + amount

    def _goes_on(self, exchange: Exchange, completion: Completion) -> bool:
        """Whether the model asked for a search that it may still have, and is who it should be."""
        if self.searched >= self.forecaster.tool.queries or not completion.calls():
            return False
        return self.forecaster.reply(exchange).status in ("empty", "unparseable")

    async def _answers(self, completion: Completion) -> list[dict[str, Any]]:
        """The model's calls as it made them, and a message to answer each."""
        calls = [_call(call, place) for place, call in enumerate(completion.calls()[:MAX_CALLS])]
        messages: list[dict[str, Any]] = [
            {"role": "assistant", "content": completion.content or "", "tool_calls": calls}
        ]
        for place, call in enumerate(calls):
            text = await self._search(call) if place == 0 else _note("one search at a time")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return messages

    async def _search(self, call: Mapping[str, Any]) -> str:
        query = _query(call)
        self.searched += 1
        if query is None:
            return _note("search takes one argument, query, a text")
        tool = self.forecaster.tool
        shown = await tool.search(query, self._left())
        self.transcript.add(
            "search",
            query.encode("utf-8", "replace"),
            shown.raw,
            failure=shown.failure,
            as_of=tool.as_of,
            pages=shown.kept,
        )
        listed = self.forecaster.prices.search
        self._pays(shown.cost if shown.cost is not None else None if shown.failure else listed)
        self.urls += shown.urls
        self.shown.append(shown.text)
        return shown.text

    def _ended(self, exchange: Exchange) -> Reply:
        """The reply of the whole: the last round's verdict, every round's cost and record."""
        reply = self.forecaster.reply(exchange)
        sites = self.forecaster.deny_sites
        # What the model was shown can give the price away as well as what it says.
        given = tuple(f"shown_{code}" for code in audit("\n".join(self.shown), deny_sites=sites))
        citations = tuple(dict.fromkeys((*reply.citations, *self.urls)))
        detail = "" if reply.detail == "no_search" and citations else reply.detail
        return replace(
            reply,
            raw=self.transcript.data(),
            cost=self.cost,
            citations=citations,
            leaks=(*reply.leaks, *given),
            latency_ms=int((time.monotonic() - self.started) * 1000),
            detail=detail,
        )


def _call(call: Mapping[str, Any], place: int) -> dict[str, Any]:
    """A tool call in the form in which it is sent back, nothing else of it."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    name, arguments = function.get("name"), function.get("arguments")
    made = call.get("id")
    return {
        "id": made[:100] if isinstance(made, str) and made else f"call_{place}",
        "type": "function",
        "function": {
            "name": name[:100] if isinstance(name, str) else "",
            "arguments": arguments[:MAX_ARGUMENTS_CHARACTERS] if isinstance(arguments, str) else "",
        },
    }


def _query(call: Mapping[str, Any]) -> str | None:
    """The query of a call to our tool; whatever else stands in its arguments has no effect."""
    if call["function"]["name"] != "search":
        return None
    try:
        arguments = json.loads(call["function"]["arguments"])
    except (ValueError, RecursionError):
        return None
    query = arguments.get("query") if isinstance(arguments, dict) else None
    return query if isinstance(query, str) and query.strip() else None


def _note(text: str) -> str:
    return json.dumps({"error": text})
