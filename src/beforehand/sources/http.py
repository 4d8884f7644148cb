"""One way to read over HTTP: bounded in time, size and rate, and patient only where that helps.

Everything a venue is asked goes through `Http.get`. Base URLs are the
caller's, so the same client reads a replica on loopback.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin

from beforehand.clock import Clock, instant_key
from beforehand.errors import FormatError, RemoteError, RuleError
from beforehand.sources.http_body import Body, TooLarge, Undecodable, decode_json
from beforehand.sources.http_urls import endpoint_of, host_of, place, printable, shown
from beforehand.sources.http_waits import Bucket, Now, Sleep, backoff, retry_after
from beforehand.sources.market import Evidence

if TYPE_CHECKING:
    import aiohttp

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
_MOST_WARNINGS = 100
_TOO_MANY = 429
_CHUNK = 1 << 16


@dataclass(frozen=True)
class HttpRules:
    """The policy. Times in seconds, sizes in bytes, `rate` in requests a second for one host.

    One call ends after at most `attempts` x `total_seconds` of talking and
    `attempts` - 1 waits, each at most the larger of the two waiting limits.
    """

    connect_seconds: float = 5.0
    total_seconds: float = 30.0
    attempts: int = 4
    backoff_seconds: float = 0.5
    backoff_most: float = 20.0
    retry_after_most: float = 60.0
    body_most: int = 32 << 20
    rate: float = 8.0
    burst: int = 8
    in_flight: int = 8


@dataclass(frozen=True)
class Response:
    """What was answered: the bytes after transfer coding, unchanged, and when they were read."""

    url: str
    status: int
    data: bytes
    read_at: str

    def evidence(self) -> Evidence:
        """The same as evidence to be sealed."""
        return Evidence(self.url, self.data, self.read_at)

    def json(self) -> Any:
        """The body as JSON, numbers int or Decimal; RemoteError, retryable, where it is none.

        A far side that answers 200 with half a page, or with a page for
        people, usually answers well a little later.
        """
        try:
            return decode_json(self.data)
        except FormatError as error:
            raise RemoteError(f"{place(self.url)}: {error}", retryable=True) from None


class _Failed(Exception):  # noqa: N818 - one attempt's end, never seen outside
    """One attempt failed; `wait` is what the far side asked for."""

    def __init__(self, what: str, *, again: bool, wait: float | None = None) -> None:
        super().__init__(what)
        self.again = again
        self.wait = wait


class Http:
    """An HTTP client for reading, shared by all sources of a process.

    `jitter` gives numbers in [0, 1), `sleep` waits and `now` counts seconds;
    they are given so that a test waits for nothing. RuleError where aiohttp is not installed.
    """

    def __init__(
        self,
        clock: Clock,
        rules: HttpRules = HttpRules(),
        *,
        jitter: Callable[[], float] = random.random,
        sleep: Sleep = asyncio.sleep,
        now: Now = time.monotonic,
    ) -> None:
        self._aiohttp = _library()
        self._clock = clock
        self._rules = rules
        self._jitter = jitter
        self._sleep = sleep
        self._now = now
        self._session: aiohttp.ClientSession | None = None
        self._buckets: dict[str, Bucket] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._warnings: dict[str, str] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What far sides announced about their own end (Deprecation, Sunset), once an endpoint."""
        return tuple(self._warnings.values())

    async def get(
        self, url: str, query: Mapping[str, str] | None = None, *, allow: tuple[int, ...] = ()
    ) -> Response:
        """The answer to a GET, its status 200 to 299 or one of `allow`; RemoteError else.

        Tried again are 429, 5xx and broken transport, at most `attempts`
        times; any other status is final. The message of an error names host
        and path and never the query.
        """
        whole = url if not query else f"{url}?{urlencode(query)}"
        host = host_of(whole)
        bucket = self._bucket(host)
        slot = self._slots.setdefault(host, asyncio.Semaphore(self._rules.in_flight))
        for attempt in range(1, self._rules.attempts + 1):
            try:
                async with slot:
                    await bucket.take()
                    return await self._once(whole, host, allow)
            except _Failed as failed:
                if not failed.again or attempt == self._rules.attempts:
                    tries = "" if attempt == 1 else f" (attempt {attempt} of {attempt})"
                    raise RemoteError(
                        f"{place(whole)}: {failed}{tries}", retryable=failed.again
                    ) from None
                if failed.wait is not None:
                    bucket.pause(failed.wait)
                await self._sleep(
                    max(
                        failed.wait or 0.0,
                        backoff(
                            attempt,
                            self._rules.backoff_seconds,
                            self._rules.backoff_most,
                            self._jitter(),
                        ),
                    )
                )
        raise RuleError("an HTTP policy needs at least one attempt")

    async def close(self) -> None:
        """Give back connections; the client can be used again afterwards."""
        session, self._session = self._session, None
        # These belong to the event loop that they were first used in.
        self._slots.clear()
        if session is not None:
            await session.close()

    async def _once(self, url: str, host: str, allow: tuple[int, ...]) -> Response:
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                async with self._open().get(url, allow_redirects=False) as answer:
                    self._note(url, answer.headers)
                    if answer.status in _REDIRECTS:
                        url = _next(url, host, answer.headers.get("Location", ""))
                        continue
                    if not 200 <= answer.status < 300 and answer.status not in allow:
                        raise self._refused(answer)
                    data = await self._read(answer)
                    return Response(shown(url), answer.status, data, self._clock.now())
            except (self._aiohttp.ClientError, OSError, TimeoutError) as error:
                # The class alone: the text of some of these carries the whole URL.
                raise _Failed(f"transport failed ({_named(error)})", again=True) from None
            except ValueError as error:
                raise _Failed(f"no HTTP ({type(error).__name__})", again=True) from None
        raise _Failed(f"more than {_MOST_REDIRECTS} redirects", again=False)

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        try:
            body = Body(answer.headers.get("Content-Encoding", ""), self._rules.body_most)
            async for chunk in answer.content.iter_chunked(_CHUNK):
                body.feed(chunk)
            return body.finish()
        except TooLarge:
            answer.close()
            raise _Failed(
                f"the answer is larger than {self._rules.body_most} bytes", again=False
            ) from None
        except Undecodable as error:
            answer.close()
            raise _Failed(str(error), again=True) from None

    def _refused(self, answer: aiohttp.ClientResponse) -> _Failed:
        again = answer.status == _TOO_MANY or answer.status >= 500
        wait = None
        if again:
            wait = retry_after(
                answer.headers.get("Retry-After"),
                answer.headers.get("Date"),
                instant_key(self._clock.now()),
                self._rules.retry_after_most,
            )
        answer.close()
        return _Failed(f"status {answer.status}", again=again, wait=wait)

    def _note(self, url: str, headers: Mapping[str, str]) -> None:
        said = [
            f"{name} {printable(headers[name])}"
            for name in ("Deprecation", "Sunset")
            if name in headers
        ]
        if said and len(self._warnings) < _MOST_WARNINGS:
            where = endpoint_of(url)
            self._warnings[where] = f"{where} announces its end: {', '.join(said)}"

    def _bucket(self, host: str) -> Bucket:
        if host not in self._buckets:
            self._buckets[host] = Bucket(
                self._rules.rate, self._rules.burst, self._now, self._sleep
            )
        return self._buckets[host]

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            library = self._aiohttp
            self._session = library.ClientSession(
                # Waiting for a place is done before the request, so that it
                # is never charged to the request's own time.
                connector=library.TCPConnector(limit=0),
                timeout=library.ClientTimeout(
                    total=self._rules.total_seconds, connect=self._rules.connect_seconds
                ),
                cookie_jar=library.DummyCookieJar(),
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip",
                    "User-Agent": "beforehand",
                },
                auto_decompress=False,
            )
        return self._session


def _next(url: str, host: str, location: str) -> str:
    target = urljoin(url, location)
    if not location or host_of(target) != host:
        raise _Failed(
            f"redirects to {printable(place(target)) if location else 'nowhere'}, another host",
            again=False,
        )
    return target


def _named(error: BaseException) -> str:
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__


def _library() -> Any:
    try:
        import aiohttp
    except ImportError:
        raise RuleError(
            "reading from venues needs aiohttp; in a clone of the repository: "
            "pip install -c constraints.txt '.[live]'"
        ) from None
    return aiohttp
