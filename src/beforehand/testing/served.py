"""A small HTTP server on this machine, for stand-ins of far sides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

MAX_BODY_BYTES = 1 << 20


@dataclass(frozen=True)
class Asked:
    """One request. Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Told:
    """One reply."""

    status: int = 200
    body: bytes = b""
    kind: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


class Served:
    """Serves a function on 127.0.0.1 while it is entered; port 0 is a free one."""

    def __init__(self, reply: Callable[[Asked], Told], port: int = 0) -> None:
        class Handler(BaseHTTPRequestHandler):
            # A client that keeps its connection must not hold the server's end.
            timeout = 30

            def _serve(self) -> None:
                length = min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES)
                names = {name.lower(): value for name, value in self.headers.items()}
                told = reply(Asked(self.command, self.path, names, self.rfile.read(length)))
                self.send_response(told.status)
                for name, value in {"Content-Type": told.kind, **told.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(told.body)))
                self.end_headers()
                self.wfile.write(told.body)

            do_GET = do_POST = _serve  # noqa: N815 - named by http.server

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: a stand-in is quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Served:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Serve until this process is interrupted."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            return
