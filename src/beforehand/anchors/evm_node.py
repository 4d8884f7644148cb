"""A node of an EVM chain, asked by JSON-RPC over HTTP."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from beforehand.anchors.evm_block import Header, encoded_header, octets
from beforehand.anchors.transport import SECONDS, exchange
from beforehand.errors import FormatError, RemoteError
from beforehand.records.codec import decode_json

# One transaction's bytes at a node of its own pool's limit, and a block's list of hashes.
MOST_ANSWER_BYTES = 2 << 20
MOST_TRANSACTIONS = 5000
_QUANTITY = re.compile(r"0x(0|[1-9a-f][0-9a-f]{0,31})", re.ASCII)

# A header's fields in the chain's order, as the node names them, and whether each
# is a number. Those of later forks follow, as far as the block has them (EIP-1559,
# 4895, 4844, 4788, 7685); whether they were all is told by the block's hash.
_FIELDS = (
    ("parentHash", False),
    ("sha3Uncles", False),
    ("miner", False),
    ("stateRoot", False),
    ("transactionsRoot", False),
    ("receiptsRoot", False),
    ("logsBloom", False),
    ("difficulty", True),
    ("number", True),
    ("gasLimit", True),
    ("gasUsed", True),
    ("timestamp", True),
    ("extraData", False),
    ("mixHash", False),
    ("nonce", False),
)
_LATER_FIELDS = (
    ("baseFeePerGas", True),
    ("withdrawalsRoot", False),
    ("blobGasUsed", True),
    ("excessBlobGas", True),
    ("parentBeaconBlockRoot", False),
    ("requestsHash", False),
)


class RefusedCallError(RemoteError):
    """The node answered with an error of its own."""


@dataclass(frozen=True)
class Block:
    """One block as a node tells it: its header's bytes, checked against its hash."""

    header: Header
    transactions: tuple[str, ...]


@dataclass(frozen=True)
class EvmNode:
    """One node. `url` may hold a provider's key, which stands in no message."""

    url: str
    seconds: float = SECONDS

    def call(self, method: str, *params: object) -> Any:
        """What the node answers; RemoteError where it does not, or answers with an error."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            answer = exchange(
                self.url, body, headers=headers, seconds=self.seconds, limit=MOST_ANSWER_BYTES
            )
        except RemoteError as error:
            said = str(error).replace(self.url, "the node")
            raise RemoteError(f"{method}: {said}", retryable=error.retryable) from None
        except FormatError:
            raise FormatError("the address of the EVM node is no http or https address") from None
        if answer.status != 200:
            retryable = answer.status in (408, 429) or answer.status >= 500
            raise RemoteError(
                f"{method}: the node answers HTTP {answer.status}", retryable=retryable
            )
        try:
            reply = decode_json(answer.body)
        except FormatError as error:
            raise RemoteError(f"{method}: the node's answer cannot be read: {error}") from None
        if not isinstance(reply, dict):
            raise RemoteError(f"{method}: the node's answer is no object")
        if reply.get("error") is not None:
            told = reply["error"].get("message") if isinstance(reply["error"], dict) else None
            words = "".join(c if c.isprintable() else " " for c in str(told)[:200])
            raise RefusedCallError(f"{method}: the node refuses: {words}")
        return reply.get("result")

    def number(self, method: str, *params: object) -> int:
        """A quantity."""
        return quantity(self.call(method, *params), method)

    def data(self, method: str, *params: object) -> bytes:
        """Bytes."""
        return octets(self.call(method, *params), method)

    def block(self, number: int) -> Block | None:
        """A block by its number, its header checked against its hash; None where there is none."""
        said = self.call("eth_getBlockByNumber", hex(number), False)
        return None if said is None else read_block(said)

    def transactions(self, block: Block) -> list[bytes]:
        """The raw bytes of each transaction of a block, in order."""
        if len(block.transactions) > MOST_TRANSACTIONS:
            raise RemoteError(
                f"a block of {len(block.transactions)} transactions is over the limit"
            )
        return [self.data("eth_getRawTransactionByHash", name) for name in block.transactions]


def read_block(said: Any) -> Block:
    """A block from the node's object; RemoteError where its header does not have its hash."""
    if not isinstance(said, dict):
        raise RemoteError("a block is an object")
    raw = encoded_header(
        [_field(said[name], is_number, name) for name, is_number in _FIELDS if _there(said, name)]
        + [
            _field(said[name], is_number, name)
            for name, is_number in _LATER_FIELDS
            if said.get(name) is not None
        ]
    )
    try:
        header = Header.parse(raw)
    except FormatError as error:
        raise RemoteError(f"the node's block cannot be read: {error}") from None
    if header.hash != octets(said.get("hash"), "hash"):
        raise RemoteError(
            f"block {header.number}: its fields do not give its hash; the chain may have a fork "
            "that this version does not know, or is not an EVM chain of Ethereum's form"
        )
    names = said.get("transactions")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RemoteError(f"block {header.number}: its transactions are not a list of hashes")
    return Block(header, tuple(names))


def _there(said: dict[str, Any], name: str) -> bool:
    if said.get(name) is None:
        raise RemoteError(f"the node's block has no {name}")
    return True


def _field(value: Any, is_number: bool, name: str) -> bytes:
    if not is_number:
        return octets(value, name)
    number = quantity(value, name)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def quantity(value: Any, what: str) -> int:
    """A number as JSON-RPC writes it: hex without leading zeros."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise RemoteError(f"{what}: {value!r:.60} is no quantity")
    return int(value, 16)
