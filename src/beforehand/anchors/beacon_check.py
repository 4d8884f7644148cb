"""What a beacon in a run line proves: that the line was made no earlier than the value was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.bitcoin import Header, median_time_past
from beforehand.anchors.trust import BitcoinTrust
from beforehand.errors import FormatError, IntegrityError


@dataclass(frozen=True)
class NotBefore:
    """`instant` is when the value can first have been known, None where that was not checked."""

    words: str
    instant: str | None = None


def check_beacon(beacon: Mapping[str, Any], trust: BitcoinTrust) -> NotBefore:
    """The earliest instant of a run line with this beacon, by headers that the reader holds.

    A block is made after the median time of the eleven before it (BIP 113);
    without those, only its hash is checked and no instant is stated.
    IntegrityError where the reader's header of that height is another block.
    A drand round needs its network's verifier, which is not installed here.
    """
    source, number, value = (beacon.get(key) for key in ("source", "number", "value"))
    if source != "bitcoin_tip" or type(number) is not int or not isinstance(value, str):
        return NotBefore(f"{str(source)[:40]} round {str(number)[:20]}: present, not checked")
    raw = trust.headers.get(number)
    if raw is None:
        return NotBefore(f"block {number}: present, not checked: give its header")
    try:
        header = Header.parse(raw)
        header.check_work()
    except FormatError as error:
        raise IntegrityError(f"the header of block {number}: {error}") from None
    if header.shown_hash != value:
        raise IntegrityError(f"block {number} is {header.shown_hash}, the run line says otherwise")
    since = median_time_past(trust.headers, number)
    if since is None:
        return NotBefore(
            f"block {number} is the one named; its time is not bounded without the eleven before it"
        )
    return NotBefore(f"block {number} was made no earlier than {since}", since)
