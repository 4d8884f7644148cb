"""A block of an EVM chain as its bytes: the header, and the tree over its transactions.

A header is the RLP list of its fields, and its Keccak-256 is the block's hash.
`transactionsRoot` is the root of a Merkle-Patricia trie from the RLP of a
transaction's place in the block to its raw bytes (EIP-2718). Sources: Ethereum
yellow paper, 4.4 and appendices B and D; EIP-1559, EIP-2718.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from beforehand.anchors.extra import extra_module
from beforehand.clock import instant_text
from beforehand.errors import FormatError, IntegrityError, RemoteError

# The fields that are read, by their place in the list; later forks add behind them.
_TRANSACTIONS_ROOT, _NUMBER, _TIMESTAMP = 4, 8, 11
_LEAST_FIELDS, _MOST_FIELDS = 15, 40
_MOST_HEADER_BYTES = 4096
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)

# A fee-market transaction (EIP-1559), the only kind that is written or read here.
FEE_MARKET = b"\x02"
_FEE_MARKET_FIELDS = 12
_CHAIN, _DATA = 0, 7
_HEX = re.compile(r"0x[0-9a-f]*", re.ASCII)


@dataclass(frozen=True)
class Header:
    """What a block's header says. `hash` is of its bytes; `instant` the chain's own time."""

    raw: bytes
    hash: bytes
    number: int
    instant: str
    transactions_root: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """The header that these bytes are; FormatError where they are none."""
        if len(raw) > _MOST_HEADER_BYTES:
            raise FormatError(f"a block's header over {_MOST_HEADER_BYTES} bytes")
        fields = _decoded(raw, "a block's header")
        if not isinstance(fields, list) or not _LEAST_FIELDS <= len(fields) <= _MOST_FIELDS:
            raise FormatError("a block's header is a list of 15 fields or more")
        root, number, stamp = fields[_TRANSACTIONS_ROOT], fields[_NUMBER], fields[_TIMESTAMP]
        if not all(isinstance(each, bytes) for each in (root, number, stamp)) or len(root) != 32:
            raise FormatError("a block's header has a root of 32 bytes, a number and a time")
        return cls(raw, keccak(raw), _integer(number), _instant(_integer(stamp)), root)


@dataclass(frozen=True)
class Transaction:
    """What a fee-market transaction says: its chain, and the data it carries."""

    chain: int
    data: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """The transaction that these raw bytes are; FormatError where they are none."""
        if raw[:1] != FEE_MARKET:
            raise FormatError("not a fee-market transaction (EIP-1559)")
        fields = _decoded(raw[1:], "a transaction")
        if not isinstance(fields, list) or len(fields) != _FEE_MARKET_FIELDS:
            raise FormatError(f"a signed fee-market transaction has {_FEE_MARKET_FIELDS} fields")
        chain, data = fields[_CHAIN], fields[_DATA]
        if not isinstance(chain, bytes) or not isinstance(data, bytes):
            raise FormatError("a transaction's chain and data are bytes")
        return cls(_integer(chain), data)


def keccak(data: bytes) -> bytes:
    """Keccak-256, as the chain uses it (not SHA3-256)."""
    return bytes(extra_module("eth_hash.auto").keccak(data))


def octets(value: Any, what: str) -> bytes:
    """Bytes as JSON-RPC writes them: hex of an even length."""
    if not isinstance(value, str) or not _HEX.fullmatch(value) or len(value) % 2:
        raise RemoteError(f"{what}: {value!r:.60} is not hex")
    return bytes.fromhex(value[2:])


def encoded_header(fields: Sequence[bytes]) -> bytes:
    """The bytes of a header from its fields in the chain's order."""
    return bytes(extra_module("rlp").encode(list(fields)))


def inclusion_nodes(transactions: Sequence[bytes], place: int) -> tuple[bytes, tuple[bytes, ...]]:
    """The trie's root over a block's raw transactions, and the nodes down to one of them."""
    rlp, trie = extra_module("rlp"), extra_module("trie").HexaryTrie({})
    for number, raw in enumerate(transactions):
        trie[rlp.encode(number)] = raw
    nodes = trie.get_proof(rlp.encode(place))
    return bytes(trie.root_hash), tuple(rlp.encode(node) for node in nodes)


def included(root: bytes, place: int, nodes: Sequence[bytes]) -> bytes:
    """The raw transaction at a place, by these nodes; IntegrityError where they do not lead there.

    Every node is read under its own hash, so nodes that were made up lead nowhere.
    """
    rlp, trie = extra_module("rlp"), extra_module("trie")
    decoded = [_decoded(node, "a node of the trie") for node in nodes]
    try:
        raw = trie.HexaryTrie.get_from_proof(root, rlp.encode(place), decoded)
    except Exception as error:  # the library raises many kinds for nodes it cannot follow
        raise IntegrityError(
            f"the nodes do not lead from the block to the transaction ({type(error).__name__})"
        ) from None
    if not raw:
        raise IntegrityError("the block holds no transaction at this place")
    return bytes(raw)


def _decoded(raw: bytes, what: str) -> Any:
    rlp = extra_module("rlp")
    try:
        return rlp.decode(raw)
    except (rlp.exceptions.RLPException, RecursionError, TypeError):
        raise FormatError(f"{what} is not RLP") from None


def _integer(data: bytes) -> int:
    """A number as RLP holds it: big-endian, without leading zeros."""
    if len(data) > 8 or data[:1] == b"\x00":
        raise FormatError("a number of a block is up to 8 bytes without leading zeros")
    return int.from_bytes(data, "big")


def _instant(seconds: int) -> str:
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        raise FormatError("a block's time lies beyond the calendar") from None
    if at >= _LATEST:
        raise FormatError("a block's time lies beyond the calendar")
    return instant_text(at)
