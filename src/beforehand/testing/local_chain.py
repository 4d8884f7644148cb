"""A Bitcoin chain on this machine: regtest blocks, mined in Python in a few tries each.

Blocks are built by python-bitcoinlib on regtest's own first block, so that a
full node in regtest mode takes them. They prove nothing to anyone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beforehand.anchors.bitcoin import Header
from beforehand.anchors.extra import extra_module
from beforehand.errors import IntegrityError

COMMITMENT_BYTES = 32


@dataclass(frozen=True)
class Mined:
    """Where a commitment stands: the block, and the transaction's bytes around it."""

    height: int
    before: bytes
    after: bytes


class LocalChain:
    """Headers by height, and whole blocks as a node reads them."""

    def __init__(self) -> None:
        core: Any = extra_module("bitcoin.core")
        genesis = core.CoreRegTestParams().GENESIS_BLOCK
        self.blocks: list[bytes] = [genesis.serialize()]
        self.headers: dict[int, bytes] = {0: genesis.get_header().serialize()}

    @property
    def height(self) -> int:
        """The tip's height."""
        return len(self.blocks) - 1

    def mine(self, commitment: bytes, time: int) -> Mined:
        """A block whose coinbase transaction carries the commitment (OP_RETURN).

        The block has that one transaction, so its Merkle root is the
        transaction's id. Its time is `time`, moved past the block before.
        """
        core: Any = extra_module("bitcoin.core")
        tip = Header.parse(self.headers[self.height])
        height = self.height + 1
        coinbase = self._coinbase(height, commitment)
        header = core.CBlockHeader(
            nVersion=0x20000000,
            hashPrevBlock=tip.hash,
            hashMerkleRoot=coinbase.GetTxid(),
            nTime=max(time, tip.time + 1),
            nBits=tip.bits,
            nNonce=0,
        )
        found = self._work(header)
        raw = coinbase.serialize()
        before, _, after = raw.partition(commitment)
        self.headers[height] = found.raw
        self.blocks.append(found.raw + core.CBlock(vtx=[coinbase]).serialize()[80:])
        return Mined(height, before, after)

    def _coinbase(self, height: int, commitment: bytes) -> Any:
        core: Any = extra_module("bitcoin.core")
        script: Any = extra_module("bitcoin.core.script")
        # The height first (BIP 34), then a push so that the script is long enough.
        signature = script.CScript([height, b"beforehand"])
        entry = core.CTxIn(core.COutPoint(), signature)
        output = core.CTxOut(0, script.CScript([script.OP_RETURN, commitment]))
        return core.CTransaction([entry], [output])

    def _work(self, header: Any) -> Header:
        """The header with the first nonce that meets the difficulty."""
        fields = header.serialize()
        for nonce in range(1 << 32):
            found = Header.parse(fields[:76] + nonce.to_bytes(4, "little"))
            try:
                found.check_work()
            except IntegrityError:
                continue
            return found
        raise IntegrityError("no nonce meets the difficulty")
