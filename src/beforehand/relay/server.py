"""Serving the intake: bound connections, and plain words also where HTTP itself is broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from beforehand.errors import FormatError, RuleError
from beforehand.relay.door import Door
from beforehand.relay.intake import Limits
from beforehand.relay.problem import HEADERS, problem

LOOPBACK = "127.0.0.1"

# The library logs what broken clients send; a log is no place for it.
_QUIET = logging.getLogger("beforehand.intake.http")
_QUIET.setLevel(logging.CRITICAL + 1)


class _PlainHandler(web.RequestHandler):
    """The library's connection, except that its own errors are problem documents too."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the reply has begun already")
        reply = problem("failed" if status >= 500 else "bad_request", headers=HEADERS)
        reply.force_close()
        return reply


class Serves(Protocol):
    """What can be served behind a door: its routes, its limits, and a place to see the door."""

    limits: Limits
    door: Door | None

    def application(self) -> web.Application:
        """The routes."""
        ...


async def serve_intake(
    intake: Serves, host: str, port: int, ready: Callable[[str, int], None]
) -> None:
    """Serve until cancelled; `ready` is told the address that was bound."""
    runner = web.AppRunner(intake.application(), access_log=None, handle_signals=False)
    await runner.setup()
    manager, loop = runner.server, asyncio.get_running_loop()
    if manager is None:
        raise RuleError("the server could not be set up")

    def connection() -> asyncio.Protocol:
        return _PlainHandler(
            manager,
            loop=loop,
            access_log=_QUIET,
            logger=_QUIET,
            lingering_time=1.0,
            auto_decompress=False,
        )

    limits = intake.limits
    few = limits.connections if limits.behind_proxy else limits.connections_an_address
    door = Door(
        connection,
        seconds=limits.connection_seconds,
        most=limits.connections,
        most_an_address=few,
    )
    intake.door = door
    try:
        server = await loop.create_server(door, host, port)
    except OSError as error:
        await runner.cleanup()
        raise FormatError(f"port {port} cannot be used: {error}; try --port 0") from None
    try:
        bound = server.sockets[0].getsockname()
        ready(str(bound[0]), int(bound[1]))
        await loop.create_future()
    finally:
        server.close()
        await runner.cleanup()
