"""What an `.ots` file proves, by headers that a reader supplies. Opens no connection."""

from __future__ import annotations

from datetime import timedelta

from beforehand.anchors.anchor import (
    CHECKS,
    PUBLIC_RECORD,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.bitcoin import Header, blocks_above, median_time_past
from beforehand.anchors.ots_file import (
    BROKEN_STEP,
    SHORT_STEP,
    Attestation,
    attestations,
    is_binding,
    parse_proof,
    proof_digest,
)
from beforehand.anchors.trust import BitcoinTrust
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, IntegrityError

_GAPS = (
    "another digest stamped beside this one",
    "a header off the main chain: the reader who supplies it answers for that",
)
_SHORT_GAP = "a second file under the same RIPEMD-160, made with it at about 2^80 steps"


def needed_heights(data: bytes) -> list[int]:
    """The blocks whose headers a check of this `.ots` file needs."""
    leaves = attestations(parse_proof(data))
    return sorted({leaf.height for leaf in leaves if leaf.height is not None})


def check_ots(
    data: bytes, subject: Subject, trust: BitcoinTrust, as_of: str, *, complete: bool = False
) -> Verdict:
    """What an `.ots` file proves of the subject. `complete` is what was said of it.

    The earliest valid block counts. Sources: python-opentimestamps (the path),
    `bitcoin.Header` (the work), sealed standard 3.11 (the margin).
    """
    try:
        proof = parse_proof(data)
    except FormatError as error:
        return unchecked(str(error))
    algorithm, stamped = proof_digest(proof)
    if not is_binding(algorithm):
        return unchecked(f"the proof names its file by {algorithm}, which names no single file")
    known = subject.digests.get(algorithm)
    if known is None:
        return unchecked(f"the proof names its file by {algorithm}, which is not known of it here")
    if known != stamped:
        return refused("the proof is for another file")
    return _judge(attestations(proof), trust, as_of, complete)


def _judge(leaves: list[Attestation], trust: BitcoinTrust, as_of: str, complete: bool) -> Verdict:
    blocks = [leaf for leaf in leaves if leaf.kind == "bitcoin"]
    rest = tuple(leaf.words for leaf in leaves if leaf.kind != "bitcoin")
    if not blocks:
        words = "pending: no block attests it, and no time is proved"
        return (
            refused(f"said to be complete, but {words}", *rest)
            if complete
            else unchecked(words, *rest)
        )
    verdicts = [_check_block(leaf, trust, as_of) for leaf in blocks]
    good = [verdict for verdict in verdicts if verdict.result == CHECKS]
    if good:
        best = min(good, key=lambda verdict: instant_key(verdict.not_after or as_of))
        others = tuple(verdict.words for verdict in verdicts if verdict.result != CHECKS)
        return Verdict(
            CHECKS,
            best.words,
            best.not_after,
            None,
            PUBLIC_RECORD,
            best.excludes_not,
            best.notes + others + rest,
        )
    # A block that does not match outweighs one that was not supplied.
    first = max(verdicts, key=lambda verdict: verdict.exit_code == 1)
    return Verdict(first.result, first.words, notes=rest)


def _check_block(leaf: Attestation, trust: BitcoinTrust, as_of: str) -> Verdict:
    height = leaf.height or 0
    if BROKEN_STEP in leaf.steps:
        return unchecked(f"the path to block {height} goes through a digest with collisions")
    if height not in trust.headers:
        return unchecked(f"the header of Bitcoin block {height} was not supplied")
    try:
        header = Header.parse(trust.headers[height])
        header.check_work()
        difficulty = header.difficulty
    except (FormatError, IntegrityError) as error:
        return refused(f"block {height}: {error}")
    if difficulty < trust.least_difficulty:
        return refused(
            f"block {height}: difficulty {difficulty} is below {trust.least_difficulty}, "
            "the least that the reader takes for the main chain's"
        )
    if leaf.message != header.merkle_root:
        return refused(f"the path does not lead to the Merkle root of block {height}")
    if instant_key(header.instant) > instant_key(as_of):
        return unchecked(f"block {height} is dated {header.instant}, after {as_of}")
    short = (_SHORT_GAP,) if SHORT_STEP in leaf.steps else ()
    return Verdict(
        CHECKS,
        f"Bitcoin block {height} holds it; header time {header.instant}",
        instant_text(instant_key(header.instant) + trust.margin),
        excludes_not=_GAPS + short,
        notes=_block_notes(trust, height),
    )


def _block_notes(trust: BitcoinTrust, height: int) -> tuple[str, ...]:
    margin = trust.margin // timedelta(minutes=1)
    notes = [f"margin {margin} minutes after the header's time, which its miner set"]
    above = blocks_above(trust.headers, height)
    if above:
        notes.append(f"{above} supplied headers are chained on top of block {height}")
    median = median_time_past(trust.headers, height)
    if median is not None:
        notes.append(f"median time of the 11 blocks before: {median}")
    return tuple(notes)
