"""Attacks on what others vouch for, on a published league: each is found, or counts for nothing.

The operator publishes other evidence beside the lists of a real league and signs the folder anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.anchors.bitcoin import Header
from beforehand.anchors.trust import Trust
from beforehand.errors import IntegrityError

from .dishonest import Dishonest, Scene, found, level, scene

__all__ = ["scene"]  # the fixture

Vouch = Callable[[bytes], bytes]


def shown(scene: Scene, folder: Path, name: str, vouch: Vouch) -> Dishonest:
    """The league with this evidence beside each list in place of its tokens."""
    league = scene.league.copy(folder)
    for listed in (folder / "stamps").glob("*/list.txt"):
        listed.with_name("list.txt.one.tsr").unlink()
        listed.with_name(f"list.txt.{name}").write_bytes(vouch(listed.read_bytes()))
    league.publish()
    return league


def of_kind(scene: Scene, kind: str) -> Vouch:
    return lambda listed: scene.world.vouch(kind, listed)


def assert_refused(league: Dishonest, trust: Trust, words: str) -> None:
    """Found by `verify` at every list, and by `conform`; and no level rests on it."""
    report = league.verify(trust)
    assert report.exit_code == 1
    assert {each.step for each in report.findings} == {10}
    assert len(report.findings) == 2
    assert all(words in each.message for each in report.findings), found(report)
    assert level(report, "P1a")["level"] == "0"
    third = league.conform(trust)[3]
    assert third["status"] == "FAIL"
    assert sum(words in said for said in third["said"]) == 2, third["said"]


def assert_counts_for_nothing(league: Dishonest, trust: Trust, words: str) -> None:
    """No finding, for it may be an honest promise: it is said, and holds nothing outside."""
    report = league.verify(trust)
    assert report.exit_code == 0, found(report)
    assert sum(words in said for said in report.not_checked) == 2, report.not_checked
    held = {name: level(report, name)["level"] for name in ("P1a", "P1b", "P2", "exclusivity")}
    assert held == {"P1a": "1", "P1b": "1", "P2": "1", "exclusivity": "0"}
    assert "a book made up afterwards" in level(report, "P1a")["not_excluded"]
    assert league.conform(trust)[3]["status"] == "FAIL"


def test_the_league_as_it_was_stamped_is_sound(scene: Scene) -> None:
    """What the attacks are held against."""
    report = scene.league.verify(scene.trust)
    assert report.exit_code == 0, found(report)
    assert (level(report, "P1a")["level"], level(report, "P1b")["level"]) == ("2+", "2")


def test_attack_a_swapped_proof(scene: Scene, tmp_path: Path) -> None:
    """Caught by the imprint: the token of the league's other list is for another file."""
    lists = [path.read_bytes() for path in scene.league.folder.glob("stamps/*/list.txt")]
    other = dict(zip(lists, reversed(lists), strict=True))
    assert len(other) == 2
    league = shown(
        scene, tmp_path, "one.tsr", lambda listed: scene.world.vouch("rfc3161", other[listed])
    )
    assert_refused(league, scene.trust, "the token is for another file")


def test_attack_a_token_over_another_list(scene: Scene, tmp_path: Path) -> None:
    """Caught by the imprint, which is of a list that is not this league's."""
    listed = b"api/v1/other/book.jsonl: a list of somebody else\n"
    league = shown(scene, tmp_path, "one.tsr", lambda _: scene.world.vouch("rfc3161", listed))
    assert_refused(league, scene.trust, "the token is for another file")


@pytest.mark.parametrize("kind", ["expired", "stranger"])
def test_attack_an_expired_or_untrusted_authority(scene: Scene, tmp_path: Path, kind: str) -> None:
    """Caught by the reader's own chain: valid at the token's time, and pinned, not named alike."""
    league = shown(scene, tmp_path, "one.tsr", of_kind(scene, kind))
    assert_refused(league, scene.trust, "no trusted authority made the token")


def test_attack_a_token_whose_certificate_lacks_the_time_stamping_purpose(
    scene: Scene, tmp_path: Path
) -> None:
    """Caught by the certificate's extended key usage; its issuer is the trusted one."""
    league = shown(scene, tmp_path, "one.tsr", of_kind(scene, "no-purpose"))
    assert_refused(league, scene.trust, "no trusted authority made the token")


def test_attack_a_pending_ots_shown_as_anchored(scene: Scene, tmp_path: Path) -> None:
    """Caught by its bytes, whatever it is called: a calendar's promise names no block."""
    league = shown(scene, tmp_path, "ots", of_kind(scene, "promise"))
    assert_counts_for_nothing(league, scene.trust, "list.txt.ots: present, not checked")


def without_work(raw: bytes) -> bytes:
    """The header under a nonce that does not do its work."""
    for nonce in range(1 << 16):
        forged = raw[:76] + nonce.to_bytes(4, "little")
        try:
            Header.parse(forged).check_work()
        except IntegrityError:
            return forged
    raise AssertionError("every nonce meets the difficulty")


def test_attack_a_proof_against_a_header_that_does_not_meet_its_own_difficulty(
    scene: Scene, tmp_path: Path
) -> None:
    """Caught by the header's hash, above the target that its own bits state."""
    league = shown(scene, tmp_path, "ots", of_kind(scene, "opentimestamps"))
    trust = scene.trust
    honest = league.verify(trust)
    assert honest.exit_code == 0, found(honest)
    assert level(honest, "P2")["level"] == "2"
    forged = {height: without_work(raw) for height, raw in trust.bitcoin.headers.items()}
    trust = replace(trust, bitcoin=replace(trust.bitcoin, headers=forged))
    assert_refused(league, trust, "does not meet its own difficulty")


def test_attack_a_rekor_entry_without_inclusion_proof(scene: Scene, tmp_path: Path) -> None:
    """Caught by what lacks: a log's word and signature alone are a promise."""
    vouch = of_kind(scene, "rekor")

    def without(listed: bytes) -> bytes:
        bundle = json.loads(vouch(listed))
        for entry in bundle["verificationMaterial"]["tlogEntries"]:
            del entry["inclusionProof"]
        return json.dumps(bundle).encode()

    honest = shown(scene, tmp_path / "honest", "rekor.json", vouch).verify(scene.trust)
    assert level(honest, "P2")["level"] == "2", found(honest)
    league = shown(scene, tmp_path / "forged", "rekor.json", without)
    assert_counts_for_nothing(league, scene.trust, "list.txt.rekor.json: present, not checked")
