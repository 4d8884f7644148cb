"""A body that is due and never disclosed: published around, listed, scored as declared, found.

The attack is to keep back what turned out badly. What catches it: the line
names the body and its due time, so that `verify` says which one is missing,
`conform` fails requirement 5, and the board has it as `not_revealed`.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stages.live_world import FIRST_SLOT, LiveLeague
from tests.stages.raw_book import Line, lines_of, of_kind

from .conftest import beforehand

SETTLED = "2026-01-08T14:00:00Z"
SERVICE = {
    'also = ["ece", "paper_pnl"]': 'also = ["ece", "paper_pnl", "service_score"]\n'
    'service_fill = "0.25"'
}


@dataclass
class Played:
    """A league with one asked slot that is settled, and what its commands say."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "public/api/v1/blind"

    def answer(self, forecaster: str = "model-a") -> Line:
        """The first answer line of a model."""
        lines = lines_of(self.folder / "league")
        return of_kind(lines, "answer", forecaster=forecaster)[0]

    def body(self, line: Line, role: str = "answer") -> Path:
        sha256 = next(body["sha256"] for body in line["bodies"] if body["role"] == role)
        return self.folder / "league/bodies" / sha256[:2] / sha256

    def publish(self) -> str:
        run = beforehand("publish", self.folder)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def rows(self, line: int) -> list[dict[str, str]]:
        with (self.data / "forecasts.csv").open(newline="") as stream:
            return [row for row in csv.DictReader(stream) if row["line"] == str(line)]

    def board(self) -> dict[str, Any]:
        held: dict[str, Any] = json.loads((self.data / "leaderboard.json").read_text())
        return held

    def entry(self, forecaster: str = "model-a") -> dict[str, Any]:
        held = self.board()["forecasters"]
        return next(each for each in held if each["forecaster"] == forecaster)

    def verify(self) -> dict[str, Any]:
        run = beforehand("verify", self.folder / "public", "--as-of", SETTLED, "--json")
        told: dict[str, Any] = json.loads(run.stdout)
        return told

    def conform(self) -> dict[int, dict[str, Any]]:
        run = beforehand("conform", self.folder / "public", "--as-of", SETTLED, "--json")
        return {held["id"]: held for held in json.loads(run.stdout)["requirements"]}

    def recount(self) -> subprocess.CompletedProcess[str]:
        """By the published file, with Python alone."""
        file = self.folder / "public/api/v1/recount.py"
        return subprocess.run(
            [sys.executable, "-I", file, self.folder / "public"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


def played(folder: Path, changes: dict[str, str] | None = None) -> Played:
    league = LiveLeague.begin(folder, changes=changes)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes = {f"m{number}": "yes" for number in range(1, 5)}
    league.tick_at(SETTLED)
    return Played(folder)


def test_attack_a_body_never_disclosed(tmp_path: Path) -> None:
    """Caught by: the due time in its line (verify step 6, requirement 5); the board's own list."""
    league = played(tmp_path / "live", SERVICE)
    line = league.answer()
    league.publish()
    scored = league.entry()
    assert (scored["n_counted"], scored["n_not_revealed"]) == (2, 0)
    assert scored["service"]["brier"]["mean"] == scored["brier_events"]
    kept = league.body(line).read_bytes()
    league.body(line).unlink()

    told = league.publish()
    sha256 = league.body(line).name
    assert f"not revealed: the answer of line {line['n']}" in told and sha256 in told
    (row,) = league.rows(line["n"])
    assert (row["status"], row["p"], row["brier"]) == ("not_revealed", "", "")
    (listed,) = league.board()["not_revealed"]
    assert (listed["line"], listed["sha256"]) == (line["n"], sha256)
    entry = league.entry()
    assert (entry["n_counted"], entry["n_not_revealed"], entry["n_missing"]) == (1, 1, 0)
    assert entry["reliability"]["failures"] == {"not_revealed": 1}
    service = entry["service"]
    assert [service[end] for end in ("stated", "filled", "not_revealed")] == [1, 0, 1]
    half_the_worst = (float(entry["brier_events"]) + 1) / 2
    assert float(service["brier"]["mean"]) == pytest.approx(half_the_worst, abs=1e-6)

    report = league.verify()
    (finding,) = report["findings"]
    assert finding["step"] == 6
    assert finding["message"].startswith(f"not revealed: was due at {listed['due']}")
    summary = report["leagues"]["blind"]
    assert summary["bodies_not_revealed"] == 1
    assert [held["sha256"] for held in summary["not_revealed"]] == [sha256]
    recounted = league.recount()
    assert recounted.returncode == 0, recounted.stdout
    judged = league.conform()
    assert (judged[5]["status"], judged[8]["status"]) == ("FAIL", "PASS"), judged[8]["said"]
    page = (tmp_path / "live/public/blind/index.html").read_text()
    assert 'id="not-revealed"' in page and sha256[:8] in page
    run = next((tmp_path / "live/public/blind/run").glob("*.html")).read_text()
    assert 'id="not-revealed"' in run

    league.body(line).write_bytes(kept)
    assert "not revealed" not in league.publish()
    assert league.rows(line["n"])[0]["status"] == "counted"
    assert league.board()["not_revealed"] == []
    assert league.verify()["findings"] == []
    assert league.entry() == scored


def test_what_is_damaged_is_no_non_reveal(tmp_path: Path) -> None:
    """Other bytes under the name stay a failure: nothing is published, and a mirror's are found."""
    league = played(tmp_path / "live")
    league.publish()
    line = league.answer()
    public = league.data / "bodies" / league.body(line).parent.name / league.body(line).name
    public.write_bytes(b"other bytes")
    report = league.verify()
    assert all("not revealed" not in finding["message"] for finding in report["findings"])
    assert any("hashes to" in finding["message"] for finding in report["findings"])
    assert report["leagues"]["blind"]["bodies_not_revealed"] == 0
    league.body(line).write_bytes(b"other bytes")
    run = beforehand("publish", league.folder)
    assert run.returncode != 0
    assert "does not hash to its name" in " ".join(run.stderr.split())


@pytest.mark.parametrize("role", ["reply", "snapshot", "text", "ask"])
def test_publishing_survives_any_due_body(tmp_path: Path, role: str) -> None:
    league = played(tmp_path / "live")
    lines = lines_of(league.folder / "league")
    line = next(
        line for line in lines if any(body["role"] == role for body in line.get("bodies", ()))
    )
    league.body(line, role).unlink()
    assert f"not revealed: the {role} of line {line['n']}" in league.publish()
    assert [held["role"] for held in league.board()["not_revealed"]] == [role]
    (finding,) = league.verify()["findings"]
    assert finding["message"].startswith("not revealed: ")
    assert league.recount().returncode == 0


def test_absent_leaves_it_out_of_the_service_score(tmp_path: Path) -> None:
    rule = {'entry = "asked"': 'entry = "asked"\nnot_revealed = "absent"'}
    league = played(tmp_path / "live", {**SERVICE, **rule})
    line = league.answer()
    league.body(line).unlink()
    league.publish()
    service = league.entry()["service"]
    assert (service["not_revealed"], service["not_revealed_as"]) == (1, None)
    assert service["brier"]["n"] == 1 == service["stated"]
    assert service["brier"]["mean"] == league.entry()["brier_events"]
    assert league.board()["rules"]["not_revealed"] == "absent"
