"""A small loopback server that answers as a far side would, faults included.

What venue and model replicas share: the wire, faults on the wire, limits of
rate, the control endpoints, and the end of the process when its parent ends.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from beforehand.errors import FormatError
from beforehand.testing.faults import Fault, Faults, read_faults

MAX_BODY_BYTES = 8 << 20
STALL_SECONDS = 3600.0
HUGE_BYTES = 64 << 20
REFUSALS = ("rate429", "error500", "missing")
SPOILERS = ("garbage", "half", "huge", "stall")
# Faults that are no matter of one request on the wire.
NOT_ON_THE_WIRE = ("reversal", "overturn", "behaviour", "limit")


@dataclass(frozen=True)
class Call:
    """One request as an endpoint sees it."""

    method: str
    path: str
    query_text: str
    body: bytes
    # Why it is refused before anybody works on it: "limit", "error500", ... or "".
    refused: str = ""
    # Bodies that are cut, stalled or replaced on their way back.
    spoiled: bool = False

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters; each may stand several times."""
        return parse_qs(self.query_text, keep_blank_values=True)

    @property
    def name(self) -> str:
        """What this very request is called when faults are drawn."""
        return f"{self.path}?{self.query_text}" if self.query_text else self.path


@dataclass
class Answer:
    """What goes back."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    # Seconds until it is sent; a stall is never sent.
    delay: float = 0.0
    stall: bool = False
    # For the replica's own record, handed back to `ended`.
    note: Any = None


def dumped(value: Any) -> bytes:
    """JSON as the venues write it: compact, UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def answer_of(value: Any, status: int = 200) -> Answer:
    """An answer of JSON."""
    return Answer(dumped(value), status)


