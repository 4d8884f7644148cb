"""Fields of a venue's JSON as typed values: what is absent or degenerate is None, never a number.

A row is a decoded JSON object. Nothing here raises for what a venue sends;
only `whole_row` does, where there is no object at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

from beforehand.clock import instant_text
from beforehand.errors import FormatError
from beforehand.sources.http_body import decode_json

Row = Mapping[str, Any]

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)"
    r"(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)",
    re.ASCII,
)
_NUMBER = re.compile(r"-?\d{1,60}(\.\d{1,60})?([eE][+-]?\d{1,2})?", re.ASCII)
_FIRST_YEAR = 1970
_MOST_UNIX = 253_402_300_799


def number(value: Any) -> Decimal | None:
    """A finite number given as JSON number or as text; None for anything else.

    >>> number("0.10"), number(3), number(""), number(True), number("NaN")
    (Decimal('0.10'), Decimal('3'), None, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()) is None:
        return None
    try:
        return Decimal(value.strip())
    except InvalidOperation:  # pragma: no cover - the pattern lets none through
        return None


def amount(value: Any) -> Decimal | None:
    """A number that is not below zero; None else.

    >>> amount("-1") is None
    True
    """
    found = number(value)
    return found if found is not None and found >= 0 else None


def quote(value: Any) -> Decimal | None:
    """A price somebody can trade at, strictly between 0 and 1.

    0 and 1 are how venues write an empty side: no quote, and never a price.

    >>> quote("0.0000"), quote(1), quote("0.29")
    (None, None, Decimal('0.29'))
    """
    found = number(value)
    return found if found is not None and 0 < found < 1 else None


def text(value: Any) -> str:
    """A text without blanks around it; a whole number as its digits; "" for anything else.

    Lone surrogates, which JSON can escape and UTF-8 cannot hold, are replaced.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8").strip()


def flag(value: Any) -> bool | None:
    """True or False as such, or as their words; None for anything else."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts, given as a list or as JSON inside a text; None for anything else.

    >>> texts('["Yes", "No "]'), texts(["0.5", 1]), texts("[1"), texts(None)
    (('Yes', 'No '), ('0.5', '1'), None, None)
    """
    if isinstance(value, str):
        try:
            value = decode_json(value.encode("utf-8", "replace"))
        except FormatError:
            return None
    if not isinstance(value, list):
        return None
    if not all(isinstance(each, str | int | Decimal) for each in value):
        return None
    return tuple(str(each) for each in value if not isinstance(each, bool))


def instant(value: Any) -> str:
    """A venue's time as an instant's text in UTC; "" for none, a day alone, or one without a zone.

    The year 1 and other times before 1970 are how venues write "unset".
    Digits beyond a microsecond are cut, as an instant has none.

    >>> instant("2025-12-31 09:10:57+00"), instant("2026-07-31T12:00:00.5Z")
    ('2025-12-31T09:10:57Z', '2026-07-31T12:00:00.500000Z')
    >>> instant("2026-07-31"), instant("2026-07-31T12:00:00"), instant("0001-01-01T00:00:00Z")
    ('', '', '')
    """
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return ""
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match.group(7) or "0")[:6].ljust(6, "0"))
    try:
        zone = timezone(_offset(match.group(8)))
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=zone)
        return instant_text(moment) if moment.astimezone(UTC).year >= _FIRST_YEAR else ""
    except (ValueError, OverflowError, FormatError):
        return ""


def unix_instant(value: Any, per_second: int = 1) -> str:
    """A Unix time in seconds, or in parts of one, as an instant's text; "" where it is none.

    >>> unix_instant("1774166201606", 1000)
    '2026-03-22T07:56:41.606000Z'
    """
    found = number(value)
    if found is None or not 0 < found / per_second <= _MOST_UNIX:
        return ""
    micros = int(found * 1_000_000 / per_second)
    return instant_text(datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros))


def whole_row(value: Any, where: str) -> Row:
    """The value as a row; FormatError where it is no object."""
    if not isinstance(value, dict):
        raise FormatError(f"{where} is no object")
    return value


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timedelta(minutes=-minutes if zone[0] == "-" else minutes)
