"""Signatures and notes of logs, by keys of every kind that logs have had."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from beforehand.anchors.bundle import LogEntry
from beforehand.anchors.hashed_entry import V1, V2, parse_hashed_entry
from beforehand.anchors.log_proof import check_promise, open_log_note, verify_signature
from beforehand.anchors.trust import LogKey
from beforehand.errors import FormatError, IntegrityError

DATA = b"data"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
X = x25519.X25519PrivateKey.generate()


def spki(key: Any) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


SIGNED = {
    "rsa": (RSA, RSA.sign(DATA, padding.PKCS1v15(), hashes.SHA256())),
    "ecdsa": (EC, EC.sign(DATA, ec.ECDSA(hashes.SHA256()))),
    "ed25519": (ED, ED.sign(DATA)),
}


@pytest.mark.parametrize("kind", SIGNED)
def test_a_signature(kind: str) -> None:
    key, signature = SIGNED[kind]
    verify_signature(spki(key), signature, DATA)
    with pytest.raises(IntegrityError):
        verify_signature(spki(key), signature, b"other")
    with pytest.raises(IntegrityError):
        verify_signature(spki(key), b"", DATA)


@pytest.mark.parametrize("public", [b"", b"0", spki(X)], ids=["none", "no key", "X25519"])
def test_keys_that_are_not_checked_here(public: bytes) -> None:
    with pytest.raises(FormatError):
        verify_signature(public, b"x", DATA)


def test_ed25519_signs_no_digest() -> None:
    with pytest.raises(FormatError):
        verify_signature(spki(ED), ED.sign(bytes(32)), None, bytes(32))


def note(log: LogKey, text: str = "log.example\n1\nAAAA\n") -> bytes:
    signed = log.log_id[:4] + ED.sign(text.encode())
    coded = base64.b64encode(signed).decode()
    return f"{text}\n— {log.host} {coded}\n".encode()


LOG = LogKey("log.example", bytes(range(32)), spki(ED))


def test_a_log_opens_its_own_note_among_others() -> None:
    own = note(LOG)
    assert open_log_note(own, LOG) == "log.example\n1\nAAAA\n"
    witnessed = own.replace(b"\n\n", "\n\n— witness.example AAAAAAAA\n".encode())
    assert open_log_note(witnessed, LOG) == "log.example\n1\nAAAA\n"
    for other in (LogKey("other", LOG.log_id, LOG.public), LogKey("log.example", b"1234", b"")):
        with pytest.raises(IntegrityError, match="no signature of the log"):
            open_log_note(own, other)
    with pytest.raises(IntegrityError, match="false"):
        open_log_note(own.replace(b"\n1\n", b"\n2\n"), LOG)


LINE = "— log.example AAAAAAAA\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\n\n",
        b"x\n\n",
        b"x\n\nno line\n",
        ("x\n\n" + LINE * 100).encode(),
        b"x" * (2 << 20),
    ],
)
def test_notes_that_are_none(data: bytes) -> None:
    with pytest.raises(FormatError):
        open_log_note(data, LOG)


def entry(body: object, version: str = V1, kind: str = "hashedrekord") -> LogEntry:
    data = json.dumps(body).encode()
    return LogEntry(1, bytes(32), kind, version, None, None, None, data)


PEM = EC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def body_1(**change: object) -> dict[str, object]:
    data = {"hash": {"algorithm": "sha256", "value": "ab" * 32}}
    signature = {"content": coded(b"s"), "publicKey": {"content": coded(PEM)}}
    spec = {"data": data, "signature": signature, **change}
    return {"apiVersion": V1, "kind": "hashedrekord", "spec": spec}


def body_2(**change: object) -> dict[str, object]:
    data = {"algorithm": "SHA2_256", "digest": coded(bytes(32))}
    verifier = {"publicKey": {"rawBytes": coded(spki(EC))}}
    content = {"data": data, "signature": {"content": coded(b"s"), "verifier": verifier}}
    spec = {"hashedRekordV002": {**content, **change}}
    return {"apiVersion": V2, "kind": "hashedrekord", "spec": spec}


def test_bodies_of_both_versions() -> None:
    assert parse_hashed_entry(entry(body_1())).public == spki(EC)
    assert parse_hashed_entry(entry(body_2(), V2)).public == spki(EC)


@pytest.mark.parametrize(
    "made",
    [
        entry([]),
        entry(body_1(), V2),
        entry({**body_1(), "kind": "dsse"}, V1, "dsse"),
        entry(body_1(data={"hash": {"algorithm": "sha1", "value": "ab" * 20}})),
        entry(body_1(data={"hash": {"algorithm": "sha256", "value": "AB" * 32}})),
        entry(body_1(signature={"content": "s", "publicKey": {"content": coded(b"no key")}})),
        entry(body_1(signature={"content": coded(b"s"), "publicKey": {"content": coded(b"x")}})),
        entry(body_2(data={"algorithm": "SHA2_256", "digest": coded(b"short")}), V2),
        entry(body_2(signature={"content": coded(b"s"), "verifier": {}}), V2),
        entry(
            body_2(signature={"content": "", "verifier": {"publicKey": {"rawBytes": coded(b"x")}}}),
            V2,
        ),
        entry(
            body_2(
                signature={
                    "content": "",
                    "verifier": {"x509Certificate": {"rawBytes": coded(b"x")}},
                }
            ),
            V2,
        ),
    ],
)
def test_bodies_of_another_form(made: LogEntry) -> None:
    with pytest.raises(FormatError):
        parse_hashed_entry(made)


def test_no_promise_is_no_time() -> None:
    with pytest.raises(IntegrityError, match="promised nothing"):
        check_promise(entry({}), LOG)
