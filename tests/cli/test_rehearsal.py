"""`beforehand rehearse`: the whole live path, ended, killed and gone on with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.rehearsal import START as START_TIME
from beforehand.cli.rehearsal import Account, _begun
from beforehand.clock import SimulatedClock
from beforehand.errors import RuleError

from .conftest import START, beforehand

WORDS = ("--weeks", "1", "--models", "3", "--no-serve", "--seed", "4")


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("rehearsal") / "r"
    run = beforehand("rehearse", *WORDS, "--dir", folder, timeout=400)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return folder, run.stdout


def status(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(beforehand("status", folder, "--json").stdout)
    return told


@pytest.mark.slow
def test_a_week_ends_published_verified_and_with_every_cent(rehearsed: tuple[Path, str]) -> None:
    folder, said = rehearsed
    told = status(folder)
    assert told["runs"]["ended"] == {"complete": 14} and told["runs"]["open"] == []
    assert told["attempts"] == 14 * 12 * 3
    spent = Decimal(told["budget"]["total"]["spent"])
    log = (folder / "replicas" / "model_requests.jsonl").read_text().splitlines()
    assert spent == sum(Decimal(json.loads(line)["cost"]) for line in log) > 0
    assert "result at" in said and "sound" in said
    board = json.loads((folder / "public/api/v1/rehearsal/leaderboard.json").read_text())
    names = {entry["forecaster"] for entry in board["forecasters"]}
    assert {"crowd", "ensemble", "sharp", "plain", "hedger"} <= names
    page = (folder / "public" / "rehearsal" / "index.html").read_text(encoding="utf-8")
    for word in ("imulated", "reliab", "leak", "ensemble"):
        assert word in page or word.capitalize() in page, word


@pytest.mark.slow
def test_begun_it_keeps_to_its_plan_and_refuses_another(rehearsed: tuple[Path, str]) -> None:
    folder, said = rehearsed
    assert "1 simulated week took" in said
    for words, what in (
        (("--weeks", "2"), "was begun with --weeks 1, and cannot go on with 2"),
        (("--models", "4"), "was begun with --models 3, and cannot go on with 4"),
        (("--seed", "5"), "was begun with --seed 4, and cannot go on with 5"),
        (("--faults", "half:rate=0.1"), "was begun with --faults none"),
    ):
        run = beforehand("rehearse", *words, "--no-serve", "--dir", folder)
        assert run.returncode == 2, run.stdout
        assert what in run.stderr and "--force to start over" in run.stderr
    run = beforehand("rehearse", "--weeks", "1", "--no-serve", "--dir", folder)
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_killed_it_goes_on_and_ends_as_the_undisturbed_one(
    rehearsed: tuple[Path, str], tmp_path: Path
) -> None:
    whole, _ = rehearsed
    folder = tmp_path / "k"
    command = [sys.executable, "-c", START, "rehearse", *WORDS, "--dir", str(folder)]
    for seconds in (3.0, 4.5):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        child.wait()
    run = beforehand("rehearse", *WORDS, "--dir", folder, timeout=400)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]

    def forecasts(place: Path) -> set[tuple[str, ...]]:
        import csv

        table = place / "public/api/v1/rehearsal/forecasts.csv"
        with table.open(encoding="utf-8", newline="") as stream:
            return {
                (row["run"], row["question"], row["forecaster"], row["p"], row["status"])
                for row in csv.DictReader(stream)
                if row["kind"] == "asked"
            }

    assert forecasts(folder) == forecasts(whole)
    again = beforehand("rehearse", "--weeks", "1", "--dir", tmp_path, "--no-serve")
    assert again.returncode == 2 and "no rehearsal made" in " ".join(again.stderr.split())


def test_one_that_was_killed_before_its_mark_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    (folder / "replicas").mkdir(parents=True)
    SimulatedClock(folder / "clock", "2026-01-09T00:00:00Z")
    assert _begun(folder, False) is None
    assert SimulatedClock(folder / "clock").now() == START_TIME
    assert not (folder / "replicas").exists()
    (folder / "mine.txt").write_text("not a rehearsal's")
    with pytest.raises(RuleError, match="no rehearsal made"):
        _begun(folder, False)


def test_the_account_is_empty_in_one_slot_and_paid_up_again() -> None:
    told: list[Any] = []

    class Models:
        def control(self, **message: Any) -> None:
            told.append(message["credit"])

    moments = ("2026-01-14T18:00:00Z", "2026-01-14T22:00:00Z", "2026-01-14T22:00:01Z")
    account = Account(Models())  # type: ignore[arg-type]
    for moment in (*moments, "2026-01-14T23:00:01Z", "2026-01-15T10:00:00Z"):
        account.turn(moment)
    assert told == ["0", None]
    again = Account(Models())  # type: ignore[arg-type]
    again.turn("2026-01-14T22:00:01Z")  # killed in that slot and begun again
    assert told == ["0", None, "0"]
