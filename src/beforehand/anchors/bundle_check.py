"""What a Sigstore bundle proves, by logs and authorities that a reader pinned.

Opens no connection. An entry counts once its inclusion proof and the log's
signed checkpoint are checked, and never by an HTTPS reply alone. Rekor v1
signs a time; Rekor v2 states none, and whatever stands there is not read as one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from cryptography.hazmat.primitives.serialization import Encoding

from beforehand.anchors.anchor import (
    CHECKS,
    OPERATOR_WORD,
    PUBLIC_RECORD,
    SIGNED_TIME,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.bundle import Bundle, parse_bundle
from beforehand.anchors.hashed_entry import V1, HashedEntry, parse_hashed_entry
from beforehand.anchors.log_proof import check_entry_included, check_promise, verify_signature
from beforehand.anchors.token_check import signed_at
from beforehand.anchors.trust import Authority, LogKey, Trust
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, IntegrityError

_GAPS = (
    "another digest entered beside this one, under this key or another",
    "a log that shows different trees to different readers, where nobody compares checkpoints",
)
_UNBOUND_GAP = (
    "a signature that was time-stamped first and fitted to this file later, by a key made to fit: "
    "name the operator's key as trusted"
)


def check_bundle(data: bytes, subject: Subject, trust: Trust, as_of: str) -> Verdict:
    """What a Sigstore bundle proves of the subject.

    1. The entry is a hashedrekord over the subject, with the bundle's
    signature, which holds; 2. the log is pinned, and its checkpoint and the
    inclusion proof hold; 3. the time is the one that a Rekor v1 log signed, or
    a trusted authority's over the signature, whichever is earlier. Not
    checked: a certificate's chain, that is whose identity signed.
    """
    try:
        bundle = parse_bundle(data)
        hashed = parse_hashed_entry(bundle.entry)
        check_content(bundle, hashed, subject.sha256)
        return _judge(bundle, hashed, trust, as_of)
    except FormatError as error:
        return unchecked(str(error))
    except IntegrityError as error:
        return refused(str(error))


def check_content(bundle: Bundle, hashed: HashedEntry, sha256: bytes) -> None:
    """IntegrityError unless entry and bundle hold one signature over this digest, and it holds."""
    if bundle.signature is None:
        raise FormatError("a bundle without a signature over a file is not checked here")
    if hashed.sha256 != sha256 or bundle.sha256 not in (None, sha256):
        raise IntegrityError("the entry is for another file")
    if bundle.signature != hashed.signature:
        raise IntegrityError("the entry holds another signature than the bundle")
    if bundle.certificate is not None and (
        hashed.certificate is None
        or hashed.certificate.public_bytes(Encoding.DER) != bundle.certificate
    ):
        raise IntegrityError("the entry holds another certificate than the bundle")
    verify_signature(hashed.public, hashed.signature, None, sha256)


def _judge(bundle: Bundle, hashed: HashedEntry, trust: Trust, as_of: str) -> Verdict:
    entry = bundle.entry
    if trust.signers and hashed.public not in trust.signers:
        return refused("the entry is signed by a key that is not the operator's")
    if not trust.logs:
        return unchecked("no log is trusted, so nobody vouches for the entry")
    log = next((log for log in trust.logs if log.log_id == entry.log_id), None)
    if log is None:
        return refused("the entry is of a log that is not trusted")
    if entry.proof is None or not entry.proof.checkpoint:
        return unchecked("not proof: the entry has no inclusion proof with a signed checkpoint")
    check_entry_included(entry, entry.proof, log)
    times, notes = _times(bundle, log, trust.authorities)
    _check_times(times, hashed, log)
    late = [each.moment for each in times if each.moment > instant_key(as_of)]
    if late:
        return unchecked(f"the entry is of {instant_text(late[0])}, after {as_of}")
    where = f"{log.host} holds it as entry {entry.index} of a tree of {entry.proof.size}"
    if not trust.signers:
        notes.append("whose key signed it was not checked")
    if not times:
        return Verdict(
            CHECKS,
            f"{where}; when, the log does not say",
            excludes_not=_GAPS,
            level=OPERATOR_WORD,
            notes=tuple(notes),
        )
    # A token is over the signature. Under a key that was not named before, it
    # dates nothing: from any signature and any digest a key can be computed.
    bound = [each for each in times if trust.signers or each.level == PUBLIC_RECORD]
    best = min(bound or times)
    told = instant_text(best.moment)
    if not bound:  # so it proves no time, whoever asks
        gaps = (*_GAPS, _UNBOUND_GAP)
        return Verdict(
            CHECKS, where, claimed=told, excludes_not=gaps, notes=tuple(notes), bound=False
        )
    return Verdict(
        CHECKS,
        where,
        told,
        level=best.level,
        excludes_not=_GAPS,
        notes=tuple(notes),
        signers=best.signers,
    )


class _Time(NamedTuple):
    """A proved time, the level of its proof, and the keys that a signed one rests on."""

    moment: datetime
    level: str
    signers: tuple[str, ...] = ()


def _times(
    bundle: Bundle, log: LogKey, authorities: tuple[Authority, ...]
) -> tuple[list[_Time], list[str]]:
    """The proved times with their levels, and notes on what is stated and not proved."""
    entry, times, notes = bundle.entry, list[_Time](), list[str]()
    if entry.version == V1 and entry.promise is not None:
        times.append(_Time(_moment(check_promise(entry, log)), PUBLIC_RECORD))
    elif entry.integrated:
        notes.append("the time that stands in the entry is signed by nobody and was not read")
    stamps, reasons = _stamped(bundle, authorities)
    times += stamps
    if bundle.timestamps and not authorities:
        notes.append("its time-stamp tokens were not checked: no authority is trusted")
    elif bundle.timestamps and not stamps:
        if not times:
            raise IntegrityError("no time-stamp token checks: " + "; ".join(reasons))
        notes += [f"a time-stamp token does not check: {reason}" for reason in reasons]
    return times, notes


def _stamped(bundle: Bundle, authorities: tuple[Authority, ...]) -> tuple[list[_Time], list[str]]:
    """The times of the tokens over the signature (Rekor v2, CLIENTS.md), and why others fail."""
    subject = Subject.of_bytes(bundle.signature or b"")
    times: list[_Time] = []
    reasons: list[str] = []
    for token in bundle.timestamps:
        for authority in authorities:
            try:
                moment, signers = signed_at(token, subject, authority)
                times.append(_Time(moment, SIGNED_TIME, signers))
                break
            except (FormatError, IntegrityError) as error:
                reasons.append(f"{authority.name}: {error}")
    return times, reasons


def _check_times(times: list[_Time], hashed: HashedEntry, log: LogKey) -> None:
    """IntegrityError where a proved time lies outside the log key's or the certificate's span."""
    for moment, _, _ in times:
        if not log.window.holds(instant_text(moment)):
            raise IntegrityError(f"the log's key is not trusted for {instant_text(moment)}")
        certificate = hashed.certificate
        if certificate is not None and not (
            certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc
        ):
            raise IntegrityError(
                f"the signer's certificate was not valid at {instant_text(moment)}"
            )


def _moment(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        raise FormatError(f"{seconds} is no time") from None
