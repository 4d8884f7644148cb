"""Cohorts: the ISO week of a slot, from its time alone and never from a flag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from beforehand.clock import instant_key


def cohort_of(slot: str) -> str:
    """The ISO week of a slot, `YYYY-Www`; a year may have 53 of them.

    >>> cohort_of("2027-01-03T22:00:00Z"), cohort_of("2027-01-04T10:00:00Z")
    ('2026-W53', '2027-W01')
    """
    year, week, _ = instant_key(slot).isocalendar()
    return f"{year:04}-W{week:02}"


def cohort_end(cohort: str) -> datetime:
    """The first instant after a cohort: Monday 00:00 UTC.

    >>> cohort_end("2026-W53").isoformat()
    '2027-01-04T00:00:00+00:00'
    """
    year, week = int(cohort[:4]), int(cohort[6:])
    monday = datetime.fromisocalendar(year, week, 1).replace(tzinfo=UTC)
    return monday + timedelta(days=7)
