"""A local HTTP server that answers as it is told, down to the raw bytes, and the time of a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from beforehand.sources.http import Http, HttpRules

RECORDED = Path(__file__).parent / "data" / "venues"
NOON = "2026-06-21T12:00:00Z"

T = TypeVar("T")


class FixedClock:
    """A clock that stands still."""

    simulated = True

    def __init__(self, at: str = NOON) -> None:
        self.at = at

    def now(self) -> str:
        return self.at


class FakeTime:
    """Seconds that pass only by sleeping; `slept` is every wait in its order."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


@dataclass
class Reply:
    """An answer. `cut` sends that many bytes of the body and hangs up; `raw` sends just that."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    raw: bytes | None = None
    delay: float = 0.0

    def wire(self) -> bytes:
        if self.raw is not None:
            return self.raw
        lines = [f"HTTP/1.1 {self.status} X", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
        return head + (self.body if self.cut is None else self.body[: self.cut])


Answer = Callable[[str, dict[str, str]], Reply | Any]


class Server:
    """A server on 127.0.0.1. `answer(path, query)` gives a Reply, or what is sent as JSON."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.url = ""

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            parts = urlsplit(head.split(" ")[1])
            query = dict(parse_qsl(parts.query))
            self.asked.append((parts.path, query))
            found = self._answer(parts.path, query)
            reply = found if isinstance(found, Reply) else Reply(packed(found))
            await asyncio.sleep(reply.delay)
            writer.write(reply.wire())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def packed(value: Any) -> bytes:
    """A value as JSON bytes."""
    return json.dumps(value).encode()


def recorded(name: str) -> Any:
    """A recorded answer; the envelope that some of them have is taken off."""
    content = json.loads((RECORDED / name).read_text(encoding="utf-8"))
    return content["response"] if isinstance(content, dict) and "_metadata" in content else content


def scripted(*replies: Reply | Any) -> Answer:
    """Answers one after another, the last one for ever."""
    left = list(replies)
    return lambda path, query: left.pop(0) if len(left) > 1 else left[0]


FAST = HttpRules(rate=100_000.0, burst=10_000, attempts=3)


def talk(
    answer: Answer,
    work: Callable[[Server, Http], Awaitable[T]],
    *,
    rules: HttpRules = FAST,
    time: FakeTime | None = None,
    clock: FixedClock | None = None,
) -> tuple[T, Server]:
    """Run `work` against a server that answers by `answer`; waits pass in `time`, not for real."""
    passing = time or FakeTime()

    async def whole() -> tuple[T, Server]:
        http = Http(
            clock or FixedClock(),
            rules,
            jitter=lambda: 0.0,
            sleep=passing.sleep,
            now=passing.now,
        )
        async with Server(answer) as server:
            try:
                return await work(server, http), server
            finally:
                await http.close()

    runner: Coroutine[Any, Any, tuple[T, Server]] = whole()
    return asyncio.run(runner)
