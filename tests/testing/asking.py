"""Asking a replica without a process: its answers as values, under a clock that tests move."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from beforehand.clock import SimulatedClock
from beforehand.testing.faults import parse_faults
from beforehand.testing.moment import Moment
from beforehand.testing.replica import Answer, Call, Replica
from beforehand.testing.simulated import SimMarket
from beforehand.testing.venue_replica import VenueReplica
from beforehand.testing.world import World

START = "2026-03-02T10:00:00Z"


def asked(replica: Replica, path: str, body: Any = None) -> Answer:
    """The answer to a GET, or to a POST of JSON where `body` is given; no faults on the wire."""
    path, _, query = path.partition("?")
    data = b"" if body is None else json.dumps(body).encode()
    call = Call("GET" if body is None else "POST", path, query, data)
    return asyncio.run(replica.respond(call))


def read(replica: Replica, path: str, body: Any = None) -> Any:
    """The JSON of a good answer."""
    answer = asked(replica, path, body)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@cache
def world_of(seed: int) -> World:
    """The world of a seed, made once: it is never changed by those who read it."""
    return World(seed)


class Venue:
    """A venue replica in this process, and its clock."""

    def __init__(self, folder: Path, seed: int = 1, start: str = START, faults: str = "") -> None:
        path = folder / "clock"
        path.unlink(missing_ok=True)
        self.clock = SimulatedClock(path, start)
        self.moment = Moment(path)
        state = folder / "state"
        self.replica = VenueReplica(
            seed, self.moment, state, parse_faults(faults), world=world_of(seed)
        )

    def get(self, path: str) -> Any:
        return read(self.replica, path)

    def status(self, path: str) -> int:
        return asked(self.replica, path).status

    def move(self, instant: str) -> int:
        """Step the clock; the seconds it now shows."""
        self.clock.step_to(instant)
        return self.moment.now()

    def pages(self, path: str, rows: str, sent: str, told: str) -> Iterator[list[dict[str, Any]]]:
        """Every page of a list, by its cursor."""
        cursor = ""
        while True:
            page = self.get(f"{path}&{sent}={cursor}" if cursor else path)
            yield page[rows]
            cursor = page.get(told, "")
            if not cursor:
                return

    def markets(self, query: str = "limit=100") -> list[dict[str, Any]]:
        """Every open market of Gamma."""
        pages = self.pages(f"/markets/keyset?{query}", "markets", "after_cursor", "next_cursor")
        return [row for page in pages for row in page]


def ending(venue: Venue, kind: str, host: str = "polymarket") -> SimMarket:
    """A market that is open now and will end in one way."""
    now = venue.moment.now()
    for event in venue.replica.world.open(host, now):
        if event.fate.kind == kind and event.form in ("binary", "sides"):
            return event.markets[0]
    raise AssertionError(f"no event of fate {kind}")
