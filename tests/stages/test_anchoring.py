"""Checkpoints go to real clocks outside: a time-stamping authority and a calendar on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.anchor import COMPLETE, PENDING, Evidence, Subject
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust import Trust
from beforehand.book.stamped_list import StampedList, check_listed
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RemoteError
from beforehand.records.evidence import ProofLine
from beforehand.stages.anchor_failures import plain_reason
from beforehand.stages.anchoring import (
    LIST_NAME,
    STAMPS,
    kept_stamps,
    seal_proofs,
    stamp_checkpoint,
)
from beforehand.stages.pen import Pen
from beforehand.stages.slots import later
from beforehand.stages.unanchored import unanchored
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.small_league import play_small_league

AT = "2026-01-03T00:00:00Z"
AN_HOUR_ON = "2026-01-03T01:00:00Z"


@pytest.fixture
def pen(tmp_path: Path) -> Iterator[Pen]:
    made = play_small_league(tmp_path / "league")
    with made:
        made.checkpoint()
        yield made


class Made:
    """An anchor that a test steers; what it is given is kept."""

    def __init__(self, name: str, *states: str) -> None:
        self.name, self.states, self.given = name, list(states), [b""]

    def _next(self) -> Evidence:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state == "away":
            raise RemoteError("it is away", retryable=True)
        return Evidence(self.name, state, f"{self.name} {state}".encode(), "application/json")

    def submit(self, note: bytes) -> Evidence:
        self.given.append(note)
        return self._next()

    def upgrade(self, evidence: Evidence) -> Evidence:
        assert evidence.state == PENDING
        return self._next()

    def check(self, *given: object) -> None:
        raise AssertionError("nothing is checked where evidence is made")


def states(folder: Path) -> list[tuple[str, str]]:
    return [(stamp.anchor, stamp.state) for stamp in kept_stamps(folder)]


def test_the_list_binds_the_book_and_is_what_is_stamped(pen: Pen, tmp_path: Path) -> None:
    anchor = Made("made", COMPLETE)
    done = stamp_checkpoint(pen, tmp_path, [anchor], AT)  # type: ignore[list-item]
    assert (done.submitted, done.completed, done.waiting, done.problems) == (1, 1, 0, [])
    path = tmp_path / STAMPS / str(pen.store.size) / LIST_NAME
    assert anchor.given[-1] == path.read_bytes()
    with (tmp_path / "league" / "book.jsonl").open("rb") as book:
        listed = check_listed(book, StampedList.parse(path.read_bytes()))
    assert listed.lines == pen.store.size
    # The same checkpoint is stamped once, however often it is looked at.
    stamp_checkpoint(pen, tmp_path, [anchor], AT)  # type: ignore[list-item]
    assert len(anchor.given) == 2


def test_a_promise_is_pending_until_it_is_kept(pen: Pen, tmp_path: Path) -> None:
    anchor = Made("made", PENDING, PENDING, COMPLETE)
    stamp_checkpoint(pen, tmp_path, [anchor], AT)  # type: ignore[list-item]
    assert states(tmp_path) == [("made", PENDING)]
    assert seal_proofs(pen, tmp_path) == 1
    for minutes in (5, 30):
        at = f"2026-01-03T00:{minutes:02}:00Z"
        stamp_checkpoint(pen, tmp_path, [anchor], at)  # type: ignore[list-item]
    assert states(tmp_path) == [("made", COMPLETE)]
    assert seal_proofs(pen, tmp_path) == 1
    assert seal_proofs(pen, tmp_path) == 0
    lines = [record for _, record in pen.records() if isinstance(record, ProofLine)]
    assert [line.state for line in lines] == [PENDING, COMPLETE]
    assert all({body.role for body in line.bodies} == {"list", "proof"} for line in lines)


def test_an_anchor_that_is_away_ends_nothing_and_is_tried_again(pen: Pen, tmp_path: Path) -> None:
    away, here = Made("away", "away", COMPLETE), Made("here", COMPLETE)
    both = [away, here]
    done = stamp_checkpoint(pen, tmp_path, both, AT)  # type: ignore[arg-type]
    assert done.problems and "it is away" in done.problems[0]
    assert states(tmp_path) == [("here", COMPLETE)]
    assert stamp_checkpoint(pen, tmp_path, both, AT).submitted == 0  # type: ignore[arg-type]
    later = stamp_checkpoint(pen, tmp_path, both, "2026-01-03T00:02:00Z")  # type: ignore[arg-type]
    assert (later.submitted, later.waiting) == (1, 0)
    assert sorted(states(tmp_path)) == [("away", COMPLETE), ("here", COMPLETE)]


def proof_lines(pen: Pen) -> list[ProofLine]:
    return [record for _, record in pen.records() if isinstance(record, ProofLine)]


def test_an_anchor_that_fails_for_a_day_is_sealed_as_failed_once(pen: Pen, tmp_path: Path) -> None:
    now, day = pen.now()[0], pen.now()[0][:10]
    long_ago = later(now, seconds=-90_000)
    anchors = [Made("away", "away"), Made("here", COMPLETE), Made("slow", PENDING)]
    stamp_checkpoint(pen, tmp_path, anchors, later(now, seconds=-3600))  # type: ignore[arg-type]
    assert seal_proofs(pen, tmp_path) == 2, "an hour is not long"
    queue = tmp_path / "state" / "anchors.json"
    queue.write_text(queue.read_text().replace(later(now, seconds=-3600), long_ago))
    size = pen.store.checkpoint_sizes()[-1]
    assert seal_proofs(pen, tmp_path) == 1, "a promise that is only waited for did not fail"
    (line,) = [line for line in proof_lines(pen) if line.state == "failed"]
    assert (line.anchor, line.checkpoint_size, line.attempts) == ("away", size, 1)
    assert (line.reason, [body.role for body in line.bodies]) == ("it is away", ["list"])
    stamp_checkpoint(pen, tmp_path, anchors, f"{day}T23:59:59Z")  # type: ignore[arg-type]
    assert seal_proofs(pen, tmp_path) == 0, "once for an anchor and a checkpoint"
    assert ("away", COMPLETE) not in states(tmp_path)
    anchors[0].states = [COMPLETE]
    stamp_checkpoint(pen, tmp_path, anchors, "2027-01-01T00:00:00Z")  # type: ignore[arg-type]
    assert seal_proofs(pen, tmp_path) == 1
    said = [line.state for line in proof_lines(pen) if line.anchor == "away"]
    assert said == ["failed", COMPLETE]
    queue.write_text("[")
    assert seal_proofs(pen, tmp_path) == 0, "a spoiled queue holds up no facts"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("https://u:p/w@h.example/x?key=K: HTTP 500 oh\nno", "https://h.example: HTTP 500 oh no"),
        ("https://h.example/v3/SECRET answered", "https://h.example answered"),
        ("ssh://git@h.example/a: refused; gone", "ssh://h.example: refused; gone"),
        ("[Errno 2] No such file: '/root/a b'", "[Errno 2] No such file: 'PATH b'"),
        ("\x1b[31mré\u202ed", "[31mr d"),
        ("\x00", "no reason was given"),
        ("x" * 900, "x" * 300),
    ],
)
def test_the_words_of_a_failure_hold_no_secret(reason: str, said: str) -> None:
    assert plain_reason(reason) == said


def test_why_a_promise_is_not_kept_stays_known(pen: Pen, tmp_path: Path) -> None:
    calendar = LocalCalendar(SystemClock())
    with Served(calendar.serve) as promising:
        calendar.url = promising.url
        own = OpenTimestamps(calendars=(promising.url,), trusted=(promising.url,), seconds=2)
        stamp_checkpoint(pen, tmp_path, [own], AT)
        stamp_checkpoint(pen, tmp_path, [own], AN_HOUR_ON)
    assert unanchored(tmp_path)[0]["last_error"] is None, "not there yet is no failure"
    stamp_checkpoint(pen, tmp_path, [own], "2026-01-03T12:00:00Z")
    told = unanchored(tmp_path)[0]["last_error"]
    assert told.startswith("a promise yet: http://127.0.0.1") and "refused" in told
    assert seal_proofs(pen, tmp_path) == 1


def test_a_real_authority_and_a_real_calendar(pen: Pen, tmp_path: Path) -> None:
    clock = SystemClock()
    tsa, calendar = LocalTsa(tmp_path / "tsa"), LocalCalendar(clock)
    with Served(tsa.serve) as signing, Served(calendar.serve) as promising:
        calendar.url = promising.url
        anchors = [
            TimeStampAuthority("local", signing.url),
            OpenTimestamps(calendars=(promising.url,), trusted=(promising.url,)),
        ]
        done = stamp_checkpoint(pen, tmp_path, anchors, AT)
        assert done.problems == []
        assert sorted(states(tmp_path)) == [("local", COMPLETE), ("opentimestamps", PENDING)]
        calendar.mine()
        later = stamp_checkpoint(pen, tmp_path, anchors, "2026-01-03T12:00:00Z")
        assert (later.completed, later.problems) == (1, [])
    held = {stamp.anchor: stamp for stamp in kept_stamps(tmp_path)}
    assert held["local"].path.name == "list.txt.local.tsr"
    assert held["opentimestamps"].path.name == "list.txt.ots"
    subject = Subject.of_file(held["local"].path.with_name(LIST_NAME))
    trust = Trust(authorities=(tsa.authority,))
    now = clock.now()
    assert check_bytes(held["local"].data(), subject, trust, now).exit_code == 0
    other = Subject.of_bytes(b"another list")
    assert check_bytes(held["local"].data(), other, trust, now).exit_code == 1
    # Nobody gave a block header: what the calendar says is not checked, and never passed.
    assert check_bytes(held["opentimestamps"].data(), subject, trust, now).exit_code == 2


def test_what_waits_at_each_anchor_is_told_with_its_last_error(tmp_path: Path, pen: Pen) -> None:
    folder = tmp_path / "away"
    anchors = [Made("away", "away"), Made("promises", PENDING), Made("quick", COMPLETE)]
    assert unanchored(folder, ["away"])[0]["queued"] == 0
    stamp_checkpoint(pen, folder, anchors, AT)
    stamp_checkpoint(pen, folder, anchors, AN_HOUR_ON)
    told = {each["anchor"]: each for each in unanchored(folder, ["away", "promises", "quick"])}
    assert told["away"] == {
        "anchor": "away",
        "complete": 0,
        "pending": 0,
        "failed": 1,
        "queued": 0,
        "since": AT,
        "next_try": "2026-01-03T01:02:00Z",
        "last_error": "it is away",
        "last_error_at": AN_HOUR_ON,
    }
    assert (told["promises"]["pending"], told["promises"]["last_error"]) == (1, None)
    assert (told["quick"]["complete"], told["quick"]["since"]) == (1, None)
    (folder / "state" / "anchors.json").write_text("[")
    with pytest.raises(FormatError, match="is not a queue of submissions"):
        unanchored(folder)


def test_attack_a_kill_between_a_folder_and_its_list(tmp_path: Path, pen: Pen) -> None:
    """What a dead process left is no list: it holds up neither the next stamps nor the facts."""
    one: Any = Made("one", "away", COMPLETE)
    assert stamp_checkpoint(pen, tmp_path, [one], AT).problems
    (tmp_path / STAMPS / str(pen.store.size + 1)).mkdir()
    assert stamp_checkpoint(pen, tmp_path, [one], AN_HOUR_ON).submitted == 1
    assert [stamp.size for stamp in kept_stamps(tmp_path)] == [pen.store.size]
    assert seal_proofs(pen, tmp_path) == 1


def test_attack_a_kill_between_a_proof_and_its_promise(tmp_path: Path, pen: Pen) -> None:
    """A promise that was kept is told by nobody any more: the next round takes it away."""
    one: Any = Made("one", PENDING, COMPLETE)
    stamp_checkpoint(pen, tmp_path, [one], AT)
    (promise,) = kept_stamps(tmp_path)
    data = promise.data()
    assert stamp_checkpoint(pen, tmp_path, [one], AN_HOUR_ON).completed == 1
    promise.path.write_bytes(data)
    assert stamp_checkpoint(pen, tmp_path, [one], AN_HOUR_ON).waiting == 0
    assert [stamp.state for stamp in kept_stamps(tmp_path)] == [COMPLETE]
