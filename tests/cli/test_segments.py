"""A new segment of a running league: sealed once, in force from the next run, nothing pooled."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beforehand.records.declaration import Declaration
from tests.forecasters.test_plugin import install
from tests.stages.live_world import FIRST_SLOT, LiveLeague, MadeVenue, made_market
from tests.stages.raw_book import Line, lines_of, of_kind

from .conftest import START as COMMAND

SETTLED = "2026-01-08T14:00:00Z"
NEXT_SLOT = "2026-01-09T15:00:00Z"
AT_END = "2026-01-13T14:00:00Z"
SECOND = {
    'name = "s1"': 'name = "s2"',
    'why = "The first segment.': 'why = "Fewer events take a rank, and slots are once a day.',
    'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 15 * * *"]',
    "min_events = 30": "min_events = 2",
}


PLUGIN = "from beforehand.forecasters.template import make\n"


def beforehand(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command, with the plugin of the made-up models installed beside the league."""
    folder = next(each for each in arguments if isinstance(each, Path))
    sites = [str(place / "site") for place in (folder, folder.parent) if (place / "site").is_dir()]
    env = {
        "COLUMNS": "120",
        "PATH": "/usr/bin:/bin",
        "TERM": "dumb",
        "PYTHONPATH": os.pathsep.join([*sites, *filter(None, sys.path)]),
    }
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=env,
    )


def edit(folder: Path, changes: dict[str, str]) -> Declaration:
    """Write the changed rules into the league's folder, as its operator does."""
    file = folder / "declaration.toml"
    text = file.read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text)
    return Declaration.parse(text.encode(), "declaration.toml")


def segments_of(folder: Path) -> list[Line]:
    return of_kind(lines_of(folder / "league"), "segment")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> LiveLeague:
    """A league with one settled slot, at rest."""
    folder = tmp_path_factory.mktemp("first") / "live"
    league = LiveLeague.begin(folder)
    (folder / "declaration.toml").write_bytes(league.declaration.data)
    (folder / "site").mkdir()
    install(folder / "site", "made_models", {"made-up": "made_models:make"}, PLUGIN)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes = {f"m{number}": "yes" for number in range(1, 5)}
    league.tick_at(SETTLED)
    return league


@pytest.fixture
def folder(first: LiveLeague, tmp_path: Path) -> Path:
    """A copy of its folder for one test."""
    return Path(shutil.copytree(first.folder, tmp_path / "live"))


def resumed(first: LiveLeague, folder: Path, declaration: Declaration) -> LiveLeague:
    """The league in a copied folder, with new markets, asked by what is in force there."""
    clock = type(first.clock)(folder / "clock")
    markets = [made_market(number, closes="2026-01-12T12:00:00Z") for number in (11, 12)]
    venue = MadeVenue(clock, [*first.venue.markets, *markets], dict(first.venue.outcomes))
    return LiveLeague(folder, declaration, clock, venue, first.models)


def test_two_segments_from_the_command_to_the_pages(first: LiveLeague, folder: Path) -> None:
    assert beforehand("publish", folder).returncode == 0
    alone = json.loads((folder / "public/api/v1/blind/leaderboard.json").read_text())
    declared = edit(folder, SECOND)
    run = beforehand("declare", folder, "--segment")
    assert run.returncode == 0, run.stderr
    again = beforehand("declare", folder, "--segment")
    assert again.returncode == 0 and "sealed before" in " ".join(again.stdout.split())
    old, new = segments_of(folder)
    assert (old["segment"], new["segment"]) == ("s1", "s2")
    assert new["declaration_sha256"] == declared.sha256 and new["why"].startswith("Fewer events")
    assert {body["role"] for body in new["bodies"]} == {"methodology", "declaration"}
    plain = beforehand("declare", folder)
    assert plain.returncode == 0, plain.stderr

    league = resumed(first, folder, declared)
    league.tick_at("2026-01-08T15:00:00Z")
    league.tick_at(NEXT_SLOT)
    league.venue.outcomes |= {"m11": "no", "m12": "yes"}
    league.tick_at(AT_END)
    lines = lines_of(folder / "league")
    slots = {run["slot"][:16]: run["segment"] for run in of_kind(lines, "run")}
    assert slots == {
        "2026-01-05T10:00": "s1",
        "2026-01-08T15:00": "s2",
        "2026-01-09T15:00": "s2",
    }, "the new schedule holds from the next run on"
    missed = [close["slot"] for close in of_kind(lines, "close", status="missed")]
    assert all("T15:00" in slot for slot in missed if slot > SETTLED)

    assert beforehand("publish", folder).returncode == 0
    data = folder / "public/api/v1/blind"
    board = json.loads((data / "leaderboard.json").read_text())
    earlier = json.loads((data / "segments/s1.json").read_text())
    assert (board["segment"], earlier["segment"]) == ("s2", "s1")
    assert [held["segment"] for held in board["segments"]] == ["s1", "s2"]
    assert (board["rules"]["min_events"], earlier["rules"]["min_events"]) == (2, 30)
    assert earlier["forecasters"] == alone["forecasters"], "what is over does not move"
    assert_nothing_is_pooled(data, board, earlier)
    assert_checked(folder)
    assert_shown(folder)


