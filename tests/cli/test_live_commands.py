"""An operator's commands, each as a process of its own, against replicas over real sockets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.trials import read_trials
from beforehand.clock import SimulatedClock
from beforehand.errors import ConflictError
from beforehand.stages.slots import later
from beforehand.testing.replicas import Replicas
from tests.forecasters.test_plugin import install

from .conftest import START as COMMAND
from .live_replicas import written_league

SLOT = "2026-01-05T10:00:00Z"
# The very code that the tests import, whatever is installed beside it.
PLAIN = {"PATH": "/usr/bin:/bin", "TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path)}
SECRET = "sk-live-secret-that-must-stand-nowhere-1234567890"


def beforehand(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command with a key in its environment."""
    env = {"COLUMNS": "120", **PLAIN, **variables}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=env,
    )


@pytest.fixture
def league(tmp_path: Path) -> Iterator[tuple[Path, Replicas]]:
    """A declared league of three models that need a key, just before its first slot."""
    with written_league(tmp_path) as (folder, replicas):
        file = folder / "declaration.toml"
        text = file.read_text().replace('via = "chat"\n', 'via = "chat"\nkey_env = "MADE_KEY"\n')
        file.write_text(text)
        yield folder, replicas


def step(folder: Path, instant: str) -> None:
    SimulatedClock(folder / "clock").step_to(instant)


def status(folder: Path) -> dict[str, Any]:
    run = beforehand("status", folder, "--json")
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def test_from_a_folder_to_a_published_slot(league: tuple[Path, Replicas]) -> None:
    folder, replicas = league
    run = beforehand("tick", folder)
    assert run.returncode == 2
    assert f"beforehand declare {folder}" in " ".join(run.stderr.split())
    run = beforehand("declare", folder, "--dry-run", "--json")
    assert run.returncode == 0, run.stderr
    week = json.loads(run.stdout)["week"]
    assert (len(week["slots"]), week["asks_at_most"]) == (14, 14 * 12 * 3)
    assert Decimal(week["reserved_at_list_price"]) > 0
    run = beforehand("declare", folder)
    assert run.returncode == 0, run.stderr
    step(folder, SLOT)
    run = beforehand("tick", folder)
    assert run.returncode == 2 and "MADE_KEY" in run.stderr
    assert status(folder)["runs"]["open"] == [], "nothing is begun that cannot be asked"
    run = beforehand("tick", folder, MADE_KEY=SECRET)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "opened 2026-01-05T1000" in run.stdout
    again = beforehand("tick", folder, MADE_KEY=SECRET)
    assert again.returncode == 0 and "nothing was due" in again.stdout
    told = status(folder)
    assert told["runs"]["ended"] == {"complete": 1}
    assert told["attempts"] == 36 == replicas.model.stats()["requests"]
    assert told["budget"]["total"]["standing"] == "0.00"
    spent = Decimal(told["budget"]["total"]["spent"])
    assert spent == Decimal(replicas.model.stats()["charged"]) > 0
    assert sum(Decimal(seat["spent"]) for seat in told["seats"].values()) == spent
    # A simulated day is long past: judged now, its answers would be overdue.
    verified = beforehand("verify", folder / "public", "--as-of", SLOT)
    assert verified.returncode == 0, verified.stdout
    for path in folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    costs = beforehand("costs", folder, "--csv")
    assert costs.returncode == 0
    assert len(costs.stdout.splitlines()) == 37


def test_a_slot_nobody_ticked_is_missed_and_never_made_up_for(
    league: tuple[Path, Replicas],
) -> None:
    folder, replicas = league
    assert beforehand("declare", folder).returncode == 0
    step(folder, later(SLOT, minutes=61))
    run = beforehand("tick", folder, "--json", MADE_KEY=SECRET)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["missed"] == ["2026-01-05T1000"]
    assert replicas.model.stats()["requests"] == 0
    assert status(folder)["runs"]["ended"] == {"missed": 1}


def test_out_of_credit_ends_the_run_and_the_league_goes_on(league: tuple[Path, Replicas]) -> None:
    folder, replicas = league
    assert beforehand("declare", folder).returncode == 0
    step(folder, SLOT)
    replicas.model.control(credit="0.000001")
    run = beforehand("tick", folder, MADE_KEY=SECRET)
    assert "stopped_budget" in run.stdout, run.stdout + run.stderr
    assert "402" in " ".join(run.stdout.split())
    assert replicas.model.stats()["requests"] <= 36
    replicas.model.control(credit=None)
    step(folder, later(SLOT, hours=12))
    run = beforehand("tick", folder, MADE_KEY=SECRET)
    assert run.returncode == 0
    assert status(folder)["runs"]["ended"] == {"complete": 1, "stopped_budget": 1}


