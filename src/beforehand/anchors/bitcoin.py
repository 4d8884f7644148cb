"""Bitcoin block headers as a reader holds them.

A header is 80 bytes: version, previous hash, Merkle root, time, nBits, nonce,
integers little-endian (developer.bitcoin.org, block headers). It is checked
against its own difficulty only: that it lies on the main chain is what the
reader trusts who supplies it.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from beforehand.clock import instant_text
from beforehand.errors import FormatError, IntegrityError

HEADER_BYTES = 80
MEDIAN_SPAN = 11
MAX_HEIGHT = 100_000_000
_EASIEST = 0xFFFF << 208  # the target of difficulty 1


@dataclass(frozen=True)
class Header:
    """One block header; hashes in the byte order in which they are hashed."""

    raw: bytes
    previous: bytes
    merkle_root: bytes
    time: int
    bits: int

    @classmethod
    def parse(cls, raw: bytes) -> Header:
        """The header of 80 bytes; FormatError for any other number of them."""
        if len(raw) != HEADER_BYTES:
            raise FormatError(f"a block header has {HEADER_BYTES} bytes, not {len(raw)}")
        time, bits = (int.from_bytes(raw[at : at + 4], "little") for at in (68, 72))
        return cls(raw, raw[4:36], raw[36:68], time, bits)

    @property
    def hash(self) -> bytes:
        """The double SHA-256 of the header."""
        return hashlib.sha256(hashlib.sha256(self.raw).digest()).digest()

    @property
    def shown_hash(self) -> str:
        """The hash as explorers show it, byte-reversed hex."""
        return self.hash[::-1].hex()

    @property
    def target(self) -> int:
        """The number that the hash may not exceed, from nBits (Bitcoin Core, arith_uint256)."""
        size, mantissa = self.bits >> 24, self.bits & 0x7FFFFF
        if self.bits & 0x800000 or mantissa == 0:
            raise IntegrityError(f"nBits {self.bits:08x} states no positive target")
        target = mantissa << 8 * (size - 3) if size > 3 else mantissa >> 8 * (3 - size)
        if not 0 < target < 1 << 256:
            raise IntegrityError(f"nBits {self.bits:08x} states no target of 256 bits")
        return target

    @property
    def difficulty(self) -> int:
        """How many times harder than the easiest main-chain block, rounded down."""
        return _EASIEST // self.target

    def check_work(self) -> None:
        """IntegrityError unless the header's hash meets the header's own target."""
        if int.from_bytes(self.hash, "little") > self.target:
            raise IntegrityError(f"the header {self.shown_hash} does not meet its own difficulty")

    @property
    def instant(self) -> str:
        """The header's time, which its miner set."""
        return instant_text(datetime.fromtimestamp(self.time, UTC))


def median_time_past(headers: Mapping[int, bytes], height: int) -> str | None:
    """The median time of the 11 blocks before `height`, where all are given and chained.

    By consensus a block's own time lies after it (BIP 113), so the block was
    made no earlier than about then.
    """
    times: list[int] = []
    if height not in headers:
        return None
    link = Header.parse(headers[height]).previous
    for before in range(height - 1, height - 1 - MEDIAN_SPAN, -1):
        if before not in headers:
            return None
        header = Header.parse(headers[before])
        if header.hash != link:
            return None
        link = header.previous
        times.append(header.time)
    return instant_text(datetime.fromtimestamp(statistics.median(times), UTC))


def blocks_above(headers: Mapping[int, bytes], height: int) -> int:
    """How many given headers are chained on top of the block, each meeting its difficulty."""
    count = 0
    below = Header.parse(headers[height])
    while (above := headers.get(height + count + 1)) is not None:
        header = Header.parse(above)
        try:
            header.check_work()
        except IntegrityError:
            break
        if header.previous != below.hash:
            break
        below = header
        count += 1
    return count
