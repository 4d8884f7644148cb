"""The chain of a time-stamping certificate at one instant, by `cryptography`.

What is checked is what RFC 3161, 2.3 and 4, and RFC 5280, 6.1, ask of a chain
that a reader pinned: signatures, validity at genTime, CA flags, the one
purpose, and revocation where a list is supplied.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from beforehand.anchors.trust import Authority
from beforehand.clock import instant_text
from beforehand.errors import FormatError, IntegrityError

MAX_CHAIN = 8
MAX_PEM_BYTES = 256 << 10

# Revoked for these reasons, a certificate still vouches for tokens made before
# (RFC 3161, 4); for any other reason, or none stated, for no token at all.
_HARMLESS = (
    x509.ReasonFlags.unspecified,
    x509.ReasonFlags.affiliation_changed,
    x509.ReasonFlags.superseded,
    x509.ReasonFlags.cessation_of_operation,
)


def readable(certificate: x509.Certificate) -> x509.Certificate:
    """The certificate, where everything that is asked of one can be read; else FormatError.

    The library reads a certificate's parts when they are asked for, and each
    has its own errors.
    """
    try:
        _ = (certificate.extensions, certificate.issuer, certificate.subject)
        _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
        spki(certificate)
    except Exception as error:
        raise FormatError(f"a certificate cannot be read: {error!s:.200}") from None
    return certificate


def load_certificate(der: bytes) -> x509.Certificate:
    """One certificate (DER); FormatError where any part of it cannot be read."""
    try:
        certificate = x509.load_der_x509_certificate(der)
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise FormatError(f"not a certificate: {error!s:.200}") from None
    return readable(certificate)


def load_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM file; FormatError where it holds none."""
    if len(pem) > MAX_PEM_BYTES:
        raise FormatError(f"certificates over {MAX_PEM_BYTES} bytes")
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise FormatError(f"not PEM certificates: {error!s:.200}") from None
    return tuple(readable(certificate) for certificate in certificates)


def load_crl(data: bytes) -> x509.CertificateRevocationList:
    """A revocation list, PEM or DER."""
    if len(data) > 16 << 20:
        raise FormatError("a revocation list over 16 MiB")
    try:
        if data.lstrip().startswith(b"-----BEGIN"):
            return x509.load_pem_x509_crl(data)
        return x509.load_der_x509_crl(data)
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise FormatError(f"not a revocation list: {error!s:.200}") from None


def spki(certificate: x509.Certificate) -> bytes:
    """The certificate's key as SubjectPublicKeyInfo (DER)."""
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def signer_certificate(
    issuer: x509.Name,
    serial: int,
    embedded: Iterable[x509.Certificate],
    pinned: tuple[x509.Certificate, ...],
) -> x509.Certificate:
    """The one certificate that a token's signer names; IntegrityError where there is not one.

    Two embedded certificates under one name and number are refused: one could
    carry the signature and the other the purpose (compare CVE-2025-52556).
    """
    candidates = {
        certificate
        for certificate in (*embedded, *pinned)
        if certificate.issuer == issuer and certificate.serial_number == serial
    }
    if not candidates:
        raise IntegrityError("the signer's certificate is neither embedded nor pinned")
    if len(candidates) > 1:
        raise IntegrityError("two certificates carry the signer's name and number")
    signer = candidates.pop()
    if pinned and signer not in pinned:
        raise IntegrityError("the signer is not the authority's pinned certificate")
    return signer


def check_purpose(signer: x509.Certificate) -> None:
    """IntegrityError unless time-stamping is the one purpose, marked critical (RFC 3161, 2.3)."""
    try:
        usage = signer.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        raise IntegrityError("the signer's certificate names no purpose") from None
    except ValueError as error:
        raise IntegrityError(f"the signer's extensions are malformed: {error!s:.200}") from None
    if list(usage.value) != [ExtendedKeyUsageOID.TIME_STAMPING]:
        raise IntegrityError("time-stamping is not the one purpose of the signer's certificate")
    if not usage.critical:
        raise IntegrityError("the purpose of the signer's certificate is not marked critical")


def chain_at(
    signer: x509.Certificate,
    embedded: Iterable[x509.Certificate],
    authority: Authority,
    instant: datetime,
) -> list[x509.Certificate]:
    """Signer to pinned root, each valid at the instant; IntegrityError where there is no path."""
    pool = [*authority.intermediates, *embedded]
    chain = [signer]
    while True:
        _check_valid(chain[-1], instant)
        for root in authority.roots:
            if chain[-1] == root:
                return chain
            if _issued(chain[-1], root):
                _check_valid(root, instant)
                return [*chain, root]
        step = next((c for c in pool if c not in chain and _issued(chain[-1], c)), None)
        if step is None or len(chain) >= MAX_CHAIN:
            raise IntegrityError(f"no path leads to a pinned root of {authority.name}")
        chain.append(step)


def _check_valid(certificate: x509.Certificate, instant: datetime) -> None:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begins <= instant <= ends:
        raise IntegrityError(
            f"a certificate of the chain is valid from {instant_text(begins)} to "
            f"{instant_text(ends)}, and the token is of {instant_text(instant)}"
        )


def _issued(below: x509.Certificate, above: x509.Certificate) -> bool:
    try:
        basic = above.extensions.get_extension_for_class(x509.BasicConstraints).value
        if not basic.ca:
            return False
        below.verify_directly_issued_by(above)
    except (
        x509.ExtensionNotFound,
        ValueError,
        TypeError,
        InvalidSignature,
        UnsupportedAlgorithm,
    ):
        return False
    return True


def check_revocation(
    chain: list[x509.Certificate],
    crls: Iterable[x509.CertificateRevocationList],
    instant: datetime,
) -> str:
    """IntegrityError where a list revokes part of the chain; else words on what was checked.

    A list older than the token says nothing of it.
    """
    lists = list(crls)
    checked = 0
    for below, above in itertools.pairwise(chain):
        for crl in lists:
            if not _signed_by(crl, above) or crl.last_update_utc < instant:
                continue
            _check_entry(crl, below, instant)
            checked += 1
            break
    wanted = len(chain) - 1
    if checked == 0:
        return "revocation not checked: no list of the chain, made after the token, was supplied"
    if checked < wanted:
        return f"revocation checked for {checked} of {wanted} certificates of the chain"
    return "revocation checked by lists made after the token"


def _signed_by(crl: x509.CertificateRevocationList, issuer: x509.Certificate) -> bool:
    if crl.issuer != issuer.subject:
        return False
    key = issuer.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey):
        return False
    try:
        return crl.is_signature_valid(key)
    except (ValueError, TypeError, InvalidSignature):
        return False


def _check_entry(
    crl: x509.CertificateRevocationList, certificate: x509.Certificate, instant: datetime
) -> None:
    entry = crl.get_revoked_certificate_by_serial_number(certificate.serial_number)
    if entry is None:
        return
    try:
        reason = entry.extensions.get_extension_for_class(x509.CRLReason).value.reason
    except (x509.ExtensionNotFound, ValueError):
        reason = None
    if reason in _HARMLESS and entry.revocation_date_utc > instant:
        return
    said = reason.value if reason is not None else "no reason stated"
    raise IntegrityError(
        f"a certificate of the chain was revoked at {instant_text(entry.revocation_date_utc)} "
        f"({said})"
    )
