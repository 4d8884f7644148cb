"""Attacks on lines of a published league: rewritten, put in, cut off, or dated otherwise.

All of it is sealed, chained, treed and signed anew by the operator, and published by the product.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.bitcoin import Header
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.book.manifest import CHECKER_PATH
from beforehand.clock import SystemClock, instant_key, instant_text
from beforehand.stages.anchoring import seal_proofs
from beforehand.stages.declare import reopen_league
from beforehand.testing.local_chain import LocalChain

from .dishonest import Content, Dishonest, Scene, first, found, level, scene

__all__ = ["scene"]  # the fixture

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def other_probability(lines: list[Content]) -> None:
    first(lines, "answer")["cells"][0]["p"] = "0.99"


def put_in(lines: list[Content]) -> None:
    """A correction that says that it was there from the beginning."""
    line = {"kind": "correction", "at": lines[1]["at"], "lines": [1], "what": "note",
            "source": "the operator", "reason": "put in later"}  # fmt: skip
    lines.insert(2, line)


def other_outcome(lines: list[Content]) -> None:
    first(lines, "resolution")["outcome"] = "no"


def checked_alone(league: Dishonest) -> subprocess.CompletedProcess[str]:
    """By the published file, with Python alone."""
    return subprocess.run(
        [sys.executable, "-I", league.public / CHECKER_PATH, league.public],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def assert_history_differs(league: Dishonest, trust: Trust, lists: int) -> None:
    """Found by the stamped lists alone: chain, tree and signatures are in order."""
    alone = checked_alone(league)
    assert alone.returncode == 0, alone.stdout
    report = league.verify(trust)
    assert report.exit_code == 1
    assert {each.step for each in report.findings} == {10}
    assert len(report.findings) == lists
    assert all("and the list says" in each.message for each in report.findings), found(report)
    second = league.conform(trust)[2]
    assert second["status"] == "FAIL"
    assert sum("history was rewritten" in said for said in second["said"]) == lists


def assert_made_up_is_not_excluded(scene: Scene, folder: Path, change: Callable[..., None]) -> None:
    """Where nobody kept the old stamps: stamped anew it is sound, and the levels say so much."""
    league = scene.league.copy(folder)
    kept = (league.base / "checkpoint").read_bytes()
    league.remake_unstamped(scene.world, change)
    report = league.verify(scene.trust)
    assert report.exit_code == 0, found(report)
    held = level(report, "P1a")
    assert held["level"] == "1" and "a book made up afterwards" in held["not_excluded"]
    assert level(report, "P1b")["not_excluded"] == "an operator's clock that lies"
    assert "was replaced before this evidence" in level(report, "P2")["not_excluded"]
    # A reader who kept a checkpoint of before needs no stamp.
    report = league.verify(scene.trust, since=kept)
    assert report.exit_code == 1
    assert {each.step for each in report.findings} == {8}, found(report)


@pytest.mark.parametrize("stamped", [True, False])
def test_attack_rewritten_line(scene: Scene, tmp_path: Path, stamped: bool) -> None:
    """Caught by both stamped lists; where they are gone, "a book made up afterwards" stands."""
    if not stamped:
        assert_made_up_is_not_excluded(scene, tmp_path, other_probability)
        return
    league = scene.league.copy(tmp_path)
    league.remake(other_probability)
    assert "0.99" in (league.base / "forecasts.csv").read_text(), "the tables tell the same"
    assert_history_differs(league, scene.trust, 2)


@pytest.mark.parametrize("stamped", [True, False])
def test_attack_inserted_line(scene: Scene, tmp_path: Path, stamped: bool) -> None:
    """Caught by both stamped lists; where they are gone, "a book made up afterwards" stands."""
    if not stamped:
        assert_made_up_is_not_excluded(scene, tmp_path, put_in)
        return
    league = scene.league.copy(tmp_path)
    league.remake(put_in)
    assert_history_differs(league, scene.trust, 2)


def test_attack_a_correction_that_edits_history(scene: Scene, tmp_path: Path) -> None:
    """Caught by the list that was stamped over the outcome; the one before it still fits."""
    league = scene.league.copy(tmp_path)
    league.remake(other_outcome)
    assert_history_differs(league, scene.trust, 1)


def test_attack_dropped_tail_after_a_stamp(scene: Scene, tmp_path: Path) -> None:
    """Caught by the list over more lines; where it is gone too, that is said to be possible."""
    league = scene.league.copy(tmp_path)
    kept = (league.base / "checkpoint").read_bytes()
    size = max(int(path.name) for path in league.base.glob("stamps/*"))

    def cut(lines: list[Content]) -> None:
        del lines[size - 2 :]

    league.remake(cut)
    assert checked_alone(league).returncode == 0
    report = league.verify(scene.trust)
    assert report.exit_code == 0, found(report)
    said = "a cut or rollback behind the last checkpoint"
    assert any(said in line and "is not excluded" in line for line in report.not_checked)
    report = league.verify(scene.trust, since=kept)
    assert report.exit_code == 1 and {each.step for each in report.findings} == {8}
    # Whoever mirrored the proofs has the list.
    shutil.copytree(league.folder / "stamps" / str(size), league.base / "stamps" / str(size))
    league.sign_folder()
    report = league.verify(scene.trust)
    assert report.exit_code == 1
    assert "tail was dropped" in found(report), found(report)
    assert any("tail was dropped" in said for said in league.conform(scene.trust)[2]["said"])


def test_attack_line_endings_rewritten_by_a_mirror(scene: Scene, tmp_path: Path) -> None:
    """Caught by raw bytes: the tree, the manifest and the tokens are of them, and LF alone ends."""
    league = scene.league.copy(tmp_path)
    names = ["book.jsonl", *(f"stamps/{path.parent.name}/list.txt" for path in
             league.base.glob("stamps/*/list.txt"))]  # fmt: skip
    for name in names:
        path = league.base / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert checked_alone(league).returncode == 1
    for signed in (False, True):  # as a mirror is, and where the operator itself signs it so
        if signed:
            league.sign_folder()
        report = league.verify(scene.trust)
        assert report.exit_code == 1
        assert 4 in {each.step for each in report.findings}, found(report)
        assert sum("/stamps/" in each.place for each in report.findings if each.step == 10) == 2
    assert any("line endings" in said for said in league.conform(scene.trust)[2]["said"])


# ---- time


def shifted(days: int) -> Callable[[list[Content]], None]:
    """Every instant of the record so many days on, whatever names it; contracts stay."""

    def moved(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: v if k == "contract" else moved(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, str) and INSTANT.fullmatch(value) and key != "horizon":
            return instant_text(instant_key(value) + timedelta(days=days))
        return value

    def change(lines: list[Content]) -> None:
        lines[:] = [moved(line) for line in lines]

    return change


def chain_until(now: str) -> LocalChain:
    """A chain of blocks ten minutes apart, the last one an hour ago."""
    chain, last = LocalChain(), int(instant_key(now).timestamp()) - 3600
    for number in range(14):
        chain.mine(number.to_bytes(32, "big"), last - 600 * (13 - number))
    return chain


def with_tip(chain: LocalChain, change: Callable[[list[Content]], None]) -> Callable[..., None]:
    """The change of a league whose run line holds the chain's tip."""
    tip = Header.parse(chain.headers[13])

    def changed(lines: list[Content]) -> None:
        change(lines)
        beacon = {"source": "bitcoin_tip", "number": 13, "value": tip.shown_hash}
        first(lines, "run")["beacon"] = beacon

    return changed


