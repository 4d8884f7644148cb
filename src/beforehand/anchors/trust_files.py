"""Reading trust from files: a reader's folder, and Sigstore's own trusted root.

A folder holds, each where it is wanted: `bitcoin-headers.json` (height to 80
bytes in hex), `evm-blocks.json` (chain id to block number to hash), `tsa/NAME/`
with `roots.pem`, `intermediates.pem`, `signers.pem` and `*.crl`,
`trusted_root.json` (Sigstore), `drand/*.json` (each a network's `/info`),
`signers/*.pem` (the operator's keys in a log), `clones.json` (a repository's
address to `{"path": ..., "known_tip": ...}`, the path below the folder).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from beforehand.anchors.bitcoin import Header
from beforehand.anchors.certificates import load_certificate, load_certificates, load_crl
from beforehand.anchors.drand import DrandChain
from beforehand.anchors.trust import (
    LEAST_DIFFICULTY,
    Authority,
    BitcoinTrust,
    Clone,
    EvmTrust,
    LogKey,
    Trust,
    Window,
)
from beforehand.book.checkpoint import strict_base64
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

HEADERS_NAME = "bitcoin-headers.json"
EVM_BLOCKS_NAME = "evm-blocks.json"
MAX_TRUST_BYTES = 4 << 20
# A round that is of none of them is tried with each, and a pairing takes its time.
MAX_NETWORKS = 8
# A host may come with a port, as a log on this machine signs it.
_HOST = re.compile(r"https?://([A-Za-z0-9.:-]{1,200})(?:/.*)?", re.ASCII | re.DOTALL)
_HEIGHT = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_BLOCK_HASH = re.compile(r"0x[0-9a-f]{64}", re.ASCII)


def read_trust(folder: Path, *, rehearsal: bool = False) -> Trust:
    """The trust that a folder holds; what is not there is not trusted.

    A rehearsal takes blocks of any difficulty, as a test network has them.
    """
    root = folder / "trusted_root.json"
    logs, authorities = read_trusted_root(_read(root)) if root.is_file() else ((), ())
    named = sorted(path for path in (folder / "tsa").glob("*") if path.is_dir())
    headers, clones = folder / HEADERS_NAME, folder / "clones.json"
    evm = folder / EVM_BLOCKS_NAME
    return Trust(
        bitcoin=BitcoinTrust(
            read_headers(_read(headers)) if headers.is_file() else {},
            least_difficulty=0 if rehearsal else LEAST_DIFFICULTY,
        ),
        evm=EvmTrust(read_evm_blocks(_read(evm)) if evm.is_file() else {}, development=rehearsal),
        drand=read_drand(folder / "drand"),
        authorities=(*(read_authority(path) for path in named), *authorities),
        logs=logs,
        clones=read_clones(_read(clones), folder) if clones.is_file() else {},
        signers=tuple(
            read_public_key(_read(p)) for p in sorted((folder / "signers").glob("*.pem"))
        ),
    )


def read_drand(folder: Path) -> tuple[DrandChain, ...]:
    """The drand networks of a folder, one file each; FormatError names a file that is none."""
    held = []
    for path in sorted(folder.glob("*.json")):
        try:
            held.append(DrandChain.parse(_read(path)))
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from None
    if len(held) > MAX_NETWORKS:
        raise FormatError(f"{folder} holds more than {MAX_NETWORKS} networks")
    return tuple(held)


def read_headers(data: bytes) -> dict[int, bytes]:
    """Block headers of a JSON object, height to hex."""
    value = decode_json(data)
    if not isinstance(value, dict):
        raise FormatError("block headers are one JSON object, height to hex")
    headers: dict[int, bytes] = {}
    for height, text in value.items():
        if not _HEIGHT.fullmatch(height) or not isinstance(text, str):
            raise FormatError(f"{height!r:.40} is not a block height with a header in hex")
        try:
            headers[int(height)] = Header.parse(bytes.fromhex(text)).raw
        except ValueError:
            raise FormatError(f"the header of block {height} is not hex") from None
    return headers


def read_evm_blocks(data: bytes) -> dict[tuple[int, int], bytes]:
    """Block hashes of a JSON object: chain id to block number to hash."""
    value = decode_json(data)
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise FormatError("block hashes are one JSON object, chain id to block number to hash")
    blocks: dict[tuple[int, int], bytes] = {}
    for chain, held in value.items():
        for number, text in held.items():
            names = _NUMBER.fullmatch(chain) and _NUMBER.fullmatch(number)
            if not names or not isinstance(text, str) or not _BLOCK_HASH.fullmatch(text):
                raise FormatError(
                    f"block {number!r:.40} of chain {chain!r:.40}: not a number with a hash in hex"
                )
            blocks[int(chain), int(number)] = bytes.fromhex(text[2:])
    return blocks


def read_clones(data: bytes, folder: Path) -> dict[str, Clone]:
    """A reader's clones of foreign repositories, by the address that records name."""
    value = decode_json(data)
    if not isinstance(value, dict):
        raise FormatError("clones are one JSON object, address to path and known tip")
    clones: dict[str, Clone] = {}
    for address, said in value.items():
        path, tip = (said.get("path"), said.get("known_tip")) if isinstance(said, dict) else (0, 0)
        if not isinstance(path, str) or not isinstance(tip, str | None):
            raise FormatError(f"the clone of {address!r:.200} has no path, or its tip is no text")
        clones[address] = Clone(folder / path, tip)
    return clones


