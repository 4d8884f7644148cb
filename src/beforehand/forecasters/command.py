"""An operator's own program as a forecaster: question on its input, answer on its output.

The program is started anew for every ask, without a shell, with the sealed
bytes on its standard input. Its time and the length of its output are
limited; past a limit it and what it started are killed. What it writes to
standard error goes to the operator's terminal and is not kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from beforehand.errors import RuleError
from beforehand.forecasters.forecaster import BlindQuestion, Reply, Request
from beforehand.forecasters.money import rounded_up
from beforehand.forecasters.scaffold import MAX_ANSWER_BYTES, question_bytes, scaffold_reply

DEFAULT_TIMEOUT_SECONDS = 300


# A program that fled its group may hold the pipe; it is not waited for any longer.
_END_SECONDS = 5.0


class CommandForecaster:
    """A program that answers. `price` is what one ask may cost at most."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        price: Decimal,
        seconds: float = DEFAULT_TIMEOUT_SECONDS,
        deny_sites: Sequence[str] = (),
    ) -> None:
        if not argv:
            raise RuleError(f"{name}: no program to run; its options name it and its arguments")
        self.name = name
        self._argv = tuple(argv)
        self._price = rounded_up(price)
        self._seconds = seconds
        self._deny_sites = tuple(deny_sites)

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> CommandForecaster:
        """The program of a model's table: its `options` are the words of the command line."""
        return cls(
            model["forecaster"],
            model.get("options", ()),
            price=Decimal(model["price_ask"]),
            seconds=model.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
            deny_sites=model.get("deny_sites", ()),
        )

    def __repr__(self) -> str:
        return f"CommandForecaster({self.name!r}, {self._argv[0]!r})"

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """The question as JSON, and the price of one ask; pure."""
        return Request(question_bytes(question, reask=reask), self._price)

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Run the program once on `request.body`; never raises for what it does."""
        started = time.monotonic()

        def latency() -> int:
            return int((time.monotonic() - started) * 1000)

        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # A group of its own, so that what it started ends with it.
                start_new_session=True,
            )
        except (OSError, ValueError):
            return Reply("internal", detail="not_started", latency_ms=latency(), cost=Decimal(0))
        held = bytearray()
        try:
            async with asyncio.timeout(min(seconds, self._seconds)):
                await asyncio.gather(_feed(process, request.body), _drain(process, held))
                if len(held) > MAX_ANSWER_BYTES:
                    return scaffold_reply(bytes(held), latency_ms=latency())
                code = await process.wait()
        except TimeoutError:
            return Reply("timeout", raw=bytes(held), latency_ms=latency(), retryable=True)
        finally:
            await _end(process)
        reply = scaffold_reply(bytes(held), latency_ms=latency(), deny_sites=self._deny_sites)
        if code:
            return replace(reply, status="internal", probability=None, detail=f"exit_{code}")
        return reply

    async def close(self) -> None:
        """Nothing: each program ended with its ask."""


async def _feed(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Write the question; a program that does not read it is no error."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(body)
        await process.stdin.drain()
    with contextlib.suppress(ConnectionError):
        process.stdin.close()
        await process.stdin.wait_closed()


async def _drain(process: asyncio.subprocess.Process, held: bytearray) -> None:
    """Read up to one byte over the limit."""
    assert process.stdout is not None
    while len(held) <= MAX_ANSWER_BYTES:
        chunk = await process.stdout.read(MAX_ANSWER_BYTES + 1 - len(held))
        if not chunk:
            return
        held += chunk


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill whatever is left of the program and of what it started, and wait for its end.

    What it still has to say is read and dropped: asyncio tells of a process's
    end only once its pipes have ended, and a full pipe never would.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            while await process.stdout.read(1 << 16):
                pass
            if process.returncode is None:
                await process.wait()
