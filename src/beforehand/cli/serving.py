"""Serving a published folder on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.manifest import MANIFEST_PATH
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError

LOOPBACK = "127.0.0.1"


class _Quiet(SimpleHTTPRequestHandler):
    """Static files, without a line on the terminal for every request."""

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def bound_server(public: Path, port: int) -> Iterator[ThreadingHTTPServer]:
    """A server of `public` bound to loopback; port 0 takes a free one."""
    if not (public / MANIFEST_PATH).is_file():
        raise FormatError(f"{public} is not a published folder ({MANIFEST_PATH} is missing)")
    try:
        server = ThreadingHTTPServer((LOOPBACK, port), partial(_Quiet, directory=str(public)))
    except OSError as error:
        raise FormatError(f"port {port} cannot be used: {error}; try --port 0") from None
    try:
        yield server
    finally:
        server.server_close()


def serve_until_stopped(public: Path, port: int) -> None:
    """Serve until interrupted."""
    with bound_server(public, port) as server:
        address = f"http://{LOOPBACK}:{server.server_address[1]}/"
        out.print(f"Serving {public} at [bold]{address}[/] (Ctrl-C stops it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            out.print("stopped")


def serve(
    public: Annotated[Path, typer.Argument(help="The published folder (public/).")],
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Serve a published folder on 127.0.0.1."""
    with errors_named():
        serve_until_stopped(public, port)
