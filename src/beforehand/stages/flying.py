"""The calls that are in flight: started, counted, and handed over as they land."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from beforehand.stages.answer_lines import Ended


class Flying:
    """Calls in flight; what one costs to wait for does not grow with how many there are.

    `asyncio.wait` would look at every call each time one lands, which is the
    square of their number over a run.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Ended]] = set()
        self._landed: list[asyncio.Task[Ended]] = []
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, call: Coroutine[Any, Any, Ended]) -> None:
        """Send one call on its way."""
        task = asyncio.create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._land)

    def _land(self, task: asyncio.Task[Ended]) -> None:
        self._landed.append(task)
        self._some.set()

    async def landed(self, seconds: float) -> list[Ended]:
        """What has landed, after at most `seconds` of waiting; nothing where nothing did.

        A call that raised raises here.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return []
        self._some.clear()
        done, self._landed = self._landed, []
        self._tasks.difference_update(done)
        return [task.result() for task in done]

    def cancel(self) -> None:
        """Call off whatever is still in flight."""
        for task in self._tasks:
            task.cancel()
