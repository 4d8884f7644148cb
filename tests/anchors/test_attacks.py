"""What somebody would try who wants evidence to say more than it does. Each is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from beforehand.anchors.anchor import CHECKS, REFUSED, UNCHECKED, Evidence, Subject
from beforehand.anchors.bitcoin import Header
from beforehand.anchors.bundle_check import check_bundle
from beforehand.anchors.opentimestamps import MEDIA, OpenTimestamps
from beforehand.anchors.ots_check import check_ots
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.token_check import check_tsr
from beforehand.anchors.tokens import parse_token
from beforehand.anchors.trust import Authority, BitcoinTrust, Trust
from beforehand.clock import instant_key
from beforehand.errors import IntegrityError
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.anchors.conftest import NOTE, OTHER_NOTE, StillClock
from tests.anchors.shipped import (
    AS_OF,
    HELLO_BLOCK,
    OTS,
    SIGSTORE,
    hello_header,
    hello_trust,
    sigstore_trust,
)

DIGEST = hashlib.sha256(NOTE).digest()
SUBJECT = Subject.of_bytes(NOTE)
LATER = "2028-01-01T00:00:00Z"
HELLO_FILE = Subject.of_file(OTS / "hello-world.txt")
HELLO_PROOF = (OTS / "hello-world.txt.ots").read_bytes()


def test_a_swapped_ots_proof_is_refused(calendar: LocalCalendar) -> None:
    """The proof of another checkpoint of the same league, in the same block."""
    own = OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))
    first, second = own.submit(NOTE), own.submit(OTHER_NOTE)
    calendar.mine()
    first, second = own.upgrade(first), own.upgrade(second)
    trust = Trust(bitcoin=BitcoinTrust(calendar.chain.headers, least_difficulty=0))
    assert own.check(first, DIGEST, trust, LATER).result == CHECKS
    assert own.check(second, DIGEST, trust, LATER).result == REFUSED


def test_an_ots_proof_whose_digest_was_rewritten_is_refused() -> None:
    """The file's digest exchanged in the proof: the path then leads to no block."""
    forged = HELLO_PROOF.replace(HELLO_FILE.sha256, DIGEST)
    verdict = check_ots(forged, SUBJECT, hello_trust(), AS_OF)
    assert (verdict.result, "Merkle root" in verdict.words) == (REFUSED, True)


def test_a_swapped_log_entry_is_refused(clock: StillClock) -> None:
    rekor = LocalRekor(clock)
    with Served(rekor.serve) as served:
        own = Rekor(served.url, ec.generate_private_key(ec.SECP256R1()), log=rekor.log)
        first, second = json.loads(own.submit(NOTE).data), json.loads(own.submit(OTHER_NOTE).data)
    trust = Trust(logs=(rekor.log,))
    assert check_bundle(json.dumps(second).encode(), SUBJECT, trust, LATER).result == REFUSED
    first["verificationMaterial"]["tlogEntries"] = second["verificationMaterial"]["tlogEntries"]
    assert check_bundle(json.dumps(first).encode(), SUBJECT, trust, LATER).result == REFUSED


def test_a_token_over_another_list_is_refused(tsa: LocalTsa, tsa_url: str) -> None:
    data = TimeStampAuthority("local", tsa_url).submit(OTHER_NOTE).data
    verdict = check_tsr(data, SUBJECT, (tsa.authority,), LATER)
    assert (verdict.result, verdict.words) == (REFUSED, "the token is for another file")


def served_token(tsa: LocalTsa, *, embed: bool = True) -> bytes:
    with Served(tsa.serve) as served:
        return TimeStampAuthority("local", served.url, embed=embed).submit(NOTE).data


def test_an_authority_that_expired_before_it_signed_is_refused(tmp_path: Path, now: str) -> None:
    moment = instant_key(now)
    tsa = LocalTsa(tmp_path, begins=moment - timedelta(days=30), ends=moment - timedelta(minutes=1))
    verdict = check_tsr(served_token(tsa), SUBJECT, (tsa.authority,), LATER)
    assert verdict.result == REFUSED
    assert any("valid from" in note for note in verdict.notes)


def test_an_authority_that_expires_after_it_signed_is_not_refused(tmp_path: Path, now: str) -> None:
    tsa = LocalTsa(tmp_path, ends=instant_key(now) + timedelta(hours=1))
    assert check_tsr(served_token(tsa), SUBJECT, (tsa.authority,), LATER).result == CHECKS


