"""How long a caller waits: between requests to one host, and before it tries again.

Seconds are floats here; no price or probability comes near them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]

_MOST_DIGITS = 9


def backoff(attempt: int, base: float, most: float, jitter: float) -> float:
    """Seconds before attempt `attempt` + 1 (from 1), doubling, between half and all of it.

    `jitter` is in [0, 1): callers that failed together do not come back together.

    >>> [backoff(n, 0.5, 30.0, 0.5) for n in (1, 2, 3, 20)]
    [0.375, 0.75, 1.5, 22.5]
    """
    whole: float = min(most, base * 2.0 ** min(attempt - 1, 60))
    return whole * (0.5 + jitter / 2)


def retry_after(value: str | None, date: str | None, now: datetime, most: float) -> float | None:
    """The seconds that a `Retry-After` header asks for, at most `most`; None if unreadable.

    An HTTP date is counted from the answer's own `Date`, so that a clock that
    differs from the server's does not matter; from `now` where there is none.

    >>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    >>> retry_after("7", None, noon, 60.0), retry_after("900", None, noon, 60.0)
    (7.0, 60.0)
    >>> retry_after("Mon, 05 Jan 2026 12:00:20 GMT", None, noon, 60.0)
    20.0
    >>> retry_after("soon", None, noon, 60.0) is None
    True
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(most, float(text)) if len(text) <= _MOST_DIGITS else most
    moment = _http_date(text)
    if moment is None:
        return None
    reference = _http_date((date or "").strip()) or now
    return min(most, max(0.0, (moment - reference).total_seconds()))


def _http_date(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class Bucket:
    """One bucket of tokens for one host, shared by everybody who calls it.

    `rate` requests a second in the long run, `burst` at once. `pause` holds
    all callers back, as a 429 concerns all of them and not only who met it.
    """

    def __init__(self, rate: float, burst: int, now: Now, sleep: Sleep = asyncio.sleep) -> None:
        self._step = 1.0 / rate
        self._slack = (burst - 1) * self._step
        self._now = now
        self._sleep = sleep
        self._next = now() - self._slack
        self._until = now()

    async def take(self) -> None:
        """Wait for a token; callers are served in the order in which they came."""
        due = max(self._next, self._now() - self._slack)
        # Claimed before the wait, so that no two callers wait for one token.
        self._next = due + self._step
        wait = due - self._now()
        if wait > 0:
            await self._sleep(wait)
        # A pause can be put on, or made longer, while a caller waits.
        while (held := self._until - self._now()) > 0:
            await self._sleep(held)

    def pause(self, seconds: float) -> None:
        """Nobody starts a request for `seconds` from now."""
        self._until = max(self._until, self._now() + seconds)
