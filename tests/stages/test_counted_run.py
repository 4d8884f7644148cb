"""Which run of several counts: the schedule decides, from the sealed slot and before any answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.reader import BookReader
from beforehand.clock import instant_text
from beforehand.errors import FormatError, RuleError
from beforehand.publish.counted_run import counts_by_rule
from beforehand.publish.fold import LeagueFold, fold_book
from beforehand.publish.levels import Level, run_levels
from beforehand.publish.rows import build_rows
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.declaration import missing_features
from beforehand.stages.slots import slots_between
from beforehand.stages.tick import Ticked, tick
from tests.stages.live_world import FIRST_SLOT, MODELS, Killed, LiveLeague, answers, dies, in_turn
from tests.stages.live_world import live_declaration as declaration
from tests.stages.raw_book import answers_by_ask, lines_of, of_kind

ONLY_SCHEDULE = 'cron = ["0 10 * * *", "0 22 * * *"]'
WHY = "to see how far the day moves them"
CHANGES = {
    ONLY_SCHEDULE: 'cron = ["0 10 * * *"]\n'
    f'others = [{{ name = "evening", cron = "0 22 * * *", why = "{WHY}" }}]',
    'rule = "every_run"': 'rule = "scheduled_run"',
}
EVENING = "2026-01-05T22:00:00Z"


def begun(folder: Path, **given: Any) -> LiveLeague:
    return LiveLeague.begin(folder, changes=CHANGES, **given)


def extra(league: LiveLeague, why: str, instant: str = "") -> Ticked:
    """One tick in which an extra run is asked for."""
    if instant:
        league.clock.step_to(instant)
    pen, situation = league.open()
    with pen:
        return asyncio.run(tick(pen, situation, league.world(), league.folder, why))


def raws(league: LiveLeague) -> list[bytes]:
    return list(BookReader(league.folder / "league").lines())


def folded(lines: list[bytes], league: LiveLeague) -> LeagueFold:
    return fold_book(lines, BookReader(league.folder / "league").read_body)


def relabelled(lines: list[bytes], run: str, counted: bool) -> list[bytes]:
    """The book of an operator who labels a run as suits it; its chain is nobody's matter here."""
    told = []
    for raw in lines:
        value = decode_json(raw)
        if value["kind"] == "run" and value["run"] == run:
            value["counted"] = counted
            raw = seal_json(value)
        told.append(raw)
    return told


def test_runs_of_other_slots_are_sealed_as_not_counted_and_say_why(tmp_path: Path) -> None:
    league = begun(tmp_path)
    for instant in (FIRST_SLOT, EVENING):
        assert not league.tick_at(instant).problems
    told = {run["slot"]: (run["counted"], run.get("why")) for run in of_kind(
        lines_of(tmp_path / "league"), "run")}  # fmt: skip
    assert told == {FIRST_SLOT: (True, None), EVENING: (False, WHY)}
    rows = build_rows(folded(raws(league), league))
    stated = [row for row in rows if row.kind != "derived"]
    assert {row.status for row in stated if row.run == "2026-01-05T2200"} == {"uncounted_run"}
    assert {row.status for row in stated if row.run == "2026-01-05T1000"} == {"open"}
    assert len(stated) == 2 * 2 * len(MODELS), "an answer that does not count is published"


def test_a_missed_slot_is_missed_whether_it_counts_or_not(tmp_path: Path) -> None:
    league = begun(tmp_path)
    done = league.tick_at("2026-01-06T09:00:00Z")
    assert done.missed == ["2026-01-05T1000", "2026-01-05T2200"]


def test_an_extra_run_is_sealed_as_not_counted_before_its_first_ask(tmp_path: Path) -> None:
    league = begun(tmp_path)
    league.tick_at(FIRST_SLOT)
    done = extra(league, "a new prompt, to look at", "2026-01-05T13:37:42Z")
    assert done.opened == ["2026-01-05T1337"] and done.closed == {"2026-01-05T1337": "complete"}
    lines = lines_of(tmp_path / "league")
    (run,) = of_kind(lines, "run", run="2026-01-05T1337")
    assert (run["counted"], run["why"]) == (False, "a new prompt, to look at")
    assert all(ask["n"] > run["n"] for ask in of_kind(lines, "ask", run=run["run"]))
    assert of_kind(lines, "ask", run=run["run"])
    league.tick_at(EVENING)
    assert of_kind(lines_of(tmp_path / "league"), "run", slot=EVENING), "the schedule goes on"


def test_what_was_missed_before_an_extra_run_is_sealed_as_missed(tmp_path: Path) -> None:
    league = begun(tmp_path)
    done = extra(league, "to look", "2026-01-06T08:00:00Z")
    assert done.missed == ["2026-01-05T1000", "2026-01-05T2200"]
    assert done.opened == ["2026-01-06T0800"]
    later = league.tick_at("2026-01-06T10:00:00Z")
    assert later.opened == ["2026-01-06T1000"] and not later.missed