def assert_nothing_is_pooled(data: Path, board: dict[str, Any], earlier: dict[str, Any]) -> None:
    with (data / "forecasts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["segment"] for row in rows} == {"s1", "s2"}
    for held, name in ((board, "s2"), (earlier, "s1")):
        own = [row for row in rows if row["segment"] == name]
        for entry in held["forecasters"]:
            counted = [
                row
                for row in own
                if row["forecaster"] == entry["forecaster"] and row["status"] == "counted"
            ]
            assert entry["n_counted"] == len(counted) > 0
            mean = sum(float(row["brier"]) for row in counted) / len(counted)
            assert float(entry["brier_events"]) == pytest.approx(mean, abs=1e-6)
        assert {run["run"] for run in held["runs"]} >= {row["run"] for row in own}
    runs = [{run["run"] for run in held["runs"]} for held in (board, earlier)]
    assert not runs[0] & runs[1]
    base = sqlite3.connect(data / "league.sqlite")
    told = base.execute("SELECT segment, SUM(n_counted) FROM leaderboard GROUP BY segment")
    assert len(dict(told)) == 2
    base.close()


def assert_checked(folder: Path) -> None:
    verified = beforehand("verify", folder / "public", "--as-of", AT_END)
    assert verified.returncode == 0, verified.stdout
    recounted = subprocess.run(
        [sys.executable, "-I", folder / "public/api/v1/recount.py", folder / "public"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert recounted.returncode == 0, recounted.stdout + recounted.stderr
    judged = beforehand("conform", folder / "public", "--as-of", AT_END, "--json")
    held = {each["id"]: each for each in json.loads(judged.stdout)["requirements"]}
    for number in (5, 6, 7, 8, 11, 15):
        assert held[number]["status"] == "PASS", (number, held[number]["said"])
    assert "2 segments" in json.dumps(held[15])


def assert_shown(folder: Path) -> None:
    now = (folder / "public/blind/index.html").read_text()
    before = (folder / "public/blind/segment/s1/index.html").read_text()
    assert "Segment s2, methodology 2" in now and 'href="../blind/segment/s1/index.html"' in now
    assert "Segment s1, methodology 2" in before
    costs = (folder / "public/blind/costs.html").read_text()
    assert "What other segments spent under the same cap" in costs
    for page in (folder / "public/blind").rglob("*.html"):
        for href in links(page):
            assert (page.parent / href).resolve().is_file(), (page, href)


def links(page: Path) -> set[str]:
    found = re.findall(r'href="([^"#:]+?)(?:#[^"]*)?"', page.read_text())
    return {href for href in found if not href.startswith(("http", "data"))}


@pytest.mark.parametrize("pooled", ["leaderboard.json", "segments/s1.json"])
def test_attack_statistics_pooled_across_segments(
    first: LiveLeague, folder: Path, pooled: str
) -> None:
    """Caught by: requirement 15 counts each board from its segment's rows; the recount differs."""
    league = resumed(first, folder, edit(folder, SECOND))
    assert beforehand("declare", folder, "--segment").returncode == 0
    league.tick_at("2026-01-08T15:00:00Z")
    league.venue.outcomes |= {"m11": "no", "m12": "yes"}
    league.tick_at(AT_END)
    assert beforehand("publish", folder).returncode == 0
    base = folder / "public/api/v1/blind"
    boards = {
        name: json.loads((base / name).read_text())
        for name in ("leaderboard.json", "segments/s1.json")
    }
    file, board = base / pooled, boards.pop(pooled)
    (other,) = boards.values()
    more = {each["forecaster"]: each["n_counted"] for each in other["forecasters"]}
    for entry in board["forecasters"]:
        entry["n_counted"] += more[entry["forecaster"]]
    file.write_text(json.dumps(board))
    judged = beforehand("conform", folder / "public", "--as-of", AT_END, "--json")
    held = {each["id"]: each for each in json.loads(judged.stdout)["requirements"]}
    assert (held[15]["status"], held[11]["status"]) == ("FAIL", "FAIL")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({'name = "s1"': 'name = "s1"  # again'}, "name of its own"),
        ({'name = "s1"': 'name = "s2"'}, "say why there is another one"),
        ({**SECOND, 'answer = "deadline"': 'answer = "line"'}, "bodies"),
        ({**SECOND, 'grid = "0.0001"': 'grid = "0.001"'}, "scoring.grid"),
        ({**SECOND, 'name = "blind"': 'name = "other"'}, "league.name"),
        ({**SECOND, "recheck_days = 7": "recheck_days = 1"}, "resolution"),
        ({**SECOND, 'methodology = "2"': 'methodology = "9"'}, "does not know"),
    ],
)
def test_what_must_stay_or_must_change(folder: Path, change: dict[str, str], said: str) -> None:
    edit(folder, change)
    before = (folder / "league/book.jsonl").read_bytes()
    run = beforehand("declare", folder, "--segment")
    assert run.returncode == 2
    assert said in " ".join(run.stderr.split()), run.stderr
    assert (folder / "league/book.jsonl").read_bytes() == before


def test_a_slot_that_is_due_belongs_to_the_segment_before(first: LiveLeague, folder: Path) -> None:
    """Nobody gets rid of a slot by changing the rules before it is sealed as missed."""
    edit(folder, SECOND)
    type(first.clock)(folder / "clock").step_to("2026-01-08T23:30:00Z")
    run = beforehand("declare", folder, "--segment")
    assert run.returncode == 2
    assert "2026-01-08T22:00:00Z is due" in " ".join(run.stderr.split()), run.stderr
    assert len(segments_of(folder)) == 1


def test_killed_before_its_checkpoint_it_is_done_once(folder: Path) -> None:
    edit(folder, SECOND)
    assert beforehand("declare", folder, "--segment").returncode == 0
    n = segments_of(folder)[-1]["n"]
    note = folder / "league/checkpoints" / str(n)
    note.unlink()  # what a kill between the line and its signature leaves
    assert beforehand("declare", folder, "--segment").returncode == 0
    assert note.is_file() and len(segments_of(folder)) == 2


def test_an_edited_file_alone_changes_nothing(folder: Path) -> None:
    edit(folder, SECOND)
    run = beforehand("declare", folder)
    assert run.returncode == 2 and "--segment" in run.stderr
    assert len(segments_of(folder)) == 1


def test_a_segment_without_a_forecast_yet_is_at_no_fault(first: LiveLeague, folder: Path) -> None:
    """Right after it begins, and after a slot that found no market to ask."""
    declared = edit(folder, SECOND)
    assert beforehand("declare", folder, "--segment").returncode == 0
    for slot in ("", "2026-01-08T15:00:00Z"):
        if slot:
            league = resumed(first, folder, declared)
            league.venue.markets = []
            league.tick_at(slot)
            assert of_kind(lines_of(folder / "league"), "run")[-1]["questions"] == []
        assert beforehand("publish", folder).returncode == 0
        run = beforehand("conform", folder / "public", "--json")
        told = {held["id"]: held for held in json.loads(run.stdout)["requirements"]}
        faults = {name: held["said"] for name, held in told.items() if held["status"] == "FAIL"}
        assert faults == {}
        assert told[9]["status"] == "UNVERIFIABLE"
