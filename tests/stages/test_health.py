"""Conditions: each begins and ends with what the book says, and says since when."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.queue import SUBMIT, UPGRADE, Item
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.records.evidence import Erased, ProofLine
from beforehand.records.forecast import Answer
from beforehand.records.record import BodyRef, Record
from beforehand.records.run import Ask, Close, Roster, Run
from beforehand.stages.health import (
    Condition,
    conditions,
    last_asks,
    read_health,
    worst,
    write_health,
)
from beforehand.stages.inbox import Backlog

BLIND = Declaration.parse(shipped()["blind"], "blind.toml")
REPLAY = Declaration.parse(shipped()["replay"], "replay.toml")
Q = "evc1:" + "ab" * 32
HEX = "cd" * 32
DAY = "2026-01-05"
NOW = f"{DAY}T12:00:00Z"


def at(hour: int, minute: int = 0) -> str:
    return f"{DAY}T{hour:02}:{minute:02}:00Z"


def found(
    *records: Record, now: str = NOW, declared: Declaration = BLIND, **more: Any
) -> list[Condition]:
    return conditions(list(enumerate(records, 1)), declared, now, **more)


def ids(*records: Record, now: str = NOW, **more: Any) -> dict[str, str]:
    return {each.id: each.severity for each in found(*records, now=now, **more)}


def close(run: str, status: str, hour: int = 11, why: str | None = None) -> Close:
    return Close(at=at(hour), run=run, slot=at(10), status=status, why=why)


def begun(run: str = "r1", deadline: str = at(11)) -> tuple[Record, ...]:
    """A roster and its run; the roster must be line 1."""
    return (
        Roster(at=at(10), run=run, seats=(), deadline=deadline, retry="n", counted_run="n"),
        Run(
            at=at(10),
            run=run,
            segment="s1",
            slot=at(10),
            counted=True,
            snapshot_line=1,
            roster_line=1,
            questions=(Q,),
        ),
    )


def test_a_sound_league_has_none() -> None:
    assert found() == []
    assert found(*begun(), close("r1", "complete")) == []
    assert worst([]) == "ok"


# ---- slots


@pytest.mark.parametrize(
    ("status", "name", "severity"),
    [
        ("missed", "missed_slot:r1", "critical"),
        ("failed", "run_failed:r1", "critical"),
        ("stopped_budget", "run_stopped:r1", "warning"),
    ],
)
def test_a_bad_end_holds_until_a_slot_ends_well(status: str, name: str, severity: str) -> None:
    (bad,) = found(close("r1", status, why="as it was"))
    assert (bad.id, bad.severity, bad.since) == (name, severity, at(11))
    assert "as it was" in bad.sentence
    assert set(ids(close("r1", status), close("r2", "missed"))) == {name, "missed_slot:r2"}
    later = "2026-01-06T11:00:00Z"
    assert ids(close("r1", status), close("r2", "complete"), now=later) == {}


def test_a_missed_slot_is_told_for_a_day_whatever_follows_it() -> None:
    """After an outage one tick seals what was missed and completes what is due."""
    both = close("r1", "missed"), close("r2", "complete")
    assert ids(*both) == {"missed_slot:r1": "critical"}
    assert ids(*both, close("r3", "complete"), now="2026-01-06T10:59:59Z") == {
        "missed_slot:r1": "critical"
    }
    assert ids(*both, now="2026-01-06T11:00:00Z") == {}
    assert ids(close("r1", "failed"), close("r2", "complete")) == {}


def test_a_run_that_is_not_closed_a_while_after_its_deadline_is_stalled() -> None:
    assert ids(*begun(), now=at(11, 15)) == {}
    (stalled,) = found(*begun(), now=at(11, 16))
    assert (stalled.id, stalled.since) == ("stalled_slot:r1", at(11))
    assert ids(*begun(), now=at(11, 16), declared=REPLAY) == {}
    assert ids(*begun(), close("r1", "complete"), now=at(11, 16)) == {}


# ---- money


def spending(*amounts: tuple[str, str | None]) -> list[Record]:
    """One ask with its reservation and its answer's cost each."""
    records: list[Record] = [*begun()]
    for place, (reserved, cost) in enumerate(amounts):
        ask = Ask(
            at=at(10, place), run="r1", forecaster="m", attempt=1, questions=(Q,), reserved=reserved
        )
        records.append(ask)
        records.append(
            Answer(
                at=at(10, place),
                run="r1",
                forecaster="m",
                status="answered",
                ask_line=len(records),
                cost=cost,
            )
        )
    return [*records, close("r1", "complete")]


