"""The Rekor anchor: a public log that the operator does not run (Sigstore).

Entries are `hashedrekord`: the note's SHA-256, signed by the operator's own
ECDSA key. The evidence is kept as a Sigstore bundle, which other tools read
too. An HTTPS reply is the log's word until its inclusion proof and signed
checkpoint are checked; a reply without them is no proof. Rekor v1 signs a
time; Rekor v2 states none, and whatever stands there is not read as one.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from beforehand.anchors.anchor import (
    COMPLETE,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.bundle import MEDIA, InclusionProof, LogEntry, parse_bundle
from beforehand.anchors.bundle_check import check_bundle, check_content
from beforehand.anchors.hashed_entry import V1, entry_request, parse_hashed_entry
from beforehand.anchors.log_proof import check_entry_included, check_promise
from beforehand.anchors.transport import SECONDS, Answer, exchange
from beforehand.anchors.trust import LogKey, Trust
from beforehand.errors import FormatError, IntegrityError, RemoteError
from beforehand.records.codec import decode_json

_PATHS = {1: "/api/v1/log/entries", 2: "/api/v2/log/entries"}


@dataclass(frozen=True)
class Rekor:
    """One log as an anchor. `version` is Rekor's, 1 or 2; `key` is the operator's, P-256.

    With `log`, the log's pinned key, a reply that does not check is refused on arrival.
    """

    url: str
    key: ec.EllipticCurvePrivateKey
    name: str = "rekor"
    version: int = 1
    log: LogKey | None = None
    seconds: float = SECONDS

    def submit(self, note: bytes) -> Evidence:
        """The note's entry with its proof; RemoteError where the log gives none that checks."""
        sha256 = hashlib.sha256(note).digest()
        signature = self.key.sign(sha256, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
        public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        request = entry_request(self.version, sha256, signature, public)
        answer = exchange(
            self.url.rstrip("/") + _PATHS[self.version],
            json.dumps(request).encode("ascii"),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            seconds=self.seconds,
        )
        evidence = Evidence(self.name, COMPLETE, self._bundle(answer, signature, public), MEDIA)
        self._check_reply(evidence, sha256)
        return evidence

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The same: an entry is complete, or is no evidence."""
        return evidence

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the entry shows of the note, by the logs and authorities in `trust`."""
        if evidence.state != COMPLETE:
            return unchecked("pending: an entry without its proof is no proof")
        return check_bundle(evidence.data, Subject.of_digest(digest), trust, as_of)

    def _bundle(self, answer: Answer, signature: bytes, public: bytes) -> bytes:
        try:
            reply = decode_json(answer.expect(200, 201))
            entry = reply if self.version == 2 else entry_of_reply(reply)
        except (FormatError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise RemoteError(f"{answer.url}: the reply cannot be read: {error}") from None
        digest = base64.b64encode(hashlib.sha256(public).digest()).decode("ascii")
        bundle = {
            "mediaType": MEDIA,
            "verificationMaterial": {"publicKey": {"hint": digest}, "tlogEntries": [entry]},
            "messageSignature": {"signature": base64.b64encode(signature).decode("ascii")},
        }
        return json.dumps(bundle, sort_keys=True).encode("utf-8")

    def _check_reply(self, evidence: Evidence, sha256: bytes) -> None:
        """The entry is ours, comes with a proof, and checks where the log's key is known."""
        try:
            bundle = parse_bundle(evidence.data)
            hashed = parse_hashed_entry(bundle.entry)
            check_content(bundle, hashed, sha256)
            if bundle.entry.proof is None or not bundle.entry.proof.checkpoint:
                raise IntegrityError("the reply has no inclusion proof, and so is no proof")
            if self.log is not None:
                self._check_signed(bundle.entry, bundle.entry.proof, self.log)
        except (FormatError, IntegrityError) as error:
            raise RemoteError(f"{self.url}: {error}") from None

    def _check_signed(self, entry: LogEntry, proof: InclusionProof, log: LogKey) -> None:
        """The pinned log signed it: one that answers under another key proves nothing."""
        try:
            if entry.log_id != log.log_id:
                raise IntegrityError(f"it is of the log {entry.log_id.hex():.64}")
            check_entry_included(entry, proof, log)
            if self.version == 1:
                check_promise(entry, log)
        except IntegrityError as error:
            pinned = log.log_id.hex()
            raise IntegrityError(
                f"the reply is no proof by the pinned key of {log.host} ({pinned}): {error}"
            ) from None


def entry_of_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A TransparencyLogEntry from the one entry of a Rekor v1 reply."""
    (said,) = reply.values()
    entry: dict[str, Any] = {
        "logIndex": str(said["logIndex"]),
        "logId": {"keyId": base64.b64encode(bytes.fromhex(said["logID"])).decode("ascii")},
        "kindVersion": {"kind": "hashedrekord", "version": V1},
        "integratedTime": str(said["integratedTime"]),
        "canonicalizedBody": said["body"],
    }
    verification = said.get("verification") or {}
    if "signedEntryTimestamp" in verification:
        entry["inclusionPromise"] = {"signedEntryTimestamp": verification["signedEntryTimestamp"]}
    if "inclusionProof" in verification:
        proof = verification["inclusionProof"]
        entry["inclusionProof"] = {
            "logIndex": str(proof["logIndex"]),
            "treeSize": str(proof["treeSize"]),
            "rootHash": base64.b64encode(bytes.fromhex(proof["rootHash"])).decode("ascii"),
            "hashes": [
                base64.b64encode(bytes.fromhex(step)).decode("ascii") for step in proof["hashes"]
            ],
            "checkpoint": {"envelope": proof.get("checkpoint", "")},
        }
    return entry
