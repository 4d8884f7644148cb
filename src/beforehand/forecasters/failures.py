"""What went wrong before there was an answer, as one word of FAILURES.

`retryable` follows the league's rule: transport, timeouts, rate limits and
server errors may be tried again with the same bytes; a refusal, a wrong key,
an empty account and a wrong configuration may not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from beforehand.forecasters.completion import FarError
from beforehand.forecasters.connections import Exchange

MAX_RETRY_AFTER_SECONDS = 86_400.0

_MODERATION = re.compile(
    r"moderation|content_policy|content policy|content_filter|content filter"
    r"|responsibleaipolicy|flagged|safety system|usage policy|sensitive content"
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient credit|credit balance|billing|key limit exceeded"
    r"|exceeded your current quota"
)
_TEMPERATURE = re.compile(r"\btemperature\b")


@dataclass(frozen=True)
class Failure:
    """A word of FAILURES, its sub-code, and whether the same request may succeed later."""

    status: str
    detail: str
    retryable: bool = False
    retry_after: float | None = None
    out_of_credit: bool = False


def failure_of(exchange: Exchange, error: FarError | None) -> Failure | None:
    """Why there is no answer in an exchange; None where a body came that may hold one.

    An error may stand in the body of a success: gateways write it so.
    """
    if exchange.failure:
        retryable = exchange.failure in ("timeout", "transport")
        return Failure(exchange.failure, exchange.detail, retryable)
    code = exchange.code or 0
    if code != 200:
        return _of_code(code, error or FarError(None, ""), exchange.headers, f"http_{code}")
    if error is None:
        return None
    code = error.code or 500
    return _of_code(code, error, exchange.headers, f"body_{code}")


def _of_code(code: int, error: FarError, headers: Mapping[str, str], detail: str) -> Failure:
    """The failure that a status is, whether of HTTP or inside the body of a success."""
    # An empty account hides behind several statuses; the words tell.
    if code == 402 or (code in (400, 403, 429) and _NO_CREDIT.search(error.words)):
        return Failure("auth_or_credit", detail, out_of_credit=True)
    if code == 429:
        return Failure("rate_limited", detail, True, retry_after(headers))
    if code in (400, 403, 422, 451) and (error.moderation or _MODERATION.search(error.words)):
        return Failure("refused", "moderation")
    if code in (401, 403):
        return Failure("auth_or_credit", detail)
    if code in (408, 504):
        return Failure("timeout", detail, True)
    if code >= 500 or code == 425:
        return Failure("transport", detail, True, retry_after(headers))
    if code == 400 and _TEMPERATURE.search(error.words):
        # The lineup is wrong about this model; asking again changes nothing.
        return Failure("internal", "temperature")
    if 300 <= code < 400:
        return Failure("internal", "redirect")
    return Failure("internal", detail)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the far side asked to wait; None where it did not say.

    A date is taken relative to the answer's own `Date`, so that no clock of
    ours is compared with theirs.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text, re.ASCII):
            return min(float(text) / unit, MAX_RETRY_AFTER_SECONDS)
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
        waits = (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(max(waits, 0.0), MAX_RETRY_AFTER_SECONDS)
