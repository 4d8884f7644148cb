"""What every anchor must hold to, for those who write one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from beforehand.anchors.anchor import CHECKS, COMPLETE, PENDING, Anchor
from beforehand.anchors.trust import Trust

LONG_AGO = "1971-01-01T00:00:00Z"


def check_anchor(
    anchor: Anchor,
    trust: Trust,
    as_of: str,
    *,
    ripen: Callable[[], object] = lambda: None,
    needs_trust: bool = True,
    note: bytes = b"a note\n",
) -> None:
    """AssertionError, saying which rule, unless the anchor keeps the contract.

    `ripen` lets the far side complete what it promised (a block is mined).
    `needs_trust` is False for an anchor whose evidence is a claim to begin with.
    """
    digest = hashlib.sha256(note).digest()
    other = hashlib.sha256(note + b"x").digest()
    first = anchor.submit(note)
    _rule(first.anchor == anchor.name, "evidence bears the anchor's name")
    if first.state == PENDING:
        verdict = anchor.check(first, digest, trust, as_of)
        _rule(verdict.result != CHECKS, "pending evidence never checks")
        _rule(verdict.not_after is None, "pending evidence proves no time")
        ripen()
    evidence = anchor.upgrade(first)
    _rule(evidence.state == COMPLETE, "evidence is completed once the far side can")
    _rule(anchor.upgrade(evidence) == evidence, "complete evidence stays as it is")
    verdict = anchor.check(evidence, digest, trust, as_of)
    _rule(verdict.result == CHECKS, f"complete evidence checks ({verdict.text()})")
    _rule(bool(verdict.excludes_not), "a verdict says what it does not exclude")
    still = replace(evidence, state=PENDING)
    _rule(
        anchor.check(still, digest, trust, as_of).result != CHECKS,
        "what is said to be pending never checks",
    )
    _rule(
        anchor.check(evidence, other, trust, as_of).result != CHECKS,
        "evidence is for one note",
    )
    _rule(
        anchor.check(replace(evidence, data=b""), digest, trust, as_of).exit_code == 2,
        "evidence that cannot be read could not be checked",
    )
    if verdict.not_after is not None or verdict.claimed is not None:
        _rule(
            anchor.check(evidence, digest, trust, LONG_AGO).result != CHECKS,
            "evidence does not speak of a time before it was made",
        )
    if needs_trust:
        _rule(
            anchor.check(evidence, digest, Trust(), as_of).exit_code == 2,
            "where nobody is trusted nothing is checked",
        )


def _rule(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(f"the contract of an anchor: {words}")
