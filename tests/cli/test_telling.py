"""What `status` and `costs` print for people: within 80 columns, and with money in line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from beforehand.anchors.queue import SUBMIT, Queue
from beforehand.book.store import write_synced
from beforehand.cli import telling
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import aligned, folded
from beforehand.records.codec import digest
from beforehand.stages.status import counted
from tests.stages.live_world import FIRST_SLOT, LiveLeague, answers

AT = "2026-01-05T10:00:00Z"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    held = io.StringIO()
    monkeypatch.setattr(telling, "out", Console(file=held, width=80, highlight=False))
    return held


@pytest.fixture
def league(tmp_path: Path) -> LiveLeague:
    """A league after its first slot, with a model that costs many places and one that costs few."""
    made = LiveLeague.begin(
        tmp_path, {"dear": answers("0.4", "0.25"), "cheap": answers("0.3", "0.0000123")}
    )
    made.tick_at(FIRST_SLOT)
    return made


def told(league: LiveLeague, screen: io.StringIO) -> dict[str, Any]:
    screen.truncate(0)
    screen.seek(0)
    telling.status(league.folder, as_json=True)
    value: dict[str, Any] = json.loads(screen.getvalue())
    screen.truncate(0)
    screen.seek(0)
    return value


def test_what_is_due_next_is_said_in_80_columns(league: LiveLeague, screen: io.StringIO) -> None:
    coming = told(league, screen)["coming"]
    assert coming["disclosure"]["answers"] > 0
    telling.status(league.folder)
    text = screen.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    for line in (
        "next slot: 2026-01-05T22:00:00Z",
        "next settlement: 2026-01-05T14:00:00Z",
        f"to be disclosed: {coming['disclosure']['bodies']} bodies, "
        f"{coming['disclosure']['answers']} answers among them; "
        f"the first at {coming['disclosure']['next']}",
        f"awaited: {coming['resolutions']['awaited']} resolutions, 0 past the end",
    ):
        assert line in " ".join(text.split()), line


def test_an_anchor_that_fails_is_in_the_status(league: LiveLeague, screen: io.StringIO) -> None:
    queue = Queue(league.folder / "state" / "anchors.json")
    for n in range(3):
        item = queue.add("opentimestamps", digest(b"%d" % n), SUBMIT, AT)
        if n:
            queue.failed(item, AT, "the calendars are [away] " + "and far " * 20)
    (anchor,) = (each for each in told(league, screen)["anchors"] if each["failed"])
    assert (anchor["failed"], anchor["queued"], anchor["since"]) == (2, 1, AT)
    assert anchor["last_error_at"] == AT
    telling.status(league.folder)
    text = screen.getvalue()
    assert "anchor opentimestamps: 0 complete, 2 failed, 1 queued\n" in text
    assert f"   waiting since {AT}, next try {AT}\n" in text
    assert "the calendars are [away]" in text
    assert max(map(len, text.splitlines())) <= 80
    write_synced(league.folder / "state" / "anchors.json", b"[")
    assert any("is not a queue" in problem for problem in told(league, screen)["problems"])


def test_money_stands_in_line_and_is_exact_in_json(league: LiveLeague, screen: io.StringIO) -> None:
    seats = told(league, screen)["seats"]
    exact = {name: seat["spent"] for name, seat in seats.items()}
    assert len({len(spent.partition(".")[2]) for spent in exact.values()}) > 1
    for command in (telling.status, telling.costs):
        command(league.folder)
        rows = [
            line
            for line in screen.getvalue().splitlines()
            if line.split()[:1] in (["dear"], ["cheap"])
        ]
        screen.truncate(0)
        screen.seek(0)
        spent = [row.split()[4] for row in rows]
        assert len({len(each.partition(".")[2]) for each in spent}) == 1, rows
        assert (
            len({row.rindex(each) + len(each) for row, each in zip(rows, spent, strict=True)}) == 1
        )


def test_one_is_no_many() -> None:
    assert counted(1, "body", "bodies") == "1 body"
    assert [counted(n, "line") for n in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]


def test_a_column_of_money_loses_nothing_but_what_it_says_it_rounds() -> None:
    assert aligned(["1.5", "10.25"]) == ["1.50", "10.25"]
    assert aligned(["0.00000049", "2"]) == ["<0.000001", "2.000000"]
    assert aligned([]) == []


def test_settings_that_lack_a_declared_anchor_are_a_problem(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, changes={"use = []": 'use = ["git"]'})
    problems: list[str] = []
    telling._anchors(LeagueFolder.at(league.folder), league.declaration, problems)
    assert problems == ["git: settings.toml lacks anchors.git: give its address"]


def test_a_line_of_a_report_is_folded_under_itself_and_keeps_long_words_whole() -> None:
    digest = "a" * 64
    line = f"      not shown: the list {digest} names other first lines than the book"
    rows = folded(line, 60).split("\n")
    assert rows[0].startswith("      not shown") and all(row[:10].isspace() for row in rows[1:])
    assert digest in [row.strip() for row in rows]
    assert " ".join(folded(line, 60).split()) == " ".join(line.split())
    assert folded("result: sound", 60) == "result: sound"
