"""Time-stamp tokens: real ones, and those of an authority of our own made by `openssl ts`."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ReasonFlags

from beforehand.anchors.anchor import CHECKS, COMPLETE, REFUSED, UNCHECKED, Evidence, Subject
from beforehand.anchors.rfc3161 import MEDIA, TimeStampAuthority
from beforehand.anchors.token_check import check_tsr
from beforehand.anchors.tokens import parse_token
from beforehand.anchors.trust import Authority, Trust, Window
from beforehand.anchors.trust_files import read_authority, write_authority
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, RemoteError
from beforehand.testing.local_tsa import POLICY, LocalTsa
from beforehand.testing.served import Asked, Served, Told
from tests.anchors.conftest import NOTE, OTHER_NOTE
from tests.anchors.shipped import AS_OF, RFC3161, authority

DIGEST = hashlib.sha256(NOTE).digest()
HELLO = Subject.of_file(RFC3161 / "hello.bin")
LATER = "2028-01-01T00:00:00Z"


def token_of(tsa: LocalTsa, url: str, *, embed: bool = True) -> bytes:
    return TimeStampAuthority("local", url, tsa.authority, embed=embed).submit(NOTE).data


@pytest.fixture(scope="module")
def token(tsa: LocalTsa, tsa_url: str) -> bytes:
    return token_of(tsa, tsa_url)


@pytest.mark.parametrize(
    ("folder", "name", "wanted", "words"),
    [
        ("sigstage", "response-sha256", CHECKS, "2025-05-09T11:58:55Z"),
        ("sigstage", "response-sha384", CHECKS, "2025-05-09T11:58:55Z"),
        ("sigstage", "response-sha512", CHECKS, "2025-05-09T11:58:56Z"),
        ("sigstage", "response-no-embedded-cert", CHECKS, "2025-06-18T08:13:02Z"),
        ("sigstage", "response-invalid-signature", REFUSED, "no trusted authority"),
        ("test_tsa", "response", CHECKS, "2024-10-08T15:40:32Z"),
        ("test_tsa", "other_response", REFUSED, "no trusted authority"),
    ],
)
def test_real_tokens_over_hello(folder: str, name: str, wanted: str, words: str) -> None:
    data = (RFC3161 / folder / f"{name}.tsr").read_bytes()
    verdict = check_tsr(data, HELLO, (authority(folder),), AS_OF)
    assert (verdict.result, words in verdict.words) == (wanted, True)


def test_a_real_digicert_token() -> None:
    folder = RFC3161 / "digicert"
    digicert = authority("digicert", root="DigiCertAssuredIDRootCA.crt.pem")
    data = (folder / "file.digicert.tsr").read_bytes()
    verdict = check_tsr(data, Subject.of_file(folder / "file.txt"), (digicert,), AS_OF)
    assert (verdict.result, verdict.not_after) == (CHECKS, "2024-09-18T21:17:50Z")
    assert verdict.level == "2+"
    assert "accuracy not stated" in verdict.notes


def test_a_real_token_whose_certificate_has_expired_since() -> None:
    """openssl refuses it by today's clock; at its own time the chain holds."""
    folder = RFC3161 / "sigstore_mock"
    mock = authority("sigstore_mock")
    assert mock.signers[0].not_valid_after_utc < instant_key(AS_OF)
    data = (folder / "response-expired.tsr").read_bytes()
    verdict = check_tsr(data, Subject.of_file(folder / "payload"), (mock,), AS_OF)
    assert (verdict.result, verdict.not_after) == (CHECKS, "2023-02-01T00:00:01Z")


def test_a_local_token(tsa: LocalTsa, token: bytes) -> None:
    verdict = check_tsr(token, Subject.of_bytes(NOTE), (tsa.authority,), LATER)
    read = parse_token(token)
    assert verdict.result == CHECKS
    assert verdict.not_after == instant_text(read.gen_time + timedelta(seconds=1))
    assert (read.ordering, read.policy) == (True, POLICY)
    assert "tokens of this authority are ordered" in verdict.notes
    assert any("another digest" in gap for gap in verdict.excludes_not)


def test_the_anchor(tsa: LocalTsa, tsa_url: str) -> None:
    own = TimeStampAuthority("local", tsa_url, tsa.authority)
    evidence = own.submit(NOTE)
    assert (evidence.anchor, evidence.state, evidence.media) == ("local", COMPLETE, MEDIA)
    assert own.upgrade(evidence) is evidence
    trust = Trust(authorities=(tsa.authority,))
    assert own.check(evidence, DIGEST, trust, LATER).result == CHECKS
    pending = Evidence("local", "pending", evidence.data, MEDIA)
    assert own.check(pending, DIGEST, trust, LATER).result == UNCHECKED


