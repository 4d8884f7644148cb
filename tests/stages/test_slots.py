"""Slots: what a cron expression means, in every zone and week, and what no schedule can say."""

# ruff: noqa: N802 - the ids of the rules and faults are written as they are

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import FrameType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.errors import BeforehandError, FormatError, RuleError
from beforehand.stages.slots import cohort, next_slot, slots_between
from beforehand.stages.tick import due_slots
from tests.stages.live_world import LiveLeague

NEW_YORK = "America/New_York"
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail where this takes longer: a schedule that is never read to its end stops a league."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def times(after: str, until: str, *cron: str, zone: str = "UTC") -> list[str]:
    schedule = {"cron": cron, "timezone": zone, "grace_minutes": 60, "deadline_minutes": 60}
    with within(20):
        return [slot.at for slot in slots_between(schedule, after, until)]


def text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- a plain reading of crontab(5), minute by minute


def allowed(field: str, low: int, high: int) -> set[int]:
    """The values that one field of a cron expression, of numbers only, names."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin = low if span == "*" else int(first)
        end = high if span == "*" else int(last or first)
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def plain_times(cron: str, first: datetime, days: int) -> list[str]:
    """The minutes after `first` (UTC) that an expression names; day of week 0 and 7 are Sunday."""
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    minutes, hours, month_days, months, week_days = (
        allowed(field, *ends) for field, ends in zip(cron.split(" "), ranges, strict=True)
    )
    week_days = {day % 7 for day in week_days}
    found = []
    for n in range(1, days * 24 * 60 + 1):
        moment = first + timedelta(minutes=n)
        if (
            moment.minute in minutes
            and moment.hour in hours
            and moment.day in month_days
            and moment.month in months
            and moment.isoweekday() % 7 in week_days
        ):
            found.append(text(moment))
    return found


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(st.one_of(st.just("*"), span), st.integers(1, 7)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    part = st.one_of(number.map(str), span, stepped)
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


@st.composite
def expressions(draw: st.DrawFn) -> str:
    minute, hour = draw(fields(0, 59)), draw(fields(0, 23))
    day, week_day = draw(
        st.one_of(
            st.tuples(fields(1, 31), st.just("*")),
            st.tuples(st.just("*"), fields(0, 7)),
        )
    )
    return f"{minute} {hour} {day} {draw(st.sampled_from(['*', '1', '1-2', '*/2']))} {week_day}"


@settings(max_examples=60)
@given(expressions(), st.integers(0, 45 * 24 * 60))
def test_a_cron_expression_means_what_crontab_says(cron: str, offset: int) -> None:
    """Or it is refused; it never means something else."""
    first = datetime(2025, 12, 20, tzinfo=UTC) + timedelta(minutes=offset)
    days = 8
    wanted = plain_times(cron, first, days)
    if len(wanted) > 500:
        days = 1
        wanted = plain_times(cron, first, days)
    try:
        found = times(text(first), text(first + timedelta(days=days)), cron)
    except FormatError:
        return
    assert found == wanted


@pytest.mark.parametrize(
    ("field", "days"),
    [
        ("0", "sun"),
        ("7", "sun"),
        ("1", "mon"),
        ("6", "sat"),
        ("0-7", "sun mon tue wed thu fri sat"),
        ("5-7", "sun fri sat"),
        ("1-5", "mon tue wed thu fri"),
        ("1-5/2", "mon wed fri"),
        ("0,3,7", "sun wed"),
        ("*/2", "sun tue thu sat"),
        ("mon-fri", "mon tue wed thu fri"),
        ("SUN", "sun"),
    ],
)
def test_the_day_of_the_week_counts_from_sunday(field: str, days: str) -> None:
    found = times("2026-01-03T12:00:00Z", "2026-01-10T12:00:00Z", f"0 10 * * {field}")
    named = [DAYS[date.fromisoformat(at[:10]).isoweekday() % 7] for at in found]
    assert named == days.split()


@pytest.mark.parametrize(
    "cron",
    [
        "0 10 1 * 1",
        "0 10 */2 * mon",
        "0 10 * * mon,3",
        "0 10 * * 8",
        "0 10 * * 5-2",
        "0 10 * * 1-5/0",
        "60 10 * * *",
        "0 24 * * *",
        "0 10 0 * *",
        "0 10 * 13 *",
        "*/0 10 * * *",
        "0 10 * * monday-ish",
    ],
)
def test_what_is_no_schedule_or_means_two_things_is_refused(cron: str) -> None:
    with pytest.raises(FormatError):
        times("2026-01-03T12:00:00Z", "2026-01-10T12:00:00Z", cron)


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BeforehandError):
        times("2026-01-03T12:00:00Z", "2026-01-04T12:00:00Z", "0 10 * * *", zone="Mars/Olympus")


def test_T1_the_slots_of_the_league_are_ten_and_twenty_two_utc() -> None:
    found = times("2026-01-04T23:00:00Z", "2026-01-06T10:00:00Z", "0 10 * * *", "0 22 * * *")
    assert found == ["2026-01-05T10:00:00Z", "2026-01-05T22:00:00Z", "2026-01-06T10:00:00Z"]


def test_two_expressions_that_name_one_minute_make_one_slot() -> None:
    found = times("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z", "0 10 * * *", "0 */10 * * *")
    assert found == ["2026-01-05T10:00:00Z", "2026-01-05T20:00:00Z", "2026-01-06T00:00:00Z"]


def test_the_first_instant_is_out_and_the_last_is_in() -> None:
    at = "2026-01-05T10:00:00Z"
    assert times(at, at, "0 10 * * *") == []
    assert times("2026-01-05T09:59:59Z", at, "0 10 * * *") == [at]
    assert times("2026-01-05T09:59:59.5Z", at, "0 10 * * *") == [at]
    assert times("2026-01-05T10:00:00.5Z", "2026-01-05T10:00:30Z", "0 10 * * *") == []


def test_start_by_and_deadline_follow_the_slots_own_time() -> None:
    schedule = {
        "cron": ["0 10 * * *"],
        "timezone": "UTC",
        "grace_minutes": 5,
        "deadline_minutes": 90,
    }
    (slot,) = slots_between(schedule, "2026-01-05T00:00:00Z", "2026-01-05T12:00:00Z")
    assert (slot.at, slot.start_by, slot.deadline, slot.run) == (
        "2026-01-05T10:00:00Z",
        "2026-01-05T10:05:00Z",
        "2026-01-05T11:30:00Z",
        "2026-01-05T1000",
    )


# ---- zones with summer time


@pytest.mark.parametrize("zone", [NEW_YORK, "Europe/Berlin", "Australia/Sydney", "Asia/Kolkata"])
def test_a_local_time_keeps_its_hour_through_summer_time(zone: str) -> None:
    found = times("2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z", "0 10 * * *", zone=zone)
    local = [
        datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone(ZoneInfo(zone)) for at in found
    ]
    assert {(at.hour, at.minute) for at in local} == {(10, 0)}
    assert [at.date() for at in local] == [
        local[0].date() + timedelta(days=n) for n in range(len(local))
    ]
    assert len(local) >= 363


@pytest.mark.parametrize(
    ("zone", "cron", "before", "days"),
    [
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00:00Z", 3),
        (NEW_YORK, "0 1 * * *", "2026-10-31T12:00:00Z", 3),
        (NEW_YORK, "30 2 * * *", "2026-10-31T12:00:00Z", 3),
        (NEW_YORK, "30 2 * * *", "2026-03-07T12:00:00Z", 3),
        (NEW_YORK, "30 1 * * *", "2026-03-07T12:00:00Z", 3),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", 3),
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z", 3),
        ("Africa/Cairo", "0 0 * * *", "2026-04-22T12:00:00Z", 3),
    ],
)
def test_a_daily_slot_falls_once_a_day_where_the_clock_is_turned(
    zone: str, cron: str, before: str, days: int
) -> None:
    """Twice at the same local time would be a slot that ran twice; never would be one unseen."""
    first = datetime.fromisoformat(before.replace("Z", "+00:00"))
    found = times(before, text(first + timedelta(days=days)), cron, zone=zone)
    local = [
        datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone(ZoneInfo(zone)) for at in found
    ]
    start = first.astimezone(ZoneInfo(zone)).date()
    assert [at.date() for at in local] == [start + timedelta(days=n + 1) for n in range(days)]


def test_the_next_slot_moves_on_through_the_hour_that_comes_twice() -> None:
    schedule = {"cron": ["*/30 * * * *"], "timezone": NEW_YORK}
    at, seen = "2026-11-01T04:45:00Z", []
    with within(20):
        for _ in range(6):
            following = next_slot(schedule, at)
            assert following is not None and following > at
            seen.append(following)
            at = following
    assert len(set(seen)) == 6


@pytest.mark.parametrize("cron", ["30 1 * * *", "0 * * * *"])
def test_every_slot_between_is_the_next_slot_after_the_one_before(cron: str) -> None:
    schedule = {
        "cron": [cron],
        "timezone": NEW_YORK,
        "grace_minutes": 60,
        "deadline_minutes": 60,
    }
    at, walked = "2026-10-31T12:00:00Z", []
    with within(20):
        while (at := next_slot(schedule, at) or "") and at <= "2026-11-02T12:00:00Z":
            assert not walked or at > walked[-1]
            walked.append(at)
    assert times("2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", cron, zone=NEW_YORK) == walked


def test_a_day_that_never_comes_has_no_slot_and_is_found_out_soon() -> None:
    schedule = {"cron": ["0 10 31 2 *"], "timezone": "UTC"}
    with within(20):
        assert next_slot(schedule, "2026-01-01T00:00:00Z") is None
    schedule = {"cron": ["0 10 29 2 *"], "timezone": "UTC"}
    assert next_slot(schedule, "2026-01-01T00:00:00Z") == "2028-02-29T10:00:00Z"


# ---- the machine's own zone


@pytest.fixture
def new_york_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", NEW_YORK)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york_machine")
def test_D2_the_machines_time_zone_changes_no_slot_and_no_cohort(tmp_path: Path) -> None:
    assert os.environ["TZ"] == NEW_YORK and time.localtime(0).tm_hour == 19
    found = times("2026-01-04T23:00:00Z", "2026-01-06T10:00:00Z", "0 10 * * *", "0 22 * * *")
    assert found == ["2026-01-05T10:00:00Z", "2026-01-05T22:00:00Z", "2026-01-06T10:00:00Z"]
    # In New York this is still Sunday, and last year's last week.
    assert cohort("2026-01-05T03:00:00Z") == "2026-W02"
    league = LiveLeague.begin(tmp_path)
    assert league.tick_at("2026-01-05T10:00:00Z").opened == ["2026-01-05T1000"]


# ---- cohorts


@pytest.mark.parametrize(
    ("slot", "week"),
    [
        ("2026-01-04T22:00:00Z", "2026-W01"),
        ("2026-01-05T10:00:00Z", "2026-W02"),
        ("2025-12-29T10:00:00Z", "2026-W01"),
        ("2026-12-27T22:00:00Z", "2026-W52"),
        ("2026-12-28T10:00:00Z", "2026-W53"),
        ("2027-01-03T22:00:00Z", "2026-W53"),
        ("2027-01-03T23:59:59Z", "2026-W53"),
        ("2027-01-04T00:00:00Z", "2027-W01"),
        ("2024-12-30T10:00:00Z", "2025-W01"),
    ],
)
def test_H1_the_cohort_is_the_iso_week_of_the_slots_time(slot: str, week: str) -> None:
    assert cohort(slot) == week


@given(st.integers(0, 100 * 365 * 24 * 60))
def test_H1_a_cohort_begins_on_monday_and_holds_seven_days(minutes: int) -> None:
    moment = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    monday = datetime.fromisocalendar(*moment.isocalendar()[:2], 1).replace(tzinfo=UTC)
    week = cohort(text(moment))
    assert cohort(text(monday)) == week == cohort(text(monday + timedelta(days=7, seconds=-1)))
    assert cohort(text(monday - timedelta(seconds=1))) != week
    assert cohort(text(monday + timedelta(days=7))) != week


# ---- a long outage


def test_T1_a_league_of_every_minute_that_was_down_for_ten_days_can_go_on(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path, changes={'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["* * * * *"]'}
    )
    pen, situation = league.open()
    with pen:
        try:
            due = due_slots(situation, "2026-01-15T09:00:00Z")
        except RuleError as error:
            pytest.fail(f"every later tick ends here: {error}")
    assert len(due) == 10 * 24 * 60
