"""Several independent authorities as one statement: by then, at least so many had signed."""

from __future__ import annotations

from collections.abc import Mapping

from beforehand.anchors.anchor import (
    CHECKS,
    REFUSED,
    SIGNED_TIME,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.token_check import check_tsr
from beforehand.anchors.trust import Authority
from beforehand.clock import instant_key
from beforehand.errors import RuleError


def check_quorum(
    tokens: Mapping[str, bytes],
    subject: Subject,
    authorities: tuple[Authority, ...],
    as_of: str,
    *,
    need: int = 2,
) -> Verdict:
    """What tokens of named authorities prove together (the default policy is two).

    Each token counts only for the authority it is kept under, and an authority
    counts once. The time is the `need`-th earliest: that many had signed by then.
    """
    if need < 1:
        raise RuleError("a quorum needs at least one authority")
    by_name = {authority.name: authority for authority in _independent(authorities)}
    verdicts = {
        name: check_tsr(data, subject, (by_name[name],), as_of)
        for name, data in tokens.items()
        if name in by_name
    }
    strangers = tuple(
        f"{name} is not a trusted authority" for name in tokens if name not in by_name
    )
    notes = tuple(f"{name}: {v.result}: {v.words}" for name, v in verdicts.items()) + strangers
    good = [v for v in verdicts.values() if v.result == CHECKS]
    if len(good) >= need:
        times = sorted((v.not_after for v in good if v.not_after is not None), key=instant_key)
        return Verdict(
            CHECKS,
            f"{len(good)} authorities signed it, {need} are asked for",
            times[need - 1],
            level=SIGNED_TIME,
            excludes_not=(
                "another digest stamped beside this one",
                f"{need} authorities that lie together",
            ),
            notes=notes,
        )
    words = f"{len(good)} authorities signed it, {need} are asked for"
    if any(v.result == REFUSED for v in verdicts.values()):
        return refused(words, *notes)
    return unchecked(words, *notes)


def _independent(authorities: tuple[Authority, ...]) -> tuple[Authority, ...]:
    """The authorities; RuleError where two share a name or a root, and so would count twice."""
    names = [authority.name for authority in authorities]
    roots = [root for authority in authorities for root in set(authority.roots)]
    if len(set(names)) != len(names) or len(set(roots)) != len(roots):
        raise RuleError("two authorities of a quorum share a name or a root")
    return authorities
