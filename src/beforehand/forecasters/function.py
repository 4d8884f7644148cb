"""A Python function as a forecaster: for tests, baselines, a scaffold in the same process."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from beforehand.forecasters.forecaster import BlindQuestion, Reply, Request
from beforehand.forecasters.money import NOTHING, rounded_up
from beforehand.forecasters.scaffold import question_bytes, question_of, scaffold_reply

Answering = Callable[[BlindQuestion], Any]


class FunctionForecaster:
    """A function that is given a `BlindQuestion` and returns a probability.

    It returns a number, or an object like a scaffold's (`probability`,
    `rationale`, `cost`, ...), or None for no answer; it may be a coroutine
    function. A plain one runs in a thread, which a timeout leaves behind.
    """

    def __init__(self, name: str, function: Answering, *, price: Decimal = NOTHING) -> None:
        self.name = name
        self._function = function
        self._price = rounded_up(price)

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """The question as JSON, and the price of one ask; pure."""
        return Request(question_bytes(question, reask=reask), self._price)

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Call the function once on the question in `request.body`; what it raises is a failure."""
        question, _ = question_of(request.body)
        started = time.monotonic()
        failure, answer = "", None
        try:
            async with asyncio.timeout(seconds):
                answer = await self._call(question)
            raw = _answer_bytes(answer)
        except TimeoutError:
            failure = "timeout"
        except Exception as error:  # whatever an operator's function does fails its own answer
            failure = type(error).__name__
        latency = int((time.monotonic() - started) * 1000)
        if failure == "timeout":
            return Reply("timeout", latency_ms=latency, retryable=True)
        if failure:
            return Reply("internal", latency_ms=latency, detail=failure)
        return scaffold_reply(raw, latency_ms=latency)

    async def _call(self, question: BlindQuestion) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(question)
        return await asyncio.to_thread(self._function, question)

    async def close(self) -> None:
        """Nothing to give back."""


def _answer_bytes(answer: Any) -> bytes:
    """An answer as a scaffold would have written it; a Decimal keeps its digits."""
    if answer is None:
        return b""
    content = dict(answer) if isinstance(answer, Mapping) else {"probability": answer}
    told = [
        f"{json.dumps(str(key))}: {_json(value, bare=key == 'probability')}"
        for key, value in content.items()
    ]
    return ("{" + ", ".join(told) + "}").encode("utf-8", "replace")


def _json(value: Any, *, bare: bool) -> str:
    """JSON of a value; a Decimal as its digits where a number is wanted, else as text."""
    if isinstance(value, Decimal):
        return f"{value:f}" if bare else json.dumps(str(value))
    return json.dumps(value, ensure_ascii=False)
