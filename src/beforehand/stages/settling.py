"""Settling: what the venue says of every market that was asked, sealed when it is final.

A market that the venue closed, proposed or disputes stays open. A final word
is asked for again for some days; where it changes, a correction is appended
and the earlier word stays in the book.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from beforehand.clock import instant_key
from beforehand.errors import BeforehandError
from beforehand.records.codec import digest
from beforehand.records.record import BodyRef, Record
from beforehand.records.resolution import Correction, Resolution
from beforehand.sources.market import MarketSource, Settlement
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.slots import later

AT_ONCE = 8


@dataclass
class Settled:
    """One pass: how many markets were looked up, what came of them, and what failed.

    `doubts` is what the venue's word left unclear, by market, whatever came of it.
    """

    looked_up: int = 0
    resolved: int = 0
    corrected: int = 0
    open: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)


def due_markets(situation: Situation, now: str, last: str | None = None) -> list[str]:
    """The venue ids to look up, the longest waiting first.

    A market without an outcome is looked up in every pass: its end date is a
    hint, and it may settle sooner. One that is final (for `recheck_days` after
    that was sealed) and one that is stale (`stale_days` past its end, for
    ever) only in the first pass of a UTC day; `last` is when the last pass was.
    """
    rules = situation.declaration.content["resolution"]
    moment = instant_key(now)
    daily = last is None or last[:10] != now[:10]
    due: dict[str, str] = {}
    for name, question in situation.questions.items():
        market, ends = question.contract.get("market"), question.contract.get("closes")
        if market is None or ends is None:
            continue
        held = situation.outcomes.get(name)
        if held is not None:
            recheck = instant_key(later(held.sealed_at, days=rules["recheck_days"])) >= moment
            wanted = daily and recheck
        else:
            stale = instant_key(later(ends, days=rules["stale_days"])) <= moment
            wanted = daily or not stale
        if wanted:
            due[market] = min(due.get(market, ends), ends)
    return sorted(due, key=lambda market: (instant_key(due[market]), market))


async def settle(
    pen: Pen, situation: Situation, source: MarketSource, now: str, last: str | None = None
) -> Settled:
    """Look every due market up and seal what is final; one that fails does not stop the rest."""
    report = Settled()
    markets = due_markets(situation, now, last)
    for start in range(0, len(markets), AT_ONCE):
        some = markets[start : start + AT_ONCE]
        found = await asyncio.gather(*(_look_up(source, market) for market in some))
        settlements: dict[str, Settlement] = {}
        for market, settlement in zip(some, found, strict=True):
            report.looked_up += 1
            if isinstance(settlement, str):
                report.failed[market] = settlement
                continue
            if settlement.problems:
                report.doubts[market] = "; ".join(settlement.problems)
            if settlement.state != "final" or settlement.outcome is None:
                report.open[market] = f"{settlement.state}: {settlement.why}"
            else:
                settlements[market] = settlement
        _seal(pen, situation, source.name, settlements, report)
    return report


async def _look_up(source: MarketSource, market: str) -> Settlement | str:
    try:
        return await source.settlement(market)
    except BeforehandError as error:
        return str(error)
    except Exception as error:  # one market that breaks the reader does not stop the rest
        return f"{type(error).__name__}: {error}"[:200]


def _seal(
    pen: Pen,
    situation: Situation,
    venue: str,
    settlements: Mapping[str, Settlement],
    report: Settled,
) -> None:
    """One batch: a resolution for every question without one, a correction where it changed."""
    fresh: list[tuple[str, Settlement]] = []
    changed: list[tuple[str, Settlement]] = []
    for name, question in situation.questions.items():
        settlement = settlements.get(question.contract.get("market", ""))
        if settlement is None or question.source != venue:
            continue
        held = situation.outcomes.get(name)
        if held is None:
            fresh.append((name, settlement))
        elif held.outcome != settlement.outcome:
            changed.append((name, settlement))
    if not fresh and not changed:
        return
    final = situation.declaration.final

    def build(at: str) -> list[Record]:
        return [_resolution(at, venue, final, *each) for each in fresh] + [
            _correction(at, venue, situation, *each) for each in changed
        ]

    pen.write(build, list(_evidence(each for _, each in (*fresh, *changed))))
    situation.catch_up(pen.records())
    report.resolved += len(fresh)
    report.corrected += len(changed)


def _resolution(
    at: str, venue: str, final: str, question: str, settlement: Settlement
) -> Resolution:
    return Resolution(
        at=at,
        bodies=_refs(settlement, at),
        question=question,
        outcome=str(settlement.outcome),
        instant=_instant(settlement, at),
        source=f"{venue}:{settlement.market}",
        final=f"{final} ({settlement.why})"[:200],
    )


def _correction(
    at: str, venue: str, situation: Situation, question: str, settlement: Settlement
) -> Correction:
    held = situation.outcomes[question]
    return Correction(
        at=at,
        bodies=_refs(settlement, at),
        lines=(held.line,),
        what=f"outcome {held.outcome} becomes {settlement.outcome}",
        source=f"{venue}:{settlement.market}",
        reason=f"the venue changed its final word: {settlement.why}"[:2000],
        outcome=settlement.outcome,
    )


def _instant(settlement: Settlement, at: str) -> str:
    """When the venue settled; never later than the line that says so."""
    given = settlement.instant
    return given if given is not None and instant_key(given) <= instant_key(at) else at


def _refs(settlement: Settlement, at: str) -> tuple[BodyRef, ...]:
    named = dict.fromkeys(digest(each.data) for each in settlement.evidence)
    return tuple(BodyRef("evidence", sha256, at) for sha256 in named)


def _evidence(settlements: Iterable[Settlement]) -> Sequence[bytes]:
    return list(dict.fromkeys(each.data for held in settlements for each in held.evidence))
