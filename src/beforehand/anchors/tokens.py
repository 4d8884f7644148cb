"""Time-stamp tokens (RFC 3161) as values: read by rfc3161-client, under our limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cryptography import x509

from beforehand.anchors.certificates import load_certificate
from beforehand.anchors.extra import extra_module
from beforehand.errors import BeforehandError, FormatError

MAX_TOKEN_BYTES = 64 << 10
MAX_CERTIFICATES = 16

_DIGESTS = {
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
    "1.3.14.3.2.26": "sha1",
}
GRANTED = 0

_ORDERING = (
    "the reply embeds several certificates in an order that DER does not allow; ask this "
    "authority without embedded certificates, and pin its chain with the signer"
)

T = TypeVar("T")


@dataclass(frozen=True)
class Token:
    """What a granted token says (TSTInfo, RFC 3161, 2.4.2) and who signed it."""

    algorithm: str
    imprint: bytes
    gen_time: datetime
    accuracy: timedelta | None
    ordering: bool
    nonce: int | None
    policy: str
    serial: int
    signer_issuer: x509.Name
    signer_serial: int
    embedded: tuple[x509.Certificate, ...]
    response: Any

    @property
    def latest(self) -> datetime:
        """The latest instant that the token allows: genTime plus its accuracy."""
        return self.gen_time + (self.accuracy or timedelta())


def from_library(call: Callable[[], T], *kept: type[Exception]) -> T:
    """What the library gives; every way in which it refuses bytes becomes FormatError.

    Errors that are `kept` pass. Its Rust part raises what its parsers raise
    (a KeyError for an unknown kind of text), and panics on some malformed
    tokens: a panic reaches Python as a BaseException without an importable name.
    """
    try:
        return call()
    except BeforehandError:
        raise
    except kept:
        raise
    except Exception as error:
        if "SetOrdering" in str(error):
            raise FormatError(_ORDERING) from None
        raise FormatError(f"not a time-stamp reply: {error!r:.200}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise FormatError(f"not a time-stamp reply: {error!s:.200}") from None


def parse_token(data: bytes) -> Token:
    """The token of a time-stamp reply (`.tsr`, DER).

    FormatError where the bytes are no reply, no token was granted, or the
    library cannot read it: OpenSSL writes several embedded certificates in an
    order that DER may not allow.
    """
    if len(data) > MAX_TOKEN_BYTES:
        raise FormatError(f"a time-stamp reply over {MAX_TOKEN_BYTES} bytes")
    library = extra_module("rfc3161_client")
    response = from_library(lambda: library.decode_timestamp_response(data))
    if response.status != GRANTED:
        said = from_library(lambda: "; ".join(response.status_string))
        raise FormatError(f"the authority granted no token (status {response.status}) {said:.200}")
    return from_library(lambda: _token(response))


def _token(response: Any) -> Token:
    info = response.tst_info
    signers = list(response.signed_data.signer_infos)
    if len(signers) != 1:
        raise FormatError(f"a token has one signer, not {len(signers)}")
    certificates = sorted(response.signed_data.certificates)
    if len(certificates) > MAX_CERTIFICATES:
        raise FormatError(f"a token with more than {MAX_CERTIFICATES} certificates")
    oid = info.message_imprint.hash_algorithm.dotted_string
    return Token(
        algorithm=_DIGESTS.get(oid, oid),
        imprint=info.message_imprint.message,
        gen_time=info.gen_time,
        accuracy=_accuracy(info.accuracy),
        ordering=info.ordering,
        nonce=info.nonce,
        policy=info.policy.dotted_string,
        serial=info.serial_number,
        signer_issuer=signers[0].issuer,
        signer_serial=signers[0].serial_number,
        embedded=tuple(load_certificate(der) for der in certificates),
        response=response,
    )


def _accuracy(stated: Any) -> timedelta | None:
    if stated is None:
        return None
    return timedelta(
        seconds=stated.seconds or 0,
        milliseconds=stated.millis or 0,
        microseconds=stated.micros or 0,
    )
