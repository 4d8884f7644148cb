"""The EVM anchor: the digest, and the checkpoint's root, in a transaction of a public chain.

The transaction goes from the operator's account to itself, moves nothing and
carries 64 bytes: the SHA-256 of the stamped list, then the root of the tree
that the list names (32 bytes alone for what is no list). It is evidence once
its block lies deep enough below the chain's tip, and then it is kept with the
block's header and the trie's nodes, so that a reader needs that block's hash
and nothing of the operator.

The account's key is a secret of its own: it pays fees, and signs nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from beforehand.anchors.anchor import COMPLETE, PENDING, Evidence, Subject, Verdict, unchecked
from beforehand.anchors.evm_block import inclusion_nodes, keccak, octets
from beforehand.anchors.evm_check import check_evm
from beforehand.anchors.evm_node import EvmNode, RefusedCallError, quantity
from beforehand.anchors.evm_record import MEDIA, EvmRecord
from beforehand.anchors.extra import extra_module
from beforehand.anchors.trust import Trust
from beforehand.book.stamped_list import StampedList
from beforehand.errors import FormatError, RemoteError, RuleError

# Two epochs of Ethereum, after which a block is final; other chains may want more.
DEEP_ENOUGH = 64
MOST_GWEI = 100
# What a self-transfer with 64 bytes of data can need at the floor price of data (EIP-7623).
GAS = 30_000


@dataclass(frozen=True)
class EvmChain:
    """One chain as an anchor. `chain` is its id; `key` the account's, 32 bytes.

    `most_fee_per_gas` is in wei: above it nothing is sent, and the stamp waits.
    """

    node: EvmNode
    chain: int
    key: bytes = field(repr=False)
    name: str = "evm"
    deep_enough: int = DEEP_ENOUGH
    most_fee_per_gas: int = MOST_GWEI * 10**9

    def submit(self, note: bytes) -> Evidence:
        """A signed transaction over the note, sent; pending until a block holds it."""
        raw = self._signed(hashlib.sha256(note).digest() + _root_of(note))
        self._send(raw)
        return Evidence(self.name, PENDING, EvmRecord(self.chain, raw).data(), MEDIA)

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The block's proof once it lies deep enough; a transaction that was dropped is sent again.

        The same bytes are sent, so nothing is paid twice.
        """
        if evidence.state == COMPLETE:
            return evidence
        record = EvmRecord.parse(evidence.data)
        name = "0x" + keccak(record.transaction).hex()
        receipt = self.node.call("eth_getTransactionReceipt", name)
        if receipt is None:
            if self.node.call("eth_getTransactionByHash", name) is None:
                self._send(record.transaction)
            return evidence
        number, place = _place_of(receipt)
        if self.node.number("eth_blockNumber") < number + self.deep_enough:
            return evidence
        return Evidence(self.name, COMPLETE, self._proof(record, number, place).data(), MEDIA)

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the record proves of the note, by the block hashes in `trust`."""
        if evidence.state != COMPLETE:
            return unchecked("pending: no block holds it yet, and no time is proved")
        return check_evm(evidence.data, Subject.of_digest(digest), trust.evm, as_of)

    def _signed(self, data: bytes) -> bytes:
        told = self.node.number("eth_chainId")
        if told != self.chain:
            raise RuleError(f"the EVM node is of chain {told}, the settings say {self.chain}")
        account = _account(self.key)
        tip = self.node.number("eth_maxPriorityFeePerGas")
        base = quantity(
            (self.node.call("eth_getBlockByNumber", "latest", False) or {}).get("baseFeePerGas"),
            "baseFeePerGas",
        )
        # Twice the base fee holds through six full blocks (EIP-1559: an eighth each).
        most = 2 * base + tip
        if most > self.most_fee_per_gas:
            raise RemoteError(
                f"the chain asks up to {most} wei of gas price, over {self.most_fee_per_gas}",
                retryable=True,
            )
        fields = {
            "type": 2,
            "chainId": self.chain,
            "nonce": self.node.number("eth_getTransactionCount", account.address, "pending"),
            "to": account.address,
            "value": 0,
            "data": data,
            "gas": GAS,
            "maxFeePerGas": most,
            "maxPriorityFeePerGas": tip,
        }
        return bytes(account.sign_transaction(fields).raw_transaction)

    def _send(self, raw: bytes) -> None:
        """Hand the transaction to the node; that it has it already is no failure."""
        try:
            self.node.call("eth_sendRawTransaction", "0x" + raw.hex())
        except RefusedCallError as error:
            said = str(error).lower()
            if "already known" not in said and "already imported" not in said:
                raise

    def _proof(self, record: EvmRecord, number: int, place: int) -> EvmRecord:
        """The transaction in its block, from the node's words, each checked against a hash."""
        block = self.node.block(number)
        if block is None:
            raise RemoteError(f"the node has no block {number}", retryable=True)
        held = self.node.transactions(block)
        if not 0 <= place < len(held) or held[place] != record.transaction:
            raise RemoteError(f"block {number} does not hold the transaction", retryable=True)
        root, nodes = inclusion_nodes(held, place)
        if root != block.header.transactions_root:
            raise RemoteError(f"block {number}: its transactions do not give its root")
        return EvmRecord(self.chain, header=block.header.raw, place=place, nodes=nodes)


def read_key(text: str) -> bytes:
    """An account's key from its hex; RuleError, without the text, where it is none."""
    try:
        key = bytes.fromhex(text.strip().removeprefix("0x"))
    except ValueError:
        key = b""
    if len(key) != 32 or not any(key):
        raise RuleError("the EVM account's key is not 32 bytes in hex")
    return key


def address_of(key: bytes) -> str:
    """The account's address, which pays the fees."""
    return str(_account(key).address)


def _account(key: bytes) -> Any:
    return extra_module("eth_account").Account.from_key(key)


def _root_of(note: bytes) -> bytes:
    """The root of the one tree that a stamped list names; nothing for what is no list."""
    try:
        trees = StampedList.parse(note).trees
    except FormatError:
        return b""
    return trees[0].root if len(trees) == 1 else b""


def _place_of(receipt: Any) -> tuple[int, int]:
    if not isinstance(receipt, dict):
        raise RemoteError("a receipt is an object")
    octets(receipt.get("blockHash"), "blockHash")
    return (
        quantity(receipt.get("blockNumber"), "blockNumber"),
        quantity(receipt.get("transactionIndex"), "transactionIndex"),
    )
