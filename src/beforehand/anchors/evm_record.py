"""The evidence of the EVM anchor as a file: a promise at first, then a block's own proof.

Both are one JSON object. Pending it holds the chain and the signed transaction;
complete the chain, the block's header, the transaction's place and the trie's
nodes down to it: all that a check needs, beside the hash of that block. The
transaction itself then stands in the last node.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from beforehand.anchors.anchor import COMPLETE, MAX_EVIDENCE_BYTES, PENDING
from beforehand.anchors.evm_block import octets
from beforehand.errors import FormatError, RemoteError
from beforehand.records.codec import decode_json

KIND = "evm"
MEDIA = "application/vnd.beforehand.evm+json"
MOST_NODES = 64
_PENDING_KEYS = {"kind", "chain", "transaction"}
_COMPLETE_KEYS = {"kind", "chain", "header", "place", "nodes"}


@dataclass(frozen=True)
class EvmRecord:
    """What an EVM anchor gave. `chain` is the chain's id (EIP-155), the rest raw bytes.

    `transaction` is of a pending record, the rest of a complete one.
    """

    chain: int
    transaction: bytes = b""
    header: bytes = b""
    place: int = 0
    nodes: tuple[bytes, ...] = ()

    @property
    def state(self) -> str:
        """Complete where it holds a block, else pending."""
        return COMPLETE if self.header else PENDING

    def data(self) -> bytes:
        """The file's bytes."""
        content: dict[str, Any] = {"kind": KIND, "chain": self.chain}
        if not self.header:
            content["transaction"] = _hex(self.transaction)
        else:
            content |= {
                "header": _hex(self.header),
                "place": self.place,
                "nodes": [_hex(node) for node in self.nodes],
            }
        return json.dumps(content, sort_keys=True).encode("ascii")

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The record in a file's bytes; FormatError where they are none."""
        if len(data) > MAX_EVIDENCE_BYTES:
            raise FormatError(f"an EVM record over {MAX_EVIDENCE_BYTES} bytes")
        said = decode_json(data)
        if not isinstance(said, dict) or said.get("kind") != KIND:
            raise FormatError("not an EVM record")
        if set(said) not in (_PENDING_KEYS, _COMPLETE_KEYS):
            raise FormatError("an EVM record has a transaction, or a block's proof of one")
        nodes = said.get("nodes", [])
        if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
            raise FormatError(f"an EVM record has a list of up to {MOST_NODES} nodes")
        try:
            return cls(
                _count(said["chain"], "chain"),
                octets(said["transaction"], "transaction") if "transaction" in said else b"",
                octets(said["header"], "header") if "header" in said else b"",
                _count(said.get("place", 0), "place"),
                tuple(octets(node, "node") for node in nodes),
            )
        except RemoteError as error:
            raise FormatError(str(error)) from None


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _count(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise FormatError(f"{what}: {value!r:.60} is no count")
    return value
