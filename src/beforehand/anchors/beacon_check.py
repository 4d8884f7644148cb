"""What a beacon in a run line proves: that the line was made no earlier than the value was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.bitcoin import Header, median_time_past
from beforehand.anchors.drand import DrandChain
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.errors import FormatError, IntegrityError, RuleError

_HEX = re.compile(r"(?:[0-9a-f]{2}){1,200}", re.ASCII)


@dataclass(frozen=True)
class NotBefore:
    """`instant` is when the value can first have been known, None where that was not checked."""

    words: str
    instant: str | None = None


def check_beacon(beacon: Mapping[str, Any], trust: Trust) -> NotBefore:
    """The earliest instant of a run line with this beacon, by what the reader holds.

    IntegrityError where the reader's header of that height is another block, or
    where no drand network that the reader pinned signed the round.
    """
    source, number, value = (beacon.get(key) for key in ("source", "number", "value"))
    if type(number) is int and isinstance(value, str):
        if source == "bitcoin_tip":
            return _of_block(number, value, trust.bitcoin)
        if source == "drand":
            return _of_round(number, value, beacon.get("previous_signature"), trust.drand)
    return NotBefore(f"{str(source)[:40]} round {str(number)[:20]}: present, not checked")


def _of_block(number: int, value: str, trust: BitcoinTrust) -> NotBefore:
    """A block is made after the median time of the eleven before it (BIP 113).

    Without those, only its hash is checked and no instant is stated.
    """
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


def _of_round(number: int, value: str, previous: object, chains: Sequence[DrandChain]) -> NotBefore:
    """A round's signature is known once enough of the network's nodes gave their part of it."""
    present = f"drand round {str(number)[:20]}: present, not checked"
    if not chains:
        return NotBefore(f"{present}: give its network's /info as drand/NAME.json")
    if not _HEX.fullmatch(value):
        raise IntegrityError(f"drand round {number}: {value!r:.40} is no signature")
    before = previous if isinstance(previous, str) and _HEX.fullmatch(previous) else None
    false, unread = list[str](), list[str]()
    for chain in chains:
        try:
            chain.check(number, bytes.fromhex(value), bytes.fromhex(before) if before else None)
        except IntegrityError as error:
            false.append(f"{chain.hash[:16]}: {error}")
        except (FormatError, RuleError) as error:
            unread.append(f"{chain.hash[:16]}: {error}")
        else:
            since = chain.instant(number)
            words = f"drand round {number} of {chain.hash[:16]} was signed no earlier than {since}"
            return NotBefore(f"{words}, unless enough of its nodes signed ahead", since)
    if unread:
        return NotBefore(f"{present}: {'; '.join(unread)}")
    raise IntegrityError(f"drand round {number} is of no network that you pinned: {false[0]}")
