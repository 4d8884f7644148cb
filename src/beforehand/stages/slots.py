"""The slots of a schedule: when a run is due, how late it may start, when its answers are late.

Cron expressions have their usual meaning (crontab(5): Sunday is 0 or 7). Of
day of month and day of week only one may be restricted: where both are,
crontabs differ in what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, RuleError

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_SLOTS = 100_000
# Clocks are turned by an hour, seldom two, and never by more than this.
_TURN = timedelta(hours=3)
# How far ahead a next slot is looked for; 29 February comes within eight years.
_AHEAD_DAYS = (2, 40, 400, 3000)


@dataclass(frozen=True)
class Slot:
    """An instant that a run stands for; `start_by` and `deadline` are UTC instants.

    One that does not count says `why`.
    """

    at: str
    start_by: str
    deadline: str
    counted: bool = True
    why: str | None = None

    @property
    def run(self) -> str:
        """The id of the slot's run, from its time alone.

        >>> Slot("2026-01-05T10:00:00Z", "", "").run
        '2026-01-05T1000'
        """
        return self.at[:13] + self.at[14:16]


def cohort(instant: str) -> str:
    """The ISO week of an instant, `YYYY-Www`, from its time and nothing else.

    >>> cohort("2027-01-01T10:00:00Z")
    '2026-W53'
    """
    year, week, _ = instant_key(instant).isocalendar()
    return f"{year:04}-W{week:02}"


def slots_between(schedule: Mapping[str, Any], after: str, until: str) -> list[Slot]:
    """The slots later than `after` and not later than `until`, in order: the first MOST_SLOTS.

    An instant of the schedule counts, whatever else is declared for it.
    """
    first, last = instant_key(after), instant_key(until)
    found: dict[datetime, Slot] = {}
    for counted, why, crons in _kinds_of_slots(schedule):
        for at in _times(crons, schedule["timezone"], first, last):
            found.setdefault(at, slot_at(schedule, instant_text(at), counted=counted, why=why))
    return [found[at] for at in sorted(found)][:MOST_SLOTS]


def next_slot(schedule: Mapping[str, Any], after: str) -> str | None:
    """The first slot later than `after`; None where there is none within some years."""
    moment, ahead = instant_key(after), []
    for _, _, crons in _kinds_of_slots(schedule):
        for days in _AHEAD_DAYS:
            found = _times(crons, schedule["timezone"], moment, moment + timedelta(days=days))
            if found:
                ahead.append(found[0])
                break
    return instant_text(min(ahead)) if ahead else None


def slot_at(
    schedule: Mapping[str, Any], at: str, *, counted: bool = True, why: str | None = None
) -> Slot:
    """The slot of an instant, with the declared grace and deadline."""
    return Slot(
        at,
        later(at, minutes=schedule["grace_minutes"]),
        later(at, minutes=schedule["deadline_minutes"]),
        counted,
        why,
    )


def _kinds_of_slots(
    schedule: Mapping[str, Any],
) -> Iterator[tuple[bool, str | None, tuple[str, ...]]]:
    """Whether they count, why not, and their expressions; those that count come first."""
    yield True, None, tuple(schedule["cron"])
    for other in schedule.get("others", ()):
        yield False, other["why"], (other["cron"],)


def _times(
    crons: tuple[str, ...], timezone: str, first: datetime, last: datetime
) -> list[datetime]:
    """The moments after `first` up to `last`, in UTC, at most MOST_SLOTS of each expression.

    An expression is read on the wall clock of its zone, where every day has
    every hour once. A time that comes twice, when clocks are put back, is
    taken the first time; one that is left out is taken as much later as the
    clocks are put on.
    """
    zone = _zone(timezone)
    found: set[datetime] = set()
    for trigger in _triggers(crons):
        wall = first.astimezone(zone).replace(tzinfo=UTC, microsecond=0) - _TURN
        end = last.astimezone(zone).replace(tzinfo=UTC) + _TURN
        taken = 0
        while taken < MOST_SLOTS:
            wall = trigger.get_next_fire_time(None, wall)
            if wall is None or wall > end:
                break
            at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
            if first < at <= last:
                found.add(at)
                taken += 1
            wall += timedelta(seconds=1)
    return sorted(found)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise FormatError(f"{name!r:.60} is no time zone of this machine") from None


def later(instant: str, **span: float) -> str:
    """The instant a span later: `later(at, minutes=5)`."""
    return instant_text(instant_key(instant) + timedelta(**span))


@lru_cache(maxsize=16)
def _triggers(expressions: tuple[str, ...]) -> tuple[Any, ...]:
    try:
        from apscheduler.triggers.cron import (  # type: ignore[import-untyped]
            CronTrigger,
        )
    except ImportError:
        raise RuleError(
            "a schedule by cron needs the live parts; in a clone of the repository: "
            "pip install -c constraints.txt '.[live]'"
        ) from None
    built = []
    for expression in expressions:
        minute, hour, day, month, week_day = expression.split(" ")
        if day != "*" and week_day != "*":
            raise FormatError(
                f"cron {expression!r}: restrict the day of the month or the day of the week, "
                "not both; give two expressions"
            )
        try:
            trigger = CronTrigger(
                minute=minute,
                hour=hour,
                day=day,
                month=month.lower(),
                day_of_week=_day_names(week_day),
                # A wall clock without turns: zones are added afterwards.
                timezone=UTC,
            )
        except (ValueError, KeyError) as error:
            raise FormatError(f"cron {expression!r}: {error}") from None
        # A day that never comes is found out once, and not looked for again.
        if trigger.get_next_fire_time(None, datetime(2000, 1, 1, tzinfo=UTC)) is not None:
            built.append(trigger)
    return tuple(built)


def _day_names(field: str) -> str:
    """Days of the week by name: the library counts them from Monday, crontab from Sunday.

    >>> _day_names("1-5,7")
    'mon,tue,wed,thu,fri,sun'
    """
    if not any(character.isdigit() for character in field):
        return field.lower()
    names = []
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("0-7" if span == "*" else span).partition("-")
        if step and not last:
            last = "7"  # as in the other fields, and as the rule for the counted run reads it
        if not first.isdigit() or not (last or first).isdigit():
            raise FormatError(f"day of the week {field!r}: numbers or names, not both in one field")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high <= 7:
            raise FormatError(f"day of the week {field!r}: 0 to 7, the lower first")
        names += [_DAYS[day] for day in range(low, high + 1, _step(field, step))]
    return ",".join(dict.fromkeys(names))


def _step(field: str, text: str) -> int:
    if text and (not text.isdigit() or int(text) == 0):
        raise FormatError(f"day of the week {field!r}: a step is a number from 1")
    return int(text or 1)
