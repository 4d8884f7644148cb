"""Evidence from outside as a league keeps it: sealed by a proof line, or beside a stamped list.

The engine seals two bodies on a proof line, `list` and `proof`, and keeps the
same files detached under `stamps/`; the seed keeps its own under `proof/`.
What a piece is, its bytes say: never the name that somebody gave its anchor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beforehand.book.folder import Folder, read_file
from beforehand.errors import FormatError
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import Evidence, ProofSaid, Stamp
from beforehand.publish.conformance.walk_lines import PENDING_SUFFIX, stamps_of_list
from beforehand.records.codec import decode_json, digest

MAX_EVIDENCE_BYTES = 1 << 20
MAX_EVIDENCE = 20_000
LIST, PROOF = "list", "proof"  # the roles of a proof line's bodies
COMPLETE = "complete"

WITNESS = "witness"
# Kinds that are an append-only channel which the operator does not control.
CHANNELS = ("rekor", "git", "web-archive", "evm", WITNESS)

_OTS_MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"
_OTS_PROMISE = bytes.fromhex("83dfe30d2ef90c8e")
_OTS_BLOCKS = tuple(  # Bitcoin, Litecoin, Ethereum
    map(bytes.fromhex, ("0588960d73d71901", "06869a0d73d71b45", "30fe8087b5c7ead7"))
)
_DER_SEQUENCE = b"\x30"
_JSON_KINDS = {"git": "git", "web-archive": "web-archive", "evm": "evm", "cosigned": WITNESS}
_EVM_PROMISE = {"kind", "chain", "transaction"}


def kind_of(data: bytes) -> tuple[str, bool]:
    """What a piece is by its own bytes, "" where it is nothing known; and whether a promise yet."""
    if data.startswith(_OTS_MAGIC):
        waits = _OTS_PROMISE in data and not any(block in data for block in _OTS_BLOCKS)
        return "opentimestamps", waits
    if data.startswith(_DER_SEQUENCE):
        return "rfc3161", False
    value = _json(data)
    kind = value.get("kind")
    if isinstance(kind, str) and kind in _JSON_KINDS:
        return _JSON_KINDS[kind], set(value) == _EVM_PROMISE
    if "mediaType" not in value and "verificationMaterial" not in value:
        return "", False
    return "rekor", _is_bare_entry(value)


def _is_bare_entry(bundle: dict[str, Any]) -> bool:
    """Whether a log's entry comes without an inclusion proof: its word that it will have one."""
    material = bundle.get("verificationMaterial")
    entries = material.get("tlogEntries") if isinstance(material, dict) else None
    if not isinstance(entries, list):
        return False
    return any(isinstance(each, dict) and not each.get("inclusionProof") for each in entries)


def _json(data: bytes) -> dict[str, Any]:
    if not data.lstrip().startswith(b"{"):
        return {}
    try:
        value = decode_json(data)
    except FormatError:
        return {}
    return value if isinstance(value, dict) else {}


def take_lists(exhibit: Exhibit, is_ours: Callable[[str], bool]) -> None:
    """Read the list of every complete proof line as a stamped list like any other."""
    held: dict[str, list[Stamp]] = {}
    for proof in exhibit.proofs[:MAX_EVIDENCE]:
        sha256 = _body(exhibit, proof, LIST)
        if not sha256:
            continue
        if sha256 not in held:
            data = exhibit.read_body(sha256)
            found = [] if data is None else stamps_of_list(exhibit.at_line(proof.n), data)
            held[sha256] = [stamp for stamp in found if is_ours(stamp.path)]
            exhibit.stamps += held[sha256]
        stamp = next((each for each in held[sha256] if each.lines == proof.size), None)
        if stamp is not None:
            exhibit.listed[proof.n] = stamp


def take_evidence(exhibit: Exhibit, folder: Folder) -> None:
    """Gather every piece once: what is sealed and lies beside its list too is one."""
    seen: set[tuple[int, str]] = set()
    pieces = [_sealed(exhibit, proof) for proof in exhibit.proofs[:MAX_EVIDENCE]]
    for stamp in exhibit.stamps:
        for name in (*stamp.proofs, *stamp.promises)[: MAX_EVIDENCE - len(pieces)]:
            pieces.append(_detached(folder, stamp, name))
    for piece in pieces:
        key = (piece.size, piece.sha256)
        if not piece.sha256 or key not in seen:
            seen.add(key)
            exhibit.evidence.append(piece)


def _body(exhibit: Exhibit, proof: ProofSaid, role: str) -> str:
    return next((body.sha256 for body in exhibit.bodies_at(proof.n) if body.role == role), "")


def _sealed(exhibit: Exhibit, proof: ProofSaid) -> Evidence:
    """What a proof line names. It is complete where both the line and the bytes say so."""
    named, listed = _body(exhibit, proof, PROOF), _body(exhibit, proof, LIST)
    data = exhibit.read_body(named) if named else None
    kind, promise = ("", False) if data is None else kind_of(data)
    return Evidence(
        exhibit.at_line(proof.n), proof.anchor, proof.size, proof.at,
        exhibit.listed.get(proof.n), kind, "" if data is None else digest(data),
        proof.state != COMPLETE or promise or data == b"",
        promise and proof.state == COMPLETE,
        lambda: exhibit.read_body(named) if named else None,
        lambda: exhibit.read_body(listed) if listed else None,
    )  # fmt: skip


def _detached(folder: Folder, stamp: Stamp, name: str) -> Evidence:
    """A file beside a stamped list, named after it."""
    data = _read(folder, name)
    kind, promise = ("", False) if data is None else kind_of(data)
    words = name.rpartition(".txt.")[2].removesuffix(PENDING_SUFFIX)
    return Evidence(
        Pointer(name), words.rpartition(".")[0] or words, stamp.lines, "",
        stamp, kind, "" if data is None else digest(data),
        name.endswith(PENDING_SUFFIX) or promise or data == b"", False,
        lambda: _read(folder, name), lambda: _read(folder, stamp.place.file),
    )  # fmt: skip


def _read(folder: Folder, name: str) -> bytes | None:
    try:
        return read_file(folder, name, MAX_EVIDENCE_BYTES) if folder.has(name) else None
    except FormatError:
        return None


def checkpoint_note(exhibit: Exhibit, size: int) -> bytes | None:
    """The published checkpoint over so many lines: what a witness cosigns, instead of the list."""
    return _read(exhibit.folder, f"{exhibit.base}/checkpoints/{size}")
