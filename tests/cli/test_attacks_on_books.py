"""Attacks with a second book: two stamped side by side, a fork shown to two readers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.book.fraud import FraudProof, is_shown
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.verification import verify_published
from beforehand.clock import SystemClock

from .conftest import beforehand
from .dishonest import Content, Dishonest, Scene, found, level, scene

__all__ = ["scene"]  # the fixture


@pytest.fixture(scope="module")
def twins(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dishonest, Dishonest]:
    """Two books of one origin and key that differ in every probability, both stamped in time."""
    folder = tmp_path_factory.mktemp("twins")
    books = scene.before.copy(folder / "first"), scene.before.copy(folder / "second")

    def other(lines: list[Content]) -> None:
        for line in lines:
            for cell in line.get("cells", ()):
                cell["p"] = "0.9"

    books[1].remake(other)
    for book in books:
        book.stamp(scene.world)
    for book in books:
        book.settle()
        book.stamp(scene.world)
        book.publish()
    return books


def read_with(league: Dishonest, scene: Scene, seen: Path) -> Report:
    """By a reader who kept what lies in `seen`."""
    reader = replace(ReaderTrust(scene.trust, given=True), seen=seen)
    return verify_published(league.public, Options(as_of=SystemClock().now()), reader=reader)


def test_attack_two_books_stamped_in_parallel_under_one_origin(
    scene: Scene, twins: tuple[Dishonest, Dishonest], tmp_path: Path
) -> None:
    """Not excluded by tokens, and each report says so; caught by whoever holds the other's list."""
    for league in twins:
        report = league.verify(scene.trust)
        assert report.exit_code == 0, found(report)
        assert (level(report, "P1a")["level"], level(report, "P1b")["level"]) == ("2+", "2")
        for name in ("P1a", "P1b"):
            assert "books stamped side by side" in level(report, name)["not_excluded"]
        held = level(report, "exclusivity")
        assert held["level"] == "0"
        assert held["not_excluded"] == "a second book, stamped side by side"
        told = beforehand("verify", league.public)
        assert "does not exclude: a second book, stamped side by side" in told.stdout
    seen = tmp_path / "seen"
    seen.mkdir()
    (listed, *_) = sorted(twins[0].base.glob("stamps/*/list.txt"))
    (seen / "list.txt").write_bytes(listed.read_bytes())
    assert read_with(twins[0], scene, seen).exit_code == 0
    report = read_with(twins[1], scene, seen)
    assert report.exit_code == 1
    assert "a second book" in found(report), found(report)
    assert level(report, "exclusivity")["level"] == "0"


def test_attack_a_fork_shown_to_two_readers(
    scene: Scene, twins: tuple[Dishonest, Dishonest], tmp_path: Path
) -> None:
    """Caught when they compare checkpoints: both are signed, and the pair is a fraud proof."""
    kept = [league.base / "checkpoint" for league in twins]
    for mine, other in ((0, 1), (1, 0)):
        report = twins[mine].verify(scene.trust, since=kept[mine].read_bytes())
        assert report.exit_code == 0, found(report)
        report = twins[mine].verify(scene.trust, since=kept[other].read_bytes())
        assert report.exit_code == 1
        assert {each.step for each in report.findings} == {8}, found(report)
    seen = tmp_path / "seen"
    seen.mkdir()
    (seen / "checkpoint").write_bytes(kept[0].read_bytes())
    report = read_with(twins[1], scene, seen)
    assert report.exit_code == 1
    (proof,) = report.leagues["blind"]["fraud_proofs"]
    assert "fraud proof" in found(report)
    assert is_shown(FraudProof.parse(proof.encode()))


def test_attack_conflicting_checkpoints_both_supplied(
    twins: tuple[Dishonest, Dishonest], tmp_path: Path
) -> None:
    """Caught by the key in force, which signed both over one size: no trust is needed to see it."""
    league, other = twins[0].copy(tmp_path), twins[1]
    name = "checkpoints/" + str(min(int(path.name) for path in league.base.glob("stamps/*")))
    # In the operator's own folder, signed.
    (league.base / name).write_bytes((other.base / name).read_bytes())
    league.sign_folder()
    told = beforehand("verify", league.public, "--json")
    assert told.returncode == 1
    findings = json.loads(told.stdout)["findings"]
    assert any(each["step"] == 5 and name in each["place"] for each in findings), findings
    # One in the folder, the other in the reader's hand.
    told = beforehand("verify", twins[0].public, "--since", other.base / "checkpoint", "--json")
    assert told.returncode == 1
    assert {each["step"] for each in json.loads(told.stdout)["findings"]} == {8}, told.stdout
