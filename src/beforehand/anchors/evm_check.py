"""What an EVM record proves, by block hashes that a reader supplies. Opens no connection."""

from __future__ import annotations

from beforehand.anchors.anchor import (
    CHECKS,
    COMPLETE,
    PUBLIC_RECORD,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.evm_block import Header, Transaction, included
from beforehand.anchors.evm_record import EvmRecord
from beforehand.anchors.trust import EvmTrust
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, IntegrityError

# The ids that development nodes take (Hardhat and anvil, geth --dev and Ganache).
DEVELOPMENT_CHAINS = (1337, 31337)

_GAPS = (
    "another digest sent beside this one, from this or another account",
    "a block off the chain: the reader who supplies its hash answers for that",
    "validators that agree to date their blocks wrongly",
)


def needed_block(data: bytes) -> tuple[int, int] | None:
    """The chain and the number of the block whose hash a check needs; None while pending."""
    record = EvmRecord.parse(data)
    return (record.chain, Header.parse(record.header).number) if record.header else None


def check_evm(data: bytes, subject: Subject, trust: EvmTrust, as_of: str) -> Verdict:
    """What an EVM record proves of the subject.

    The transaction's data begins with the subject's SHA-256; the nodes lead
    from the header's root to the transaction; the header's hash is the one that
    the reader has for this number of this chain.
    """
    try:
        record = EvmRecord.parse(data)
        if record.state != COMPLETE:
            return unchecked("pending: no block holds it yet, and no time is proved")
        header = Header.parse(record.header)
        transaction = Transaction.parse(
            included(header.transactions_root, record.place, record.nodes)
        )
    except FormatError as error:
        return unchecked(str(error))
    except IntegrityError as error:
        return refused(str(error))
    where = f"block {header.number} of chain {record.chain}"
    if transaction.chain != record.chain:
        return refused(f"the transaction is of chain {transaction.chain}, not {record.chain}")
    if transaction.data[:32] != subject.sha256:
        return refused(f"the transaction in {where} holds the digest of another file")
    known = trust.blocks.get((record.chain, header.number))
    if known is None:
        return unchecked(f"the hash of {where} was not supplied")
    if record.chain in DEVELOPMENT_CHAINS and not trust.development:
        return refused(f"chain {record.chain} is one of development: anyone makes its blocks")
    if known != header.hash:
        return refused(f"{where} has another hash by the reader's own list")
    if instant_key(header.instant) > instant_key(as_of):
        return unchecked(f"{where} is dated {header.instant}, after {as_of}")
    return Verdict(
        CHECKS,
        f"{where} holds it; header time {header.instant}",
        instant_text(instant_key(header.instant) + trust.margin),
        level=PUBLIC_RECORD,
        excludes_not=_GAPS,
        notes=_root_note(transaction.data),
    )


def _root_note(data: bytes) -> tuple[str, ...]:
    if len(data) != 64:
        return ()
    return (f"the transaction also names {data[32:].hex()}, the tree's root as its sender says",)
