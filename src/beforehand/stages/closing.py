"""The end of a run: prices read once more, and one line that says how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from beforehand.records.codec import digest
from beforehand.records.record import BodyRef
from beforehand.records.run import Close
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.sources.market import Depth, MarketSource
from beforehand.stages.asking import Asked
from beforehand.stages.opening import known_market, quote_of
from beforehand.stages.pen import Pen
from beforehand.stages.situation import OpenRun, Situation
from beforehand.stages.slots import Slot
from beforehand.stages.status import counted

WHY = 400


def ending(run: OpenRun, asked: Asked) -> tuple[str, str]:
    """How a run ended and why, from what was asked in it.

    `failed` where something was asked and not one answer is valid: a run that
    cost money and brought nothing is never shown as done.
    """
    attempts = [attempt for held in run.attempts.values() for attempt in held]
    valid = sum(attempt.valid for attempt in attempts)
    words = f"{len(run.attempts)} asked, {valid} valid"
    if asked.skipped:
        words += f"; {counted(len(asked.skipped), 'question')} skipped: " + "; ".join(
            sorted(set(asked.skipped.values()))
        )
    if asked.stopped or asked.short:
        return "stopped_budget", f"{asked.stopped or asked.short}; {words}"
    if attempts and not valid:
        return "failed", words
    return "complete", words


async def close_run(
    pen: Pen, situation: Situation, run: OpenRun, source: MarketSource, asked: Asked
) -> None:
    """Seal the prices at the end, as far as they can be read, and the close line; done once."""
    status, why = ending(run, asked)
    name, slot = run.run.run, run.run.slot
    quotes, raws = await _end_quotes(situation, run, source)

    def build(at: str) -> list[Snapshot | Close]:
        lines: list[Snapshot | Close] = []
        if quotes and run.ended is None:
            refs = tuple(BodyRef("snapshot", digest(raw), at) for raw in raws)
            lines.append(Snapshot(at=at, bodies=refs, run=name, quotes=quotes, moment="end"))
        lines.append(Close(at=at, run=name, slot=slot, status=status, why=why[:WHY]))
        return lines

    pen.write(build, raws if quotes and run.ended is None else [])
    situation.catch_up(pen.records())


def seal_missed(pen: Pen, situation: Situation, slots: list[Slot], why: str) -> None:
    """Seal slots that were never begun in time; they are not made up for later."""
    if not slots:
        return
    pen.write(
        lambda at: [
            Close(at=at, run=slot.run, slot=slot.at, status="missed", why=why[:WHY])
            for slot in slots
        ]
    )
    situation.catch_up(pen.records())


async def _end_quotes(
    situation: Situation, run: OpenRun, source: MarketSource
) -> tuple[tuple[Quote, ...], list[bytes]]:
    """The prices now of what was asked; a market that cannot be read has none."""
    asked = list(dict.fromkeys(question for question, _ in run.attempts))
    found = await asyncio.gather(*(_read(situation, source, name) for name in asked))
    read: Mapping[str, Depth] = {
        name: depth for name, depth in zip(asked, found, strict=True) if depth is not None
    }
    quotes = tuple(quote_of(name, depth) for name, depth in read.items())
    raws = list(dict.fromkeys(each.data for depth in read.values() for each in depth.evidence))
    return quotes, raws


async def _read(situation: Situation, source: MarketSource, question: str) -> Depth | None:
    try:
        return await source.depth(known_market(situation, question, source.name))
    except Exception:  # a price at the end is worth a note, never the run
        return None