class Replica:
    """The base of a replica; a subclass answers `respond` and adds to `stats`."""

    # Requests a second, and how many at once, by the first word of the endpoint.
    limits: Mapping[str, tuple[float, float]] = MappingProxyType({})

    def __init__(self, seed: int, faults: Iterable[Fault] = (), *, limited: bool = True) -> None:
        self.seed = seed
        self.faults = Faults(seed, faults)
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self._limited = limited
        self._buckets: dict[str, tuple[float, float]] = {}

    def endpoint(self, call: Call) -> str:
        """The name under which a request is counted and limited: its host, then its path."""
        raise NotImplementedError

    async def respond(self, call: Call) -> Answer:
        """The answer to a request, before faults on the wire.

        It is asked for refused requests too, so that they can be recorded.
        """
        raise NotImplementedError

    def moment(self) -> int | None:
        """The simulated second by which faults are drawn; None where they go by requests."""
        return None

    def problem(self, message: str, status: int) -> bytes:
        """The body of an error, in the far side's own form."""
        return dumped({"error": message})

    def ended(self, answer: Answer, delivered: bool) -> None:
        """Hear whether an answer was written whole; the far side may still not have read it."""

    def stats(self) -> dict[str, Any]:
        """What was asked so far."""
        return {
            "requests": sum(self.counts.values()),
            "paths": dict(self.counts),
            "statuses": {str(status): number for status, number in self.statuses.items()},
            "faults": dict(self.faults.met),
        }

    def control(self, given: dict[str, Any]) -> None:
        """Take a control message; FormatError where it says nothing known."""
        unknown = set(given) - {"faults"}
        if unknown:
            raise FormatError(f"no control is called {min(unknown)!r:.40}")
        if "faults" in given:
            self.faults.replace(read_faults(given["faults"]))

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request from the wire to the wire."""
        call = Call(
            request.method,
            request.path,
            request.rel_url.raw_query_string,
            await request.read() if request.can_read_body else b"",
        )
        if call.path.startswith("/_control"):
            return self._controlled(call)
        endpoint = self.endpoint(call)
        self.counts[endpoint] += 1
        wait = self._limited_for(endpoint)
        hit = self._hit(call) if self.faults.all else []
        if wait is not None:
            hit = [Fault("rate429", options={"seconds": wait})]
        if hit:
            kinds = {fault.kind for fault in hit}
            refused = next((kind for kind in REFUSALS if kind in kinds), "")
            call = replace(call, refused=refused, spoiled=not kinds.isdisjoint(SPOILERS))
        answer = await self.respond(call)
        delivered = False
        try:
            response = await self._send(request, answer, hit)
            delivered = not (call.spoiled or answer.stall)
        finally:
            self.ended(answer, delivered)
        return response

    def _hit(self, call: Call) -> list[Fault]:
        return self.faults.hitting(call.name, skip=NOT_ON_THE_WIRE, moment=self.moment())

    def _controlled(self, call: Call) -> web.Response:
        if call.path == "/_control/stats" and call.method == "GET":
            return _plain(answer_of(self.stats()))
        try:
            if call.path != "/_control" or call.method != "POST":
                raise FormatError("POST /_control or GET /_control/stats")
            given = json.loads(call.body)
            if not isinstance(given, dict):
                raise FormatError("a control message is an object")
            self.control(given)
        except (FormatError, ValueError) as error:
            return _plain(answer_of({"error": str(error)}, 400))
        return _plain(answer_of({"faults": len(self.faults.all)}))

    def _limited_for(self, endpoint: str) -> int | None:
        """Seconds to wait where a host was asked more often than it allows, else None."""
        group = endpoint.partition(" ")[0]
        rate, burst = self.limits.get(group, (0.0, 0.0)) if self._limited else (0.0, 0.0)
        for fault in self.faults.of_kind("limit"):
            if fault.path in endpoint:
                group, rate = f"limit {fault.path}", fault.number("per_second", 10)
                burst = fault.number("burst", rate)
        if not rate:
            return None
        now = time.monotonic()
        left, since = self._buckets.get(group, (burst, now))
        left = min(burst, left + (now - since) * rate)
        self._buckets[group] = (left - 1 if left >= 1 else left, now)
        return None if left >= 1 else max(1, round((1 - left) / rate))

    async def _send(
        self, request: web.BaseRequest, answer: Answer, hit: list[Fault]
    ) -> web.StreamResponse:
        for fault in hit:
            self._change(answer, fault)
        if answer.stall:
            await asyncio.sleep(answer.delay or STALL_SECONDS)
            return await _cut(request, answer, 0)
        if answer.delay:
            await asyncio.sleep(answer.delay)
        self.statuses[answer.status] += 1
        kinds = {fault.kind: fault for fault in hit}
        if "half" in kinds:
            return await _cut(request, answer, len(answer.body) // 2)
        if "huge" in kinds:
            return await _huge(request, answer, int(kinds["huge"].number("bytes", HUGE_BYTES)))
        return _plain(answer)

    def _change(self, answer: Answer, fault: Fault) -> None:
        """What a fault makes of an answer before it is sent."""
        if fault.kind == "error500":
            answer.status = int(fault.number("status", 500))
            answer.body = self.problem("internal server error", answer.status)
        elif fault.kind == "rate429":
            answer.status, answer.body = 429, self.problem("rate limit exceeded", 429)
            answer.headers["Retry-After"] = f"{fault.number('seconds', 1):g}"
        elif fault.kind == "missing":
            answer.status = 404
            answer.body = self.problem("No orderbook exists for the requested token id", 404)
        elif fault.kind == "garbage":
            answer.body = b'<html><body>upstream \xff\xfe said {"oops": nul' + answer.body[:64]
        elif fault.kind == "slow":
            answer.delay += fault.number("seconds", 1)
        elif fault.kind == "stall":
            answer.stall, answer.delay = True, fault.number("seconds", STALL_SECONDS)
        elif fault.kind == "drift":
            old, new = str(fault.options.get("field", "")), str(fault.options.get("to", "renamed"))
            answer.body = answer.body.replace(f'"{old}":'.encode(), f'"{new}":'.encode())
        elif fault.kind == "sunset":
            answer.headers["Deprecation"] = "true"
            date = fault.options.get("date", "Fri, 01 May 2026 00:00:00 GMT")
            answer.headers["Sunset"] = str(date)


def _plain(answer: Answer) -> web.Response:
    return web.Response(
        body=answer.body,
        status=answer.status,
        headers=answer.headers,
        content_type="application/json",
    )


async def _cut(request: web.BaseRequest, answer: Answer, length: int) -> web.StreamResponse:
    """Promise the whole body, send `length` bytes of it, and close the connection."""
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_type = "application/json"
    response.content_length = max(len(answer.body), 1)
    await response.prepare(request)
    await response.write(answer.body[:length])
    if request.transport is not None:
        request.transport.close()
    return response


async def _huge(request: web.BaseRequest, answer: Answer, size: int) -> web.StreamResponse:
    """A body of `size` bytes that begins like JSON."""
    response = web.StreamResponse(status=answer.status)
    response.content_type = "application/json"
    await response.prepare(request)
    await response.write(b'{"filler":"')
    block = b"a" * (1 << 16)
    for _ in range(0, size, len(block)):
        await response.write(block)
    await response.write(b'"}')
    return response
