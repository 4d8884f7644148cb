"""Opening a slot: what the venue lists, what is chosen and why not the rest, sealed in one batch.

Nothing is in the book before the whole batch is, so that a slot has begun or
has not: questions, snapshot, roster and run stand together or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from beforehand.clock import Clock, instant_key
from beforehand.errors import BeforehandError, RemoteError
from beforehand.forecasters.leaks import VENUE_NAME
from beforehand.forecasters.prompt import price_in_text
from beforehand.records.codec import digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.lineup import Lineup
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef, Record
from beforehand.records.run import Roster, Run
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.sources.market import Depth, Listing, Market, MarketSource
from beforehand.sources.selection import Rules, select
from beforehand.sources.selection_pool import pool_bytes
from beforehand.stages.contracts import unstated
from beforehand.stages.identity import (
    identity_bodies,
    identity_refs,
)
from beforehand.stages.pen import Pen, open_body
from beforehand.stages.seating import lineup_body, lineup_for
from beforehand.stages.situation import OpenRun, Situation
from beforehand.stages.slots import Slot, later

AT_ONCE = 8
# A listing with pages missing is read again for this share of the grace; the rest is for asking.
WAIT_SHARE = 4
MOST_SAID = 5


@dataclass(frozen=True)
class Observed:
    """What a slot asks: markets with their depth, in order, and the pool they were chosen from.

    `told` is what the listing says of its own faults; `complete` whether all of it was read.
    """

    markets: tuple[tuple[Market, Depth], ...]
    pool: bytes
    raws: tuple[bytes, ...]
    told: tuple[str, ...] = ()
    complete: bool = True


async def open_slot(
    pen: Pen,
    situation: Situation,
    source: MarketSource,
    slot: Slot,
    folder: Path,
    beacon: Mapping[str, Any] | None = None,
    problems: list[str] | None = None,
) -> OpenRun | None:
    """Choose, then seal questions, snapshot, roster and run in one batch; None where begun before.

    RemoteError where the venue cannot be read, or for a while only in part:
    nothing is sealed then, and a later tick within the slot's grace tries
    again. `beacon` stands in the run line, which was therefore made after it.
    `problems` is given what the listing says of its own faults.
    """
    if situation.handled(slot.run):
        return None
    declaration = situation.declaration
    chosen = await observe(source, declaration, pen.clock)
    if problems is not None:
        problems += [f"slot {slot.at}: {said}" for said in chosen.told]
    if not chosen.complete and _may_wait(slot, pen.now()[0]):
        raise RemoteError("the listing is incomplete and is read again", retryable=True)
    lineup = lineup_for(pen, situation, slot, folder)
    _seal_opening(pen, situation, slot, chosen, lineup, beacon)
    return situation.runs[slot.run]


def _may_wait(slot: Slot, now: str) -> bool:
    """Whether the slot is young enough to be opened later.

    Not until the end of its grace: the deadline does not wait, and asking needs its time.
    """
    begun = instant_key(slot.at)
    return instant_key(now) < begun + (instant_key(slot.start_by) - begun) / WAIT_SHARE


def _seal_opening(
    pen: Pen,
    situation: Situation,
    slot: Slot,
    chosen: Observed,
    lineup: Lineup,
    beacon: Mapping[str, Any] | None,
) -> None:
    declaration = situation.declaration
    texts = {market.id: question_text(market) for market, _ in chosen.markets}
    ids = {market.id: _id_of(market, texts[market.id]) for market, _ in chosen.markets}
    fresh = [market for market, _ in chosen.markets if ids[market.id] not in situation.questions]
    roster = lineup_body(lineup)
    hidden = identity_bodies(declaration, slot.run, lineup)
    first = pen.store.size + 1

    def build(at: str) -> list[Record]:
        if instant_key(at) >= instant_key(later(slot.start_by, minutes=1)):
            raise RemoteError("the venue was read only after the slot's grace", retryable=False)
        lines: list[Record] = [
            _question(market, ids[market.id], texts[market.id], at) for market in fresh
        ]
        lines.append(_snapshot(slot, chosen, ids, at))
        lines.append(
            Roster(
                at=at,
                bodies=(
                    open_body("lineup", roster, at),
                    *identity_refs(declaration, hidden, slot.deadline),
                ),
                run=slot.run,
                seats=lineup.seats(),
                deadline=slot.deadline,
                retry=declaration.retry,
                counted_run=declaration.counted_run,
            )
        )
        lines.append(
            Run(
                at=at,
                run=slot.run,
                segment=situation.segment,
                slot=slot.at,
                counted=slot.counted,
                why=slot.why,
                snapshot_line=first + len(fresh),
                roster_line=first + len(fresh) + 1,
                questions=tuple(ids.values()),
                beacon=beacon,
            )
        )
        return lines

    bodies = [texts[market.id] for market in fresh] + [chosen.pool, roster, *chosen.raws]
    bodies += hidden
    pen.write(build, list(dict.fromkeys(bodies)))
    situation.catch_up(pen.records())


# ---- what is asked


async def observe(source: MarketSource, declaration: Declaration, clock: Clock) -> Observed:
    """Read the venue once and choose by the declared rules.

    A market whose text gives its price away is not asked: nobody could be
    blind to it.
    """
    rules = Rules.of(declaration.content["questions"]["select"])
    listing = await source.listing()
    depths: dict[str, Depth | str] = {}
    now = clock.now()
    selection = select(listing, depths, rules, now)
    markets = {market.id: market for market in listing.markets}
    while selection.wanted:
        some = [markets[name] for name in selection.wanted[:AT_ONCE]]
        found = await asyncio.gather(*(_depth(source, market) for market in some))
        depths |= {
            market.id: _fit(market, depth, declaration, now)
            for market, depth in zip(some, found, strict=True)
        }
        selection = select(listing, depths, rules, now)
    chosen = tuple((each.market, each.depth) for each in selection.chosen if each.depth)
    raws = [each.data for each in listing.evidence]
    raws += [each.data for _, depth in chosen for each in depth.evidence]
    return Observed(
        chosen,
        pool_bytes(listing, selection, rules, now),
        tuple(dict.fromkeys(raws)),
        _told(listing),
        listing.complete,
    )


def _told(listing: Listing) -> tuple[str, ...]:
    """What an operator should hear of a listing, bounded; the pool holds all of it."""
    told = [] if listing.complete else ["the venue's listing is incomplete"]
    for word, said in (("problem", listing.problems), ("warning", listing.warnings)):
        told += [f"listing, {word}: {each}" for each in said[:MOST_SAID]]
        if len(said) > MOST_SAID:
            told.append(f"listing: {len(said) - MOST_SAID} more {word}s, in the pool")
    return tuple(told)


def _fit(market: Market, depth: Depth | str, declaration: Declaration, at: str) -> Depth | str:
    """The depth, or why this market is not asked: a price in its text, or no whole contract."""
    text = question_text(market)
    question = _question(market, _id_of(market, text), text, at)
    return unstated(declaration, question) or _blind(market, depth)


def _blind(market: Market, depth: Depth | str) -> Depth | str:
    """The depth, or why the market's text lets nobody be blind to its price."""
    if isinstance(depth, str) or depth.bid is None or depth.ask is None:
        return depth
    text = f"{market.question}\n{market.description}"
    given = set(price_in_text(text, (depth.bid + depth.ask) / 2)) - {VENUE_NAME}
    return f"its text holds {' and '.join(sorted(given))}" if given else depth


