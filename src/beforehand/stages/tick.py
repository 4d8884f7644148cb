"""One tick of a league: whatever its book says is due now, done once, then nothing.

Safe to call every minute, from several places: the book's lock lets one in.
Killed anywhere and called again, it goes on from what is in the book.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from beforehand.clock import instant_key, instant_text
from beforehand.errors import BeforehandError, RuleError
from beforehand.forecasters.forecaster import Forecaster
from beforehand.records.forecast import Answer
from beforehand.records.lineup import Lineup
from beforehand.sources.market import MarketSource
from beforehand.stages.asking import MOST_BEHIND_SECONDS, Asked, Asking, seconds_behind
from beforehand.stages.closing import close_run, seal_missed
from beforehand.stages.opening import open_slot, refresh_prices
from beforehand.stages.pen import Pen
from beforehand.stages.seating import lineup_for, lineup_of
from beforehand.stages.settling import Settled, settle
from beforehand.stages.situation import OpenRun, Situation
from beforehand.stages.slots import Slot, later, next_slot, slot_at, slots_between

Progress = Callable[[str, int, int], None]
SETTLED_NAME = "state/settled"
# As much as a run line says of why it does not count.
MOST_WHY = 400


@dataclass
class World:
    """What a league reaches outside its book. `seat` makes the forecasters of a lineup.

    `told` gathers what an operator should hear of them. `stamp` signs the book
    as it stands and hands it to the anchors, and says what failed: it is called
    where answers are not signed yet and another run is about to begin, because
    each run has a stamp of its own. `stamp_answer` is called after every answer
    line, where each is stamped by itself.
    """

    source: MarketSource
    seat: Callable[[Lineup], Mapping[str, Forecaster]]
    backoff: float = 1.0
    progress: Progress | None = None
    inbox: Callable[[Pen], int] | None = None
    beacon: Callable[[], dict[str, Any]] | None = None
    stamp: Callable[[Pen], list[str]] | None = None
    stamp_answer: Callable[[], None] | None = None
    timeouts: Mapping[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


@dataclass
class Ticked:
    """What one tick did. `problems` are what an operator should look at.

    `unready` says what kept it from asking at all, such as a key that is not set.
    """

    opened: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    closed: dict[str, str] = field(default_factory=dict)
    accepted: int = 0
    calls: int = 0
    settled: Settled | None = None
    problems: list[str] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)
    fruitless: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a run in which something was asked ended without one valid answer."""
        return bool(self.fruitless)


async def tick(
    pen: Pen, situation: Situation, world: World, folder: Path, extra: str | None = None
) -> Ticked:
    """Do what is due now, in the order that protects what was promised.

    Submissions first, then runs that were begun, then slots that were missed
    or are due, then settling. `extra` says why a run is made now that is on no
    schedule and does not count; RuleError where the declared rule allows none.
    """
    done = Ticked()
    situation.catch_up(pen.records())
    asked_for = None if extra is None else extra_slot(situation, pen.now()[0], extra)
    if world.inbox is not None:
        done.accepted = world.inbox(pen)
        situation.catch_up(pen.records())
    behind = seconds_behind(pen)
    if behind > MOST_BEHIND_SECONDS:
        done.problems.append(
            f"the clock stands {behind:.0f} s behind the book's last line: nothing is asked "
            "until it has caught up; set the machine's time"
        )
    else:
        for run in situation.open_runs():
            await _carry_on(pen, situation, world, run, done)
        await _slots(pen, situation, world, folder, done)
        if asked_for is not None:
            await _begin(pen, situation, world, folder, asked_for, done)
    await _settle_if_due(pen, situation, world, folder, done)
    done.problems += dict.fromkeys(world.told)
    return done


async def _carry_on(
    pen: Pen, situation: Situation, world: World, run: OpenRun, done: Ticked
) -> None:
    """Go on with a run: ask what is due before its deadline, and close it when nothing is."""
    try:
        models = world.seat(lineup_of(pen, run))
    except RuleError as error:
        done.unready.append(f"run {run.run.run} waits: {error}")
        return
    await refresh_prices(pen, situation, run, world.source)
    inbox = world.inbox
    asking = Asking(
        pen,
        situation,
        run,
        models,
        timeouts=world.timeouts,
        backoff=world.backoff,
        progress=world.progress,
        between=None if inbox is None else lambda: inbox(pen),
        renew=lambda: refresh_prices(pen, situation, run, world.source),
        stamp=world.stamp_answer,
    )
    asked = await asking.ask_all()
    done.calls += asked.calls
    if asked.paused:
        done.problems.append(f"run {run.run.run} waits: the clock went back while it was asking")
        return
    await _close(pen, situation, world, run, asked, done)


async def _close(
    pen: Pen, situation: Situation, world: World, run: OpenRun, asked: Asked, done: Ticked
) -> None:
    await close_run(pen, situation, run, world.source, asked)
    closed = situation.closes[run.run.run]
    done.closed[run.run.run] = closed.status
    attempts = [attempt for held in run.attempts.values() for attempt in held]
    if attempts and not any(attempt.valid for attempt in attempts):
        done.fruitless.append(run.run.run)
    if closed.status != "complete":
        done.problems.append(f"run {run.run.run} ended as {closed.status}: {closed.why}")


async def _slots(pen: Pen, situation: Situation, world: World, folder: Path, done: Ticked) -> None:
    """Seal what was missed; open what is due and still in its grace."""
    now = pen.now()[0]
    due = due_slots(situation, now)
    missed = [slot for slot in due if instant_key(slot.start_by) < instant_key(now)]
    if missed:  # sealed first: what is asked next may be interrupted
        why = "no tick within the slot's grace could begin it"
        seal_missed(pen, situation, missed, why)
        done.missed += [slot.run for slot in missed]
        done.problems += [f"slot {slot.at} was missed: {why}" for slot in missed]
    for slot in due:
        if slot not in missed:
            await _begin(pen, situation, world, folder, slot, done)