def test_attack_back_dated_at(scene: Scene, tmp_path: Path) -> None:
    """Caught by the chain tip in the run line; without one, the operator's clock may lie."""
    now = SystemClock().now()
    chain = chain_until(now)
    trust = replace(scene.trust, bitcoin=BitcoinTrust(chain.headers, least_difficulty=0))
    honest = scene.league.copy(tmp_path / "honest")
    honest.remake_unstamped(scene.world, with_tip(chain, shifted(0)))
    report = honest.verify(trust)
    assert report.exit_code == 0, found(report)
    (bracket,) = report.leagues["blind"]["brackets"].values()
    assert bracket["not_before"] < bracket["at"] <= bracket["not_after"]
    league = scene.league.copy(tmp_path / "dated")
    league.remake_unstamped(scene.world, with_tip(chain, shifted(-2)))
    report = league.verify(trust)
    assert report.exit_code == 1
    (finding,) = report.findings
    assert "is before its beacon" in finding.message
    # Without a beacon nothing bounds it from below, and no level rests on what it says.
    league = scene.league.copy(tmp_path / "bare")
    league.remake_unstamped(scene.world, shifted(-2))
    report = league.verify(trust)
    assert report.exit_code == 0, found(report)
    (bracket,) = report.leagues["blind"]["brackets"].values()
    assert bracket["not_before"] is None
    assert level(report, "P1b")["not_excluded"] == "an operator's clock that lies"
    assert level(report, "P1a")["level"] == "1"