@pytest.mark.parametrize(
    ("amounts", "severity"),
    [
        ([("39.99", "39.99")], None),
        ([("40", "40")], "warning"),
        ([("40", None)], "warning"),  # an unknown cost keeps its reservation
        ([("40", "1")], None),
        ([("30", "30"), ("20", "20")], "critical"),
        ([("30", "30"), ("20", None)], "critical"),
    ],
)
def test_the_budget_is_told_from_four_fifths_on(
    amounts: list[tuple[str, str | None]], severity: str | None
) -> None:
    """blind.toml: 50 USD a cohort, and the present time is in that cohort."""
    wanted = {} if severity is None else {"budget:2026-W02": severity}
    assert ids(*spending(*amounts)) == wanted
    assert ids(*spending(*amounts), now="2026-01-12T00:00:00Z") == {}


def test_the_budget_says_since_when_and_how_much() -> None:
    (budget,) = found(*spending(("39", "39"), ("5", "5"), ("1", "1")))
    assert budget.since == at(10, 1)
    assert budget.sentence.startswith("45 of 50.00 USD")
    assert "(90 %)" in budget.sentence


def test_what_is_spent_under_a_cap_of_zero_is_told() -> None:
    text = shipped()["blind"].decode().replace('cap = "50.00"', 'cap = "0"')
    nothing = Declaration.parse(text.encode(), "blind.toml")
    assert nothing.content["budget"]["cap"] == "0"
    (over,) = found(*spending(("0", "0"), ("0", "0.01")), declared=nothing)
    assert (over.id, over.severity, over.since) == ("budget:2026-W02", "critical", at(10, 1))
    assert over.sentence == "0.01 of 0 USD are spent or reserved in 2026-W02"
    assert found(*spending(("0", "0")), declared=nothing) == []


# ---- seats


def asked(*statuses: str, name: str = "m") -> list[Record]:
    """One question a run, each asked once."""
    records: list[Record] = []
    for place, status in enumerate(statuses):
        run = f"r{place}"
        records.append(Ask(at=at(10, place), run=run, forecaster=name, attempt=1, questions=(Q,)))
        records.append(
            Answer(at=at(10, place), run=run, forecaster=name, status=status, ask_line=len(records))
        )
    return records


@pytest.mark.parametrize(
    ("statuses", "severity"),
    [
        (("timeout",) * 2, None),
        (("timeout",) * 3, "critical"),
        (("timeout",) * 3 + ("answered",), None),
        (("answered",) * 3 + ("timeout",), None),
        (("answered",) * 3 + ("timeout",) * 2, "warning"),
        (("answered",) * 4 + ("timeout",), None),
        (("timeout",) * 20 + ("answered",) * 20, None),
        (("answered",) * 20 + ("timeout",) * 20, "critical"),
        (("budget",) * 20, None),
    ],
)
def test_a_seat_fails_by_its_last_asks(statuses: tuple[str, ...], severity: str | None) -> None:
    wanted = {} if severity is None else {"failing_seat:m": severity}
    assert ids(*asked(*statuses)) == wanted


def test_a_retry_that_came_out_is_no_failure() -> None:
    records: list[Record] = []
    for place in range(6):
        for attempt, status in enumerate(("timeout", "answered"), 1):
            run = f"r{place}"
            records.append(Ask(at=at(10), run=run, forecaster="m", attempt=attempt, questions=(Q,)))
            records.append(
                Answer(at=at(10), run=run, forecaster="m", status=status, ask_line=len(records))
            )
    assert found(*records) == []
    assert last_asks(list(enumerate(records, 1))) == {"m": [True] * 6}


# ---- proofs and bodies


def proof(state: str, hour: int, size: int = 7, day: str = "2026-01-03") -> ProofLine:
    return ProofLine(at=f"{day}T{hour:02}:00:00Z", anchor="ots", checkpoint_size=size, state=state)


