"""Proofs of a transparency log: its signed checkpoint, an entry's inclusion, its promise.

Sources: RFC 6962, 2.1 (tree), C2SP signed-note and tlog-checkpoint, Rekor v1
(signed entry timestamp) and v2 (tiles). Logs sign with ECDSA or Ed25519; the
book's own checkpoints are opened by `book.checkpoint`, which knows Ed25519 only.
"""

from __future__ import annotations

import base64
import json
import re

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import load_der_public_key

from beforehand.anchors.bundle import InclusionProof, LogEntry
from beforehand.anchors.trust import LogKey
from beforehand.book.checkpoint import (
    MAX_NOTE_BYTES,
    MAX_SIGNATURES,
    Checkpoint,
    strict_base64,
)
from beforehand.book.tree import check_inclusion, leaf_hash
from beforehand.errors import FormatError, IntegrityError

_SIGNATURE_LINE = re.compile(r"— (\S+) ([A-Za-z0-9+/]+={0,2})")
_KEY_ID_BYTES = 4


def verify_signature(
    public: bytes, signature: bytes, data: bytes | None, sha256: bytes | None = None
) -> None:
    """IntegrityError unless the key (SPKI, DER) signed the data, or what has the SHA-256 given.

    FormatError where the key is of a kind that is not checked here.
    """
    try:
        key = load_der_public_key(public)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise FormatError(f"not a public key: {error!s:.200}") from None
    algorithm = utils.Prehashed(hashes.SHA256()) if data is None else hashes.SHA256()
    message = data if data is not None else (sha256 or b"")
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(algorithm))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ed25519.Ed25519PublicKey) and data is not None:
            key.verify(signature, data)
        else:
            raise FormatError("a signature by a kind of key that is not checked here")
    except InvalidSignature:
        raise IntegrityError("the signature is false") from None
    except ValueError as error:
        raise IntegrityError(f"the signature is false: {error!s:.100}") from None


def open_log_note(note: bytes, log: LogKey) -> str:
    """The text of a note that the log signed under its host's name and key id.

    Lines of witnesses and of other keys are passed over, as the format says.
    FormatError where the note is malformed; IntegrityError where the log's
    signature is missing or false.
    """
    if len(note) > MAX_NOTE_BYTES:
        raise FormatError(f"a note over {MAX_NOTE_BYTES} bytes")
    try:
        whole = note.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"the note is not UTF-8 at byte {error.start}") from None
    head, found, tail = whole.rpartition("\n\n")
    if not found or not tail.endswith("\n"):
        raise FormatError("the checkpoint has no signature part")
    text = head + "\n"
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise FormatError(f"more than {MAX_SIGNATURES} signatures on one note")
    failure = "the checkpoint carries no signature of the log"
    for line in lines:
        match = _SIGNATURE_LINE.fullmatch(line)
        if match is None:
            raise FormatError(f"{line!r:.80} is not a signature line")
        signed = strict_base64(match.group(2))
        if match.group(1) != log.host or signed[:_KEY_ID_BYTES] != log.log_id[:_KEY_ID_BYTES]:
            continue
        try:
            verify_signature(log.public, signed[_KEY_ID_BYTES:], text.encode("utf-8"))
        except IntegrityError:
            # A key of another algorithm may share name and id by chance; one good line is enough.
            failure = "the log's signature on the checkpoint is false"
            continue
        return text
    raise IntegrityError(failure)


def open_log_checkpoint(note: bytes, log: LogKey) -> Checkpoint:
    """The tree head in a note that the log signed; IntegrityError where it is another log's."""
    checkpoint = Checkpoint.parse(open_log_note(note, log))
    host = checkpoint.origin.partition(" - ")[0]
    if host != log.host:
        raise IntegrityError(f"the checkpoint is of another log ({checkpoint.origin!r:.80})")
    return checkpoint


def check_entry_included(entry: LogEntry, proof: InclusionProof, log: LogKey) -> Checkpoint:
    """The checkpoint; IntegrityError unless it holds the entry, FormatError if malformed."""
    checkpoint = open_log_checkpoint(proof.checkpoint, log)
    if (checkpoint.size, checkpoint.root) != (proof.size, proof.root):
        raise IntegrityError("the signed checkpoint is not the tree of the inclusion proof")
    check_inclusion(proof.index, proof.size, leaf_hash(entry.body), list(proof.hashes), proof.root)
    return checkpoint


def promise_text(entry: LogEntry) -> bytes:
    """What Rekor v1 signs as its promise: canonical JSON (RFC 8785) of body, time, log, number."""
    content = {
        "body": base64.b64encode(entry.body).decode("ascii"),
        "integratedTime": entry.integrated,
        "logID": entry.log_id.hex(),
        "logIndex": entry.index,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


def check_promise(entry: LogEntry, log: LogKey) -> int:
    """The time (Unix seconds) that the log signed for the entry; IntegrityError for none."""
    if entry.promise is None or entry.integrated is None:
        raise IntegrityError("the log promised nothing")
    verify_signature(log.public, entry.promise, promise_text(entry))
    return entry.integrated
