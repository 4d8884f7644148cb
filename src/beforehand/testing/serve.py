"""Run a replica as a process of its own: a port file when it is ready, an end when told."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from aiohttp import web

from beforehand.testing.faults import parse_faults
from beforehand.testing.replica import MAX_BODY_BYTES, Replica

# Enough for a thousand requests in flight, each a connection.
OPEN_FILES = 8192
BACKLOG = 2048


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every replica takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="written with the port when it is ready")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--faults", type=parse_faults, default=(), help='as "half:rate=0.1;slow:seconds=1"'
    )
    parser.add_argument("--no-limits", action="store_true", help="no limits of rate")
    parser.add_argument(
        "--watch-stdin", action="store_true", help="end when standard input is closed"
    )
    return parser


def run(replica: Replica, options: argparse.Namespace) -> None:
    """Serve until SIGTERM, SIGINT, or the end of standard input where that is watched."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(replica, options))


async def _serve(replica: Replica, options: argparse.Namespace) -> None:
    _raise_open_files()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    if options.watch_stdin:
        threading.Thread(target=_wait_for_end, args=(loop, stop), daemon=True).start()
    server = web.Server(
        replica.handle,
        handler_cancellation=True,
        access_log=None,
        client_max_size=MAX_BODY_BYTES,
    )
    runner = web.ServerRunner(server, shutdown_timeout=0.2)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", options.port), backlog=BACKLOG)
    await web.SockSite(runner, listener, backlog=BACKLOG).start()
    if options.port_file is not None:
        _write_whole(options.port_file, f"{listener.getsockname()[1]}\n")
    await stop.wait()
    await runner.cleanup()


def _write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="ascii")
    fresh.replace(path)


def _wait_for_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Read standard input to its end: a parent that dies closes it, however it died."""
    # os.read and not sys.stdin: a daemon thread in a buffered read aborts the exit.
    while os.read(0, 4096):
        pass
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)


def _raise_open_files() -> None:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
