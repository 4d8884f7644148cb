"""Both replicas as processes of one folder, started, asked and stopped.

    with Replicas(folder, clock=folder / "clock", seed=7) as replicas:
        replicas.gamma, replicas.clob, replicas.kalshi, replicas.models

A replica ends with the process that started it, however that ends: it watches
its standard input, which the kernel closes.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from beforehand.errors import RemoteError

READY_SECONDS = 20.0
STOP_SECONDS = 3.0


class ReplicaProcess:
    """One replica as a child process; `url` is where it listens."""

    def __init__(self, module: str, folder: Path, options: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = module
        self._port_file = folder / f"{module}.port"
        self._told = folder / f"{module}.log"
        self._port_file.unlink(missing_ok=True)
        with self._told.open("ab") as told:
            self._child = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"beforehand.testing.{module}",
                    "--watch-stdin",
                    "--port-file",
                    str(self._port_file),
                    *options,
                ],
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=told,
            )
        self.url = ""

    @property
    def pid(self) -> int:
        """The process id, for tests that kill it."""
        return self._child.pid

    def wait_until_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait for the port file; RemoteError says what the process said where it does not come."""
        until = time.monotonic() + seconds
        while not self._port_file.exists():
            if self._child.poll() is not None or time.monotonic() > until:
                self.stop()
                said = self._told.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise RemoteError(f"{self.name} did not start: {said or 'it said nothing'}")
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{int(self._port_file.read_text(encoding='ascii'))}"

    def stats(self) -> dict[str, Any]:
        """What it was asked so far."""
        found: dict[str, Any] = self._call("/_control/stats", None)
        return found

    def control(self, **message: Any) -> None:
        """Send a control message, as `faults=[{"kind": "slow", "seconds": 1}]`."""
        self._call("/_control", json.dumps(message).encode())

    def _call(self, path: str, data: bytes | None) -> Any:
        request = urllib.request.Request(self.url + path, data)  # noqa: S310 - our own loopback
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)

    def stop(self) -> None:
        """End the process: asked first, killed after STOP_SECONDS."""
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()


class Replicas:
    """A venue and its models over one folder; a context manager.

    `clock` is the file of the simulated clock. More options go to one replica
    each, as its command line takes them.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Path,
        seed: int = 1,
        venue_options: Sequence[str] = (),
        model_options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._common = ("--seed", str(seed))
        self._venue_options = ("--state", str(folder), "--clock", str(clock), *venue_options)
        log = folder / "model_requests.jsonl"
        truth = folder / "truth.json"
        self._model_options = ("--truth", str(truth), "--log", str(log), *model_options)
        self._running: list[ReplicaProcess] = []

    def start(self) -> Self:
        """Start both, side by side, and wait until they answer."""
        try:
            for module, options in (
                ("venue_replica", self._venue_options),
                ("model_replica", self._model_options),
            ):
                self._running.append(ReplicaProcess(module, self.folder, (*self._common, *options)))
            for each in self._running:
                each.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End both."""
        while self._running:
            self._running.pop().stop()

    @property
    def venue(self) -> ReplicaProcess:
        """The venue's process."""
        return self._running[0]

    @property
    def model(self) -> ReplicaProcess:
        """The models' process."""
        return self._running[1]

    @property
    def gamma(self) -> str:
        """The base URL of Polymarket's Gamma."""
        return self.venue.url + "/gamma"

    @property
    def clob(self) -> str:
        """The base URL of Polymarket's order books."""
        return self.venue.url + "/clob"

    @property
    def kalshi(self) -> str:
        """The base URL of Kalshi's API, version included."""
        return self.venue.url + "/kalshi/trade-api/v2"

    @property
    def models(self) -> str:
        """The base URL of the chat endpoint, version included."""
        return self.model.url + "/v1"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
