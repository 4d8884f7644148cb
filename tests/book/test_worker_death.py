"""A worker of a parallel walk that is killed, at any moment, is an error and never a wait for ever.

A worker killed while it sends a result leaves half a message in a pipe that its
brother holds open: whoever reads on waits without end. An out-of-memory killer
does just that. Run in a process of its own, so that a hang is a failure of this test
and not of the suite.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import beforehand

from .plain_chain import chained, notes, stored

SOURCE = Path(beforehand.__file__).resolve().parents[1]
TRIALS, SECONDS = 25, 20

CODE = f"""
import multiprocessing, os, random, signal, sys, time
from pathlib import Path
from beforehand.book.folder import DirectoryFolder
from beforehand.book.parallel import in_processes
from beforehand.errors import FormatError

rng = random.Random(1)
for trial in range({TRIALS}):
    pieces = in_processes(2, small=0)(DirectoryFolder(Path(sys.argv[1])), "book.jsonl")
    first, data = next(pieces)
    end = time.perf_counter() + rng.random() * 0.06
    while time.perf_counter() < end:
        pass
    workers = multiprocessing.active_children()
    if workers:
        os.kill(rng.choice(workers).pid, signal.SIGKILL)
    try:
        rest = list(pieces)
    except FormatError:
        print("error", flush=True)
    else:
        whole = data + b"".join(piece for _, piece in rest)
        assert whole == (Path(sys.argv[1]) / "book.jsonl").read_bytes()
        print("done", flush=True)
"""


def test_a_worker_killed_at_any_moment_never_hangs_the_walk(tmp_path: Path) -> None:
    (tmp_path / "book.jsonl").write_bytes(stored(chained(notes(24_000))))
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", CODE, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the workers too
            process.wait()
    trials = (tmp_path / "said").read_text().split()
    assert code is not None, f"hangs at trial {len(trials) + 1}"
    assert code == 0, trials[-30:]
    assert len(trials) == TRIALS
    assert "error" in trials