def read_authority(folder: Path) -> Authority:
    """The authority whose kept chain lies in a folder of its name."""

    def held(name: str) -> tuple[x509.Certificate, ...]:
        path = folder / name
        return load_certificates(_read(path)) if path.is_file() else ()

    roots = held("roots.pem")
    if not roots:
        raise FormatError(f"{folder} has no roots.pem: an authority is trusted by its root")
    return Authority(
        folder.name,
        roots,
        held("intermediates.pem"),
        held("signers.pem"),
        tuple(load_crl(path.read_bytes()) for path in sorted(folder.glob("*.crl"))),
    )


def write_authority(folder: Path, authority: Authority) -> None:
    """Keep an authority's chain and lists, so that its tokens stay checkable when it is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "roots.pem": authority.roots,
        "intermediates.pem": authority.intermediates,
        "signers.pem": authority.signers,
    }
    for name, certificates in parts.items():
        if certificates:
            pem = b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)
            (folder / name).write_bytes(pem)
    for number, crl in enumerate(authority.crls):
        (folder / f"{number}.crl").write_bytes(crl.public_bytes(Encoding.PEM))


def read_public_key(pem: bytes) -> bytes:
    """A PEM public key as SubjectPublicKeyInfo (DER)."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise FormatError(f"not a public key: {error!s:.200}") from None
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def read_trusted_root(data: bytes) -> tuple[tuple[LogKey, ...], tuple[Authority, ...]]:
    """The logs and authorities of Sigstore's `trusted_root.json` (protobuf-specs, TrustedRoot).

    Identities (certificate authorities, CT logs) are not read: who signed is
    not what an anchor asks.
    """
    whole = decode_json(data)
    if not isinstance(whole, dict):
        raise FormatError("a trusted root is one JSON object")
    try:
        logs = tuple(_log_key(log) for log in whole.get("tlogs", []))
        authorities = tuple(
            _authority(each, number)
            for number, each in enumerate(whole.get("timestampAuthorities", []))
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"the trusted root has not the declared form: {error!r:.200}") from None
    return logs, authorities


def _log_key(log: Mapping[str, Any]) -> LogKey:
    key = log["publicKey"]
    host = _HOST.fullmatch(log["baseUrl"])
    if host is None:
        raise FormatError(f"{log['baseUrl']!r:.200} is not a log's address")
    log_id = strict_base64(log["logId"]["keyId"])
    return LogKey(host[1], log_id, strict_base64(key["rawBytes"]), _window(key["validFor"]))


def pinned_log(url: str, public: str) -> LogKey:
    """The key of the log at an address, from its SubjectPublicKeyInfo in base64.

    That is `publicKey.rawBytes` of a trusted root. A log names itself by the
    hash of its key, and one that signs with Ed25519 by that of host and key
    (C2SP signed-note). FormatError where either is none.
    """
    host = _HOST.fullmatch(url)
    if host is None:
        raise FormatError(f"{url!r:.200} is not a log's address")
    der = strict_base64(public)
    try:
        key = load_der_public_key(der)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise FormatError(f"the log's key cannot be read: {error!s:.200}") from None
    named = der
    if isinstance(key, Ed25519PublicKey):
        raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        named = host[1].encode("ascii") + b"\n\x01" + raw
    return LogKey(host[1], hashlib.sha256(named).digest(), der)


def _authority(said: Mapping[str, Any], number: int) -> Authority:
    chain = tuple(
        load_certificate(strict_base64(each["rawBytes"]))
        for each in said["certChain"]["certificates"]
    )
    if len(chain) < 2:
        raise FormatError("an authority's chain has a signer and a root")
    subject = said.get("subject", {}).get("commonName") or "authority"
    return Authority(
        f"{subject} {number}", chain[-1:], chain[1:-1], chain[:1], window=_window(said["validFor"])
    )


def _window(said: Mapping[str, Any]) -> Window:
    """A closed span; its start is required (a key without one would be trusted for ever)."""
    start, end = said["start"], said.get("end")
    for instant in (start, end):
        if instant is not None:
            instant_key(instant)
    return Window(start, end)


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_TRUST_BYTES:
        raise FormatError(f"{path} is over {MAX_TRUST_BYTES} bytes")
    return path.read_bytes()
