"""Entries of our own in a log on this machine: a tree of several leaves, version 1 and 2."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from beforehand.anchors.anchor import CHECKS, COMPLETE, REFUSED, UNCHECKED, Evidence
from beforehand.anchors.bundle import MEDIA, parse_bundle
from beforehand.anchors.hashed_entry import entry_request
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.transport import exchange
from beforehand.anchors.trust import Trust, Window
from beforehand.anchors.trust_files import read_trusted_root
from beforehand.errors import RemoteError
from beforehand.testing.local_rekor import EARLIER_ENTRIES, LocalRekor
from beforehand.testing.served import Asked, Served, Told
from tests.anchors.conftest import NOTE, OTHER_NOTE, StillClock

DIGEST = hashlib.sha256(NOTE).digest()
KEY = ec.generate_private_key(ec.SECP256R1())
LATER = "2027-01-01T00:00:00Z"


def anchor(rekor: LocalRekor, url: str, *, pinned: bool = True) -> Rekor:
    return Rekor(url, KEY, version=rekor.version, log=rekor.log if pinned else None)


def test_an_entry_and_its_proof(rekor: LocalRekor, rekor_url: str) -> None:
    own = anchor(rekor, rekor_url)
    own.submit(OTHER_NOTE)
    evidence = own.submit(NOTE)
    assert (evidence.state, evidence.media) == (COMPLETE, MEDIA)
    assert own.upgrade(evidence) is evidence
    entry = parse_bundle(evidence.data).entry
    assert entry.proof is not None
    assert (entry.proof.index, entry.proof.size) == (6, 7)
    assert len(entry.proof.hashes) == 2  # the seventh of seven leaves
    trust = Trust(logs=(rekor.log,))
    verdict = own.check(evidence, DIGEST, trust, LATER)
    assert verdict.result == CHECKS
    if rekor.version == 1:
        assert (verdict.not_after, verdict.level) == ("2026-11-30T12:00:00Z", "2")
        assert entry.index == EARLIER_ENTRIES + 6
    else:
        assert (verdict.not_after, verdict.level) == (None, "1")
        assert "when, the log does not say" in verdict.words
    other = hashlib.sha256(OTHER_NOTE).digest()
    assert own.check(evidence, other, trust, LATER).result == REFUSED
    pending = Evidence("rekor", "pending", evidence.data, MEDIA)
    assert own.check(pending, DIGEST, trust, LATER).result == UNCHECKED


def test_the_log_is_pinned_by_its_trusted_root(rekor: LocalRekor, rekor_url: str) -> None:
    logs, authorities = read_trusted_root(rekor.trusted_root())
    assert (logs, authorities) == ((rekor.log,), ())
    evidence = anchor(rekor, rekor_url).submit(NOTE)
    own = anchor(rekor, rekor_url)
    assert own.check(evidence, DIGEST, Trust(logs=logs), LATER).result == CHECKS


def test_another_log_under_the_same_name_is_not_trusted(
    rekor: LocalRekor, rekor_url: str, clock: StillClock
) -> None:
    evidence = anchor(rekor, rekor_url).submit(NOTE)
    own = anchor(rekor, rekor_url)
    other = LocalRekor(clock, version=rekor.version)
    assert own.check(evidence, DIGEST, Trust(logs=(other.log,)), LATER).result == REFUSED
    forged = replace(other.log, log_id=rekor.log.log_id)
    assert own.check(evidence, DIGEST, Trust(logs=(forged,)), LATER).result == REFUSED
    with pytest.raises(RemoteError):
        Rekor(rekor_url, KEY, version=rekor.version, log=other.log).submit(NOTE)


def test_a_log_key_out_of_its_time(clock: StillClock) -> None:
    rekor = LocalRekor(clock)
    with Served(rekor.serve) as served:
        own = anchor(rekor, served.url)
        evidence = own.submit(NOTE)
    over = replace(rekor.log, window=Window(end="2026-01-01T00:00:00Z"))
    assert own.check(evidence, DIGEST, Trust(logs=(over,)), LATER).result == REFUSED


def without_proof(reply: dict[str, Any]) -> dict[str, Any]:
    """What a bare HTTPS reply would be: the entry, and no proof."""
    if "inclusionProof" in reply:
        return {key: value for key, value in reply.items() if key != "inclusionProof"}
    ((name, said),) = reply.items()
    promise = {"signedEntryTimestamp": said["verification"]["signedEntryTimestamp"]}
    return {name: {**said, "verification": promise}}


def test_a_bare_reply_is_no_proof(rekor: LocalRekor) -> None:
    def serve(asked: Asked) -> Told:
        reply = without_proof(rekor.add(json.loads(asked.body)))
        return Told(201, json.dumps(reply).encode(), "application/json")

    with Served(serve) as served, pytest.raises(RemoteError, match="no inclusion proof"):
        Rekor(served.url, KEY, version=rekor.version).submit(NOTE)


def test_a_reply_with_the_entry_of_somebody_else(rekor: LocalRekor, rekor_url: str) -> None:
    stranger = ec.generate_private_key(ec.SECP256R1())
    kept: list[bytes] = []

    def serve(asked: Asked) -> Told:
        told = rekor.serve(asked)
        kept.append(told.body)
        return replace(told, body=kept[0])

    with Served(serve) as served:
        Rekor(served.url, stranger, version=rekor.version).submit(NOTE)
        with pytest.raises(RemoteError, match="another signature"):
            Rekor(served.url, KEY, version=rekor.version).submit(NOTE)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"a": {}}', b'{"a": 1, "b": 2}'])
def test_a_log_that_answers_otherwise_is_a_far_side_that_failed(
    rekor: LocalRekor, body: bytes
) -> None:
    with (
        Served(lambda asked: Told(201, body, "application/json")) as served,
        pytest.raises(RemoteError),
    ):
        anchor(rekor, served.url).submit(NOTE)


def test_a_time_that_the_log_did_not_sign_is_not_read(clock: StillClock) -> None:
    """Version 2 states no time; one that somebody writes in is not taken."""
    rekor = LocalRekor(clock, version=2)
    with Served(rekor.serve) as served:
        own = anchor(rekor, served.url)
        bundle = json.loads(own.submit(NOTE).data)
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    entry["integratedTime"] = "1500000000"
    entry["inclusionPromise"] = {"signedEntryTimestamp": "AAAA"}
    forged = Evidence("rekor", COMPLETE, json.dumps(bundle).encode(), MEDIA)
    verdict = own.check(forged, DIGEST, Trust(logs=(rekor.log,)), LATER)
    assert (verdict.result, verdict.not_after) == (CHECKS, None)
    assert any("signed by nobody" in note for note in verdict.notes)


def test_a_time_moved_in_a_version_1_entry_is_refused(clock: StillClock) -> None:
    rekor = LocalRekor(clock)
    with Served(rekor.serve) as served:
        own = anchor(rekor, served.url)
        bundle = json.loads(own.submit(NOTE).data)
    bundle["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "1500000000"
    forged = Evidence("rekor", COMPLETE, json.dumps(bundle).encode(), MEDIA)
    assert own.check(forged, DIGEST, Trust(logs=(rekor.log,)), LATER).result == REFUSED


def test_a_false_signature_is_not_entered(rekor: LocalRekor, rekor_url: str) -> None:
    public = KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    request = entry_request(rekor.version, DIGEST, b"false", public)
    path = f"/api/v{rekor.version}/log/entries"
    assert exchange(rekor_url + path, json.dumps(request).encode()).status == 400
