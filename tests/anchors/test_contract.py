"""Every anchor keeps the contract that `testing` ships, and the contract notices who does not."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from beforehand.anchors.anchor import CHECKS, COMPLETE, PENDING, Evidence, Verdict
from beforehand.anchors.archive import WebArchive
from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust import BitcoinTrust, Clone, Trust
from beforehand.testing.anchor_contract import check_anchor
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.local_tsa import LocalTsa
from tests.anchors.conftest import NOTE, StillClock
from tests.anchors.test_archive import PAGE, archive

LATER = "2028-01-01T00:00:00Z"


def test_opentimestamps(calendar: LocalCalendar) -> None:
    own = OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))
    trust = Trust(bitcoin=BitcoinTrust(calendar.chain.headers, least_difficulty=0))
    check_anchor(own, trust, LATER, ripen=calendar.mine)


def test_rfc3161(tsa: LocalTsa, tsa_url: str) -> None:
    own = TimeStampAuthority("local", tsa_url, tsa.authority)
    check_anchor(own, Trust(authorities=(tsa.authority,)), LATER)


def test_rekor(rekor: LocalRekor, rekor_url: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    own = Rekor(rekor_url, key, version=rekor.version, log=rekor.log)
    check_anchor(own, Trust(logs=(rekor.log,)), LATER)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git(tmp_path: Path, clock: StillClock) -> None:
    far = tmp_path / "far.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(far)], check=True)
    own = GitRepository(str(far), tmp_path / "work", clock)
    check_anchor(own, Trust(clones={str(far): Clone(far)}), LATER)


def test_archive() -> None:
    with archive(NOTE) as served:
        check_anchor(WebArchive(PAGE, served.url), Trust(), LATER, needs_trust=False, note=NOTE)


@dataclass
class Boaster:
    """An anchor that takes a promise for proof."""

    name: str = "boaster"

    def submit(self, note: bytes) -> Evidence:
        return Evidence(self.name, PENDING, note, "x")

    def upgrade(self, evidence: Evidence) -> Evidence:
        return Evidence(self.name, COMPLETE, evidence.data, "x")

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        return Verdict(CHECKS, "trust me", as_of)


def test_an_anchor_that_shows_pending_evidence_as_anchored_is_noticed() -> None:
    with pytest.raises(AssertionError, match="pending evidence never checks"):
        check_anchor(Boaster(), Trust(), LATER)
