"""Takes in or drains in a child that kills itself with SIGKILL at its n-th touch of the disk.

Reads lines `accept|drain FOLDER N`, and prints for each how the child ended:
0 where it came to its end before that, else -9. Run by test_inbox.py.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beforehand.clock import SimulatedClock
from beforehand.stages.declare import reopen_league
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from beforehand.stages.key import SigningKey
from beforehand.stages.submission import Submission


class Counter:
    """Wraps what touches the disk; there is a place to die before each call and one behind it."""

    def __init__(self, left: int) -> None:
        self.left = left

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **named: Any) -> Any:
            self.step()
            try:
                return call(*args, **named)
            finally:
                self.step()

        return counting


def work(what: str, folder: Path, left: int) -> None:
    clock, counter = SimulatedClock(folder / "clock"), Counter(left)
    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "mkdir"), (Path, "open")):
        setattr(owner, name, counter.counted(getattr(owner, name)))
    if what == "drain":
        with reopen_league(folder / "league", clock) as pen:
            drain_inbox(pen, folder)
    else:
        submission = Submission.parse((folder / "sent.json").read_bytes())
        key = SigningKey.load(submission.origin, folder / "league" / "keys" / "signing.pem")
        Inbox(folder).accept(submission, key, clock.now())


for line in sys.stdin:
    what, folder, left = line.rstrip("\n").split(" ")
    child = os.fork()
    if child == 0:
        try:
            work(what, Path(folder), int(left))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
