"""A transparency log on this machine that answers as Rekor does, version 1 or 2.

Signatures, tree and proofs are real: a tree of as many leaves as entries, a
signed checkpoint over all of them, for version 1 a signed time, and for
version 2 the tree as tiles. For rehearsals and tests. Run it:

    python -m beforehand.testing.local_rekor FOLDER [PORT [VERSION]]

The log's key to trust is then in FOLDER/trust/trusted_root.json.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from beforehand.anchors.bundle import LogEntry
from beforehand.anchors.hashed_entry import V1, V2
from beforehand.anchors.log_proof import promise_text, verify_signature
from beforehand.anchors.trust import LogKey, Window
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.tiles import TileBuilder
from beforehand.book.tree import inclusion_path, leaf_hash, tree_root
from beforehand.clock import Clock, SystemClock, instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json
from beforehand.testing.served import Asked, Served, Told

HOST = "rekor.invalid"
# As in Rekor v1, numbers go on over several trees: an entry's number in the log
# is not its number in the tree.
EARLIER_ENTRIES = 1000
READ = "/api/v2/"


class LocalRekor:
    """A log with some entries of others in it already."""

    def __init__(self, clock: Clock, version: int = 1, others: int = 5, host: str = HOST) -> None:
        self.version = version
        self.host = host
        self._clock = clock
        self._one = threading.Lock()
        self._bodies: list[bytes] = [b'{"kind": "other", "n": %d}' % n for n in range(others)]
        self._sign, public, raw = _key(version)
        # Rekor v1 names itself by its key's hash; v2 by C2SP's hash of name and key.
        named = public if version == 1 else host.encode() + b"\n\x01" + raw
        self.log = LogKey(host, hashlib.sha256(named).digest(), public, Window(clock.now()))

    def add(self, request: dict[str, Any]) -> dict[str, Any]:
        """The log's reply to a submission; IntegrityError where the signature is false."""
        body = self._body_1(request) if self.version == 1 else self._body_2(request)
        with self._one:
            self._bodies.append(body)
            return self._reply(len(self._bodies) - 1)

    def _body_1(self, request: dict[str, Any]) -> bytes:
        spec = request["spec"]
        pem = base64.b64decode(spec["signature"]["publicKey"]["content"])
        public = load_pem_public_key(pem).public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        signature = base64.b64decode(spec["signature"]["content"])
        verify_signature(public, signature, None, bytes.fromhex(spec["data"]["hash"]["value"]))
        return _compact({"apiVersion": V1, "kind": "hashedrekord", "spec": spec})

    def _body_2(self, request: dict[str, Any]) -> bytes:
        asked = request["hashedRekordRequestV002"]
        verifier = asked["signature"]["verifier"]
        public = base64.b64decode(verifier["publicKey"]["rawBytes"])
        signature = base64.b64decode(asked["signature"]["content"])
        verify_signature(public, signature, None, base64.b64decode(asked["digest"]))
        data = {"algorithm": "SHA2_256", "digest": asked["digest"]}
        spec = {"hashedRekordV002": {"data": data, "signature": asked["signature"]}}
        return _compact({"apiVersion": V2, "kind": "hashedrekord", "spec": spec})

    def _reply(self, index: int) -> dict[str, Any]:
        leaves = [leaf_hash(body) for body in self._bodies]
        size, root = len(leaves), tree_root(leaves)
        path = inclusion_path(index, size, lambda start, end: tree_root(leaves[start:end]))
        note = self._checkpoint(size, root)
        if self.version == 2:
            return self._entry_2(index, size, root, path, note)
        entry = LogEntry(
            index=EARLIER_ENTRIES + index,
            log_id=self.log.log_id,
            kind="hashedrekord",
            version=V1,
            integrated=int(instant_key(self._clock.now()).timestamp()),
            promise=None,
            proof=None,
            body=self._bodies[index],
        )
        said = {
            "body": _coded(entry.body),
            "integratedTime": entry.integrated,
            "logID": entry.log_id.hex(),
            "logIndex": entry.index,
            "verification": {
                "inclusionProof": {
                    "checkpoint": note,
                    "hashes": [step.hex() for step in path],
                    "logIndex": index,
                    "rootHash": root.hex(),
                    "treeSize": size,
                },
                "signedEntryTimestamp": _coded(self._sign(promise_text(entry))),
            },
        }
        return {leaves[index].hex(): said}

    def _entry_2(
        self, index: int, size: int, root: bytes, path: list[bytes], note: str
    ) -> dict[str, Any]:
        return {
            "logIndex": str(index),
            "logId": {"keyId": _coded(self.log.log_id)},
            "kindVersion": {"kind": "hashedrekord", "version": V2},
            "inclusionProof": {
                "logIndex": str(index),
                "rootHash": _coded(root),
                "treeSize": str(size),
                "hashes": [_coded(step) for step in path],
                "checkpoint": {"envelope": note},
            },
            "canonicalizedBody": _coded(self._bodies[index]),
        }

    def _checkpoint(self, size: int, root: bytes) -> str:
        origin = f"{self.host} - 1" if self.version == 1 else self.host
        text = Checkpoint(origin, size, root).text()
        signed = self.log.log_id[:4] + self._sign(text.encode("utf-8"))
        return f"{text}\n— {self.host} {_coded(signed)}\n"

    def serve(self, asked: Asked) -> Told:
        """The address that takes entries, and for version 2 its tree as tiles."""
        if self.version == 2 and asked.method == "GET" and asked.path.startswith(READ):
            return self._file(asked.path.removeprefix(READ))
        if asked.method != "POST" or asked.path != f"/api/v{self.version}/log/entries":
            return Told(404, b"not found", "text/plain")
        try:
            reply = self.add(decode_json(asked.body))
        except (FormatError, IntegrityError, KeyError, TypeError, ValueError) as error:
            return Told(400, str(error).encode(), "text/plain")
        return Told(201, json.dumps(reply).encode(), "application/json")

    def _file(self, name: str) -> Told:
        """A static file of the tree (C2SP tlog-tiles), as it is now."""
        with self._one:
            bodies = list(self._bodies)
        if name == "checkpoint":
            root = tree_root(leaf_hash(body) for body in bodies)
            note = self._checkpoint(len(bodies), root).encode("utf-8")
            return Told(200, note, "text/plain; charset=utf-8")
        builder = TileBuilder()
        tiles = dict(tile for body in bodies for tile in builder.add_hashed(body, leaf_hash(body)))
        tiles.update(builder.finish())
        return Told(200, tiles[name]) if name in tiles else Told(404, b"not found", "text/plain")

    def trusted_root(self) -> bytes:
        """The log's key as Sigstore's trusted_root.json."""
        log = {
            "baseUrl": f"http://{self.host}",
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": _coded(self.log.public),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256" if self.version == 1 else "PKIX_ED25519",
                "validFor": {"start": self.log.window.start},
            },
            "logId": {"keyId": _coded(self.log.log_id)},
        }
        media = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
        return json.dumps({"mediaType": media, "tlogs": [log]}, indent=1).encode()


def _key(version: int) -> tuple[Callable[[bytes], bytes], bytes, bytes]:
    """What signs, the public key (SPKI, DER) and, for Ed25519, its 32 bytes."""
    if version == 2:
        own = ed25519.Ed25519PrivateKey.generate()
        public = own.public_key()
        spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return own.sign, spki, public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    key = ec.generate_private_key(ec.SECP256R1())
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return (lambda data: key.sign(data, ec.ECDSA(hashes.SHA256()))), der, b""


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _compact(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def main(arguments: list[str]) -> None:
    """Serve a log until interrupted."""
    folder = Path(arguments[0])
    log = LocalRekor(SystemClock(), version=int(arguments[2]) if len(arguments) > 2 else 1)
    (folder / "trust").mkdir(parents=True, exist_ok=True)
    (folder / "trust" / "trusted_root.json").write_bytes(log.trusted_root())
    with Served(log.serve, int(arguments[1]) if len(arguments) > 1 else 0) as served:
        sys.stdout.write(f"log at {served.url}; its key is in {folder / 'trust'}\n")
        sys.stdout.flush()
        served.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