@pytest.mark.parametrize(
    ("why", "instant", "said"),
    [
        ("to look", FIRST_SLOT, "is a slot of the schedule"),
        ("to look", "2026-01-05T22:00:31Z", "is a slot of the schedule"),
        ("", "2026-01-05T13:00:00Z", "say why"),
        ("x" * 401, "2026-01-05T13:00:00Z", "say why"),
    ],
)
def test_an_extra_run_that_is_refused(tmp_path: Path, why: str, instant: str, said: str) -> None:
    league = begun(tmp_path)
    before = len(raws(league))
    with pytest.raises(RuleError, match=said):
        extra(league, why, instant)
    assert len(raws(league)) == before


def test_two_extra_runs_of_one_minute_are_one(tmp_path: Path) -> None:
    league = begun(tmp_path)
    extra(league, "to look", "2026-01-05T13:00:00Z")
    with pytest.raises(RuleError, match="a run of 2026-01-05T13:00:00Z already"):
        extra(league, "to look", "2026-01-05T13:00:20Z")


def test_no_extra_run_where_every_run_counts(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path)
    with pytest.raises(RuleError, match="would count an extra run"):
        extra(league, "to look", "2026-01-05T13:00:00Z")


def test_an_extra_run_that_is_killed_goes_on_as_not_counted(tmp_path: Path) -> None:
    behaviours = {"model-a": answers("0.5"), "model-b": in_turn(dies, answers("0.6"))}
    league = begun(tmp_path, behaviours=behaviours)
    with pytest.raises(Killed):
        extra(league, "to look", "2026-01-05T13:00:00Z")
    done = league.tick()
    assert done.closed == {"2026-01-05T1300": "complete"} and not done.opened
    lines = lines_of(tmp_path / "league")
    assert [run["counted"] for run in of_kind(lines, "run")] == [False]
    assert len(answers_by_ask(lines)) == len(of_kind(lines, "ask"))


@pytest.mark.parametrize("label", [True, False])
def test_attack_a_better_rerun_counted(tmp_path: Path, label: bool) -> None:
    """Caught by the declared rule on the sealed slots: the label moves no number, P3 is 0."""
    league = begun(tmp_path)
    for instant in (FIRST_SLOT, EVENING):
        league.tick_at(instant)
    honest = raws(league)
    run = "2026-01-05T2200" if label else "2026-01-05T1000"
    forged = relabelled(honest, run, label)
    assert forged != honest
    assert _judged(build_rows(folded(forged, league))) == _judged(
        build_rows(folded(honest, league))
    )
    live = [raw.replace(b'"time": "simulated"', b'"time": "live"') for raw in forged]
    declared = {"": league.declaration.content}
    levels = run_levels(live, [], sound=True, declared=declared)
    assert levels[run]["P3"].level == "0"
    assert "by the declared rule a run of the slot" in levels[run]["P3"].evidence
    for name, held in levels.items():
        if name != run:
            assert _level(held["P3"]) == "1"


def _judged(rows: Any) -> list[tuple[Any, ...]]:
    return [(row.run, row.forecaster, row.question, row.status) for row in rows]


def _level(level: Level) -> str:
    return level.level


def test_attack_a_second_run_of_a_counted_slot(tmp_path: Path) -> None:
    """Caught by the slot that both name: exactly one run of it counts."""
    league = begun(tmp_path)
    league.tick_at(FIRST_SLOT)
    again = [raw.replace(b"2026-01-05T1000", b"2026-01-05T1001") for raw in raws(league)[1:]]
    lines = [*raws(league), *again]
    live = [raw.replace(b'"time": "simulated"', b'"time": "live"') for raw in lines]
    levels = run_levels(live, [], sound=True, declared={"": league.declaration.content})
    assert [_level(held["P3"]) for held in levels.values()] == ["1", "0"]
    assert "a rerun" in levels["2026-01-05T1001"]["P3"].evidence


@pytest.mark.parametrize("written", ["2026-01-05T10:00:00Z", "2026-01-05T10:00:00.0Z"])
def test_attack_a_rerun_of_a_slot_is_scored_beside_the_first(tmp_path: Path, written: str) -> None:
    """Caught by: the first run of a slot counts, whatever a later one writes for its instant."""
    league = begun(tmp_path)
    league.tick_at(FIRST_SLOT)
    extra(league, "to look", "2026-01-05T10:30:00Z")
    lines = []
    for raw in raws(league):
        value = decode_json(raw)
        if value["kind"] == "run" and value["run"] == "2026-01-05T1030":
            value |= {"slot": written, "counted": True, "why": None}
        lines.append(seal_json({key: held for key, held in value.items() if held is not None}))
    fold = folded(lines, league)
    assert {run: fold.counts(run) for run in fold.runs} == {
        "2026-01-05T1000": True,
        "2026-01-05T1030": False,
    }
    live = [raw.replace(b'"time": "simulated"', b'"time": "live"') for raw in lines]
    levels = run_levels(live, [], sound=True, declared={"": league.declaration.content})
    assert "a rerun" in levels["2026-01-05T1030"]["P3"].evidence