async def _depth(source: MarketSource, market: Market) -> Depth | str:
    try:
        return await source.depth(market)
    except BeforehandError as error:
        return str(error)
    except Exception as error:  # one book that breaks the reader does not stop the slot
        return f"{type(error).__name__}: {error}"[:200]


async def refresh_prices(
    pen: Pen, situation: Situation, run: OpenRun, source: MarketSource
) -> None:
    """Read the prices anew that are too old for a first ask, and seal them with the run.

    A run that was interrupted before its first asks would else be scored
    against a price that is older than the league allows.
    """
    old = [name for name in run.questions if _is_old(pen, situation, run, name)]
    if not old:
        return
    markets = [known_market(situation, name, source.name) for name in old]
    found = await asyncio.gather(*(_depth(source, market) for market in markets))
    read = {name: depth for name, depth in zip(old, found, strict=True) if isinstance(depth, Depth)}
    if not read:
        return
    raws = list(dict.fromkeys(each.data for depth in read.values() for each in depth.evidence))
    pen.write(
        lambda at: [
            Snapshot(
                at=at,
                bodies=tuple(BodyRef("snapshot", digest(raw), at) for raw in raws),
                run=run.run.run,
                quotes=tuple(
                    quote_of(name, depth, _volume(run, name)) for name, depth in read.items()
                ),
                moment="start",
            )
        ],
        raws,
    )
    situation.catch_up(pen.records())


