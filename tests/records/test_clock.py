"""Instants are UTC text; the clock reads them in one place; simulated time only steps forward."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import beforehand
from beforehand.clock import SimulatedClock, SystemClock, instant_key, instant_text
from beforehand.errors import FormatError, RuleError

ONE, TWO = "2026-01-05T12:00:00Z", "2026-01-05T12:00:01Z"


@given(st.datetimes(timezones=st.timezones()))
def test_every_moment_reads_back(moment: datetime) -> None:
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        return
    assert instant_key(instant_text(moment)) == utc


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_instants_sort_as_their_moments(one: datetime, two: datetime) -> None:
    assert (instant_key(instant_text(one)) < instant_key(instant_text(two))) is (one < two)


def test_spellings() -> None:
    moment = datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert instant_text(moment) == ONE
    assert instant_text(moment.replace(microsecond=500_000)) == "2026-01-05T12:00:00.500000Z"
    assert instant_text(moment.astimezone(ZoneInfo("America/New_York"))) == ONE
    assert instant_text(moment.astimezone(timezone(timedelta(hours=5, minutes=45)))) == ONE
    for text in (
        "2026-01-05T12:00:00.5Z",
        "2026-01-05T12:00:00.50Z",
        "2026-01-05T12:00:00.500000Z",
    ):
        assert instant_key(text) == moment.replace(microsecond=500_000)
    assert instant_key("2028-02-29T00:00:00Z") == datetime(2028, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "now", "2026", "2026-01-05", "2026-01-05T12:00Z", "2026-01-05T12:00:00"),
        *("2026-01-05T12:00:00+00:00", "2026-01-05T12:00:00-00:00", "2026-01-05T12:00:00ZZ"),
        *("2026-01-05T12:00:00z", "2026-01-05t12:00:00Z", "2026-01-05 12:00:00Z"),
        *(" 2026-01-05T12:00:00Z", "2026-01-05T12:00:00Z ", "2026-01-05T12:00:00Z\n"),
        *(
            "2026-1-5T12:00:00Z",
            "26-01-05T12:00:00Z",
            "+2026-01-05T12:00:00Z",
            "12026-01-05T12:00:00Z",
        ),
        *("2026-01-05T12:00:00.Z", "2026-01-05T12:00:00,5Z", "2026-01-05T12:00:00.1234567Z"),
        *("2026-00-05T12:00:00Z", "2026-13-05T12:00:00Z", "2026-02-29T12:00:00Z"),
        *("2026-01-00T12:00:00Z", "2026-01-32T12:00:00Z", "0000-01-01T00:00:00Z"),
        *("2026-01-05T24:00:00Z", "2026-01-05T12:60:00Z", "2026-01-05T12:00:60Z"),
        *("２０２６-01-05T12:00:00Z", "2026-01-05T12:00:0٣Z", "2026-W01-1T12:00:00Z"),
        *("20260105T120000Z", "1767614400", "2026-01-05T12:00:00 Z", "2026-01-05T12:00:00UTC"),
    ],
)
def test_anything_else_is_no_instant(text: str) -> None:
    with pytest.raises(FormatError):
        instant_key(text)


@pytest.mark.parametrize("value", [None, 0, 1.5, b"2026-01-05T12:00:00Z", [ONE], datetime.now(UTC)])
def test_an_instant_is_text(value: object) -> None:
    with pytest.raises(FormatError):
        instant_key(value)  # type: ignore[arg-type]


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(FormatError):
        instant_text(datetime(2026, 1, 5, 12))  # noqa: DTZ001


def test_a_datetime_whose_zone_says_nothing_is_refused() -> None:
    # tzinfo that gives no offset is as naive as none: astimezone would guess the machine's
    class Nowhere(tzinfo):
        def utcoffset(self, moment: datetime | None) -> None:
            return None

        def dst(self, moment: datetime | None) -> None:
            return None

        def tzname(self, moment: datetime | None) -> None:
            return None

    with pytest.raises(FormatError):
        instant_text(datetime(2026, 1, 5, 12, tzinfo=Nowhere()))


def test_the_system_clock_is_the_worlds() -> None:
    clock = SystemClock()
    before = datetime.now(UTC) - timedelta(seconds=1)
    moment = instant_key(clock.now())
    assert before <= moment <= datetime.now(UTC)
    assert clock.simulated is False


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC", "", ":nonsense"])
def test_the_zone_of_the_machine_changes_nothing(zone: str) -> None:
    code = (
        "import time; from beforehand.clock import *\n"
        "from datetime import datetime, timezone, timedelta\n"
        "print(instant_key('2026-03-08T07:30:00Z').timestamp())\n"  # New York springs forward
        "print(instant_text(datetime.fromtimestamp(1767614400, timezone.utc)))\n"
        "print(abs(instant_key(SystemClock().now()).timestamp() - time.time()) < 5)\n"
        "print(instant_text(datetime(2026, 11, 1, 1, 30, tzinfo=timezone(timedelta(hours=-4)))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={
            **os.environ,
            "TZ": zone,
            "PYTHONPATH": str(Path(beforehand.__file__).resolve().parents[1]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1772955000.0", ONE, "True", "2026-11-01T05:30:00Z"]


# ---- simulated time


def test_simulated_time_steps_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    clock = SimulatedClock(tmp_path / "time", ONE)
    assert (clock.simulated, clock.now(), clock.now()) == (True, ONE, ONE)
    clock.step_to(TWO)
    assert clock.now() == TWO
    clock.step_to(TWO)
    assert clock.now() == TWO


@pytest.mark.parametrize("back", [ONE, "2026-01-05T12:00:00.999999Z", "1970-01-01T00:00:00Z"])
def test_simulated_time_never_steps_back(tmp_path: Path, back: str) -> None:
    clock = SimulatedClock(tmp_path / "time", TWO)
    with pytest.raises(RuleError):
        clock.step_to(back)
    assert clock.now() == TWO


def test_an_equal_instant_in_another_spelling_is_no_step_back(tmp_path: Path) -> None:
    clock = SimulatedClock(tmp_path / "time", "2026-01-05T12:00:00.500000Z")
    clock.step_to("2026-01-05T12:00:00.5Z")
    with pytest.raises(RuleError):
        clock.step_to("2026-01-05T12:00:00.49Z")


def test_a_replica_reads_the_same_moment(tmp_path: Path) -> None:
    clock = SimulatedClock(tmp_path / "deep" / "time", ONE)
    replica = SimulatedClock(tmp_path / "deep" / "time")
    clock.step_to(TWO)
    assert replica.now() == TWO
    replica.step_to("2026-01-05T12:00:02Z")
    assert clock.now() == "2026-01-05T12:00:02Z"
    with pytest.raises(RuleError):
        clock.step_to(TWO)


def test_opening_it_again_does_not_set_it_back(tmp_path: Path) -> None:
    SimulatedClock(tmp_path / "time", ONE).step_to(TWO)
    assert SimulatedClock(tmp_path / "time", ONE).now() == TWO


def test_a_start_is_needed_once(tmp_path: Path) -> None:
    with pytest.raises(RuleError):
        SimulatedClock(tmp_path / "time")
    assert not (tmp_path / "time").exists()


@pytest.mark.parametrize("instant", ["tomorrow", "2026-01-05", "", ONE + "\n"])
def test_only_instants_are_stepped_to(tmp_path: Path, instant: str) -> None:
    clock = SimulatedClock(tmp_path / "time", ONE)
    with pytest.raises(FormatError):
        clock.step_to(instant)
    with pytest.raises(FormatError):
        SimulatedClock(tmp_path / "other", instant)
    assert clock.now() == ONE
    assert [path.name for path in tmp_path.iterdir()] == ["time"]


@pytest.mark.parametrize("content", [b"", b"yesterday\n", b"\xff\xfe", b"2026-01-05T12:00:00\n"])
def test_a_file_that_holds_no_instant_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "time").write_bytes(content)
    with pytest.raises(FormatError):
        SimulatedClock(tmp_path / "time").now()


def test_only_the_clock_reads_the_time() -> None:
    # "datetime.now() outside clock.py" must not be in it (DESIGN 10)
    source = Path(beforehand.__file__).parent
    readers = ("datetime.now(", "utcnow(", "date.today(", "time.time(", "time.localtime(")
    found = [
        f"{path.name}: {word}"
        for room in ("records", "book")
        for path in sorted((source / room).glob("*.py"))
        for word in readers
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []
