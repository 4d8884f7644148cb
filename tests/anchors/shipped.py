"""The evidence of others that the tests read, and trust in it."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from beforehand.anchors.certificates import load_certificates
from beforehand.anchors.trust import Authority, BitcoinTrust, Trust
from beforehand.anchors.trust_files import read_trusted_root

DATA = Path(__file__).resolve().parent / "data"
OTS = DATA / "ots"
RFC3161 = DATA / "rfc3161"
SIGSTORE = DATA / "sigstore"

AS_OF = "2026-11-30T00:00:00Z"
HELLO_BLOCK = 358391


def shared_bundles() -> Path:
    """The folder of all conformance bundles; skipped, saying so, where it is not there."""
    checkout = Path(__file__).resolve().parents[2]
    root = Path(os.environ.get("BEFOREHAND_SHARED") or checkout.parent / "shared")
    folder = root / "data/timestamps/sigstore_bundles"
    if not folder.is_dir():
        pytest.skip("shared data: timestamps/sigstore_bundles is not there (set BEFOREHAND_SHARED)")
    return folder


def hello_header() -> bytes:
    """The 80 bytes of Bitcoin block 358391."""
    headers = json.loads((OTS / "block_headers.json").read_text(encoding="utf-8"))
    return bytes.fromhex(headers[str(HELLO_BLOCK)]["header_hex"])


def hello_trust() -> BitcoinTrust:
    """Trust in that one header."""
    return BitcoinTrust({HELLO_BLOCK: hello_header()}, margin=timedelta(hours=2))


def authority(folder: str, *, root: str | None = None) -> Authority:
    """The authority of a folder's kept chain, its signer pinned."""
    chain = load_certificates(
        (RFC3161 / folder / ("CHAIN.pem" if root else "ts_chain.pem")).read_bytes()
    )
    roots = load_certificates((RFC3161 / folder / root).read_bytes()) if root else chain[-1:]
    between = chain[1:] if root else chain[1:-1]
    return Authority(folder, roots, between, chain[:1])


def sigstore_trust(root: Path | None = None) -> Trust:
    """The logs and authorities of a trusted root, Sigstore's production one by default."""
    path = root or SIGSTORE / "production_trusted_root.json"
    logs, authorities = read_trusted_root(path.read_bytes())
    return Trust(logs=logs, authorities=authorities)