SCAFFOLD = """
from beforehand.forecasters.template import make
"""
SCAFFOLD_SEAT = """
[[models]]
forecaster = "scaffold"
via = "plugin"
plugin = "mine"
model = "several"
price_ask = "0"
"""


def test_a_plugin_changed_after_declaring_is_told_and_not_asked(
    league: tuple[Path, Replicas], tmp_path: Path
) -> None:
    folder, _ = league
    site = tmp_path / "site"
    site.mkdir()
    install(site, "made_scaffold", {"mine": "made_scaffold:make"}, SCAFFOLD)
    file = folder / "declaration.toml"
    text = file.read_text().replace("seats = 3", "seats = 4")
    file.write_text(text.replace("\n[[models]]", SCAFFOLD_SEAT + "\n[[models]]", 1))
    path = {"MADE_KEY": SECRET, "PYTHONPATH": os.pathsep.join(filter(None, [str(site), *sys.path]))}
    run = beforehand("declare", folder, **path)
    assert run.returncode == 0, run.stdout + run.stderr
    step(folder, SLOT)
    run = beforehand("tick", folder, "--no-publish", "--json", **path)
    assert run.returncode == 0 and json.loads(run.stdout)["problems"] == [], run.stdout
    record = next(site.glob("*/RECORD"))
    record.write_text(record.read_text() + "more.py,sha256=y,2\n")
    step(folder, later(SLOT, hours=12))
    run = beforehand("tick", folder, "--no-publish", "--json", **path)
    (told,) = json.loads(run.stdout)["problems"]
    assert told.startswith("scaffold: the plugin 'mine' is made_scaffold 1.2")
    attempts = [
        line["status"]
        for line in map(json.loads, (folder / "league" / "book.jsonl").read_text().splitlines())
        if line["kind"] == "answer" and line["forecaster"] == "scaffold"
    ]
    assert attempts == ["answered"] * 12 + ["model_mismatch"] * 12
    assert status(folder)["runs"]["ended"] == {"complete": 2}


def test_run_sleeps_until_it_is_told_to_stop(league: tuple[Path, Replicas]) -> None:
    folder, _ = league
    assert beforehand("declare", folder).returncode == 0
    step(folder, SLOT)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "run", str(folder), "--no-publish"],
        stdout=subprocess.PIPE,
        text=True,
        env={**PLAIN, "MADE_KEY": SECRET},
    )
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("run 2026-01-05T1000"):
                break
        # Asleep it has laid the pen down, and what others do it does not do again.
        tables = folder.parent / "tables"
        beside = beforehand("export", folder, "--to", tables)
        assert beside.returncode == 0 and (tables / "league.sqlite").is_file(), beside.stderr
        beside = beforehand("publish", folder)
        assert beside.returncode == 0, beside.stderr
        beside = beforehand("tick", folder, MADE_KEY=SECRET)
        assert beside.returncode == 0 and "nothing was due" in beside.stdout
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "run 2026-01-05T1000: complete" in "".join(lines) and "stopped" in rest


def test_one_writer_at_a_time_and_the_pen_is_taken_up_where_others_left_it(
    league: tuple[Path, Replicas],
) -> None:
    folder, _ = league
    assert beforehand("declare", folder).returncode == 0
    held = LeagueFolder.at(folder)
    pen, situation = held.open()
    with pen:
        beside = beforehand("tick", folder, MADE_KEY=SECRET)
        assert beside.returncode == 0 and "another tick is at work" in beside.stdout
    same, still = held.reopen(pen, situation)
    with same:
        assert (same, still) == (pen, situation)
        with pytest.raises(ConflictError):
            held.reopen(pen, situation)
    step(folder, SLOT)
    assert beforehand("tick", folder, MADE_KEY=SECRET).returncode == 0
    pen, situation = held.reopen(same, still)
    with pen:
        assert pen is not same and list(situation.runs) == ["2026-01-05T1000"]
        assert pen.store.size == situation.lines > same.store.size


