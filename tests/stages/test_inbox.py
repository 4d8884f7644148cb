"""The inbox keeps what was promised, and a drain writes each submission's line exactly once."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.bodies import open_sealed
from beforehand.book.reader import BookReader
from beforehand.clock import SimulatedClock
from beforehand.errors import RuleError
from beforehand.records.codec import digest, seal_json
from beforehand.records.forecast import Cell
from beforehand.records.record import BodyRef
from beforehand.records.resolution import Resolution
from beforehand.stages import inbox as inbox_module
from beforehand.stages.draining import drain_inbox, rules_of
from beforehand.stages.inbox import MAX_PER_RUN, Inbox
from beforehand.stages.receipt import Receipt
from beforehand.stages.submission import Submission
from tests.relay.made_league import (
    AFTER,
    DEADLINE,
    RUN,
    START,
    MadeLeague,
    declaration,
    make_league,
)

KILLED = Path(__file__).parent / "inbox_killed.py"


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    return make_league(tmp_path / "league")


def put(league: MadeLeague, *submissions: Submission) -> None:
    for submission in submissions:
        Inbox(league.folder).accept(submission, league.league_key(), league.clock.now())


def answers(league: MadeLeague) -> list[dict[str, Any]]:
    lines = map(json.loads, BookReader(league.book).lines())
    return [line for line in lines if line["kind"] == "answer"]


def drain(league: MadeLeague) -> tuple[int, int, int]:
    with league.pen() as pen:
        done = drain_inbox(pen, league.folder)
    return done.sealed, done.moved, done.refused


def names(league: MadeLeague, state: str) -> list[str]:
    return sorted(path.name for path in (league.folder / "inbox" / state).glob("*/*/*"))


# ---- one submission, from receipt to line


def test_a_submission_becomes_one_line_with_two_sealed_bodies(league: MadeLeague) -> None:
    made = league.submission(note="as π says")
    put(league, made)
    assert drain(league) == (1, 0, 0)
    (line,) = answers(league)
    assert (line["run"], line["forecaster"], line["status"]) == (RUN, "ada", "answered")
    assert line["received_at"] == START
    assert line["submission"] == made.sha256
    assert not {"ask_line", "cells"} & line.keys()
    assert {body["role"]: body["due"] for body in line["bodies"]} == {
        "answer": DEADLINE,
        "submission": DEADLINE,
    }
    opened = {
        body["role"]: open_sealed(BookReader(league.book).read_body(body["sha256"]))
        for body in line["bodies"]
    }
    assert opened["submission"].content == made.data()
    cells = json.loads(opened["answer"].content)["cells"]
    assert cells == [{"question": name, "p": "0.62"} for name in league.ids]
    assert opened["answer"].salt != opened["submission"].salt
    assert names(league, "new") == []
    assert names(league, "done") == [f"{made.sha256}.{line['n']}.json"]
    assert drain(league) == (0, 0, 0)


def test_nothing_that_was_stated_stands_in_the_line(league: MadeLeague) -> None:
    put(league, league.submission(p="0.987654321", note="a secret word"))
    drain(league)
    raw = (league.book / "book.jsonl").read_bytes()
    assert b"0.987654321" not in raw
    assert b"secret word" not in raw


def test_the_receipt_is_of_the_league_and_the_same_one_comes_back(league: MadeLeague) -> None:
    made, box, key = league.submission(), Inbox(league.folder), league.league_key()
    note, fresh = box.accept(made, key, league.clock.now())
    receipt = Receipt.open(note.encode(), key.verifier)
    assert fresh
    assert receipt.submission == made.sha256
    assert (receipt.received_at, receipt.promised_by) == (START, "2026-01-01T00:10:00Z")
    league.clock.step_to("2026-01-01T00:05:00Z")
    assert box.accept(made, key, league.clock.now()) == (note, False)
    drain(league)
    assert box.accept(made, key, league.clock.now()) == (note, False)
    assert box.receipt(made.sha256) == note
    assert box.receipt("0" * 64) is None
    assert drain(league) == (0, 0, 0)
    assert len(answers(league)) == 1


def test_the_inbox_is_its_owners_alone(league: MadeLeague) -> None:
    put(league, league.submission())
    assert stat.S_IMODE((league.folder / "inbox").stat().st_mode) == 0o700


def test_lines_stand_in_the_order_of_arrival(league: MadeLeague) -> None:
    first, second, third = (league.submission(p=p) for p in ("0.9", "0.1", "0.5"))
    for minute, made in enumerate((first, second, third)):
        league.clock.step_to(f"2026-01-01T00:0{minute}:00Z")
        put(league, made)
    drain(league)
    assert [line["submission"] for line in answers(league)] == [
        first.sha256,
        second.sha256,
        third.sha256,
    ]


# ---- late, and after the outcome


def test_a_late_one_is_kept_and_says_that_it_is_late(league: MadeLeague) -> None:
    league.clock.step_to(AFTER)
    put(league, league.submission())
    drain(league)
    (line,) = answers(league)
    assert line["status"] == "late"
    assert {body["due"] for body in line["bodies"]} == {DEADLINE}


def test_nothing_is_stated_after_an_outcome(league: MadeLeague) -> None:
    with league.pen() as pen:
        evidence = b"yes\n"
        pen.write(
            lambda at: [
                Resolution(
                    at=at,
                    bodies=(BodyRef("evidence", digest(evidence), at),),
                    question=league.ids[1],
                    outcome="yes",
                    instant=START,
                    source="made up",
                    final="made up",
                )
            ],
            [evidence],
        )
    put(league, league.submission())
    assert drain(league) == (1, 0, 0)
    (line,) = answers(league)
    (body,) = (body for body in line["bodies"] if body["role"] == "answer")
    content = open_sealed(BookReader(league.book).read_body(body["sha256"])).content
    assert json.loads(content)["cells"] == [
        {"question": league.ids[0], "p": "0.62"},
        {"question": league.ids[1], "missing": "late"},
        {"question": league.ids[2], "p": "0.62"},
    ]


# ---- what the declaration says of the bodies


@pytest.mark.parametrize(
    ("answer", "submission", "rules"),
    [
        ("deadline", "deadline", {"answer": "deadline", "submission": "deadline"}),
        ("deadline", "never", {"answer": "deadline", "submission": "never"}),
        # Public with its line would give the answer away: it stays out of the book.
        ("deadline", "line", {"answer": "deadline"}),
        ("deadline", None, {"answer": "deadline"}),
        ("line", None, {"answer": "line", "submission": "line"}),
        ("line", "line", {"answer": "line", "submission": "line"}),
        ("line", "deadline", {"answer": "line", "submission": "deadline"}),
    ],
)
def test_a_submission_is_never_public_before_its_answer(
    tmp_path: Path, answer: str, submission: str | None, rules: dict[str, str]
) -> None:
    declared = declaration(submission, answer)
    assert rules_of(declared) == rules
    if "never" in rules.values():
        return  # this version does not run a league that never shows a body
    league = make_league(tmp_path / "league", declared)
    made = league.submission()
    put(league, made)
    assert drain(league) == (1, 0, 0)
    (line,) = answers(league)
    assert ("cells" in line) == (answer == "line")
    dues = {"line": line["at"], "deadline": DEADLINE}
    assert {body["role"]: body["due"] for body in line.get("bodies", ())} == {
        role: dues[rule]
        for role, rule in rules.items()
        if not (role == "answer" and rule == "line")
    }
    assert line["submission"] == made.sha256


# ---- bounds


def test_an_entrant_may_send_only_so_many_for_one_run(league: MadeLeague) -> None:
    for number in range(MAX_PER_RUN):
        put(league, league.submission(note=str(number)))
        if number == 9:
            drain(league)  # what is in the book counts too
    with pytest.raises(RuleError, match="no more are taken"):
        put(league, league.submission(note="one more"))
    put(league, league.submission("eve"))
    assert drain(league) == (11, 0, 0)


def test_waiting_bytes_and_the_disk_are_bounded(
    league: MadeLeague, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(league, league.submission())
    monkeypatch.setattr(inbox_module, "MAX_WAITING_BYTES", 100)
    with pytest.raises(RuleError, match="waits to be sealed"):
        put(league, league.submission(note="second"))
    monkeypatch.setattr(inbox_module, "LEAST_FREE_BYTES", 1 << 62)
    with pytest.raises(RuleError, match="nearly full"):
        put(league, league.submission("eve"))
    assert len(names(league, "new")) == 1


# ---- what else may lie in the folder


def plant(league: MadeLeague, name: str, data: bytes, run: str = RUN) -> None:
    path = league.folder / "inbox" / "new" / "ada" / run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def planted(league: MadeLeague, made: Submission, signer: str = "league") -> bytes:
    key = league.league_key() if signer == "league" else league.keys[signer]
    receipt = Receipt(made.origin, made.run, made.forecaster, made.sha256, START, DEADLINE)
    salts = {"answer": "ab" * 32, "submission": "cd" * 32}
    return seal_json(
        {
            "format": "beforehand-inbox/1",
            "receipt": receipt.signed(key),
            "salts": salts,
            "submission": made.object(),
        }
    )


def test_junk_and_what_the_rules_refuse_is_kept_beside_its_reason(league: MadeLeague) -> None:
    unknown = league.submission(run="run-9")
    foreign = league.submission(forecasts=(Cell(question="evc1:" + "0" * 64, p="0.5"),))
    forged = league.submission(note="not by the league")
    plant(league, "0" * 64 + ".json", b"junk")
    plant(league, "1" * 64 + ".json", planted(league, league.submission()))
    plant(league, unknown.sha256 + ".json", planted(league, unknown), "run-9")
    plant(league, foreign.sha256 + ".json", planted(league, foreign))
    plant(league, forged.sha256 + ".json", planted(league, forged, "mallory"))
    plant(league, "." + "2" * 64 + ".json.17.part", b"half")
    put(league, league.submission("eve"))
    assert drain(league) == (1, 0, 5)
    assert [line["forecaster"] for line in answers(league)] == ["eve"]
    reasons = {
        path.name[:4]: path.read_text()
        for path in (league.folder / "inbox" / "refused").glob("*/*/*.reason.txt")
    }
    assert "not JSON" in reasons["0000"]
    assert "where its content belongs" in reasons["1111"]
    assert "no run of that name" in reasons[unknown.sha256[:4]]
    assert "does not ask this question" in reasons[foreign.sha256[:4]]
    assert "not this league's" in reasons[forged.sha256[:4]]
    assert Inbox(league.folder).backlog().refused == 5
    assert drain(league) == (0, 0, 0)


def test_the_backlog_says_how_much_waits_and_since_when(league: MadeLeague) -> None:
    assert Inbox(league.folder).backlog().waiting == 0
    put(league, league.submission())
    league.clock.step_to("2026-01-01T00:01:00Z")
    put(league, league.submission("eve"))
    found = Inbox(league.folder).backlog()
    assert (found.waiting, found.oldest, found.promised_by) == (2, START, "2026-01-01T00:10:00Z")


# ---- killed anywhere


RunKilled = Callable[[str, MadeLeague, int], bool]


@pytest.fixture
def run_killed() -> Iterator[RunKilled]:
    """Run it to be killed at its n-th touch of the disk; whether it came to its end before."""
    with subprocess.Popen(
        [sys.executable, str(KILLED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        write, read = server.stdin, server.stdout

        def run(what: str, league: MadeLeague, at: int) -> bool:
            write.write(f"{what} {league.folder} {at}\n")
            write.flush()
            code = int(read.readline())
            assert code in (0, -signal.SIGKILL)
            return code == 0

        yield run
        write.close()


def test_a_drain_killed_at_any_touch_of_the_disk_writes_each_line_once(
    tmp_path: Path, run_killed: RunKilled
) -> None:
    """Each league is killed at one point more, then drained undisturbed."""
    made = make_league(tmp_path / "made")
    put(made, made.submission(), made.submission("eve"))
    ended, at, moved = False, 0, 0
    while not ended:
        at += 1
        league = copy_of(made, tmp_path / str(at))
        ended = run_killed("drain", league, at)
        _, only_moved, refused = drain(league)
        moved += only_moved
        assert refused == 0
        assert sorted(line["forecaster"] for line in answers(league)) == ["ada", "eve"]
        assert names(league, "new") == []
        named = {body["sha256"] for line in answers(league) for body in line["bodies"]}
        kept = {path.name for path in (league.book / "bodies").glob("*/*")}
        assert named <= kept
        # No body without a line either: the salts of a second attempt are those of the first.
        assert sum(map(len, (kept - named,))) == orphans(league)
    assert at > 20
    assert moved > 0


def copy_of(league: MadeLeague, folder: Path) -> MadeLeague:
    shutil.copytree(league.folder, folder)
    return replace(league, folder=folder, clock=SimulatedClock(folder / "clock"))


def orphans(league: MadeLeague) -> int:
    """Bodies of lines that are no answers: declaration, methodology, texts, snapshot."""
    lines = map(json.loads, BookReader(league.book).lines())
    return len(
        {
            body["sha256"]
            for line in lines
            if line["kind"] != "answer"
            for body in line.get("bodies", ())
        }
    )


def test_an_accept_killed_anywhere_leaves_all_or_nothing(
    tmp_path: Path, run_killed: RunKilled
) -> None:
    first = make_league(tmp_path / "first")
    made = first.submission()
    (first.folder / "sent.json").write_bytes(made.data())
    ended, at, kept = False, 0, 0
    while not ended:
        at += 1
        league = copy_of(first, tmp_path / str(at))
        ended = run_killed("accept", league, at)
        kept += len(Inbox(league.folder).waiting())
        put(league, made)  # the client, who heard nothing, sends it again
        assert Inbox(league.folder).receipt(made.sha256) is not None
        assert drain(league) == (1, 0, 0)
        assert len(answers(league)) == 1
    assert 0 < kept < at
