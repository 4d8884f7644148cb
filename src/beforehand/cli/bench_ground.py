"""Where the fault bench plays its leagues, one after another.

A league is played by a process of its own, forked from this one, which has
everything imported: SIGKILL ends it as it ends any process, and every moment
at which it can be killed is one of the league's and none of the interpreter's
start. The replicas are started once and begin anew for every league.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
import traceback
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from beforehand.cli.bench_endings import Ending, ending_of
from beforehand.cli.league_folder import DECLARATION_NAME, LeagueFolder
from beforehand.cli.rehearsal import (
    START,
    open_declared,
    play,
)
from beforehand.cli.rehearsed_league import rehearsal_declaration, write_league
from beforehand.clock import SimulatedClock, instant_key
from beforehand.errors import IntegrityError, RuleError
from beforehand.forecasters.connections import Connections
from beforehand.sources.http import HttpRules
from beforehand.sources.venues import open_source
from beforehand.stages.slots import later
from beforehand.stages.status import money
from beforehand.testing.faults import Fault
from beforehand.testing.replicas import Replicas

# One day has two slots.
END = later(START, hours=23)
MODELS = 3
PATIENCE_SECONDS = 60.0
# A reply takes a moment, so that kills find calls in flight.
REPLIES = ("--no-limits", "--reply-seconds", "0.02", "--reply-spread", "0.5")
# A venue that fails is asked again soon: the policy is the real one, its waits are not.
SOON = HttpRules(rate=10_000, burst=10_000, backoff_seconds=0.01, retry_after_most=0.05)
SHIPPED_CAP = Decimal("50.00")


class Ground:
    """One place on which one league after another is played; a context manager."""

    def __init__(self, folder: Path, faults: tuple[Fault, ...], clock_back: bool) -> None:
        if not hasattr(os, "fork"):
            raise RuleError("killing a league needs a system that forks: Linux or macOS")
        self.league, self.clock_back = folder / "league", clock_back
        self._log = folder / "child.log"
        self._faults = [_content(fault) for fault in faults]
        self._pid = 0
        self.cpu_s = 0.0  # of the process that was last waited for
        self._wipe()
        # Where time may turn back, what a model says may not depend on the moment it is asked.
        told = ("--truth", str(folder / "nothing.json")) if clock_back else ()
        self.replicas = Replicas(
            folder / "replicas",
            clock=self.league / "clock",
            venue_options=("--no-limits",),
            model_options=(*REPLIES, *told),
        )

    def __enter__(self) -> Self:
        Connections()  # says at once what is not installed
        self.replicas.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pid:
            self.kill()
        self.replicas.stop()

    def _wipe(self) -> None:
        shutil.rmtree(self.league, ignore_errors=True)
        self.league.mkdir(parents=True)
        SimulatedClock(self.league / "clock", START)

    def begin(self, cap: Decimal) -> None:
        """A fresh league, before replicas that were never asked anything."""
        self._wipe()
        text = rehearsal_declaration(MODELS, self.replicas.models)
        text = text.replace(f'cap = "{SHIPPED_CAP}"', f'cap = "{money(cap)}"')
        (self.league / DECLARATION_NAME).write_text(text, encoding="utf-8")
        write_league(self.league, MODELS, self.replicas)
        self.replicas.venue.control(faults=self._faults)
        self.replicas.model.control(forget=True)

    def fork(self) -> None:
        """Let a process of its own play the league from where it is."""
        self._pid = os.fork()
        if self._pid == 0:
            _played_by_child(self.league, self._log)

    def kill(self) -> bool:
        """End the process with SIGKILL; whether that came before its own end."""
        os.kill(self._pid, signal.SIGKILL)
        return self._ended(os.waitpid(self._pid, 0)[1])

    def wait(self) -> None:
        """Wait for the process's own end; IntegrityError where it takes too long."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            pid, status, used = os.wait4(self._pid, os.WNOHANG)
            if pid:
                self.cpu_s = used.ru_utime + used.ru_stime
                self._ended(status)
                return
            time.sleep(0.002)
        self.kill()
        raise IntegrityError(f"the league did not end within {PATIENCE_SECONDS:g} s")

    def _ended(self, status: int) -> bool:
        self._pid = 0
        if os.WIFSIGNALED(status):
            return True
        if os.waitstatus_to_exitcode(status):
            told = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise IntegrityError(f"a league's process ended badly: {' | '.join(told[-2:])}")
        return False

    def step_back(self, seconds: int) -> None:
        """Set the clock back, as a machine may find it after a crash."""
        clock = self.league / "clock"
        back = later(SimulatedClock(clock).now(), seconds=-seconds)
        clock.write_text(max(back, START, key=instant_key) + "\n", encoding="ascii")

    def ending(self) -> Ending:
        """How the league ended."""
        return ending_of(self.league, self.replicas.folder / "model_requests.jsonl")


def _content(fault: Fault) -> dict[str, object]:
    times = {} if fault.times is None else {"times": fault.times}
    common = {"kind": fault.kind, "rate": fault.rate, "path": fault.path}
    return {**common, **times, **fault.options}


def _played_by_child(folder: Path, log: Path) -> NoReturn:
    """The life of a forked process: it never comes back into the bench."""
    code = 3
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(told, 1)
        os.dup2(told, 2)
        child(folder)
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def child(folder: Path) -> None:
    """Play the league in `folder` from where it is to the end."""
    league = LeagueFolder.at(folder)
    pen, situation = open_declared(league)
    urls = {name: league.settings["venue"][name] for name in ("gamma", "clob")}
    source = open_source("polymarket", clock=pen.clock, urls=urls, rules=SOON)
    with pen:
        asyncio.run(play(league, pen, situation, END, None, source))
        pen.checkpoint()


if __name__ == "__main__":
    child(Path(sys.argv[1]))
