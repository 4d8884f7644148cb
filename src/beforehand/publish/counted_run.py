"""Which run counts by the declared rule, from its sealed slot alone and not from its label.

Only "scheduled_run" chooses among several runs: the first of each slot of the
schedule counts, every other is published and does not. The other rules leave
the label to the run line, and `beforehand conform` looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.cron import fits_cron

SCHEDULED = "scheduled_run"


def counts_by_rule(declared: Mapping[str, Any], slot: str) -> bool | None:
    """Whether the first run of this slot counts; None where the rule leaves it to the label.

    A later run of the same slot is a rerun, and counts by no rule that chooses.
    None too where the schedule cannot be read with the standard library.

    >>> rule = {"counted_run": {"rule": "scheduled_run"},
    ...         "schedule": {"cron": ["0 10 * * *"], "timezone": "UTC"}}
    >>> counts_by_rule(rule, "2026-01-05T10:00:00Z"), counts_by_rule(rule, "2026-01-05T20:00:00Z")
    (True, False)
    """
    schedule = _table(declared, "schedule")
    crons = schedule.get("cron")
    if _table(declared, "counted_run").get("rule") != SCHEDULED or not isinstance(crons, list):
        return None
    try:
        moment = instant_key(slot)
    except FormatError:
        return None
    fits = [fits_cron(str(cron), moment, str(schedule.get("timezone"))) for cron in crons[:50]]
    return True if True in fits else None if None in fits else False


def slot_key(slot: str) -> datetime | str:
    """What two runs of one slot have in common, however the instant is written."""
    try:
        return instant_key(slot)
    except FormatError:
        return slot


def _table(declared: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    held = declared.get(key)
    return held if isinstance(held, dict) else {}