def test_attack_at_outside_the_bracket_from_a_beacon_or_chain_tip_to_a_token(
    scene: Scene, tmp_path: Path
) -> None:
    """Post-dated: caught by the token, whose signed time is before what the lines say."""
    chain = chain_until(SystemClock().now())
    trust = replace(scene.trust, bitcoin=BitcoinTrust(chain.headers, least_difficulty=0))
    league = scene.league.copy(tmp_path)
    league.remake_unstamped(scene.world, with_tip(chain, shifted(2)))
    later = instant_text(instant_key(SystemClock().now()) + timedelta(days=3))
    report = league.verify(trust, as_of=later)
    assert report.exit_code == 1
    assert {each.step for each in report.findings} == {10}
    assert all("when others had it already" in each.message for each in report.findings)
    run = first(league.contents(), "run")["_was"]
    assert any(each.place.endswith(f"book.jsonl line {run}") for each in report.findings)


# ---- what the book itself seals


@pytest.fixture(scope="module")
def sealing(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Dishonest:
    """The league with its stamps sealed in proof lines, and published without the detached."""
    league = scene.league.copy(tmp_path_factory.mktemp("sealing"))
    with reopen_league(league.folder / "league", SystemClock()) as pen:
        assert seal_proofs(pen, league.folder) == 2
        pen.checkpoint()
    shutil.rmtree(league.folder / "stamps")
    league.publish()
    return league


def test_evidence_that_only_the_book_seals_counts(scene: Scene, sealing: Dishonest) -> None:
    report = sealing.verify(scene.trust)
    assert report.exit_code == 0, found(report)
    assert (level(report, "P1a")["level"], level(report, "P1b")["level"]) == ("2+", "2")
    report = sealing.verify()
    assert sum("present, not checked" in said for said in report.not_checked) == 2
    assert level(report, "P1a")["level"] == "1"


def test_attack_rewritten_line_with_its_detached_stamps_taken_away(
    scene: Scene, sealing: Dishonest, tmp_path: Path
) -> None:
    """Caught by the lists that the book's own proof lines seal."""
    league = sealing.copy(tmp_path)
    league.remake(other_probability)
    assert_history_differs(league, scene.trust, 2)


def test_attack_a_proof_line_that_claims_more_lines_than_its_list(
    scene: Scene, sealing: Dishonest, tmp_path: Path
) -> None:
    """Caught by the list: a token over line 1 to 19 covers no later line, whatever is said."""
    league = sealing.copy(tmp_path)

    def claim(lines: list[Content]) -> None:
        first(lines, "proof")["checkpoint_size"] += 1

    league.remake(claim)
    report = league.verify(scene.trust)
    assert report.exit_code == 1
    (finding,) = report.findings
    assert "the list is over" in finding.message and "book.jsonl line" in finding.place
