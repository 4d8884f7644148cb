"""Time-stamping authorities (RFC 3161), each an anchor: a token for a note on request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from beforehand.anchors.anchor import (
    COMPLETE,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.extra import extra_module
from beforehand.anchors.token_check import check_tsr, verify_token
from beforehand.anchors.tokens import MAX_TOKEN_BYTES, parse_token
from beforehand.anchors.transport import SECONDS, exchange
from beforehand.anchors.trust import Authority, Trust
from beforehand.errors import FormatError, IntegrityError, RemoteError

MEDIA = "application/timestamp-reply"
_QUERY = "application/timestamp-query"


@dataclass(frozen=True)
class TimeStampAuthority:
    """One authority as an anchor.

    `embed` asks it to embed its certificate (certReq). `authority` is its kept
    chain: with it a token that would not check is refused on arrival.
    """

    name: str
    url: str
    authority: Authority | None = None
    embed: bool = True
    seconds: float = SECONDS

    def submit(self, note: bytes) -> Evidence:
        """A token for the note; RemoteError where the authority gives none that fits."""
        library = extra_module("rfc3161_client")
        request = (
            library.TimestampRequestBuilder()
            .data(note)
            .hash_algorithm(library.HashAlgorithm.SHA256)
            .nonce(nonce=True)
            .cert_request(cert_request=self.embed)
            .build()
        )
        answer = exchange(
            self.url,
            request.as_bytes(),
            headers={"Content-Type": _QUERY, "Accept": MEDIA},
            limit=MAX_TOKEN_BYTES,
            seconds=self.seconds,
        )
        data = answer.expect(200)
        self._check_reply(data, note, request.nonce)
        return Evidence(self.name, COMPLETE, data, MEDIA)

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The same: a token is complete."""
        return evidence

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the token shows of the note, by the authorities in `trust`."""
        if evidence.state != COMPLETE:
            return unchecked("pending: there is no such thing as a pending token")
        return check_tsr(evidence.data, Subject.of_digest(digest), trust.authorities, as_of)

    def _check_reply(self, data: bytes, note: bytes, nonce: int) -> None:
        try:
            token = parse_token(data)
            if (token.algorithm, token.imprint) != ("sha256", hashlib.sha256(note).digest()):
                raise IntegrityError("the token is for another digest")
            if token.nonce != nonce:
                raise IntegrityError("the token answers another request (wrong nonce)")
            if self.authority is not None:
                verify_token(token, self.authority)
        except (FormatError, IntegrityError) as error:
            raise RemoteError(f"{self.url}: {error}") from None