def test_a_token_without_certificates_needs_a_pinned_signer(tsa: LocalTsa, tsa_url: str) -> None:
    data = TimeStampAuthority("local", tsa_url, embed=False).submit(NOTE).data
    assert not parse_token(data).embedded
    subject = Subject.of_bytes(NOTE)
    assert check_tsr(data, subject, (tsa.authority,), LATER).result == REFUSED
    pinned = Authority("local", tsa.authority.roots, signers=(tsa.signer,))
    assert check_tsr(data, subject, (pinned,), LATER).result == CHECKS


def test_kept_chains_come_back_from_a_folder(
    tsa: LocalTsa, token: bytes, tmp_path: Path, now: str
) -> None:
    crl = tsa.issuer.crl(instant_key(now) + timedelta(days=1))
    kept = Authority("kept", tsa.authority.roots, signers=(tsa.signer,), crls=(crl,))
    write_authority(tmp_path / "kept", kept)
    read = read_authority(tmp_path / "kept")
    assert read == kept
    verdict = check_tsr(token, Subject.of_bytes(NOTE), (read,), LATER)
    assert "revocation checked by lists made after the token" in verdict.notes


def test_nobody_trusted_is_not_checked(token: bytes) -> None:
    assert check_tsr(token, Subject.of_bytes(NOTE), (), LATER).exit_code == 2


def test_a_policy_that_is_not_accepted(tsa: LocalTsa, token: bytes) -> None:
    subject = Subject.of_bytes(NOTE)
    roots = tsa.authority.roots
    other = Authority("local", roots, policies=("1.2.3",))
    assert check_tsr(token, subject, (other,), LATER).result == REFUSED
    same = Authority("local", roots, policies=(POLICY, "1.2.3"))
    assert check_tsr(token, subject, (same,), LATER).result == CHECKS


def test_a_nonce_that_was_not_asked_with(tsa: LocalTsa, token: bytes) -> None:
    subject, right = Subject.of_bytes(NOTE), parse_token(token).nonce
    assert right is not None
    trusted = (tsa.authority,)
    assert check_tsr(token, subject, trusted, LATER, nonce=right).result == CHECKS
    assert check_tsr(token, subject, trusted, LATER, nonce=right + 1).result == REFUSED


def test_a_window_in_which_the_reader_trusts(tsa: LocalTsa, token: bytes) -> None:
    over = Authority("local", tsa.authority.roots, window=Window(end="2020-01-01T00:00:00Z"))
    assert check_tsr(token, Subject.of_bytes(NOTE), (over,), LATER).result == REFUSED


def test_a_token_after_the_asked_instant(tsa: LocalTsa, token: bytes) -> None:
    verdict = check_tsr(token, Subject.of_bytes(NOTE), (tsa.authority,), "2020-01-01T00:00:00Z")
    assert verdict.result == UNCHECKED


def revoked(tsa: LocalTsa, now: str, moved: timedelta, reason: ReasonFlags | None) -> Authority:
    moment = instant_key(now)
    entry = {tsa.signer.serial_number: (moment + moved, reason)}
    crl = tsa.issuer.crl(moment + timedelta(days=2), entry)
    return Authority("local", tsa.authority.roots, crls=(crl,))


@pytest.mark.parametrize(
    ("days", "reason", "wanted"),
    [
        (-1, ReasonFlags.superseded, REFUSED),
        (1, ReasonFlags.superseded, CHECKS),
        (1, ReasonFlags.cessation_of_operation, CHECKS),
        # RFC 3161, 4: a compromised key, or no reason stated, takes every token.
        (1, ReasonFlags.key_compromise, REFUSED),
        (1, None, REFUSED),
    ],
)
def test_revocation(
    tsa: LocalTsa, token: bytes, now: str, days: int, reason: ReasonFlags | None, wanted: str
) -> None:
    kept = revoked(tsa, now, timedelta(days=days), reason)
    assert check_tsr(token, Subject.of_bytes(NOTE), (kept,), LATER).result == wanted