async def _begin(
    pen: Pen, situation: Situation, world: World, folder: Path, slot: Slot, done: Ticked
) -> None:
    """Open a slot and ask; nothing is begun that could not be asked: within its grace it waits."""
    try:
        world.seat(lineup_for(pen, situation, slot, folder))
        if world.stamp is not None and (world.stamp_answer or _unsigned_answers(pen)):
            done.problems += world.stamp(pen)
        beacon = await _beacon(world, done)
        run = await open_slot(pen, situation, world.source, slot, folder, beacon, done.problems)
    except RuleError as error:
        done.unready.append(f"slot {slot.at} waits: {error}")
        return
    except BeforehandError as error:
        done.problems.append(f"slot {slot.at} could not be opened yet: {error}")
        return
    if run is not None:
        done.opened.append(slot.run)
        await _carry_on(pen, situation, world, run, done)


def _unsigned_answers(pen: Pen) -> bool:
    """Whether answers were sealed behind the last checkpoint."""
    sizes = pen.store.checkpoint_sizes()
    signed = sizes[-1] if sizes else 0
    return any(isinstance(record, Answer) for _, record in pen.records()[signed:])


async def _beacon(world: World, done: Ticked) -> dict[str, Any] | None:
    """A fresh public value for the run line; without one the run goes on, and lacks the bound."""
    if world.beacon is None:
        return None
    try:
        return await asyncio.to_thread(world.beacon)
    except BeforehandError as error:
        done.problems.append(f"no beacon for the run line: {error}")
        return None


def due_slots(situation: Situation, now: str) -> list[Slot]:
    """The slots up to now that have neither begun nor been sealed as missed."""
    schedule: Mapping[str, Any] = situation.declaration.content["schedule"]
    handled = [run.run.slot for run in situation.runs.values()]
    handled += [close.slot for close in situation.closes.values()]
    since = situation.segment_at
    if handled:
        # One that could not be opened yet is no older than its grace.
        last = max(handled, key=instant_key)
        since = max(since, later(last, minutes=-schedule["grace_minutes"] - 1), key=instant_key)
    return [slot for slot in slots_between(schedule, since, now) if not situation.handled(slot.run)]


def extra_slot(situation: Situation, now: str, why: str) -> Slot:
    """A slot of this minute that does not count; RuleError where the rules have no place for it."""
    content: Mapping[str, Any] = situation.declaration.content
    rule, schedule = content["counted_run"]["rule"], content["schedule"]
    if rule != "scheduled_run":
        raise RuleError(
            f'counted_run.rule = "{rule}" would count an extra run; only a league declared with '
            '"scheduled_run" can make one that does not count'
        )
    if not 0 < len(why) <= MOST_WHY:
        raise RuleError(f"say why the run is made, in 1 to {MOST_WHY} characters")
    moment = instant_key(now).replace(second=0, microsecond=0)
    at = instant_text(moment)
    slot = slot_at(schedule, at, counted=False, why=why)
    if slots_between(schedule, instant_text(moment - timedelta(seconds=1)), at):
        raise RuleError(f"{at} is a slot of the schedule: `beforehand tick` makes that run")
    if situation.handled(slot.run):
        raise RuleError(f"there is a run of {at} already; wait for the next minute")
    return slot


async def _settle_if_due(
    pen: Pen, situation: Situation, world: World, folder: Path, done: Ticked
) -> None:
    """A settling pass every few hours. When the last one was is no fact, so no line holds it."""
    now = pen.now()[0]
    mark = folder / SETTLED_NAME
    last = _read_mark(mark)
    if instant_key(next_settling(situation, last)) > instant_key(now):
        return
    done.settled = await settle(pen, situation, world.source, now, last)
    done.problems += [
        f"market {market} could not be looked up: {why}"
        for market, why in done.settled.failed.items()
    ]
    done.problems += [f"market {market}: {why}" for market, why in done.settled.doubts.items()]
    mark.parent.mkdir(parents=True, exist_ok=True)
    fresh = mark.with_name(mark.name + ".new")
    fresh.write_text(now + "\n", encoding="ascii")
    fresh.replace(mark)


def next_settling(situation: Situation, last: str | None) -> str:
    """When the next settling pass is due, after the one at `last`."""
    hours = situation.declaration.content["resolution"]["every_hours"]
    return situation.segment_at if last is None else later(last, hours=hours)


def settling_due(situation: Situation, folder: Path) -> str:
    """When the league in `folder` next looks its open markets up; the past where it is due."""
    return next_settling(situation, _read_mark(folder / SETTLED_NAME))


def _read_mark(path: Path) -> str | None:
    """The time of the last pass; a mark that is not one is no mark, and costs one more pass."""
    try:
        text = path.read_text(encoding="ascii").strip()
        instant_key(text)
    except (OSError, ValueError, BeforehandError):
        return None
    return text


def next_due(situation: Situation, now: str, folder: Path) -> str | None:
    """The next instant at which a tick has something to do, not before now; None where never."""
    schedule: Mapping[str, Any] = situation.declaration.content["schedule"]
    times = [settling_due(situation, folder)]
    following = next_slot(schedule, now)
    if following is not None:
        times.append(following)
    # Answers are public from the deadline on, so something is to be published then.
    deadlines = [later(run.roster.deadline, seconds=1) for run in situation.runs.values()]
    times += [each for each in deadlines if instant_key(each) > instant_key(now)]
    if situation.open_runs() or due_slots(situation, now):
        times.append(now)
    return max(min(times, key=instant_key), now, key=instant_key)
