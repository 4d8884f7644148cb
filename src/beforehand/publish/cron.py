"""Whether an instant fits a cron expression of five fields, with the standard library alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_PART = re.compile(r"(?P<low>\d{1,2})(?:-(?P<high>\d{1,2}))?(?:/(?P<step>\d{1,2}))?", re.ASCII)
_ANY = re.compile(r"\*(?:/(?P<step>\d{1,2}))?", re.ASCII)
_DAYS = {name: str(k) for k, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))}
_DAY, _NO_TIME = timedelta(days=1), timedelta(0)
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def fits_cron(expression: str, moment: datetime, zone: str) -> bool | None:
    """True or False; None where the expression or the zone cannot be read.

    >>> from datetime import UTC
    >>> fits_cron("0 10 * * MON-FRI", datetime(2026, 1, 5, 10, tzinfo=UTC), "UTC")
    True
    """
    fields = expression.upper().split()
    if len(fields) != 5 or len(expression) > 100:
        return None
    fields[4] = re.sub("|".join(_DAYS), lambda found: _DAYS[found[0]], fields[4])
    try:
        walls = _walls(moment, zone)
    except Exception:  # a zone that this machine does not know, or no zone at all
        return None
    told = [_fits_wall(fields, wall) for wall in walls]
    return None if None in told else True in told


def _walls(moment: datetime, zone: str) -> list[datetime]:
    """The wall-clock times that mean this instant, at most two.

    Where clocks are put on, a time that is left out is taken as much later;
    one that comes twice is taken the first time.
    """
    if zone == "UTC":
        return [moment.replace(tzinfo=None)]
    place = ZoneInfo(zone)
    offsets = {(moment + turn).astimezone(place).utcoffset() for turn in (-_DAY, _NO_TIME, _DAY)}
    walls = {moment.astimezone(UTC).replace(tzinfo=None) + (each or _NO_TIME) for each in offsets}
    return sorted(
        wall for wall in walls if wall.replace(tzinfo=place, fold=0).astimezone(UTC) == moment
    )


def _fits_wall(fields: list[str], local: datetime) -> bool | None:
    day = local.isoweekday() % 7
    values = (local.minute, local.hour, local.day, local.month, day)
    told = [_fits(f, v, ends) for f, v, ends in zip(fields, values, _FIELDS, strict=True)]
    if day == 0 and told[4] is False:
        told[4] = _fits(fields[4], 7, _FIELDS[4])  # a Sunday is 0 or 7
    if None in told:
        return None
    either = fields[2] != "*" and fields[4] != "*"
    on_minute = local.second == 0 and local.microsecond == 0
    days = (told[2] or told[4]) if either else (told[2] and told[4])
    return bool(told[0] and told[1] and told[3] and days and on_minute)


def _fits(field: str, value: int, ends: tuple[int, int]) -> bool | None:
    held = False
    for part in field.split(","):
        star = _ANY.fullmatch(part)
        if star is not None:
            low, high, step = ends[0], ends[1], int(star["step"] or 1)
        else:
            match = _PART.fullmatch(part)
            if match is None:
                return None
            low, step = int(match["low"]), int(match["step"] or 1)
            high = int(match["high"] or (ends[1] if match["step"] else low))
        if step == 0:
            return None
        held = held or (low <= value <= high and (value - low) % step == 0)
    return held