def test_a_revocation_list_that_says_nothing(tsa: LocalTsa, token: bytes, now: str) -> None:
    """One made before the token, and one that another key signed under the same name."""
    other = LocalTsa(tsa.folder / "other")
    entry = {tsa.signer.serial_number: (instant_key(now) - timedelta(days=1), None)}
    old = tsa.issuer.crl(instant_key(now) - timedelta(days=1), entry)
    forged = other.issuer.crl(instant_key(now) + timedelta(days=1), entry)
    kept = Authority("local", tsa.authority.roots, crls=(old, forged))
    verdict = check_tsr(token, Subject.of_bytes(NOTE), (kept,), LATER)
    assert verdict.result == CHECKS
    assert any("revocation not checked" in note for note in verdict.notes)


@pytest.mark.parametrize("body", [b"", b"0", b"<html>", bytes(1 << 17)])
def test_an_authority_that_answers_otherwise_is_a_far_side_that_failed(body: bytes) -> None:
    with Served(lambda asked: Told(200, body)) as served, pytest.raises(RemoteError):
        TimeStampAuthority("local", served.url).submit(NOTE)


def test_an_authority_that_answers_another_request(tsa: LocalTsa) -> None:
    """The first query's token is given again: right authority, wrong nonce or wrong digest."""
    first: list[bytes] = []

    def stale(asked: Asked) -> Told:
        first.append(tsa.reply(asked.body))
        return Told(200, first[0])

    with Served(stale) as served:
        own = TimeStampAuthority("local", served.url)
        own.submit(NOTE)
        with pytest.raises(RemoteError, match="nonce"):
            own.submit(NOTE)
        with pytest.raises(RemoteError, match="another digest"):
            own.submit(OTHER_NOTE)


def test_a_refusal_is_no_token(tsa: LocalTsa) -> None:
    """openssl answers what it cannot read with a status, and the status is no token."""
    with pytest.raises(FormatError, match="granted no token"):
        parse_token(tsa.reply(b"0\x03\x02\x01\x01"))


def test_a_reply_in_an_order_that_is_not_read_says_what_to_do(tmp_path: Path) -> None:
    """OpenSSL puts the signer first and then the chain; DER sorts them. Half of all pairs fail."""
    said = set()
    for number in range(12):
        tsa = LocalTsa(tmp_path / str(number))
        root = tsa.issuer.certificate.public_bytes(Encoding.PEM)
        (tsa.folder / "chain.pem").write_bytes(root)
        with (tsa.folder / "tsa.cnf").open("a", encoding="ascii") as config:
            config.write("certs = chain.pem\n")
        with Served(tsa.serve) as served:
            try:
                TimeStampAuthority("local", served.url, tsa.authority).submit(NOTE)
            except RemoteError as error:
                said.add(str(error).partition(": ")[2])
            pinned = Authority("local", tsa.authority.roots, signers=(tsa.signer,))
            bare = TimeStampAuthority("local", served.url, pinned, embed=False).submit(NOTE)
        assert check_tsr(bare.data, Subject.of_bytes(NOTE), (pinned,), LATER).result == CHECKS
    assert len(said) <= 1
    assert all("without embedded certificates" in words for words in said)


def test_a_wrong_authority_is_refused_on_arrival(tsa_url: str, tmp_path: Path) -> None:
    other = LocalTsa(tmp_path)
    with pytest.raises(RemoteError, match="no path leads to a pinned root"):
        TimeStampAuthority("local", tsa_url, other.authority).submit(NOTE)


def span(now: str, *days: int) -> list[datetime]:
    return [instant_key(now) + timedelta(days=day) for day in days]


def test_a_path_with_a_missing_link_leads_nowhere() -> None:
    digicert = authority("digicert", root="DigiCertAssuredIDRootCA.crt.pem")
    cut = Authority("cut", digicert.roots, digicert.intermediates[1:], digicert.signers)
    data = (RFC3161 / "digicert/file.digicert.tsr").read_bytes()
    subject = Subject.of_file(RFC3161 / "digicert/file.txt")
    assert check_tsr(data, subject, (cut,), AS_OF).result == REFUSED


def test_a_leaf_that_issues_certificates_is_no_issuer(tmp_path: Path, now: str) -> None:
    """A certificate without the CA flag leads nowhere, whatever it has signed."""
    tsa = LocalTsa(tmp_path)
    leaf = tsa.issuer.issue("leaf", tsa.key.public_key(), *span(now, -1, 30))
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    roots = (leaf,)
    with Served(tsa.serve) as served:
        data = TimeStampAuthority("local", served.url).submit(NOTE).data
    assert check_tsr(data, Subject.of_bytes(NOTE), (Authority("l", roots),), LATER).exit_code == 1
