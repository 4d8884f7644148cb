"""Books with forks, signed; a witness on a real socket; and a plain client of the protocol."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.anchors.add_checkpoint import AddCheckpoint
from beforehand.book.checkpoint import Checkpoint, VerifierKey, sign_note
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import WitnessKey
from beforehand.clock import Clock
from beforehand.relay.intake import Limits
from beforehand.relay.witness import WitnessServer, serve_witness
from beforehand.relay.witness_home import make_witness, open_witness
from beforehand.relay.witness_logs import FollowedLogs

ORIGIN = "example.org/league/book"
NAME = "witness.example/w1"
NOW = "2026-11-30T12:00:00Z"
OPEN = Limits(
    address_burst=1_000_000,
    entrant_burst=1_000_000,
    connections=64,
    connections_an_address=64,
)


class HandClock:
    """A clock that is set by hand, back as well."""

    simulated = False

    def __init__(self, instant: str = NOW) -> None:
        self.instant = instant

    def now(self) -> str:
        return self.instant


@dataclass
class Operator:
    """Who signs checkpoints of one origin, of as many books as it likes."""

    origin: str = ORIGIN
    seed: bytes = bytes(range(32))
    private: Ed25519PrivateKey = field(init=False)
    key: VerifierKey = field(init=False)

    def __post_init__(self) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.key = VerifierKey(self.origin, self.private.public_key().public_bytes_raw())

    def sign(self, tree: LeafTree, size: int) -> bytes:
        """The signed note over the first `size` lines."""
        text = Checkpoint(self.origin, size, tree.root(size)).text()
        return sign_note(text, self.key, self.private.sign).encode()

    def ask(self, tree: LeafTree, old: int, size: int, path: list[bytes] | None = None) -> bytes:
        """The request that takes a witness from one size to another, honest for this tree."""
        steps = tree.path(old, size) if path is None else path
        return AddCheckpoint(old, tuple(steps), self.sign(tree, size)).data()


def book(*branches: tuple[str, int]) -> LeafTree:
    """A book of so many lines of each branch: ("a", 5), ("b", 2) forks after five lines."""
    lines = [f"{name} {n}".encode() for name, count in branches for n in range(count)]
    return LeafTree.of_lines(lines, len(lines))


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    host: str, port: int, method: str, path: str, body: bytes | None = None, seconds: float = 20
) -> Reply:
    """One request by the standard library's client."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return Reply(reply.status, dict(reply.getheaders()), reply.read())
    finally:
        connection.close()


@dataclass
class ServedWitness:
    host: str
    port: int
    witness: WitnessServer

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def key(self) -> WitnessKey:
        return self.witness.key

    def post(self, body: bytes) -> Reply:
        return ask(self.host, self.port, "POST", "/add-checkpoint", body)

    def get(self, path: str) -> Reply:
        return ask(self.host, self.port, "GET", path)


def new_witness(folder: Path, *operators: Operator, name: str = NAME) -> WitnessKey:
    """A folder with a fresh witness that follows these operators' books."""
    key = make_witness(folder, name)
    for operator in operators or (Operator(),):
        FollowedLogs(folder).add(operator.origin, operator.key)
    return key


@contextmanager
def served_witness(folder: Path, clock: Clock, **changes: Any) -> Iterator[ServedWitness]:
    """The witness of a folder on a free port of loopback, in a thread with a loop of its own."""
    witness = WitnessServer(folder, clock, open_witness(folder), replace(OPEN, **changes))
    bound: list[tuple[str, int]] = []
    up, stop = threading.Event(), threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    def ready(host: str, port: int) -> None:
        bound.append((host, port))
        up.set()

    async def main() -> None:
        task = asyncio.ensure_future(serve_witness(witness, "127.0.0.1", 0, ready))
        loops.append((asyncio.get_running_loop(), task))
        if stop.is_set():
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        assert up.wait(20)
        yield ServedWitness(*bound[0], witness)
    finally:
        stop.set()
        for loop, task in loops:
            loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
