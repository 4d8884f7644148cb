"""Serves witnesses in children that are there to be killed. Run by test_witness.py.

Reads lines `FOLDER DIE_AT`: a child serves that folder, says `PORT PID`, and
kills itself with SIGKILL at its DIE_AT-th judgement, after the state is
written and before the reply is (0: never by itself). How each child ended is
printed when it has.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from beforehand.clock import SystemClock
from beforehand.relay.witness import WitnessServer, serve_witness
from beforehand.relay.witness_home import open_witness
from beforehand.relay.witness_state import WitnessState
from tests.relay.witness_world import OPEN


def say(host: str, port: int) -> None:
    print(port, os.getpid(), flush=True)


def serve(folder: Path, die_at: int) -> None:
    judged, cosign = 0, WitnessState.cosign

    def deadly(self: WitnessState, *given: Any) -> Any:
        nonlocal judged
        outcome = cosign(self, *given)
        judged += 1
        if judged == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome

    WitnessState.cosign = deadly  # type: ignore[method-assign]
    witness = WitnessServer(folder, SystemClock(), open_witness(folder), OPEN)
    asyncio.run(serve_witness(witness, "127.0.0.1", 0, say))


for line in sys.stdin:
    place, _, count = line.rstrip("\n").rpartition(" ")
    child = os.fork()
    if child == 0:
        try:
            serve(Path(place), int(count))
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
