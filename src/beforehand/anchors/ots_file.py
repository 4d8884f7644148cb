"""Detached OpenTimestamps proofs: read and written by the library, under our limits.

The format is that of python-opentimestamps: operations that lead from a file's
digest to messages that somebody attests. Attestations of unknown kinds are
kept when a proof is written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.anchor import BINDING_DIGESTS, COMPLETE, PENDING
from beforehand.anchors.bitcoin import MAX_HEIGHT
from beforehand.anchors.extra import extra_module
from beforehand.errors import FormatError

MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"
MAX_PROOF_BYTES = 64 << 10
MAX_STEPS = 4096
MAX_ATTESTATIONS = 256

# Two different files could share the rest of a path from a digest with
# collisions on. SHA-1's are known; one of RIPEMD-160 costs about 2^80 steps,
# and early proofs, which ended in a Bitcoin address, all go through it.
BROKEN_STEP = "sha1"
SHORT_STEP = "ripemd160"


@dataclass(frozen=True)
class Attestation:
    """One leaf of a proof: `kind` is bitcoin, pending or other; `message` is what it attests.

    `steps` are the names of the operations that lead to it.
    """

    kind: str
    message: bytes
    steps: frozenset[str]
    height: int | None = None
    calendar: str | None = None
    words: str = ""


def parse_proof(data: bytes) -> Any:
    """The library's proof of an `.ots` file's bytes; FormatError where it is none or too large."""
    if len(data) > MAX_PROOF_BYTES:
        raise FormatError(f"an OpenTimestamps proof over {MAX_PROOF_BYTES} bytes")
    serialize = extra_module("opentimestamps.core.serialize")
    timestamp = extra_module("opentimestamps.core.timestamp")
    context = serialize.BytesDeserializationContext(data)
    proof = _read(lambda: timestamp.DetachedTimestampFile.deserialize(context))
    _check_size(proof.timestamp)
    return proof


def parse_path(data: bytes, message: bytes) -> Any:
    """The timestamp that a calendar gave for `message`; FormatError where it is none."""
    if len(data) > MAX_PROOF_BYTES:
        raise FormatError(f"a calendar's answer over {MAX_PROOF_BYTES} bytes")
    serialize = extra_module("opentimestamps.core.serialize")
    timestamp = extra_module("opentimestamps.core.timestamp")
    context = serialize.BytesDeserializationContext(data)

    def read() -> Any:
        stamp = timestamp.Timestamp.deserialize(context, message)
        context.assert_eof()
        return stamp

    stamp = _read(read)
    _check_size(stamp)
    return stamp


def _read(parse: Any) -> Any:
    serialize = extra_module("opentimestamps.core.serialize")
    try:
        return parse()
    except (
        serialize.DeserializationError,
        ValueError,  # an operation's argument or message out of range
        TypeError,
        AssertionError,  # the library asserts that no operation gives nothing
        OverflowError,
        RecursionError,
    ) as error:
        raise FormatError(f"not an OpenTimestamps proof: {error!s:.200}") from None


def proof_bytes(proof: Any) -> bytes:
    """The `.ots` file of a proof."""
    serialize = extra_module("opentimestamps.core.serialize")
    context = serialize.BytesSerializationContext()
    try:
        proof.serialize(context)
    except ValueError as error:
        raise FormatError(f"the proof cannot be written: {error}") from None
    data: bytes = context.getbytes()
    if len(data) > MAX_PROOF_BYTES:
        raise FormatError(f"an OpenTimestamps proof over {MAX_PROOF_BYTES} bytes")
    return data


def _steps(stamp: Any) -> Iterator[tuple[Any, frozenset[str]]]:
    """Every node with the names of the steps to it; depth first, no recursion of ours."""
    waiting: list[tuple[Any, frozenset[str]]] = [(stamp, frozenset())]
    while waiting:
        node, steps = waiting.pop()
        yield node, steps
        for step, below in node.ops.items():
            waiting.append((below, steps | {step.TAG_NAME}))


def _check_size(stamp: Any) -> None:
    leaves = 0
    for count, (node, _) in enumerate(_steps(stamp), 1):
        leaves += len(node.attestations)
        if count > MAX_STEPS:
            raise FormatError(f"an OpenTimestamps proof of more than {MAX_STEPS} steps")
        if leaves > MAX_ATTESTATIONS:
            raise FormatError(f"an OpenTimestamps proof of more than {MAX_ATTESTATIONS} leaves")


def attestations(proof: Any) -> list[Attestation]:
    """Every attestation of a proof, Bitcoin's by height first, then the pending, then others."""
    found = [
        _attestation(leaf, node.msg, steps)
        for node, steps in _steps(proof.timestamp)
        for leaf in node.attestations
    ]
    order = {"bitcoin": 0, "pending": 1, "other": 2}
    return sorted(found, key=lambda a: (order[a.kind], a.height or 0, a.words, a.message))


def _attestation(leaf: Any, message: bytes, steps: frozenset[str]) -> Attestation:
    notary = extra_module("opentimestamps.core.notary")
    if isinstance(leaf, notary.BitcoinBlockHeaderAttestation) and leaf.height <= MAX_HEIGHT:
        return Attestation(
            "bitcoin", message, steps, height=leaf.height, words=f"Bitcoin block {leaf.height}"
        )
    if isinstance(leaf, notary.PendingAttestation):
        words = f"a promise of {leaf.uri}"
        return Attestation("pending", message, steps, calendar=leaf.uri, words=words)
    words = f"an attestation of a kind that is not checked here ({leaf.TAG.hex()})"
    return Attestation("other", message, steps, words=words)


def proof_state(proof: Any) -> str:
    """Complete where a Bitcoin attestation is there, else pending."""
    leaves = attestations(proof)
    return COMPLETE if any(leaf.kind == "bitcoin" for leaf in leaves) else PENDING


def proof_digest(proof: Any) -> tuple[str, bytes]:
    """The digest algorithm and the digest of the file that was stamped."""
    return proof.file_hash_op.TAG_NAME, proof.file_digest


def is_binding(algorithm: str) -> bool:
    """Whether a digest of this algorithm names one file only."""
    return algorithm in BINDING_DIGESTS
