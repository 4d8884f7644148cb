"""One HTTP exchange with a far side: a time limit, a size limit, and no redirect followed."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from typing import IO, Any

from beforehand.errors import FormatError, RemoteError

SECONDS = 30.0
MAX_ANSWER_BYTES = 256 << 10
_PART_BYTES = 16 << 10
_RETRYABLE = (408, 425, 429)


@dataclass(frozen=True)
class Answer:
    """What came back, whatever its status. Header names are lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def expect(self, *statuses: int) -> bytes:
        """The body, where the status is one of these; else RemoteError."""
        if self.status in statuses:
            return self.body
        said = "".join(c if c.isprintable() else " " for c in self.body[:200].decode("latin-1"))
        raise RemoteError(
            f"{self.url}: HTTP {self.status} {said.strip()}".rstrip(),
            retryable=self.status in _RETRYABLE or self.status >= 500,
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An anchor is where its URL says: a redirect is an answer, and is not followed."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> None:
        return None


def exchange(
    url: str,
    body: bytes | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    limit: int = MAX_ANSWER_BYTES,
    seconds: float = SECONDS,
) -> Answer:
    """GET, or POST where there is a body. RemoteError where nothing usable comes in time."""
    if not url.startswith(("https://", "http://")):
        raise FormatError(f"{url!r:.200} is not an http or https address")
    until = time.monotonic() + seconds
    try:
        request = urllib.request.Request(  # noqa: S310 - http and https only, see above
            url, data=body, headers={"User-Agent": "beforehand", **(headers or {})}
        )
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=seconds) as reply:
            return Answer(url, reply.status, _names(reply.headers), _read(reply, limit, until, url))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(url, error.code, _names(error.headers), _read(error, limit, until, url))
    except (urllib.error.URLError, HTTPException, OSError) as error:
        raise RemoteError(f"{url}: {error}", retryable=True) from None
    except ValueError as error:
        raise FormatError(f"{url!r:.200}: {error}") from None


def _names(headers: Message) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in headers.items()}


def _read(reply: Any, limit: int, until: float, url: str) -> bytes:
    """The body. The socket's own limit is per read: a slow drip is stopped by the clock here."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            part = reply.read1(_PART_BYTES) if hasattr(reply, "read1") else reply.read(_PART_BYTES)
        except (HTTPException, OSError) as error:
            raise RemoteError(f"{url}: {error}", retryable=True) from None
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > limit:
            raise RemoteError(f"{url}: the answer is over the limit of {limit} bytes")
        if time.monotonic() > until:
            raise RemoteError(f"{url}: the answer took too long", retryable=True)
    announced = reply.headers.get("Content-Length", "")
    if announced.isdecimal() and size < int(announced):
        raise RemoteError(f"{url}: the answer broke off", retryable=True)
    return b"".join(parts)
