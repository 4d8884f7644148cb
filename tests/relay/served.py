"""An intake on a real socket, in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from beforehand.relay.intake import Intake, Limits
from beforehand.relay.server import serve_intake
from tests.relay.made_league import MadeLeague

# No test waits for a bucket to fill unless it says so.
OPEN = Limits(
    address_burst=1_000_000,
    entrant_burst=1_000_000,
    connections=64,
    connections_an_address=64,
)


@dataclass
class Served:
    """Where the intake listens, and the intake itself."""

    host: str
    port: int
    intake: Intake

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request by the standard library's client: status, headers, body."""
        held = {"Content-Type": "application/json"} if body is not None else {}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.request(method, path, body, {**held, **(headers or {})})
            reply = connection.getresponse()
            data = reply.read()
            return reply.status, dict(reply.getheaders()), data
        finally:
            connection.close()

    def post(self, data: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
        """POST a submission: status and the decoded reply."""
        status, _, body = self.ask("POST", "/v1/submissions", data, headers)
        return status, json.loads(body)

    def get(self, path: str) -> tuple[int, Any]:
        """GET a JSON document."""
        status, _, body = self.ask("GET", path)
        return status, json.loads(body)


@contextmanager
def served(league: MadeLeague, **changes: Any) -> Iterator[Served]:
    """The league's intake on a free port of loopback."""
    limits = replace(OPEN, **changes)
    intake = Intake(league.folder, league.book, league.clock, league.league_key(), limits)
    bound: list[tuple[str, int]] = []
    up = threading.Event()
    loop = asyncio.new_event_loop()

    def ready(host: str, port: int) -> None:
        bound.append((host, port))
        up.set()

    task = loop.create_task(serve_intake(intake, "127.0.0.1", 0, ready))

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            up.set()
            left = asyncio.all_tasks(loop)
            for each in left:
                each.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert up.wait(20)
        yield Served(*bound[0], intake)
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
