"""The door of a server: how many may come in, how long they may stay, how often they may ask."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable


class Buckets:
    """A token bucket a name: `burst` at once, then one every `seconds`. Bounded in memory."""

    def __init__(self, burst: int, seconds: float, most: int = 10_000) -> None:
        self.burst, self.seconds, self.most = burst, seconds, most
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, now: float | None = None) -> float:
        """Take one token; 0 where there was one, else after how many seconds there is."""
        at = time.monotonic() if now is None else now
        tokens, last = self._held.pop(name, (float(self.burst), at))
        tokens = min(float(self.burst), tokens + (at - last) / self.seconds)
        taken = tokens >= 1
        self._held[name] = (tokens - 1 if taken else tokens, at)
        if len(self._held) > self.most:
            self._held.popitem(last=False)
        return 0.0 if taken else (1 - tokens) * self.seconds


class Door:
    """Makes the connections of a server, and closes those that are too many or stay too long.

    A connection has `seconds` from its first byte to its last, however slowly
    it sends: that is all a request and its reply may take.
    """

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        *,
        seconds: float,
        most: int,
        most_an_address: int,
    ) -> None:
        self.make, self.seconds = make, seconds
        self.most, self.most_an_address = most, most_an_address
        self.inside: Counter[str] = Counter()
        self.turned_away = 0

    def __call__(self) -> asyncio.Protocol:
        return _Guest(self)

    def admits(self, address: str) -> bool:
        """Whether one more of this address may come in."""
        few = self.inside.total() < self.most and self.inside[address] < self.most_an_address
        self.turned_away += not few
        return few


class _Guest(asyncio.Protocol):
    """One connection: it hands everything on to the protocol behind the door."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.inner: asyncio.Protocol | None = None
        self.address = ""
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        if not isinstance(transport, asyncio.Transport) or not self.door.admits(self.address):
            transport.close()
            return
        self.door.inside[self.address] += 1
        self.inner = self.door.make()
        loop = asyncio.get_running_loop()
        self.timer = loop.call_later(self.door.seconds, transport.abort)
        self.inner.connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self.inner is None:
            return
        self.door.inside[self.address] -= 1
        if self.door.inside[self.address] <= 0:
            del self.door.inside[self.address]
        if self.timer is not None:
            self.timer.cancel()
        self.inner.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if self.inner is not None:
            self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self.inner is None else self.inner.eof_received()

    def pause_writing(self) -> None:
        if self.inner is not None:
            self.inner.pause_writing()

    def resume_writing(self) -> None:
        if self.inner is not None:
            self.inner.resume_writing()
