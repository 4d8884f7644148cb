"""What a time-stamp token proves, by chains that a reader pinned. Opens no connection.

A token is checked at genTime with a kept chain: that a certificate has expired
since takes nothing from it. The signature and the CMS structure are checked by
rfc3161-client, with a fresh verifier for each authority (its builder shares
lists between copies).
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from cryptography import x509

from beforehand.anchors.anchor import (
    CHECKS,
    SIGNED_TIME,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.certificates import (
    chain_at,
    check_purpose,
    check_revocation,
    signer_certificate,
    spki,
)
from beforehand.anchors.extra import extra_module
from beforehand.anchors.tokens import Token, from_library, parse_token
from beforehand.anchors.trust import Authority
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, IntegrityError

_GAPS = (
    "another digest stamped beside this one",
    "an authority that lies about the time: any one suffices only for a reader who trusts it",
)


def verify_token(token: Token, authority: Authority, nonce: int | None = None) -> str:
    """IntegrityError unless the authority made this token; words on revocation.

    1. The one signing certificate; 2. its purpose; 3. its chain at genTime;
    4. the signature, the chain again and the nonce, by the library; 5. the
    reader's window for the authority, and its policy; 6. revocation.
    """
    signer = signer_certificate(
        token.signer_issuer, token.signer_serial, token.embedded, authority.signers
    )
    check_purpose(signer)
    chain = chain_at(signer, token.embedded, authority, token.gen_time)
    _check_signature(token, signer, chain, nonce)
    moment = instant_text(token.gen_time)
    if not authority.window.holds(moment):
        raise IntegrityError(f"{authority.name} is not trusted for {moment}")
    if authority.policies and token.policy not in authority.policies:
        raise IntegrityError(f"the token is under policy {token.policy}, which is not accepted")
    return check_revocation(chain, authority.crls, token.gen_time)


def _check_signature(
    token: Token, signer: x509.Certificate, chain: list[x509.Certificate], nonce: int | None
) -> None:
    library = extra_module("rfc3161_client")
    builder: Any = library.VerifierBuilder(
        tsa_certificate=signer, intermediates=chain[1:-1], roots=chain[-1:], nonce=nonce
    )
    verifier = builder.build()
    try:
        from_library(
            lambda: verifier.verify(token.response, token.imprint), library.VerificationError
        )
    except library.VerificationError as error:
        raise IntegrityError(f"the token's signature does not hold: {error!s:.200}") from None
    except FormatError as error:
        raise IntegrityError(str(error)) from None


def check_tsr(
    data: bytes,
    subject: Subject,
    authorities: tuple[Authority, ...],
    as_of: str,
    *,
    nonce: int | None = None,
) -> Verdict:
    """What a time-stamp reply (`.tsr`) proves of the subject, by any one of the authorities."""
    try:
        token = parse_token(data)
    except FormatError as error:
        return unchecked(str(error))
    known = subject.digests.get(token.algorithm)
    if known is None:
        return unchecked(f"the token is over a {token.algorithm} digest, which is not known here")
    if known != token.imprint:
        return refused("the token is for another file")
    if nonce is not None and token.nonce != nonce:
        return refused("the token answers another request (wrong nonce)")
    if not authorities:
        return unchecked("no authority is trusted, so nobody vouches for the token")
    return _judge(token, authorities, as_of)


def _judge(token: Token, authorities: tuple[Authority, ...], as_of: str) -> Verdict:
    reasons: list[str] = []
    for authority in authorities:
        try:
            revocation = verify_token(token, authority)
        except IntegrityError as error:
            reasons.append(f"{authority.name}: {error}")
            continue
        if token.gen_time > instant_key(as_of):
            return unchecked(f"the token is of {instant_text(token.gen_time)}, after {as_of}")
        return Verdict(
            CHECKS,
            f"{authority.name} signed it at {instant_text(token.gen_time)}",
            instant_text(token.latest),
            level=SIGNED_TIME,
            excludes_not=_GAPS,
            notes=(*_token_notes(token), revocation),
            signers=signers_of(token, authority),
        )
    return refused("no trusted authority made the token", *reasons)


def _token_notes(token: Token) -> tuple[str, ...]:
    accuracy = (
        f"accuracy {token.accuracy.total_seconds()} s" if token.accuracy else "accuracy not stated"
    )
    ordering = "tokens of this authority are ordered" if token.ordering else "no ordering promised"
    return (accuracy, ordering, f"policy {token.policy}, serial number {token.serial}")


def signers_of(token: Token, authority: Authority) -> tuple[str, ...]:
    """Hashes of the keys behind a checked token: its signer's, and its authority's roots.

    An authority under two names or two certificates shares one of them with itself.
    """
    held = signer_certificate(
        token.signer_issuer, token.signer_serial, token.embedded, authority.signers
    )
    keys = {spki(each) for each in (held, *authority.roots)}
    return tuple(sorted(hashlib.sha256(key).hexdigest() for key in keys))


def signed_at(
    data: bytes, subject: Subject, authority: Authority
) -> tuple[datetime, tuple[str, ...]]:
    """The latest instant of a token that this authority made over the subject, and its signers.

    FormatError or IntegrityError where it did not.
    """
    token = parse_token(data)
    if subject.digests.get(token.algorithm) != token.imprint:
        raise IntegrityError("the token is for another file")
    verify_token(token, authority)
    return token.latest, signers_of(token, authority)
