"""Whom a reader trusts: pinned keys, chains, block headers, clones. Nothing is built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from beforehand.clock import instant_key

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateRevocationList

    from beforehand.anchors.drand import DrandChain

# A miner may date a block up to two hours ahead of the nodes' clocks (Bitcoin
# Core, MAX_FUTURE_BLOCK_TIME), and a block may be found late: a header's time
# is an upper bound only with this margin.
BITCOIN_MARGIN = timedelta(hours=2)

# Every main-chain block since 2014 is harder than this. A header below it is
# cheap to make up.
LEAST_DIFFICULTY = 1_000_000_000


@dataclass(frozen=True)
class Window:
    """A span in which a key is trusted, both ends included; None is an open end."""

    start: str | None = None
    end: str | None = None

    def holds(self, instant: str) -> bool:
        """Whether the instant lies inside."""
        key = instant_key(instant)
        if self.start is not None and key < instant_key(self.start):
            return False
        return self.end is None or key <= instant_key(self.end)


@dataclass(frozen=True)
class BitcoinTrust:
    """Block headers by height, 80 bytes each, that the reader takes for the main chain's."""

    headers: Mapping[int, bytes] = field(default_factory=dict)
    margin: timedelta = BITCOIN_MARGIN
    least_difficulty: int = LEAST_DIFFICULTY


@dataclass(frozen=True)
class EvmTrust:
    """Block hashes, 32 bytes each, by chain id and number, that the reader takes for the chain's.

    A block is dated by its slot, which validators hold to (Ethereum consensus
    specification); `margin` is added for chains whose blocks may run ahead.
    `development` takes a chain of one's own too, as a rehearsal has it.
    """

    blocks: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    margin: timedelta = timedelta(seconds=15)
    development: bool = False


@dataclass(frozen=True)
class Authority:
    """A time-stamping authority (RFC 3161) with its kept chain.

    `signers` pins the signing certificates, and is needed where tokens embed
    none. `policies` are object identifiers; none named, any is taken.
    """

    name: str
    roots: tuple[Certificate, ...]
    intermediates: tuple[Certificate, ...] = ()
    signers: tuple[Certificate, ...] = ()
    crls: tuple[CertificateRevocationList, ...] = ()
    policies: tuple[str, ...] = ()
    window: Window = Window()


@dataclass(frozen=True)
class LogKey:
    """A transparency log's key: the host it signs as, its id, its SubjectPublicKeyInfo (DER)."""

    host: str
    log_id: bytes
    public: bytes
    window: Window = Window()


@dataclass(frozen=True)
class Clone:
    """A reader's own clone of a foreign repository, and the tip it had at an earlier visit."""

    path: Path
    known_tip: str | None = None


@dataclass(frozen=True)
class Trust:
    """Everything one reader trusts. `signers` are the operator's keys in a log (SPKI, DER)."""

    bitcoin: BitcoinTrust = BitcoinTrust()
    evm: EvmTrust = EvmTrust()
    drand: tuple[DrandChain, ...] = ()
    authorities: tuple[Authority, ...] = ()
    logs: tuple[LogKey, ...] = ()
    signers: tuple[bytes, ...] = ()
    clones: Mapping[str, Clone] = field(default_factory=dict)
