"""`beforehand conform` on the leagues that the package itself makes, in each form of its report."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.publication import publish_league
from beforehand.publish.conformance.conform import conform_path
from beforehand.stages.declare import reopen_league
from tests.stages.live_world import LiveLeague

from .conftest import Demo, beforehand


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league of two slots in simulated time, as a rehearsal has it: markets alone."""
    league = LiveLeague.begin(tmp_path_factory.mktemp("made") / "live")
    league.tick_at("2026-01-05T10:00:00Z")
    league.tick_at("2026-01-05T22:00:00Z")
    public = league.folder / "public"
    with reopen_league(league.folder / "league", league.clock) as pen:
        pen.checkpoint()
        publish_league(
            league.folder / "league", pen.key, public, league.clock.now(), lambda *step: None
        )
    return public


@pytest.fixture(params=["demo", "made"])
def public(request: pytest.FixtureRequest, demo: Demo, made: Path) -> Path:
    return demo.public if request.param == "demo" else made


def conformed(public: Path) -> dict[str, Any]:
    run = beforehand("conform", public, "--json")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def test_no_requirement_fails_that_the_league_could_have_met(public: Path) -> None:
    report = conformed(public)
    failed = [item["id"] for item in report["requirements"] if item["status"] == "FAIL"]
    assert failed == []
    benchmarks = report["requirements"][8]
    assert benchmarks["status"] == "UNVERIFIABLE", benchmarks["said"]
    assert any("no climatology is sealed" in said for said in benchmarks["said"])
    assert benchmarks["evidence"], "and points at the declaration"


def test_a_league_without_a_run_has_no_benchmark_to_miss(tmp_path: Path) -> None:
    """Before its first outcome, and after a new segment, a board has no row to stand beside."""
    league = LiveLeague.begin(tmp_path / "live")
    league.tick_at("2026-01-05T09:30:00Z")
    public = league.folder / "public"
    with reopen_league(league.folder / "league", league.clock) as pen:
        pen.checkpoint()
        publish_league(
            league.folder / "league", pen.key, public, league.clock.now(), lambda *step: None
        )
    benchmarks = conformed(public)["requirements"][8]
    assert benchmarks["status"] == "UNVERIFIABLE"
    assert "nothing of its segment is scored yet" in " ".join(benchmarks["said"])
    assert "stand on the board" not in " ".join(benchmarks["said"])


def test_the_demo_says_why_its_crowd_has_no_floor(demo: Demo) -> None:
    benchmarks = conformed(demo.public)["requirements"][8]
    assert any("the archive tells no volume" in said for said in benchmarks["said"])
    assert {1, 960} <= {place.get("line") for place in benchmarks["evidence"]}


def test_a_live_market_league_with_a_floor_has_no_gap_of_its_crowd(made: Path) -> None:
    said = conformed(made)["requirements"][8]["said"]
    assert not any("volume" in text for text in said)


def test_each_form_says_the_same(public: Path, tmp_path: Path) -> None:
    report = conformed(public)
    statuses = {item["id"]: item["status"] for item in report["requirements"]}
    page = tmp_path / "report.html"
    run = beforehand("conform", public, "--html", page)
    assert run.returncode == 0 and "no MUST fails" not in run.stdout
    assert "requirement fails" in " ".join(run.stdout.split())
    shown = page.read_text("utf-8")
    assert shown.startswith("<!doctype html>") and shown.count("<tr><td>") == 17
    for number, status in statuses.items():
        assert f'<tr><td>{number}</td><td class="s {status}">' in shown
    suite = ET.fromstring(beforehand("conform", public, "--junit").stdout)
    assert len(suite.findall(".//testcase")) == 17 and suite.findall(".//failure") == []
    passed = sum(status == "PASS" for status in statuses.values())
    assert len(suite.findall(".//skipped")) == 17 - passed
    results = json.loads(beforehand("conform", public, "--sarif").stdout)["runs"][0]["results"]
    kinds = {"PASS": "pass", "UNVERIFIABLE": "open", "NOT_APPLICABLE": "notApplicable"}
    assert [each["kind"] for each in results] == [kinds[status] for status in statuses.values()]


@pytest.mark.parametrize("revealed", [False, True])
def test_a_private_league_of_the_engine_is_judged_by_its_commitments(
    tmp_path: Path, revealed: bool
) -> None:
    from tests.stages.test_identity import AS_OF, begun, publish, reveal

    league = begun(tmp_path / "live")
    league.tick_at("2026-01-05T10:00:00Z")
    if revealed:
        reveal(league)
    publish(league, tmp_path / "public")
    report = conform_path(tmp_path / "public", AS_OF)
    first = report["requirements"][0]
    assert first["status"] == "PASS", first["said"]
    assert any("of hidden seats" in said for said in first["said"])