def _volume(run: OpenRun, question: str) -> Decimal | None:
    """The volume as it was listed when the run was opened."""
    held = run.quotes[question].volume
    return None if held is None else Decimal(held)


def _is_old(pen: Pen, situation: Situation, run: OpenRun, question: str) -> bool:
    """Whether a question nobody was asked yet has a price older than the league allows."""
    asked = any(name == question for name, _ in run.attempts)
    quote, most = run.quotes.get(question), max_age_minutes(situation.declaration)
    if asked or quote is None or most is None or question in situation.outcomes:
        return False
    age = instant_key(pen.now()[0]) - instant_key(quote.read_at)
    return age.total_seconds() > 60 * most


def max_age_minutes(declaration: Declaration) -> int | None:
    """How old a crowd price may be at the first ask, where the league declares it."""
    for rule in declaration.content.get("derived", ()):
        if rule["rule"] == "crowd" and "max_age_minutes" in rule:
            return int(rule["max_age_minutes"])
    return None


def known_market(situation: Situation, question: str, venue: str) -> Market:
    """The market behind a sealed question: what its contract says, which is all a price needs."""
    contract = situation.questions[question].contract
    return Market(
        venue=venue,
        id=contract["market"],
        event="",
        topic="",
        question=contract["question"],
        description="",
        yes_token=contract["yes_token"],
        closes=contract["closes"],
        accepting=True,
        closed=False,
    )


def question_text(market: Market) -> bytes:
    """The text of a market as it is frozen: what a forecaster may be shown, and no price.

    An edit at the venue makes another text, and so another question; what was
    forecast keeps the text it was asked with.
    """
    text = {
        "question": market.question,
        "description": market.description,
        "closes": market.closes,
        "url": market.url,
    }
    return seal_json(text) + b"\n"


def _id_of(market: Market, text: bytes) -> str:
    return question_id(_contract(market, text))


def _contract(market: Market, text: bytes) -> dict[str, str]:
    return {
        "source": market.venue,
        "market": market.id,
        "yes_token": market.yes_token,
        "question": market.question,
        "text_sha256": digest(text),
        "closes": market.closes,
    }


def _question(market: Market, name: str, text: bytes, at: str) -> Question:
    return Question(
        at=at,
        bodies=(BodyRef("text", digest(text), at),),
        question=name,
        contract=_contract(market, text),
        cluster=f"{market.venue}:{market.event or market.id}",
        horizon=market.closes,
        source=market.venue,
        type="market",
    )


def quote_of(question: str, depth: Depth, volume: Decimal | None = None) -> Quote:
    """The price of YES in a depth reading, as texts; `volume` is what was traded in 24 hours."""
    return Quote(
        question=question,
        read_at=depth.read_at,
        bid=_text(depth.bid),
        ask=_text(depth.ask),
        last=_text(depth.last),
        volume=_text(volume),
    )


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _snapshot(slot: Slot, chosen: Observed, ids: Mapping[str, str], at: str) -> Snapshot:
    refs = [BodyRef("pool", digest(chosen.pool), at)]
    refs += [BodyRef("snapshot", digest(raw), at) for raw in chosen.raws]
    return Snapshot(
        at=at,
        bodies=tuple(refs),
        run=slot.run,
        quotes=tuple(
            quote_of(ids[market.id], depth, market.volume_24h) for market, depth in chosen.markets
        ),
        moment="start",
    )
