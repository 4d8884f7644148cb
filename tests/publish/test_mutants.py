"""The mutation corpus: every fault is found, by its requirement and no other; the valid passes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.options import Options
from beforehand.book.verify import verify_folder
from beforehand.publish.conformance.conform import conform_folder
from beforehand.publish.conformance.result import FAIL, REQUIREMENTS
from beforehand.testing.memory_folder import MemoryFolder
from beforehand.testing.mutants import (
    VALID,
    all_mutants,
    index,
    main,
    mutant_files,
    private_files,
    valid_files,
)
from beforehand.testing.mutants_kinds import BYTES, Mutant
from beforehand.testing.mutants_league import AS_OF

MUTANTS = all_mutants()
ATTACKS = (
    "an answer without a prior ask",
    "an unlogged ask",
    "a late answer counted",
    "a better rerun counted",
    "a body never disclosed",
    "duplicate keys",
    "a correction that edits history",
    "statistics pooled across segments",
    "statistics pooled across own-reference events",
    "line endings rewritten by a mirror",
    "rewritten line",
    "inserted line",
    "dropped tail after a stamp",
)


def judged(files: dict[str, bytes]) -> dict[str, Any]:
    return conform_folder(MemoryFolder(files), AS_OF)


def failed(report: dict[str, Any]) -> set[int]:
    return {item["id"] for item in report["requirements"] if item["status"] == FAIL}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_valid_league_raises_no_alarm(seed: int) -> None:
    report = judged(valid_files(seed))
    assert {item["id"]: item["status"] for item in report["requirements"]} == VALID
    assert failed(report) == set()


@pytest.mark.parametrize("revealed", [False, True])
def test_a_private_league_raises_none_either(revealed: bool) -> None:
    files = private_files(revealed=revealed)
    report = judged(files)
    assert {item["id"]: item["status"] for item in report["requirements"]} == VALID
    said = " ".join(report["requirements"][0]["said"])
    assert "answers of hidden seats" in said
    assert ("all are opened" if revealed else "not opened yet: 4") in said
    assert verify_folder(MemoryFolder(files), Options(as_of=AS_OF)).findings == []


def test_the_verifier_finds_the_valid_league_sound() -> None:
    report = verify_folder(MemoryFolder(valid_files()), Options(as_of=AS_OF))
    assert report.findings == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_each_fault_fails_its_requirement_and_no_other(mutant: Mutant) -> None:
    report = judged(mutant_files(mutant))
    found = failed(report)
    assert mutant.requirement in found, mutant.fault
    assert found - {mutant.requirement} <= set(mutant.collateral), mutant.fault
    item = report["requirements"][mutant.requirement - 1]
    assert item["evidence"], "a fault points at a place"
    assert item["said"], "and says what is wrong there"


def test_there_are_enough_and_every_requirement_has_some() -> None:
    counts = Counter(mutant.requirement for mutant in MUTANTS)
    assert len(MUTANTS) >= 100
    assert set(counts) == {requirement.id for requirement in REQUIREMENTS}
    assert min(counts.values()) >= 4
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_of_the_list_is_in_the_corpus(attack: str) -> None:
    assert any(mutant.attack == attack for mutant in MUTANTS)


def test_no_two_mutants_are_one() -> None:
    made = Counter(
        frozenset((name, hash(data)) for name, data in mutant_files(mutant).items())
        for mutant in MUTANTS
        if mutant.requirement in (5, 6, 12, 13)
    )
    assert max(made.values()) == 1


def test_a_semantic_mutant_is_signed_as_a_dishonest_operator_would() -> None:
    """Chain, tree, checkpoints and manifest of a mutant that is resealed are all in order."""
    mutant = next(m for m in MUTANTS if m.id == "r06-second-answer")
    report = verify_folder(MemoryFolder(mutant_files(mutant)), Options(as_of=AS_OF))
    assert [finding for finding in report.findings if finding.step in (1, 2, 4, 5)] == []
    assert [finding for finding in report.findings if "hashes to" in finding.message] == []


def test_a_mutant_of_bytes_is_not_signed_anew() -> None:
    mutant = next(m for m in MUTANTS if m.kind == BYTES and m.id == "r02-tile-changed")
    report = verify_folder(MemoryFolder(mutant_files(mutant)), Options(as_of=AS_OF))
    assert {finding.step for finding in report.findings} == {2, 4}


def test_the_same_seed_gives_the_same_bytes() -> None:
    for mutant in MUTANTS[::40]:
        assert mutant_files(mutant, 7) == mutant_files(mutant, 7)
    assert valid_files(7) == valid_files(7)
    assert valid_files(7) != valid_files(8)


@pytest.mark.parametrize("mutant", MUTANTS[::17], ids=lambda mutant: mutant.id)
def test_another_seed_gives_the_same_verdicts(mutant: Mutant) -> None:
    found = failed(judged(mutant_files(mutant, 5)))
    assert mutant.requirement in found
    assert found - {mutant.requirement} <= set(mutant.collateral)


def test_the_corpus_is_written_with_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from beforehand.testing import mutants

    monkeypatch.setattr(mutants, "all_mutants", lambda: MUTANTS[:3])
    out = tmp_path / "corpus"
    assert main([str(out), "--seed", "4"]) == 0
    assert "3 mutants" in capsys.readouterr().out
    held = json.loads((out / "index.json").read_text())
    assert held["as_of"] == AS_OF
    for entry in held["mutants"]:
        assert (out / entry["path"] / "api/v1/manifest.json").is_file()
        assert 1 <= entry["requirement"] <= 17
    assert (out / held["valid"]["path"] / "api/v1/corpus/book.jsonl").is_file()
    with pytest.raises(SystemExit):
        main([str(out)])


def test_the_index_names_every_mutant() -> None:
    held = index()
    assert len(held["mutants"]) == len(MUTANTS)
    assert {entry["kind"] for entry in held["mutants"]} == {"said", "computed", "raw", "bytes"}
