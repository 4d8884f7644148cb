"""What a `hashedrekord` entry of Rekor says: a digest, a signature over it, and whose key.

Version 0.0.1 is Rekor v1's, 0.0.2 Rekor v2's (sigstore/rekor and
sigstore/rekor-tiles, types hashedrekord).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from beforehand.anchors.bundle import LogEntry
from beforehand.anchors.certificates import load_certificate, readable, spki
from beforehand.book.checkpoint import strict_base64
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, is_digest

V1, V2 = "0.0.1", "0.0.2"
_SHA256_NAMES = ("sha256", "SHA2_256")


@dataclass(frozen=True)
class HashedEntry:
    """The SHA-256 that was signed, the signature, the key (SPKI, DER), its certificate or None."""

    sha256: bytes
    signature: bytes
    public: bytes
    certificate: x509.Certificate | None


def parse_hashed_entry(entry: LogEntry) -> HashedEntry:
    """The content of an entry's body; FormatError for another kind, version or digest."""
    body = decode_json(entry.body)
    if not isinstance(body, dict):
        raise FormatError("the entry's body is not an object")
    said = (body.get("kind"), body.get("apiVersion"))
    if said != (entry.kind, entry.version):
        raise FormatError("the entry's body is of another kind than the entry says")
    if said == ("hashedrekord", V1):
        return _version_1(_at(body, "spec"))
    if said == ("hashedrekord", V2):
        return _version_2(_at(_at(body, "spec"), "hashedRekordV002"))
    raise FormatError(f"entries of kind {entry.kind:.40} {entry.version:.20} are not checked here")


def _version_1(spec: Mapping[str, Any]) -> HashedEntry:
    hashed = _at(_at(spec, "data"), "hash")
    signature = _at(spec, "signature")
    value = hashed.get("value")
    if hashed.get("algorithm") not in _SHA256_NAMES or not is_digest(value):
        raise FormatError("the entry is not over a SHA-256")
    public, certificate = _key_of_pem(_raw(_at(signature, "publicKey"), "content"))
    return HashedEntry(bytes.fromhex(str(value)), _raw(signature, "content"), public, certificate)


def _version_2(spec: Mapping[str, Any]) -> HashedEntry:
    data, signature = _at(spec, "data"), _at(spec, "signature")
    digest = _raw(data, "digest")
    if data.get("algorithm") not in _SHA256_NAMES or len(digest) != 32:
        raise FormatError("the entry is not over a SHA-256")
    verifier = _at(signature, "verifier")
    certificate = None
    if "x509Certificate" in verifier:
        certificate = load_certificate(_raw(_at(verifier, "x509Certificate"), "rawBytes"))
        public = spki(certificate)
    else:
        public = _raw(_at(verifier, "publicKey"), "rawBytes")
    return HashedEntry(digest, _raw(signature, "content"), _checked(public), certificate)


def _key_of_pem(pem: bytes) -> tuple[bytes, x509.Certificate | None]:
    try:
        if b"-----BEGIN CERTIFICATE-----" in pem:
            certificate = readable(x509.load_pem_x509_certificate(pem))
            return spki(certificate), certificate
        key = load_pem_public_key(pem)
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), None
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise FormatError(f"the entry's key cannot be read: {error!s:.200}") from None


def _checked(public: bytes) -> bytes:
    try:
        load_der_public_key(public)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise FormatError(f"the entry's key cannot be read: {error!s:.200}") from None
    return public


def _at(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    below = value.get(key)
    if not isinstance(below, dict):
        raise FormatError(f"the entry's body has no object {key}")
    return below


def _raw(value: Mapping[str, Any], key: str) -> bytes:
    text = value.get(key)
    if not isinstance(text, str):
        raise FormatError(f"the entry's body has no {key}")
    return strict_base64(text)


def entry_request(version: int, sha256: bytes, signature: bytes, public: bytes) -> dict[str, Any]:
    """The body of a submission to Rekor v1 or v2; `public` is an ECDSA P-256 key (SPKI, DER)."""
    coded = base64.b64encode(signature).decode("ascii")
    if version == 2:
        verifier = {
            "publicKey": {"rawBytes": base64.b64encode(public).decode("ascii")},
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
        }
        return {
            "hashedRekordRequestV002": {
                "digest": base64.b64encode(sha256).decode("ascii"),
                "signature": {"content": coded, "verifier": verifier},
            }
        }
    pem = load_der_public_key(public).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return {
        "apiVersion": V1,
        "kind": "hashedrekord",
        "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": sha256.hex()}},
            "signature": {
                "content": coded,
                "publicKey": {"content": base64.b64encode(pem).decode("ascii")},
            },
        },
    }