def test_an_anchor_is_pending_until_that_very_checkpoint_is_complete() -> None:
    (pending,) = found(proof("pending", 1), proof("pending", 2, 9))
    assert (pending.id, pending.since) == ("pending_anchor:ots", "2026-01-03T01:00:00Z")
    assert "2 checkpoints" in pending.sentence
    assert "pending_anchor:ots" in ids(proof("pending", 1), proof("complete", 2, 9))
    assert ids(proof("pending", 1), proof("complete", 2)) == {}
    assert ids(proof("pending", 1, day=DAY)) == {}


def test_an_anchor_that_takes_nothing_is_told_though_no_line_speaks_of_it() -> None:
    def waits(since: str, task: str = SUBMIT) -> Item:
        return Item("tsa", HEX, task, since=since, next_at=NOW, attempts=9, reason="HTTP 403")

    day_before = "2026-01-04T11:59:59Z"
    (dead,) = found(waiting=[waits(at(3)), waits(day_before)])
    assert (dead.id, dead.severity, dead.since) == ("dead_anchor:tsa", "warning", day_before)
    assert "HTTP 403" in dead.sentence
    assert found(waiting=[waits("2026-01-04T12:00:00Z")]) == []
    assert found(waiting=[waits(day_before, UPGRADE)]) == []  # its promise is a line


def withheld(due: str | None) -> Answer:
    return Answer(
        at=at(10),
        run="r1",
        forecaster="m",
        status="answered",
        bodies=(BodyRef("answer", HEX, due),),
    )


def test_a_body_is_overdue_where_it_is_due_and_not_shown() -> None:
    def hidden(sha256: str) -> bool:
        return False

    assert found(withheld(at(11, 1)), is_shown=hidden) == []  # the next publication has it
    (overdue,) = found(withheld(at(11)), is_shown=hidden)
    assert (overdue.id, overdue.severity, overdue.since) == (
        "overdue_body:r1",
        "critical",
        at(11),
    )
    assert found(withheld(at(11)), is_shown=lambda sha256: sha256 == HEX) == []
    assert found(withheld(at(13)), is_shown=hidden) == []
    assert found(withheld(None), is_shown=hidden) == []
    assert found(withheld(at(11))) == []
    erased = Erased(at=at(11), line=1, body_sha256=HEX, why="asked for")
    assert found(withheld(at(11)), erased, is_shown=hidden) == []


# ---- the inbox


@pytest.mark.parametrize(
    ("now", "severity"),
    [(at(12, 4), None), (at(12, 6), "warning"), (at(12, 10), "warning"), (at(12, 11), "critical")],
)
def test_a_backlog_is_told_before_the_promise_is_broken(now: str, severity: str | None) -> None:
    backlog = Backlog(1, 0, at(12), at(12, 10))
    wanted = {} if severity is None else {"inbox_backlog": severity}
    assert ids(now=now, backlog=backlog) == wanted


def test_what_could_not_be_sealed_is_told() -> None:
    assert ids(backlog=Backlog(refused=2)) == {"inbox_refused": "warning"}
    assert "inbox_backlog" in ids(now=at(12), backlog=Backlog(500, 0, at(12), at(12, 10)))


# ---- all together


def test_the_order_and_the_ids_are_stable_and_a_sentence_is_bounded() -> None:
    records = [*asked("timeout", "timeout", "timeout"), close("r9", "missed", why="x" * 400)]
    first, second = found(*records), found(*records, now=at(13))
    assert [each.id for each in first] == ["missed_slot:r9", "failing_seat:m"]
    assert [each.id for each in first] == [each.id for each in second]
    assert [each.since for each in first] == [each.since for each in second]
    assert max(len(each.sentence) for each in first) <= 400
    assert worst(first) == "critical"
    assert Decimal(len(first)) == 2


def test_the_word_for_all_is_left_for_the_intake(tmp_path: Path) -> None:
    assert read_health(tmp_path) == "unknown"
    write_health(tmp_path, found(close("r1", "stopped_budget")), NOW)
    assert read_health(tmp_path) == "warning"
    (tmp_path / "state" / "health.json").write_bytes(b'{"status": "<b>"}')
    assert read_health(tmp_path) == "unknown"
