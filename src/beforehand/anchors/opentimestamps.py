"""The OpenTimestamps anchor: calendars that commit many digests into one Bitcoin transaction.

Submitted is SHA-256(note's SHA-256 || 16 random bytes), as the OpenTimestamps
client does, so that a calendar learns nothing that it could recognise. The
answer is a promise; `upgrade` asks the promising calendars for the path to a
block header, and only a header completes the evidence.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from beforehand.anchors.anchor import (
    PENDING,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.extra import extra_module
from beforehand.anchors.ots_check import check_ots
from beforehand.anchors.ots_file import (
    parse_path,
    parse_proof,
    proof_bytes,
    proof_state,
)
from beforehand.anchors.transport import SECONDS, Answer, exchange
from beforehand.anchors.trust import Trust
from beforehand.errors import FormatError, RemoteError

MEDIA = "application/vnd.opentimestamps.v1"
MAX_CALENDAR_BYTES = 10_000  # as the OpenTimestamps client
NONCE_BYTES = 16
NOT_YET = 404  # a calendar's word while no block holds its commitment

# The public aggregators of the OpenTimestamps client.
PUBLIC_CALENDARS = (
    "https://a.pool.opentimestamps.org",
    "https://b.pool.opentimestamps.org",
    "https://a.pool.eternitywall.com",
    "https://ots.btc.catallaxy.com",
)


@dataclass(frozen=True)
class OpenTimestamps:
    """Several calendars as one anchor.

    `least` calendars must answer a submission. Promises are followed only to
    `trusted`, the calendars' own addresses (patterns allowed as in
    `https://*.calendar.opentimestamps.org`), for the address in a promise is
    the calendar's word; None is the OpenTimestamps client's own list.
    """

    name: str = "opentimestamps"
    calendars: tuple[str, ...] = PUBLIC_CALENDARS
    least: int = 1
    trusted: tuple[str, ...] | None = None
    seconds: float = SECONDS
    random: Callable[[int], bytes] = secrets.token_bytes

    def submit(self, note: bytes) -> Evidence:
        """Promises of the calendars for the note; RemoteError where fewer than `least` answer."""
        op = extra_module("opentimestamps.core.op")
        timestamp = extra_module("opentimestamps.core.timestamp")
        stamp = timestamp.Timestamp(hashlib.sha256(note).digest())
        blinded = stamp.ops.add(op.OpAppend(self.random(NONCE_BYTES))).ops.add(op.OpSHA256())
        failures: list[RemoteError] = []
        for path in self._promises(blinded.msg):
            if isinstance(path, RemoteError):
                failures.append(path)
            else:
                blinded.merge(path)
        got = len(self.calendars) - len(failures)
        if got < self.least or got == 0:
            raise RemoteError(
                f"{got} of {len(self.calendars)} calendars answered, {self.least} are needed: "
                + "; ".join(str(error) for error in failures),
                retryable=any(error.retryable for error in failures),
            )
        return self._evidence(timestamp.DetachedTimestampFile(op.OpSHA256(), stamp))

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The evidence with every path that its calendars give by now, and why others gave none."""
        proof = parse_proof(evidence.data)
        troubles: dict[str, None] = {}
        for node in list(_pending_nodes(proof.timestamp)):
            for leaf in list(node.attestations):
                uri = getattr(leaf, "uri", None)
                if uri is None:
                    continue
                why = (
                    self._complete(node, uri)
                    if self._follows(uri)
                    else f"{uri:.200} is none of the calendars that are followed"
                )
                troubles |= {} if why is None else {why: None}
        return replace(self._evidence(proof), troubles=tuple(troubles))

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the proof shows of the note, by the headers in `trust`."""
        if evidence.state == PENDING:
            return unchecked("pending: calendars promised a path to a block, and no time is proved")
        return check_ots(
            evidence.data, Subject.of_digest(digest), trust.bitcoin, as_of, complete=True
        )

    def _promises(self, message: bytes) -> list[Any]:
        """Each calendar's path or its RemoteError; asked side by side, for each may be slow."""

        def ask(calendar: str) -> Any:
            try:
                return _path_in(self._asked(calendar.rstrip("/") + "/digest", message), message)
            except RemoteError as error:
                return error

        with ThreadPoolExecutor(max(1, len(self.calendars))) as pool:
            return list(pool.map(ask, self.calendars))

    def _complete(self, node: Any, uri: str) -> str | None:
        """Merge what the calendar has; why nothing came, None where it is only not there yet."""
        url = f"{uri.rstrip('/')}/timestamp/{node.msg.hex()}"
        try:
            answer = self._asked(url, None)
            if answer.status == NOT_YET:
                return None
            node.merge(_path_in(answer, node.msg))
        except RemoteError as error:
            return str(error)
        return None

    def _asked(self, url: str, body: bytes | None) -> Answer:
        return exchange(
            url, body, headers={"Accept": MEDIA}, limit=MAX_CALENDAR_BYTES, seconds=self.seconds
        )

    def _follows(self, uri: str) -> bool:
        calendar = extra_module("opentimestamps.calendar")
        if self.trusted is None:
            return uri in calendar.DEFAULT_CALENDAR_WHITELIST
        return uri.rstrip("/") in {url.rstrip("/") for url in self.trusted} or (
            uri in calendar.UrlWhitelist(self.trusted)
        )

    def _evidence(self, proof: Any) -> Evidence:
        return Evidence(self.name, proof_state(proof), proof_bytes(proof), MEDIA)


def _path_in(answer: Answer, message: bytes) -> Any:
    try:
        return parse_path(answer.expect(200), message)
    except FormatError as error:
        raise RemoteError(f"{answer.url}: {error}") from None


def _pending_nodes(stamp: Any) -> Iterable[Any]:
    waiting = [stamp]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.ops.values())
        if any(hasattr(leaf, "uri") for leaf in node.attestations):
            yield node
