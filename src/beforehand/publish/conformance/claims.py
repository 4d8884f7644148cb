"""The ladder of claims (the seed's Table B1): what each level supports, and leaves open.

A rung stands on those below it. Each is computed from evidence in public files,
and what they do not show is not reached; the reason says what was counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.replication import LEFT_OPEN as UNREPLICATED
from beforehand.publish.conformance.replication import lacks_replication
from beforehand.publish.conformance.result import ANCHORED, NOT_APPLICABLE, PASS, Check
from beforehand.publish.conformance.second_source import LEFT_OPEN as UNRECONCILED
from beforehand.publish.conformance.second_source import lacks_second_source


@dataclass(frozen=True)
class Rung:
    """A level of checking: what it supports and what it leaves open."""

    title: str
    supports: str
    open: str
    needs: tuple[int, ...]
    lacking: Callable[[Exhibit], str] = lambda exhibit: ""
    timed: bool = False  # whether what it supports is about a time that was proved


def _lacks_primary(exhibit: Exhibit) -> str:
    if exhibit.declaration("primary"):
        return ""
    return "no primary comparison is declared before its window"


RUNGS = (
    Rung("published rules", "what would count as a right forecast was said in advance",
         "whether the rules were kept", (1, 6)),
    Rung("recomputed files", "the published scores follow from the published record",
         "when the record was made", (2, 5, 7, 8, 11)),
    Rung("verified external commitment", "the record existed by a time that others vouch for",
         "whether the outcomes are right", (3,), timed=True),
    Rung("outcomes reconciled with an independent price source",
         "the outcomes are what another source says too",
         f"whether the skill is more than luck; {UNRECONCILED}",
         (4,), lacks_second_source),
    Rung("prospective paired evaluation frozen before its window",
         "a difference between forecasters that was asked about in advance",
         "whether another pipeline finds the same", (9, 10, 15), _lacks_primary),
    Rung("replication by a second pipeline", "the finding does not hang on one operator",
         UNREPLICATED, (), lacks_replication),
)  # fmt: skip


def claims_of(exhibit: Exhibit, checks: list[Check]) -> dict[str, Any]:
    """Every rung with why it is or is not reached, and the highest that stands on all below."""
    status = {check.id: check.status for check in checks}
    proved = {check.id for check in checks if check.since and check.since_by == ANCHORED}
    told, reached, broken = [], 0, False
    for number, rung in enumerate(RUNGS, 1):
        lacking = _lacking(rung, status, exhibit)
        if rung.timed and not lacking and not proved.issuperset(rung.needs):
            lacking = "what others hold is of no time that was checked"
        broken = broken or bool(lacking)
        reached = reached if broken else number
        told.append(
            {
                "rung": number,
                "title": rung.title,
                "supports": rung.supports,
                "leaves_open": rung.open,
                "reached": not broken,
                "why": lacking or ("" if not broken else "a rung below is not reached"),
            }
        )
    return {"reached": reached, "rungs": told}


def _lacking(rung: Rung, status: dict[int, str], exhibit: Exhibit) -> str:
    unmet = [number for number in rung.needs if status.get(number) != PASS]
    if unmet:
        named = ", ".join(f"{number} {status.get(number, NOT_APPLICABLE)}" for number in unmet)
        return f"requirements not met here: {named}"
    return rung.lacking(exhibit)
