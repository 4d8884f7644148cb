"""`beforehand intake`: take submissions over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.intake_target import open_declared
from beforehand.cli.screen import errors_named, out
from beforehand.errors import RuleError
from beforehand.stages.receipt import PROMISE_SECONDS

EPILOG = "Example: beforehand intake blind --port 8700. Put a server with TLS in front of it."


def intake(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="The address to bind.")] = "127.0.0.1",
    promise: Annotated[
        int, typer.Option(help="Within how many seconds a line is promised.", min=60, max=86_400)
    ] = PROMISE_SECONDS,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Tell clients apart by X-Forwarded-For.")
    ] = False,
) -> None:
    """Take signed submissions and give receipts; a tick seals them into the book."""
    with errors_named():
        try:
            from beforehand.relay.intake import Intake, Limits
            from beforehand.relay.server import serve_intake
        except ImportError:
            raise RuleError(
                "the intake needs the live parts; in a clone of the repository: "
                "pip install -c constraints.txt '.[live]'"
            ) from None
        league, _, key = open_declared(folder)
        limits = Limits(promise_seconds=promise, behind_proxy=behind_proxy)
        served = Intake(league.path, league.book, league.clock(), key, limits)
        try:
            asyncio.run(serve_intake(served, host, port, _told))
        except KeyboardInterrupt:
            out.print("stopped")


def _told(host: str, port: int) -> None:
    out.print(f"Taking submissions at http://{host}:{port}/ (Ctrl-C stops it)", soft_wrap=True)
