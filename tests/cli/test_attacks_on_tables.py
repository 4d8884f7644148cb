"""Attacks on identity and pooling, on the published leagues of the mutation corpus, by command.

A mutant's lines, tree, checkpoints and manifest are made and signed anew by its operator.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beforehand.publish.checkers import build_verify
from beforehand.testing.mutants import all_mutants, mutant_files, valid_files, write_files
from beforehand.testing.mutants_league import AS_OF

from .conftest import beforehand


def published(name: str, folder: Path) -> Path:
    """The published folder of a mutant, or of the valid league."""
    mutant = next((each for each in all_mutants() if each.id == name), None)
    write_files(folder, valid_files() if mutant is None else mutant_files(mutant))
    return folder


def conformed(public: Path) -> dict[int, dict[str, Any]]:
    run = beforehand("conform", public, "--json", "--as-of", AS_OF)
    return {item["id"]: item for item in json.loads(run.stdout)["requirements"]}


def assert_fails_alone(public: Path, requirement: int, words: str) -> None:
    held = conformed(public)
    assert {number for number, item in held.items() if item["status"] == "FAIL"} == {requirement}
    assert any(words in said for said in held[requirement]["said"]), held[requirement]["said"]


def test_the_valid_league_fails_nothing(tmp_path: Path) -> None:
    """What the attacks are held against."""
    public = published("valid", tmp_path)
    assert not [n for n, item in conformed(public).items() if item["status"] == "FAIL"]
    told = json.loads(beforehand("verify", public, "--json", "--as-of", AS_OF).stdout)
    assert [each for each in told["findings"] if each["step"] < 9] == []


def test_attack_duplicate_keys(tmp_path: Path) -> None:
    """Two texts under one seal. Caught by the parser, which takes no key twice; not by a hash."""
    public = published("r02-duplicate-key", tmp_path)
    assert_fails_alone(public, 2, "stands twice")
    told = json.loads(beforehand("verify", public, "--json", "--as-of", AS_OF).stdout)
    found = [each for each in told["findings"] if each["step"] < 9]
    assert {each["step"] for each in found} == {3}, found
    assert any("twice" in each["message"] for each in found), found
    (tmp_path / "api/v1/verify.py").write_bytes(build_verify())
    alone = subprocess.run(
        [sys.executable, "-I", tmp_path / "api/v1/verify.py", tmp_path, "--as-of", AS_OF],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert alone.returncode == 1 and "twice" in alone.stdout


@pytest.mark.parametrize("mutant", ["r06-rerun", "r06-off-schedule"])
def test_attack_a_better_rerun_labelled_as_the_counted_run(tmp_path: Path, mutant: str) -> None:
    """Caught by the slot that two counted runs name, and by the declared schedule.

    `verify` cannot read the corpus's short declaration: it says so, and that a
    label that the rule does not give is not excluded. `conform` reads as much as it needs.
    """
    public = published(mutant, tmp_path)
    told = json.loads(beforehand("verify", public, "--json", "--as-of", AS_OF).stdout)
    found = [each for each in told["findings"] if "labelled as counted" in each["message"]]
    assert len(found) == (mutant == "r06-rerun")
    assert any("counted-run rule of it was applied" in said for said in told["not_checked"])
    for levels in told["leagues"]["corpus"]["levels"].values():
        held, said = levels["P3"], "whether its label follows from the rule is not checked"
        assert held["level"] == "0" or said in held["evidence"]
    assert conformed(public)[6]["status"] == "FAIL"


def test_attack_statistics_pooled_across_own_reference_events(tmp_path: Path) -> None:
    """Caught by the rows' references: one that has its own stands outside every pool."""
    assert_fails_alone(published("r04-pool-of-too-many", tmp_path), 4, "may enter it")


def test_attack_statistics_pooled_across_segments(tmp_path: Path) -> None:
    """Caught by the segments of the rows that the signed board says it counted."""
    assert_fails_alone(published("r15-pooled", tmp_path), 15, "pooled across them")
