"""The queue of what to try again: a schedule that is a function, a file that is replaced whole."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.anchors.queue import (
    FIRST_WAIT,
    LONGEST_WAIT,
    SUBMIT,
    UPGRADE,
    Queue,
    next_attempt,
    parse_items,
    wait_after,
)
from beforehand.errors import FormatError

NOW = "2026-11-30T12:00:00Z"
DIGEST = "ab" * 32


@given(st.integers(min_value=1, max_value=10**9))
def test_waits_grow_and_have_an_end(attempts: int) -> None:
    assert FIRST_WAIT <= wait_after(attempts) <= wait_after(attempts + 1) <= LONGEST_WAIT


def test_the_schedule_depends_on_nothing_else() -> None:
    assert next_attempt(1, NOW) == "2026-11-30T12:01:00Z"
    assert next_attempt(4, NOW) == "2026-11-30T12:08:00Z"
    assert next_attempt(99, NOW) == "2026-11-30T18:00:00Z"


def test_a_submission_is_tried_until_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "state" / "queue.json"
    item = Queue(path).add("opentimestamps", DIGEST, SUBMIT, NOW)
    assert Queue(path).due(NOW) == [item]
    later = Queue(path).failed(item, NOW, "HTTP 503" + "x" * 1000)
    assert (later.attempts, later.since, len(later.reason)) == (1, NOW, 400)
    assert Queue(path).due(NOW) == []
    assert Queue(path).due("2026-11-30T12:01:00Z") == [later]
    assert Queue(path).add("opentimestamps", DIGEST, SUBMIT, NOW) == later  # no second one
    again = Queue(path).failed(later, "2026-11-30T12:01:00Z", "away")
    assert again.next_at == "2026-11-30T12:03:00Z"
    Queue(path).done(again)
    assert Queue(path).items == []


def test_submissions_and_upgrades_wait_side_by_side(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "q.json")
    queue.add("opentimestamps", DIGEST, UPGRADE, NOW)
    queue.add("opentimestamps", DIGEST, SUBMIT, NOW)
    queue.add("rekor", DIGEST, SUBMIT, NOW)
    assert len(queue.due(NOW)) == 3
    assert Queue(tmp_path / "q.json").items == queue.items


def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "q.json"
    queue = Queue(path)
    item = queue.add("rekor", DIGEST, SUBMIT, NOW)

    def crash(self: Path, target: Path) -> Path:
        raise OSError("the power went")

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(OSError, match="power"):
        queue.add("rekor", "cd" * 32, SUBMIT, NOW)
    monkeypatch.undo()
    assert Queue(path).items == [item]


def test_a_broken_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text("{", encoding="ascii")
    with pytest.raises(FormatError, match="move it away"):
        Queue(path)


@pytest.mark.parametrize(("task", "digest"), [("other", DIGEST), (SUBMIT, "zz")])
def test_only_known_tasks_and_digests_are_taken(tmp_path: Path, task: str, digest: str) -> None:
    with pytest.raises(FormatError):
        Queue(tmp_path / "q.json").add("rekor", digest, task, NOW)


GOOD = {
    "anchor": "a", "attempts": 0, "digest": DIGEST, "next_at": NOW, "reason": "", "since": NOW,
    "task": SUBMIT,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"task": "x"},
        {"attempts": -1},
        {"digest": "x"},
        {"next_at": "x"},
        {"more": 1},
        {"anchor": 1},
    ],
)
def test_items_of_another_form_are_refused(change: dict[str, object]) -> None:

    assert parse_items(json.dumps([GOOD]).encode())[0].anchor == "a"
    with pytest.raises(FormatError):
        parse_items(json.dumps([{**GOOD, **change}]).encode())


def test_the_longest_wait_is_a_quarter_of_a_day() -> None:
    assert timedelta(hours=6) == LONGEST_WAIT
