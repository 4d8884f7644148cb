"""Connections to far sides that speak HTTP: shared by all forecasters of one tick.

One request is one exchange. The time limit covers everything from the first
byte sent to the last one read, the size limit holds while reading, redirects
are not followed, and nothing is tried twice. What fails is a value.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beforehand.errors import RuleError

if TYPE_CHECKING:
    import aiohttp

# More replies than this at once wait for a free connection, inside their time.
MAX_CONNECTIONS = 2000
MAX_REPLY_BYTES = 4 << 20
CONNECT_SECONDS = 15.0
# Headers that are looked at; no other is kept.
_KEPT_HEADERS = ("retry-after", "retry-after-ms", "date", "content-encoding", "location")


@dataclass(frozen=True)
class Exchange:
    """What came back for one request.

    `code` is the HTTP status, None where none came. `failure` is "" for a
    whole body, else "timeout", "transport" or "unparseable" with `detail`;
    `data` is the body as far as it came. `sent` is False only where no
    connection came about, so that nothing can have been charged.
    """

    code: int | None
    data: bytes = b""
    failure: str = ""
    detail: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency_ms: int = 0
    sent: bool = True


def _library() -> Any:
    try:
        import aiohttp
    except ImportError:
        raise RuleError(
            "asking models needs aiohttp, which is not installed; in a clone of the repository: "
            "pip install -c constraints.txt '.[live]'"
        ) from None
    return aiohttp


class Connections:
    """One pool of connections; made once a tick, closed at its end.

    RuleError where aiohttp is not installed.
    """

    def __init__(self, *, most: int = MAX_CONNECTIONS, trust_env: bool = False) -> None:
        self._library = _library()
        self._most = most
        self._trust_env = trust_env
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        """The session, made inside the running loop and closed in the same one."""
        if self._session is None or self._session.closed:
            library = self._library
            self._session = library.ClientSession(
                connector=library.TCPConnector(limit=self._most, ttl_dns_cache=300),
                cookie_jar=library.DummyCookieJar(),
                timeout=library.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                # The bytes that came are the bytes that are kept.
                auto_decompress=False,
                trust_env=self._trust_env,
                headers={"Accept-Encoding": "identity", "User-Agent": "beforehand"},
            )
        assert self._session is not None
        return self._session

    async def exchange(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        body: bytes | None = None,
        most_bytes: int = MAX_REPLY_BYTES,
    ) -> Exchange:
        """Send one request and read its whole answer; never raises for what a far side does."""
        started = time.monotonic()
        reading = _Reading(most_bytes)
        try:
            async with (
                asyncio.timeout(max(seconds, 0)),
                self._open().request(
                    method, url, data=body, headers=headers, allow_redirects=False
                ) as response,
            ):
                reading.begin(response.status, response.headers)
                async for chunk in response.content.iter_any():
                    if not reading.take(chunk):
                        break
        except self._library.ConnectionTimeoutError:
            reading.fail("timeout", "not_connected")
            reading.sent = False
        except TimeoutError:
            reading.fail("timeout", "body" if reading.code else "no_answer")
        except self._library.ClientConnectorError:
            # The message names host and port and would tell nothing more.
            reading.fail("transport", "not_connected")
            reading.sent = False
        except self._library.ClientPayloadError:
            reading.fail("transport", "half_body")
        except (self._library.ClientError, OSError, ValueError) as error:
            # Only the kind of error: its text may hold what was sent.
            reading.fail("transport", type(error).__name__)
        return reading.exchange(int((time.monotonic() - started) * 1000))

    async def close(self) -> None:
        """Close every connection; nothing is left running."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class _Reading:
    """A body as far as it has come."""

    def __init__(self, most: int) -> None:
        self.code: int | None = None
        self.sent = True
        self._most = most
        self._left = most
        self._chunks: list[bytes] = []
        self._headers: dict[str, str] = {}
        self._failure = ("", "")

    def begin(self, code: int, headers: Mapping[str, str]) -> None:
        self.code = code
        self._headers = {key: headers[key] for key in _KEPT_HEADERS if key in headers}

    def take(self, chunk: bytes) -> bool:
        """Keep a chunk; False where the limit is reached."""
        self._chunks.append(chunk[: self._left])
        if len(chunk) > self._left:
            self.fail("unparseable", "too_large")
            return False
        self._left -= len(chunk)
        return True

    def fail(self, failure: str, detail: str) -> None:
        self._failure = (failure, detail)

    def exchange(self, latency_ms: int) -> Exchange:
        failure, detail = self._failure
        return Exchange(
            self.code,
            b"".join(self._chunks),
            failure,
            detail,
            self._headers,
            latency_ms,
            self.sent,
        )
