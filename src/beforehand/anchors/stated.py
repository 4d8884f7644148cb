"""What evidence says of itself: which file it is over, a time, and by whose clock.

Nothing is verified here, no signature, no block and no inclusion: what
stands in the bytes is read, for a page that says so. A check is `lone`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cryptography import x509
from cryptography.x509.oid import NameOID

from beforehand.anchors.anchor import PENDING, Subject
from beforehand.anchors.bundle import Bundle, parse_bundle
from beforehand.anchors.capture import parse_capture, shows
from beforehand.anchors.evidence_file import Stated, StatedTime
from beforehand.anchors.evm_block import Header, Transaction, included
from beforehand.anchors.evm_record import KIND as EVM
from beforehand.anchors.evm_record import EvmRecord
from beforehand.anchors.hashed_entry import V1, parse_hashed_entry
from beforehand.anchors.lone import evidence_kind
from beforehand.anchors.ots_file import attestations, parse_proof, proof_digest, proof_state
from beforehand.anchors.tokens import Token, parse_token
from beforehand.anchors.witness import KIND as WITNESS
from beforehand.anchors.witness import CosignedRecord
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.cosignature import cosignature_instant, note_parts
from beforehand.book.stamped_list import StampedList
from beforehand.clock import instant_text
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.records.codec import decode_json

_COSIGNATURE_BYTES = 4 + 8 + 64  # key id, time, Ed25519 signature (C2SP tlog-cosignature)


def stated(data: bytes, listed: bytes) -> Stated:
    """What evidence says of the list with these bytes; what cannot be read is said in words."""
    try:
        return _READERS.get(_kind(data), _bundle)(data, listed)
    except (FormatError, IntegrityError, RuleError) as error:
        return Stated(None, words=f"it was not read: {error!s:.300}")


def _kind(data: bytes) -> str:
    kind = evidence_kind(data)
    if kind == "rekor":  # what is none of the others: a bundle, or a record of cosignatures
        value = decode_json(data)
        if isinstance(value, dict) and value.get("kind") == WITNESS:
            return WITNESS
    return kind


def _ots(data: bytes, listed: bytes) -> Stated:
    proof = parse_proof(data)
    algorithm, stamped = proof_digest(proof)
    promise = proof_state(proof) == PENDING
    said = "; ".join(dict.fromkeys(leaf.words for leaf in attestations(proof)))
    fits = Subject.of_bytes(listed).digests.get(algorithm) == stamped
    words = f"{said}. The time of a block stands in its header, not in the proof"
    return Stated(fits, words=words, promise=promise)


def _tsr(data: bytes, listed: bytes) -> Stated:
    token = parse_token(data)
    fits = Subject.of_bytes(listed).digests.get(token.algorithm) == token.imprint
    return Stated(fits, (_token_time(token),))


def _token_time(token: Token) -> StatedTime:
    return StatedTime(instant_text(token.gen_time), f"the authority {_authority(token)}")


def _authority(token: Token) -> str:
    """What the signing certificate calls itself, or else who issued it."""
    for held in token.embedded:
        if (held.issuer, held.serial_number) == (token.signer_issuer, token.signer_serial):
            return _called(held.subject)
    return f"certified by {_called(token.signer_issuer)}"


def _called(name: x509.Name) -> str:
    named = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(named[0].value) if named else name.rfc4514_string()


def _bundle(data: bytes, listed: bytes) -> Stated:
    bundle = parse_bundle(data)
    hashed = parse_hashed_entry(bundle.entry)
    fits = hashed.sha256 == Subject.of_bytes(listed).sha256
    times = tuple(_bundle_times(bundle))
    words = f"entry {bundle.entry.index} of a log"
    return Stated(fits, times, words if times else f"{words}, which states no time")


def _bundle_times(bundle: Bundle) -> Iterator[StatedTime]:
    entry = bundle.entry
    if entry.version == V1 and entry.promise is not None and entry.integrated:
        try:
            moment = datetime.fromtimestamp(entry.integrated, UTC)
        except (OverflowError, ValueError, OSError):
            raise FormatError(f"{entry.integrated} is no time") from None
        yield StatedTime(instant_text(moment), "the log")
    for token in bundle.timestamps:
        yield _token_time(parse_token(token))


def _evm(data: bytes, listed: bytes) -> Stated:
    record = EvmRecord.parse(data)
    if not record.header:
        return Stated(None, words="a transaction that no block holds yet", promise=True)
    header = Header.parse(record.header)
    raw = included(header.transactions_root, record.place, record.nodes)
    fits = Transaction.parse(raw).data[:32] == Subject.of_bytes(listed).sha256
    clock = f"the header of block {header.number} of chain {record.chain}"
    return Stated(fits, (StatedTime(header.instant, clock),))


def _git(data: bytes, listed: bytes) -> Stated:
    value = decode_json(data)
    path = value.get("path") if isinstance(value, dict) else None
    commit = value.get("commit") if isinstance(value, dict) else None
    if not isinstance(path, str) or not isinstance(commit, str):
        raise FormatError("a git record has a path and a commit")
    fits = path.rpartition("/")[2] == Subject.of_bytes(listed).sha256.hex()
    return Stated(fits, words=f"commit {commit:.64}; a commit's time is its author's claim")


def _capture(data: bytes, listed: bytes) -> Stated:
    address, at, content = parse_capture(data)
    fits = shows(content, Subject.of_bytes(listed).sha256)
    return Stated(fits, (StatedTime(at, "the web archive, by this copy"),), f"capture {address}")


def _cosigned(data: bytes, listed: bytes) -> Stated:
    """Cosignatures are on the checkpoint; they fit where the list names the same tree."""
    record = CosignedRecord.parse(data)
    point = Checkpoint.parse(note_parts(record.note)[0])
    fits = point in StampedList.parse(listed).trees
    times = [
        StatedTime(
            cosignature_instant(int.from_bytes(line.data[4:12], "big")), f"the witness {line.name}"
        )
        for line in record.lines
        if len(line.data) == _COSIGNATURE_BYTES
    ]
    return Stated(fits, tuple(times), "" if times else "no cosignature of a kind that is read here")


_READERS = {
    "opentimestamps": _ots,
    "rfc3161": _tsr,
    EVM: _evm,
    "git": _git,
    "web-archive": _capture,
    WITNESS: _cosigned,
}