def test_an_untrusted_authority_is_refused(tsa: LocalTsa, tsa_url: str, tmp_path: Path) -> None:
    """An authority of the operator's own making, under a trusted one's name."""
    operators = LocalTsa(tmp_path, tsa.name)
    verdict = check_tsr(served_token(operators), SUBJECT, (tsa.authority,), LATER)
    assert verdict.result == REFUSED
    assert any("no path leads to a pinned root" in note for note in verdict.notes)


def der(tag: int, content: bytes) -> bytes:
    """One DER value, for putting a token together that no authority would."""
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def token_signed_by(tsa: LocalTsa, certificate: x509.Certificate, folder: Path) -> bytes:
    """A token of real content, signed with the authority's key under another certificate.

    `openssl ts` refuses to sign so; `openssl cms` asks for no purpose.
    """
    folder.mkdir(exist_ok=True)
    real = parse_token(served_token(tsa)).response.time_stamp_token()
    (folder / "real.der").write_bytes(real)
    (folder / "signer.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes((tsa.folder / "key.pem").read_bytes())
    take = "openssl cms -verify -noverify -inform DER -in real.der -out info.der -binary"
    sign = (
        "openssl cms -sign -binary -nodetach -in info.der -signer signer.pem -inkey key.pem -md "
        "sha256 -econtent_type 1.2.840.113549.1.9.16.1.4 -outform DER -out token.der"
    )
    for words in (take, sign):
        subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
    return der(0x30, der(0x30, der(0x02, b"\x00")) + (folder / "token.der").read_bytes())


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalTsa, Path]]:
    folder = tmp_path_factory.mktemp("signing")
    yield LocalTsa(folder / "tsa"), folder


def test_the_tokens_of_the_next_tests_are_sound_but_for_the_certificate(
    signing: tuple[LocalTsa, Path], now: str
) -> None:
    tsa, folder = signing
    data = token_signed_by(tsa, tsa.signer, folder / "same")
    assert check_tsr(data, SUBJECT, (tsa.authority,), LATER).result == CHECKS


@pytest.mark.parametrize(
    ("purpose", "critical"),
    [
        (None, True),
        (ExtendedKeyUsageOID.SERVER_AUTH, True),
        (ExtendedKeyUsageOID.TIME_STAMPING, False),
        (ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, True),
    ],
)
def test_a_token_whose_certificate_lacks_the_time_stamping_purpose_is_refused(
    signing: tuple[LocalTsa, Path],
    now: str,
    purpose: x509.ObjectIdentifier | None,
    critical: bool,
) -> None:
    tsa, folder = signing
    certificate = tsa.issuer.issue(
        "plain", tsa.key.public_key(), tsa.begins, tsa.ends, purpose=purpose, critical=critical
    )
    data = token_signed_by(tsa, certificate, folder / "other")
    verdict = check_tsr(data, SUBJECT, (tsa.authority,), LATER)
    assert verdict.result == REFUSED
    assert any("purpose" in note for note in verdict.notes)


def test_a_second_certificate_under_the_signers_number_is_refused(
    signing: tuple[LocalTsa, Path],
) -> None:
    """One carries the signature, the other the purpose (compare CVE-2025-52556)."""
    tsa, folder = signing
    plain = tsa.issuer.issue(
        "plain", tsa.key.public_key(), tsa.begins, tsa.ends, purpose=None, serial=77
    )
    fitting = tsa.issuer.issue("plain", tsa.key.public_key(), tsa.begins, tsa.ends, serial=77)
    data = token_signed_by(tsa, plain, folder / "two")
    pinned = Authority("local", tsa.authority.roots, signers=(fitting,))
    verdict = check_tsr(data, SUBJECT, (pinned,), LATER)
    assert verdict.result == REFUSED
    assert any("two certificates" in note for note in verdict.notes)


def test_a_pending_ots_shown_as_anchored_is_refused(calendar: LocalCalendar) -> None:
    """A promise whose proof line says "complete"."""
    own = OpenTimestamps(calendars=(calendar.url,))
    pending = own.submit(NOTE)
    lie = Evidence(pending.anchor, "complete", pending.data, MEDIA)
    verdict = own.check(lie, DIGEST, Trust(bitcoin=BitcoinTrust()), LATER)
    assert (verdict.result, verdict.not_after) == (REFUSED, None)
    assert "said to be complete" in verdict.words


