"""One file and one piece of evidence, checked without a book and without a connection."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from beforehand.anchors.anchor import MAX_EVIDENCE_BYTES, Subject, Verdict, unchecked
from beforehand.anchors.bundle_check import check_bundle
from beforehand.anchors.capture import check_capture
from beforehand.anchors.evm_check import check_evm
from beforehand.anchors.evm_record import KIND as EVM
from beforehand.anchors.git_history import check_git
from beforehand.anchors.list_check import check_list
from beforehand.anchors.ots_check import check_ots
from beforehand.anchors.ots_file import MAGIC
from beforehand.anchors.token_check import check_tsr
from beforehand.anchors.trust import Trust
from beforehand.book.seal_file import SEAL_FORMAT
from beforehand.book.stamped_list import StampedList
from beforehand.errors import FormatError, RuleError
from beforehand.records.codec import decode_json

_DER_SEQUENCE = b"\x30"
_OF_JSON = b"{"
UNKNOWN = "neither an .ots, a .tsr, a Sigstore bundle, a record of this project"


def check_evidence(file: Path, evidence: Path, trust: Trust, as_of: str) -> Verdict:
    """What an `.ots`, `.tsr`, Sigstore bundle, EVM, git or capture record proves of a file.

    A stamped list is checked against the file too, and proves no time by itself.
    `Verdict.exit_code` is 0 where it checks, 1 where it does not match or is
    not trusted, 2 where it could not be checked: a file missing, evidence over
    the limit or of no known form, a library or a piece of trust not there.
    """
    try:
        if evidence.stat().st_size > MAX_EVIDENCE_BYTES:
            return unchecked(f"{evidence} is over {MAX_EVIDENCE_BYTES} bytes")
        data = evidence.read_bytes()
        if _may_be_list(data):
            return _check_list(data, file)
        subject = Subject.of_file(file)
    except OSError as error:
        return unchecked(f"{error.filename}: {error.strerror}")
    return check_bytes(data, subject, trust, as_of)


def _may_be_list(data: bytes) -> bool:
    """Whether the bytes are of none of the other kinds: then a list is the only one left."""
    return not data.startswith((MAGIC, _DER_SEQUENCE)) and not data.lstrip().startswith(_OF_JSON)


def _check_list(data: bytes, file: Path) -> Verdict:
    try:
        stamped = StampedList.parse(data)
    except FormatError as error:
        return unchecked(f"{UNKNOWN}, nor a stamped list: {error}")
    return check_list(stamped, file)


def check_bytes(data: bytes, subject: Subject, trust: Trust, as_of: str) -> Verdict:
    """The same for evidence in memory. Its own first bytes say of which kind it is."""
    try:
        kind = evidence_kind(data)
        return replace(_check(kind, data, subject, trust, as_of), kind=kind)
    except (FormatError, RuleError) as error:
        return unchecked(str(error))


def _check(kind: str, data: bytes, subject: Subject, trust: Trust, as_of: str) -> Verdict:
    if kind == "opentimestamps":
        return check_ots(data, subject, trust.bitcoin, as_of)
    if kind == "rfc3161":
        return check_tsr(data, subject, trust.authorities, as_of)
    if kind == EVM:
        return check_evm(data, subject, trust.evm, as_of)
    if kind == "git":
        return check_git(data, subject, trust.clones, as_of)
    if kind == "web-archive":
        return check_capture(data, subject, as_of)
    return check_bundle(data, subject, trust, as_of)


def evidence_kind(data: bytes) -> str:
    """Of which kind evidence is by its own first bytes; FormatError for none that is known.

    What is JSON and of no other kind is `rekor`.
    """
    if data.startswith(MAGIC):
        return "opentimestamps"
    if data.startswith(_DER_SEQUENCE):
        return "rfc3161"
    kind = _json_kind(data)
    return kind if kind in (EVM, "git", "web-archive") else "rekor"


def _json_kind(data: bytes) -> str:
    if not data.lstrip().startswith(_OF_JSON):
        raise FormatError(UNKNOWN)
    value = decode_json(data)
    if isinstance(value, dict) and value.get("format") == SEAL_FORMAT:
        raise FormatError(
            "a lone seal, which stamps its opening and not this file: "
            "beforehand reveal FILE.seal --trust DIR opens it"
        )
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else "bundle"
