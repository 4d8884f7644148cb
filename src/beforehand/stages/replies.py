"""A forecaster's reply as the book can hold it: whatever it returned, one answer line comes of it.

An operator's own scaffold may return anything. What is no probability fails
the answer; what is no name, cost or time is left out, and never repaired.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

from beforehand.forecasters.forecaster import Reply
from beforehand.records.forecast import FAILURES

OUT_OF_CREDIT = "out_of_credit"
# The league's own word for what it did not ask, which is nobody's failure: no reply may say it.
NEVER_ASKED = "budget"
MAX_RAW_BYTES = 16 << 20
MAX_NAME = 200
MAX_RATIONALE = 100_000
MAX_LEAKS = 20
_PROBABILITY = re.compile(r"0(\.\d{1,40})?|1(\.0{1,40})?", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
# Money is kept as stated, to as many places as a line holds.
_MONEY_PLACES = 40
_MOST_MONEY = Decimal(10) ** 12


def kept(reply: Reply) -> Reply:
    """The reply with nothing in it that a line or body cannot hold.

    >>> kept(Reply("answered", "1.5")).status
    'out_of_range'
    """
    status, detail = _status(reply)
    return replace(
        reply,
        status=status,
        probability=reply.probability if status == "answered" else None,
        raw=reply.raw[:MAX_RAW_BYTES] if isinstance(reply.raw, bytes) else b"",
        rationale=_text(reply.rationale)[:MAX_RATIONALE],
        served_model=_name(reply.served_model),
        provider=_name(reply.provider),
        cost=_cost(reply.cost),
        citations=tuple(_text(each) for each in _listed(reply.citations)),
        leaks=_codes(reply.leaks),
        latency_ms=_whole(reply.latency_ms),
        retryable=reply.retryable is True,
        retry_after=_seconds(reply.retry_after),
        detail=detail,
        out_of_credit=reply.out_of_credit is True,
    )


def _status(reply: Reply) -> tuple[str, str]:
    """The status, and the detail behind it."""
    detail = _name(reply.detail) or ""
    if reply.status == NEVER_ASKED:
        return "internal", "says_it_was_not_asked"
    if reply.status in FAILURES:
        return reply.status, OUT_OF_CREDIT if reply.out_of_credit is True else detail
    if reply.status != "answered":
        return "internal", "unknown_status"
    if not isinstance(reply.probability, str):
        return "unparseable", "no_probability"
    if _PROBABILITY.fullmatch(reply.probability):
        return "answered", detail
    if _NUMBER.fullmatch(reply.probability):
        return "out_of_range", "not_between_0_and_1"
    return "unparseable", "not_decimal_text"


def _text(value: Any) -> str:
    """The text, with what UTF-8 cannot say as a question mark."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")


def _name(value: Any) -> str | None:
    """A short text to be kept as it is; None where there is none that could be."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value


def _cost(value: Any) -> Decimal | None:
    """What was charged; None where that is not known, so that the reservation stands."""
    if not isinstance(value, Decimal) or not value.is_finite() or not 0 <= value <= _MOST_MONEY:
        return None
    exponent = value.as_tuple().exponent
    return value if isinstance(exponent, int) and exponent >= -_MONEY_PLACES else None


def _codes(value: Any) -> tuple[str, ...]:
    held = [each for each in _listed(value) if isinstance(each, str) and _CODE.fullmatch(each)]
    return tuple(dict.fromkeys(held))[:MAX_LEAKS]


def _listed(value: Any) -> list[Any]:
    return list(value)[:1000] if isinstance(value, list | tuple) else []


def _whole(value: Any) -> int:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
    return value if good else 0


def _seconds(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(value) if good else None
