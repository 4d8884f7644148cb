"""A real HTTP server on 127.0.0.1 that speaks the chat completions protocol, well or badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import BlindQuestion

KEY = "sk-test-0123456789abcdef0123456789"
QUESTION = BlindQuestion(
    "Will it rain in Oslo on 3 March?", "Resolves by the record of the station."
)

Act = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(
    content: Any = '{"rationale": "r", "probability": 0.62}', **more: Any
) -> dict[str, Any]:
    """The body of a good completion; `message` adds to its message, `choice` to its choice."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more.pop("choice", {})}
    return {
        "id": "gen-1",
        "object": "chat.completion",
        "model": "maker/model-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        **more,
    }


def says(body: Any, status: int = 200, **headers: str) -> Act:
    """Answer with this JSON value, or with these very bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {key.replace("_", "-"): value for key, value in headers.items()}

    async def act(request: web.Request) -> web.StreamResponse:
        return web.Response(
            body=data, status=status, headers={"Content-Type": "application/json", **named}
        )

    return act


def stalls(first: bytes = b"", seconds: float = 30) -> Act:
    """Send the headers and the first bytes, then nothing for a long time."""

    async def act(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if first:
            await response.write(first)
        await asyncio.sleep(seconds)
        return response

    return act


def breaks(first: bytes) -> Act:
    """Promise more bytes than are sent, then cut the connection."""

    async def act(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(first) + 1000)})
        await response.prepare(request)
        await response.write(first)
        assert request.transport is not None
        request.transport.close()
        return response

    return act


def pours(chunk: bytes, times: int) -> Act:
    """A body without an end in sight."""

    async def act(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            for _ in range(times):
                await response.write(chunk)
        except ConnectionError:
            pass
        return response

    return act


@dataclass
class ChatServer:
    """What the server answers, in order (the last one for ever), and what it was sent."""

    acts: list[Act]
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    gets: dict[str, Act] = field(default_factory=dict)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        if request.method == "GET":
            act = self.gets.get(request.path)
            return await act(request) if act else web.Response(status=404)
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        return await act(request)

    def sent(self) -> dict[str, Any]:
        """The last request's object."""
        return json.loads(self.bodies[-1])


@asynccontextmanager
async def serving(*acts: Act) -> AsyncIterator[ChatServer]:
    """A server that is there for the block."""
    server = ChatServer(list(acts))
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = runner.addresses[0]
    server.url = f"http://127.0.0.1:{address[1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


def model(endpoint: str = "http://127.0.0.1:9/v1", **more: Any) -> dict[str, Any]:
    """A checked MODEL_TABLE."""
    table = {
        "via": "chat",
        "forecaster": "model-1",
        "model": "maker/model-1",
        "endpoint": endpoint,
        "temperature": "sent",
        "structured": "json_schema",
        "search": "none",
        "max_tokens": 1000,
        "price_prompt": "3",
        "price_completion": "15",
        **more,
    }
    return {key: value for key, value in table.items() if value is not None}


@asynccontextmanager
async def asking(*acts: Act, **more: Any) -> AsyncIterator[tuple[ChatForecaster, ChatServer]]:
    """A forecaster whose model this server is."""
    options = {key: more.pop(key) for key in ("deny_sites", "search_tool") if key in more}
    key = more.pop("key", KEY)
    temperature = more.pop("league_temperature", "0")
    async with serving(*acts) as server:
        connections = Connections()
        try:
            yield (
                ChatForecaster(
                    model(server.url, **more),
                    key=key,
                    connections=connections,
                    temperature=temperature,
                    **options,
                ),
                server,
            )
        finally:
            await connections.close()
