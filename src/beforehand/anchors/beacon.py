"""A public value that nobody could know sooner, read fresh for a run line: not before.

`bitcoin_tip` is the hash of the newest block at an explorer of the Esplora
kind; `drand` the newest round of a drand network. What the value proves is for
`beacon_check` to say, offline.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.transport import SECONDS, exchange
from beforehand.errors import RemoteError
from beforehand.records.codec import decode_json

URLS = {
    "bitcoin_tip": "https://blockstream.info/api",
    "drand": "https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
}
MAX_BEACON_BYTES = 4096
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{64,400}", re.ASCII)
_HEIGHT = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


@dataclass(frozen=True)
class BeaconSource:
    """Where a league reads its beacon. `source` is one of URLS."""

    source: str
    url: str = ""
    seconds: float = SECONDS

    def read(self) -> dict[str, Any]:
        """The newest value as a run line holds it; RemoteError where there is none to be had."""
        base = (self.url or URLS[self.source]).rstrip("/")
        if self.source == "bitcoin_tip":
            return self._tip(base)
        return self._round(base)

    def _tip(self, base: str) -> dict[str, Any]:
        value = self._text(f"{base}/blocks/tip/hash")
        height = self._text(f"{base}/blocks/tip/height")
        if not _HASH.fullmatch(value) or not _HEIGHT.fullmatch(height):
            raise RemoteError(f"{base} gave no block hash and height", retryable=True)
        # Read one after the other, the two may be a block apart: the hash decides.
        at_height = self._text(f"{base}/block-height/{height}")
        if at_height != value:
            raise RemoteError(f"{base} gave a hash and a height that do not fit", retryable=True)
        return {"source": "bitcoin_tip", "number": int(height), "value": value}

    def _round(self, base: str) -> dict[str, Any]:
        answer = decode_json(self._get(f"{base}/public/latest"))
        fields: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        number, value = fields.get("round"), fields.get("signature")
        if type(number) is not int or not isinstance(value, str) or not _HEX.fullmatch(value):
            raise RemoteError(f"{base} gave no round with a signature", retryable=True)
        found = {"source": "drand", "number": number, "value": value}
        previous = fields.get("previous_signature")
        if previous is None:
            return found
        if not isinstance(previous, str) or not _HEX.fullmatch(previous):
            raise RemoteError(f"{base} gave no signature of the round before", retryable=True)
        return {**found, "previous_signature": previous}  # a chained round is over it too

    def _text(self, url: str) -> str:
        return self._get(url).decode("ascii", "replace").strip()

    def _get(self, url: str) -> bytes:
        return exchange(url, limit=MAX_BEACON_BYTES, seconds=self.seconds).expect(200)