def test_attack_a_slot_between_two_seconds() -> None:
    """Caught by: no instant of a schedule has a part of a second."""
    declared = declaration(changes=CHANGES).content
    assert counts_by_rule(declared, "2026-01-05T10:00:00Z") is True
    assert counts_by_rule(declared, "2026-01-05T10:00:00.5Z") is False


# ---- the declaration


def test_the_declared_rule_can_be_run() -> None:
    assert missing_features(declaration(changes=CHANGES)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({ONLY_SCHEDULE: CHANGES[ONLY_SCHEDULE]}, "schedule.others"),
        (
            {
                'rule = "every_run"': 'rule = "scheduled_run"',
                'kind = "cron"\n' + ONLY_SCHEDULE + '\ntimezone = "UTC"': 'kind = "once"\n'
                'slot = "2026-01-05T10:00:00Z"\ndeadline = "2026-01-05T11:00:00Z"',
                "deadline_minutes = 60\ngrace_minutes = 60\n": "",
                'missed = "never_backfilled"\n': "",
                'cohort = "iso_week"\n': "",
            },
            "needs a schedule of several runs",
        ),
    ],
)
def test_a_rule_that_fits_no_schedule_is_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(FormatError, match=said):
        declaration(changes=changes)


# ---- the rule by the standard library, beside the schedule as it is kept

_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")


@pytest.mark.parametrize("zone", _ZONES)
def test_the_rule_on_a_slot_is_the_schedule_as_it_was_kept(zone: str) -> None:
    """Through a year with its two turns of the clocks, times that are left out or come twice."""
    schedule = {
        "kind": "cron",
        "cron": ["30 1 * * *", "30 2 * * *", "15 3 * * 1-5", "0 0 1 * *"],
        "others": [
            {"name": "late", "cron": "30 22 * * *", "why": "late"},
            {"name": "noon", "cron": "0 12 * * SUN", "why": "noon"},
        ],
        "timezone": zone,
        "grace_minutes": 5,
        "deadline_minutes": 90,
    }
    declared = {"counted_run": {"rule": "scheduled_run"}, "schedule": schedule}
    slots = slots_between(schedule, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
    assert len(slots) > 1300 and {slot.counted for slot in slots} == {True, False}
    wrong = [s for s in slots if counts_by_rule(declared, s.at) is not s.counted]
    assert wrong == []
    held = {slot.at for slot in slots}
    for slot in slots[::7]:
        beside = replace(slot, at=slot.at[:14] + "59" + slot.at[16:])
        assert beside.at in held or counts_by_rule(declared, beside.at) is False


@pytest.mark.parametrize(
    "cron",
    [
        *("0 12 * * 1/2", "0 12 * * */2", "0 12 * * */7", "0 12 * * 1-7/3", "0 12 * * 0,5/1"),
        *("0 12 2/9 * *", "0 12 * 1/5 *", "0 6/6 * * 3"),
    ],
)
def test_a_step_means_the_same_to_the_schedule_and_to_the_rule(cron: str) -> None:
    """Every hour of a quarter; else an extra run counts, on a day that the schedule leaves out."""
    schedule = {"cron": [cron], "timezone": "UTC", "grace_minutes": 5, "deadline_minutes": 90}
    declared = {"counted_run": {"rule": "scheduled_run"}, "schedule": schedule}
    first = datetime(2026, 1, 1, tzinfo=UTC)
    hours = [instant_text(first + timedelta(hours=n)) for n in range(24 * 90)]
    slots = {slot.at for slot in slots_between(schedule, "2025-12-31T23:59:00Z", hours[-1])}
    assert slots == {at for at in hours if counts_by_rule(declared, at)}


def test_a_rule_that_cannot_be_read_leaves_the_label() -> None:
    rule = {"counted_run": {"rule": "scheduled_run"}}
    cron = {"cron": ["0 10 * * *"], "timezone": "Nowhere/Atall"}
    assert counts_by_rule({**rule, "schedule": cron}, FIRST_SLOT) is None
    assert counts_by_rule({**rule, "schedule": {"calendar": "XNYS"}}, FIRST_SLOT) is None
    assert counts_by_rule({"counted_run": {"rule": "every_run"}}, FIRST_SLOT) is None
    utc = {"cron": ["0 10 * * *"], "timezone": "UTC"}
    assert counts_by_rule({**rule, "schedule": utc}, "no time") is None
