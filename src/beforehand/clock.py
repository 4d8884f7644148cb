"""The only place that reads the time.

An instant is text in UTC, `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, and sorts by
`instant_key`. Simulated time only steps, and lives in a file, so that a
replica reads the same moment; whatever is written under it says so.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from beforehand.errors import FormatError, RuleError

_INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", re.ASCII)


def instant_key(text: str) -> datetime:
    """The aware UTC datetime of an instant's text; FormatError where it is not one.

    >>> instant_key("2026-01-05T12:00:00Z").isoformat()
    '2026-01-05T12:00:00+00:00'
    """
    match = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise FormatError(f"{text!r:.60} is not an instant of the form YYYY-MM-DDTHH:MM:SSZ (UTC)")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match.group(7) or "").ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
    except ValueError as error:
        raise FormatError(f"{text!r:.60} is no date and time: {error}") from None


def instant_text(moment: datetime) -> str:
    """The text of an aware datetime, whole seconds without a fraction.

    >>> instant_text(instant_key("2026-01-05T12:00:00.500Z"))
    '2026-01-05T12:00:00.500000Z'
    """
    if moment.utcoffset() is None:
        raise FormatError(f"{moment!r} has no time zone; give an aware datetime")
    try:
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    except OverflowError:
        raise FormatError(f"{moment!r} is no year of four digits in UTC") from None


class Clock(Protocol):
    """What reads the time. `simulated` is True where the time is not the world's."""

    simulated: bool

    def now(self) -> str:
        """The present instant as text."""


class SystemClock:
    """The machine's own clock."""

    simulated = False

    def now(self) -> str:
        return instant_text(datetime.now(UTC).replace(microsecond=0))


class SimulatedClock:
    """Time that only steps forward, kept in a file that replicas can read.

    `path` holds one line, the present instant. It is replaced whole, so a
    reader never sees half an instant.
    """

    simulated = True

    def __init__(self, path: Path, start: str | None = None) -> None:
        self._path = path
        if not path.exists():
            if start is None:
                raise RuleError(f"no simulated time at {path}: give a start")
            self._write(start)

    def now(self) -> str:
        try:
            text = self._path.read_text(encoding="ascii").strip()
            instant_key(text)
        except (FormatError, UnicodeDecodeError) as error:
            raise FormatError(
                f"{self._path} does not hold the simulated time: {error}; put an instant there"
            ) from None
        return text

    def step_to(self, instant: str) -> None:
        """Move to `instant`; a step back is refused."""
        if instant_key(instant) < instant_key(self.now()):
            raise RuleError(f"simulated time is {self.now()} and cannot step back to {instant}")
        self._write(instant)

    def _write(self, instant: str) -> None:
        instant_key(instant)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(self._path.name + ".new")
        fresh.write_text(instant + "\n", encoding="ascii")
        fresh.replace(self._path)
