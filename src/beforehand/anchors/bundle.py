"""Sigstore bundles as values: one log entry, one signature, what proves the entry.

Formats: sigstore/protobuf-specs (bundle v0.1 to v0.3, TransparencyLogEntry) in
their JSON form. Bytes are standard base64, 64-bit numbers decimal text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.anchor import MAX_EVIDENCE_BYTES
from beforehand.book.checkpoint import MAX_NOTE_BYTES, is_size, strict_base64
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

MEDIA = "application/vnd.dev.sigstore.bundle.v0.3+json"
MEDIA_TYPES = (
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    MEDIA,
)

MAX_HASHES = 64
MAX_TIMESTAMPS = 8


@dataclass(frozen=True)
class InclusionProof:
    """Where the entry stands in the log's tree, and the signed tree head that is said to hold it.

    `checkpoint` is a signed note, empty where none was kept.
    """

    index: int
    size: int
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: bytes


@dataclass(frozen=True)
class LogEntry:
    """An entry as the log answered. `integrated` is its word on the time, in Unix seconds.

    `promise` is the log's signature over body, time and number (Rekor v1's
    signed entry timestamp).
    """

    index: int
    log_id: bytes
    kind: str
    version: str
    integrated: int | None
    promise: bytes | None
    proof: InclusionProof | None
    body: bytes


@dataclass(frozen=True)
class Bundle:
    """A bundle over one file. `signature` is None for an attestation (DSSE envelope).

    `sha256` is what the bundle says of the file, where it says it.
    """

    entry: LogEntry
    signature: bytes | None
    sha256: bytes | None
    certificate: bytes | None
    timestamps: tuple[bytes, ...]


def parse_bundle(data: bytes) -> Bundle:
    """The bundle of a JSON text; FormatError where it has not the declared form."""
    if len(data) > MAX_EVIDENCE_BYTES:
        raise FormatError(f"a bundle over {MAX_EVIDENCE_BYTES} bytes")
    whole = _object(decode_json(data), "the bundle")
    if whole.get("mediaType") not in MEDIA_TYPES:
        raise FormatError(
            f"the media type {whole.get('mediaType')!r:.80} is no bundle of 0.1 to 0.3"
        )
    material = _object(whole.get("verificationMaterial"), "verificationMaterial")
    entries = _list(material.get("tlogEntries"), "tlogEntries", 8)
    if len(entries) != 1:
        raise FormatError(f"a bundle has one log entry here, not {len(entries)}")
    signature = sha256 = None
    if "messageSignature" in whole:
        message = _object(whole["messageSignature"], "messageSignature")
        signature = _bytes(message, "signature")
        sha256 = _stated_digest(message)
    return Bundle(
        entry=parse_entry(_object(entries[0], "tlogEntries")),
        signature=signature,
        sha256=sha256,
        certificate=_certificate(material),
        timestamps=_timestamps(material),
    )


def parse_entry(value: Mapping[str, Any]) -> LogEntry:
    """A TransparencyLogEntry."""
    kind = _object(value.get("kindVersion"), "kindVersion")
    promise = value.get("inclusionPromise")
    proof = value.get("inclusionProof")
    integrated = value.get("integratedTime")
    return LogEntry(
        index=_number(value, "logIndex"),
        log_id=_bytes(_object(value.get("logId"), "logId"), "keyId"),
        kind=_text(kind, "kind"),
        version=_text(kind, "version"),
        integrated=None if integrated is None else _number(value, "integratedTime"),
        promise=None
        if promise is None
        else _bytes(_object(promise, "inclusionPromise"), "signedEntryTimestamp"),
        proof=None if proof is None else _proof(_object(proof, "inclusionProof")),
        body=_bytes(value, "canonicalizedBody"),
    )


def _proof(value: Mapping[str, Any]) -> InclusionProof:
    hashes = _list(value.get("hashes", []), "hashes", MAX_HASHES)
    checkpoint = value.get("checkpoint")
    note = "" if checkpoint is None else _text(_object(checkpoint, "checkpoint"), "envelope")
    if len(note) > MAX_NOTE_BYTES:
        raise FormatError("a checkpoint over the limit of a note")
    try:
        envelope = note.encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError("the checkpoint holds a lone surrogate") from None
    return InclusionProof(
        index=_number(value, "logIndex"),
        size=_number(value, "treeSize"),
        root=_bytes(value, "rootHash"),
        hashes=tuple(_decoded(item, "hashes") for item in hashes),
        checkpoint=envelope,
    )


def _stated_digest(message: Mapping[str, Any]) -> bytes | None:
    """The file's digest as the bundle states it: a hint, which must not contradict the file."""
    if message.get("messageDigest") is None:
        return None
    stated = _object(message["messageDigest"], "messageDigest")
    if stated.get("algorithm") != "SHA2_256":
        raise FormatError("the bundle is not over a SHA-256")
    return _bytes(stated, "digest")


def _certificate(material: Mapping[str, Any]) -> bytes | None:
    if "certificate" in material:
        return _bytes(_object(material["certificate"], "certificate"), "rawBytes")
    if "x509CertificateChain" in material:
        chain = _object(material["x509CertificateChain"], "x509CertificateChain")
        certificates = _list(chain.get("certificates"), "certificates", 16)
        if not certificates:
            raise FormatError("the certificate chain is empty")
        return _bytes(_object(certificates[0], "certificates"), "rawBytes")
    return None


def _timestamps(material: Mapping[str, Any]) -> tuple[bytes, ...]:
    if material.get("timestampVerificationData") is None:
        return ()
    held = _object(material["timestampVerificationData"], "timestampVerificationData")
    tokens = _list(held.get("rfc3161Timestamps", []), "rfc3161Timestamps", MAX_TIMESTAMPS)
    return tuple(_bytes(_object(token, "rfc3161Timestamps"), "signedTimestamp") for token in tokens)


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is not an object")
    return value


def _list(value: Any, where: str, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise FormatError(f"{where} is not a list of at most {most}")
    return value


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str):
        raise FormatError(f"{key} is not a text")
    return text


def _bytes(value: Mapping[str, Any], key: str) -> bytes:
    return _decoded(value.get(key), key)


def _decoded(value: Any, where: str) -> bytes:
    if not isinstance(value, str):
        raise FormatError(f"{where} is not base64")
    return strict_base64(value)


def _number(value: Mapping[str, Any], key: str) -> int:
    """A 64-bit number, as protobuf's JSON writes it (text) or as a number; left out it is 0."""
    number = value.get(key, "0")
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    if not isinstance(number, str) or not is_size(number):
        raise FormatError(f"{key} is not a number from 0")
    return int(number)
