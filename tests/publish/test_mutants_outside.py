"""The corpus with real evidence: every attack on it is found, and the valid league passes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.trust import Trust
from beforehand.book.options import Options
from beforehand.book.verify import verify_folder
from beforehand.cli.conforming import judge_with
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.publish.conformance.conform import conform_folder, conform_path
from beforehand.publish.conformance.outside import CHECKS, Judgement
from beforehand.publish.conformance.result import ANCHORED, FAIL, PASS
from beforehand.testing import outside_corpus
from beforehand.testing.memory_folder import MemoryFolder
from beforehand.testing.mutants_files import Files
from beforehand.testing.mutants_outside import OutsideMutant, outside_mutants, stamped_files
from beforehand.testing.outside_world import OutsideWorld

MUTANTS = outside_mutants()
ATTACKS = (
    "a swapped proof",
    "a token over another list",
    "an expired or untrusted authority",
    "a token whose certificate lacks the time-stamping purpose",
    "a pending OTS shown as anchored",
    "a proof against a header that does not meet its own difficulty",
    "a Rekor entry without inclusion proof",
    "a fork shown to two readers",
    "line endings rewritten by a mirror",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideWorld]:
    with OutsideWorld(tmp_path_factory.mktemp("world")) as made:
        yield made


def judged(world: OutsideWorld, files: Files, trust: Trust | None) -> dict[str, Any]:
    at = world.as_of
    judge = None if trust is None else judge_with(ReaderTrust(trust, given=True), at)
    return conform_folder(MemoryFolder(files), at, judge=judge)


def failed(report: dict[str, Any]) -> set[int]:
    return {item["id"] for item in report["requirements"] if item["status"] == FAIL}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_stamped_league_passes_every_requirement(world: OutsideWorld, seed: int) -> None:
    files = stamped_files(world, seed)
    report = judged(world, files, world.trust)
    assert {item["status"] for item in report["requirements"]} == {PASS}, [
        item["said"] for item in report["requirements"] if item["status"] != PASS
    ]
    third = report["requirements"][2]
    assert third["since_by"] == ANCHORED
    told = " ".join(third["said"])
    assert "rfc3161" in told and "rekor" in told and "ots" in told
    assert report["claims"]["reached"] == 3
    assert verify_folder(MemoryFolder(files), Options(as_of=world.as_of)).findings == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_each_attack_fails_its_requirement_and_no_other(
    world: OutsideWorld, mutant: OutsideMutant
) -> None:
    files = mutant.build(world)
    report = judged(world, files, mutant.reader(world))
    assert failed(report) == {mutant.requirement}, [
        item["said"] for item in report["requirements"] if item["status"] != PASS
    ]
    item = report["requirements"][mutant.requirement - 1]
    assert item["evidence"] and item["said"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_on_evidence_is_in_the_corpus(attack: str) -> None:
    assert any(mutant.attack == attack for mutant in MUTANTS)


def test_the_corpus_is_written_for_any_checker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [m for m in MUTANTS if m.id in ("r03-token-swapped", "r03-header-without-work")]
    monkeypatch.setattr(outside_corpus, "outside_mutants", lambda: kept)
    assert outside_corpus.main([str(tmp_path / "out")]) == 0
    assert "2 mutants" in capsys.readouterr().out
    held = json.loads((tmp_path / "out" / "index.json").read_text())
    for entry in (held["valid"], *held["mutants"]):
        reader = ReaderTrust.read(tmp_path / "out" / entry["trust"], rehearsal=True)
        judge = judge_with(reader, held["as_of"])
        report = conform_path(tmp_path / "out" / entry["path"], held["as_of"], judge=judge)
        assert failed(report) == ({entry["requirement"]} if "requirement" in entry else set())
    with pytest.raises(SystemExit):
        outside_corpus.main([str(tmp_path / "out")])


def _capture(world: OutsideWorld, asked: str, listed: bytes) -> bytes:
    """What anybody can write in an editor: a copy that says an archive showed the list."""
    stamp = "20260101000000"
    record = {
        "kind": "web-archive",
        "capture": f"https://web.archive.org/web/{stamp}/https://league.example/list.txt",
        "stamp": stamp,
        "content": base64.b64encode(listed).decode("ascii"),
    }
    return json.dumps(record).encode()


def test_attack_a_league_whose_only_evidence_is_captures_that_it_made_up(
    world: OutsideWorld,
) -> None:
    """Caught by what a copy is: it could be arranged afterwards, so no run is anchored by it."""
    files = OutsideMutant("captures", "", "", vouch=_capture).build(world)
    third = (report := judged(world, files, world.trust))["requirements"][2]
    assert third["status"] == "UNVERIFIABLE" and third["since"] is None
    assert "could have been arranged afterwards" in " ".join(third["said"])
    assert report["claims"]["reached"] == 2


def test_attack_evidence_without_a_proved_time_as_a_record_of_a_time(world: OutsideWorld) -> None:
    """A log may hold every run and say no time: the third rung is about one, and is not reached."""
    timeless = lambda piece, data, subject: Judgement(CHECKS, "the log holds it")  # noqa: E731
    report = conform_folder(MemoryFolder(stamped_files(world)), world.as_of, judge=timeless)
    assert report["requirements"][2]["status"] == PASS
    rung = report["claims"]["rungs"][2]
    assert not rung["reached"] and "no time" in rung["why"]
    assert report["claims"]["reached"] == 2


def test_without_trust_nothing_of_it_is_passed(world: OutsideWorld) -> None:
    report = judged(world, stamped_files(world), None)
    assert report["requirements"][2]["status"] == "UNVERIFIABLE"
    nobody = judged(world, stamped_files(world), Trust())
    assert nobody["requirements"][2]["status"] != PASS
