"""One file and one piece of evidence, checked without a book and without a connection."""

from __future__ import annotations

from pathlib import Path

from beforehand.anchors.anchor import MAX_EVIDENCE_BYTES, Subject, Verdict, unchecked
from beforehand.anchors.bundle_check import check_bundle
from beforehand.anchors.capture import check_capture
from beforehand.anchors.git_history import check_git
from beforehand.anchors.ots_check import check_ots
from beforehand.anchors.ots_file import MAGIC
from beforehand.anchors.token_check import check_tsr
from beforehand.anchors.trust import Trust
from beforehand.errors import FormatError, RuleError
from beforehand.records.codec import decode_json

_DER_SEQUENCE = b"\x30"


def check_evidence(file: Path, evidence: Path, trust: Trust, as_of: str) -> Verdict:
    """What an `.ots`, `.tsr`, Sigstore bundle, git or capture record proves of a file.

    `Verdict.exit_code` is 0 where it checks, 1 where it does not match or is
    not trusted, 2 where it could not be checked: a file missing, evidence over
    the limit or of no known form, a library or a piece of trust not there.
    """
    try:
        if evidence.stat().st_size > MAX_EVIDENCE_BYTES:
            return unchecked(f"{evidence} is over {MAX_EVIDENCE_BYTES} bytes")
        data = evidence.read_bytes()
        subject = Subject.of_file(file)
    except OSError as error:
        return unchecked(f"{error.filename}: {error.strerror}")
    return check_bytes(data, subject, trust, as_of)


def check_bytes(data: bytes, subject: Subject, trust: Trust, as_of: str) -> Verdict:
    """The same for evidence in memory. Its own first bytes say of which kind it is."""
    try:
        if data.startswith(MAGIC):
            return check_ots(data, subject, trust.bitcoin, as_of)
        if data.startswith(_DER_SEQUENCE):
            return check_tsr(data, subject, trust.authorities, as_of)
        kind = _json_kind(data)
    except (FormatError, RuleError) as error:
        return unchecked(str(error))
    if kind == "git":
        return check_git(data, subject, trust.clones, as_of)
    if kind == "web-archive":
        return check_capture(data, subject, as_of)
    try:
        return check_bundle(data, subject, trust, as_of)
    except RuleError as error:
        return unchecked(str(error))


def _json_kind(data: bytes) -> str:
    if not data.lstrip().startswith(b"{"):
        raise FormatError("neither an .ots, a .tsr, a Sigstore bundle nor a record of this project")
    value = decode_json(data)
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else "bundle"