@pytest.mark.parametrize("name", ["incomplete.txt", "two-calendars.txt"])
def test_a_pending_ots_is_never_shown_as_anchored(name: str) -> None:
    data = (OTS / f"{name}.ots").read_bytes()
    verdict = check_ots(data, Subject.of_file(OTS / name), hello_trust(), AS_OF)
    assert (verdict.result, verdict.exit_code, verdict.not_after) == (UNCHECKED, 2, None)


def header_with(root: bytes, *, time: int = 1_400_000_000) -> bytes:
    """A header that states real difficulty and did not do the work."""
    real = hello_header()
    return real[:36] + root + time.to_bytes(4, "little") + real[72:]


def test_a_proof_against_a_header_that_does_not_meet_its_own_difficulty_is_refused() -> None:
    """The time moved back a year in an otherwise real header."""
    real = Header.parse(hello_header())
    forged = BitcoinTrust({HELLO_BLOCK: header_with(real.merkle_root)})
    verdict = check_ots(HELLO_PROOF, HELLO_FILE, forged, AS_OF)
    assert verdict.result == REFUSED
    assert "own difficulty" in verdict.words


def test_a_header_made_up_at_the_least_difficulty_is_refused() -> None:
    """It meets its own difficulty, which is that of a test network."""
    real = Header.parse(hello_header())
    easy = header_with(real.merkle_root)[:72] + (0x207FFFFF).to_bytes(4, "little")
    for nonce in range(1000):
        raw = easy + nonce.to_bytes(4, "little")
        try:
            Header.parse(raw).check_work()
        except IntegrityError:
            continue
        break
    verdict = check_ots(HELLO_PROOF, HELLO_FILE, BitcoinTrust({HELLO_BLOCK: raw}), AS_OF)
    assert verdict.result == REFUSED
    assert "difficulty 0" in verdict.words


def happy_bundle() -> dict[str, object]:
    return json.loads((SIGSTORE / "happy-path-v0.3/bundle.sigstore.json").read_text("utf-8"))


def check_happy(bundle: object) -> str:
    subject = Subject.of_file(SIGSTORE / "a.txt")
    return check_bundle(json.dumps(bundle).encode(), subject, sigstore_trust(), AS_OF).result


@pytest.mark.parametrize("part", ["inclusionProof", "checkpoint", "hashes"])
def test_a_log_entry_without_inclusion_proof_is_no_proof(part: str) -> None:
    bundle = happy_bundle()
    assert check_happy(bundle) == CHECKS
    entry = bundle["verificationMaterial"]["tlogEntries"][0]  # type: ignore[index]
    if part == "inclusionProof":
        del entry["inclusionProof"]
    else:
        del entry["inclusionProof"][part]
    assert check_happy(bundle) in (UNCHECKED, REFUSED)


def test_a_log_entry_with_the_proof_of_another_is_refused() -> None:
    bundle = happy_bundle()
    entry = bundle["verificationMaterial"]["tlogEntries"][0]  # type: ignore[index]
    other = json.loads((SIGSTORE / "happy-path-v0.1/bundle.sigstore.json").read_text("utf-8"))
    entry["inclusionProof"] = other["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]
    assert check_happy(bundle) == REFUSED


def test_a_checkpoint_that_the_operator_signed_is_refused(clock: StillClock) -> None:
    """A tree of the operator's own around the entry, under the log's name."""
    real, own = LocalRekor(clock), LocalRekor(clock)
    with Served(own.serve) as served:
        key = ec.generate_private_key(ec.SECP256R1())
        bundle = json.loads(Rekor(served.url, key).submit(NOTE).data)
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    entry["logId"]["keyId"] = base64.b64encode(real.log.log_id).decode()
    note = entry["inclusionProof"]["checkpoint"]["envelope"]
    text, _, line = note.rpartition("\n\n")
    signed = base64.b64decode(line.split(" ")[2])
    coded = base64.b64encode(real.log.log_id[:4] + signed[4:]).decode()
    entry["inclusionProof"]["checkpoint"]["envelope"] = f"{text}\n\n— {real.host} {coded}\n"
    verdict = check_bundle(json.dumps(bundle).encode(), SUBJECT, Trust(logs=(real.log,)), LATER)
    assert verdict.result == REFUSED