def test_doctor_says_what_is_not_ready(league: tuple[Path, Replicas]) -> None:
    folder, replicas = league
    run = beforehand("doctor", folder, "--offline", "--json")
    assert run.returncode == 1
    found = {each["what"]: each for each in json.loads(run.stdout)}
    assert found["key"]["state"] == "bad" and "MADE_KEY" in found["key"]["said"]
    assert found["venue"]["state"] == found["models"]["state"] == "not checked"
    run = beforehand("doctor", folder, "--json", MADE_KEY=SECRET)
    found = {each["what"]: each for each in json.loads(run.stdout)}
    assert found["venue"]["state"] == "good", found["venue"]
    assert found["model sharp"]["state"] == "good", found["model sharp"]
    assert read_trials(folder).spent == Decimal(replicas.model.stats()["charged"]) > 0
    assert beforehand("declare", folder).returncode == 0
    costs = json.loads(beforehand("costs", folder, "--json").stdout)
    assert costs["doctor"]["asks"] == 3, "one of each model"
    assert "beside the book: " in beforehand("status", folder).stdout
    assert found["disk"]["state"] in ("good", "bad") and "free" in found["disk"]["said"]
    assert SECRET not in run.stdout + run.stderr
    replicas.model.control(credit="0")
    run = beforehand("doctor", folder, "--json", MADE_KEY=SECRET)
    found = {each["what"]: each for each in json.loads(run.stdout)}
    assert run.returncode == 1 and found["model sharp"]["state"] == "bad"


def test_init_makes_a_league_of_its_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    run = beforehand("init", folder, "--origin", "forecasts.example.org/mine/book")
    assert run.returncode == 0, run.stderr
    assert f"beforehand declare {folder} --dry-run" in run.stdout
    text = (folder / "declaration.toml").read_text()
    assert 'name = "mine"' in text and 'origin = "forecasts.example.org/mine/book"' in text
    dry = beforehand("declare", folder, "--dry-run")
    assert dry.returncode == 0 and "the hard cap: 50.00 USD a cohort" in " ".join(
        dry.stdout.split()
    )
    again = beforehand("init", folder)
    assert again.returncode == 2 and "not empty" in again.stderr
    other = beforehand("init", tmp_path / "x", "--template", "depth")
    assert other.returncode == 2 and not (tmp_path / "x").exists()


def test_a_backup_is_put_back_and_never_forked(
    league: tuple[Path, Replicas], tmp_path: Path
) -> None:
    folder, _ = league
    assert beforehand("declare", folder).returncode == 0
    early, late, back = tmp_path / "early", tmp_path / "late", tmp_path / "back"
    assert beforehand("backup", folder, "--to", early).returncode == 0
    step(folder, SLOT)
    assert beforehand("tick", folder, MADE_KEY=SECRET).returncode == 0
    assert beforehand("backup", folder, "--to", late).returncode == 0
    forked = beforehand("restore", early, back, "--public", folder / "public")
    assert forked.returncode == 2 and "second book under one name" in " ".join(
        forked.stderr.split()
    )
    assert not back.exists()
    run = beforehand("restore", late, back, "--public", folder / "public")
    assert run.returncode == 0, run.stderr
    assert (back / "league" / "book.jsonl").read_bytes() == (
        folder / "league" / "book.jsonl"
    ).read_bytes()
    mode = (back / "league" / "keys" / "signing.pem").stat().st_mode
    assert mode & 0o077 == 0
    step(back, later(SLOT, hours=12))
    assert beforehand("tick", back, MADE_KEY=SECRET).returncode == 0
    assert status(back)["runs"]["ended"] == {"complete": 2}
    tables = tmp_path / "tables"
    assert beforehand("export", back, "--to", tables).returncode == 0
    assert {"forecasts.csv", "league.sqlite"} <= {path.name for path in tables.iterdir()}


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('"0 10 * * *"', '"0 25 * * *"', "25"),
        ('timezone = "UTC"', 'timezone = "Mars"', "Mars"),
    ],
)
def test_a_schedule_that_can_never_run_is_not_sealed(
    tmp_path: Path, written: str, instead: str, said: str
) -> None:
    folder = tmp_path / "mine"
    assert beforehand("init", folder, "--origin", "forecasts.example.org/mine/book").returncode == 0
    file = folder / "declaration.toml"
    text = file.read_text(encoding="utf-8")
    assert written in text
    file.write_text(text.replace(written, instead), encoding="utf-8")
    for extra in (["--check"], []):
        run = beforehand("declare", folder, *extra)
        assert run.returncode == 2 and said in run.stderr, run.stdout
    assert not (folder / "league").exists()


def test_the_example_origin_is_not_sealed_and_an_edit_after_sealing_is_said(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    assert beforehand("init", folder).returncode == 0
    run = beforehand("declare", folder)
    assert run.returncode == 2 and "still the example" in run.stderr
    assert not (folder / "league").exists()
    file = folder / "declaration.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(".example/", ".example.org/"), encoding="utf-8")
    run = beforehand("declare", folder)
    assert run.returncode == 0, run.stderr
    assert "problem" not in beforehand("status", folder).stdout
    file.write_text(file.read_text(encoding="utf-8") + "# a later thought\n", encoding="utf-8")
    assert "was changed after it was sealed" in beforehand("status", folder).stdout
    assert "was changed after it was sealed" in beforehand("doctor", folder, "--offline").stdout
