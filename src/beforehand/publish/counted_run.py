"""Which run counts by the declared rule, from its sealed slot alone and not from its label.

Only "scheduled_run" chooses among several runs: the first of each slot of the
schedule counts, every other is published and does not. The other rules leave
the label to the run line; `Labels` holds it against all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.cron import fits_cron

ONLY, EVERY, SCHEDULED = "only_run", "every_run", "scheduled_run"
MOST_GRACE = 10**6
UNREAD = "its declaration holds no rule that can be applied here"
UNAPPLIED = "its schedule could not be read here"


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
    moment = _instant(slot)
    if moment is None:
        return None
    fits = [fits_cron(str(cron), moment, str(schedule.get("timezone"))) for cron in crons[:50]]
    return True if True in fits else None if None in fits else False


def slot_key(slot: str) -> datetime | str:
    """What two runs of one slot have in common, however the instant is written."""
    return _instant(slot) or slot


def outside_grace(declared: Mapping[str, Any], slot: str, at: str) -> str:
    """How a run line of this time is none of its slot, "" where it is: a slot is never backfilled.

    Nothing is said where the schedule declares no grace, or a time cannot be read.
    """
    grace = _table(declared, "schedule").get("grace_minutes")
    due, begun = _instant(slot), _instant(at)
    if type(grace) is not int or due is None or begun is None:
        return ""
    # The venue is read between the start and the line: so the last minute counts as a whole.
    # What is no span of time is no grace.
    limit = timedelta(minutes=1 + (grace if 0 <= grace <= MOST_GRACE else 0))
    if due <= begun and begun - due < limit:
        return ""
    return f"begun at {at:.40}, outside the {grace} minutes of grace after its slot {slot:.40}"


class Labels:
    """The labels of a book's runs held against the declared rules, in the order of its lines.

    `declared` is the content of each segment's declaration, and of the first
    under ""; None where a caller has none, and then only reruns are found. The
    one that is in force is taken, whatever segment a run line names.
    """

    def __init__(self, declared: Mapping[str, Mapping[str, Any]] | None) -> None:
        self._declared = declared
        self._now: Mapping[str, Any] = (declared or {}).get("", {})
        self._counts = True
        self._slots: set[datetime | str] = set()
        self._only = 0

    def begin(self, segment: Mapping[str, Any]) -> None:
        """A segment line: its declaration is in force from here on, where it names one."""
        self._counts = segment.get("counted") is not False
        self._only = 0
        if "declaration_sha256" in segment:
            self._now = (self._declared or {}).get(str(segment.get("segment")), {})

    def judge(self, run: Mapping[str, Any]) -> tuple[str, str]:
        """How the label of a run line contradicts the rule, and what kept that from being seen."""
        slot, at = str(run.get("slot", "")), str(run.get("at", ""))
        counted = run.get("counted") is True
        rule = _table(self._now, "counted_run").get("rule")
        if slot_key(slot) in self._slots and (counted or rule == SCHEDULED):
            return (self._rerun(slot), "") if counted else ("", "")
        if counted:
            self._slots.add(slot_key(slot))
            self._only += 1
        if self._declared is None:
            return "", ""
        late = outside_grace(self._now, slot, at) if counted else ""
        if late:
            return f"labelled as counted, and {late}", ""
        return self._by_rule(slot, counted=counted)

    def _by_rule(self, slot: str, *, counted: bool) -> tuple[str, str]:
        rule = _table(self._now, "counted_run").get("rule")
        if rule == EVERY:
            told: bool | None = True if self._counts else counted
        elif rule == ONLY:
            told = counted and self._only == 1
        elif rule == SCHEDULED:
            told = counts_by_rule(self._now, slot)
            self._slots |= {slot_key(slot)} if told else set()
        else:
            return "", UNREAD
        if told is None:
            return "", UNAPPLIED
        if told == counted:
            return "", ""
        labels = ("not counted", "counted")
        return (
            f"labelled as {labels[counted]}; by the declared rule a run of the slot "
            f"{slot!r:.40} is {labels[told]}"
        ), ""

    @staticmethod
    def _rerun(slot: str) -> str:
        return f"labelled as counted, as an earlier run of its slot {slot!r:.40} is: a rerun"


def _instant(text: str) -> datetime | None:
    try:
        return instant_key(text)
    except FormatError:
        return None


def _table(declared: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    held = declared.get(key)
    return held if isinstance(held, dict) else {}
