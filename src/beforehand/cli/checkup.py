"""What `beforehand doctor` looks at: everything that keeps a live league from running well.

A finding is good, a warning, bad or not checked; what was not looked at is never good.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Coroutine
from typing import Any

from beforehand.book.store import write_synced
from beforehand.cli.anchor_checkup import examine_anchors
from beforehand.cli.finding import BAD, GOOD, UNCHECKED, Finding
from beforehand.cli.league_folder import EXAMPLE_DOMAIN, LeagueFolder
from beforehand.cli.trials import note_trial
from beforehand.cli.world import forecasters_of, key_of, venue_of
from beforehand.clock import instant_key
from beforehand.errors import BeforehandError
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import Forecaster
from beforehand.forecasters.probe import probe
from beforehand.records.declaration import Declaration, missing_features
from beforehand.records.lineup import Lineup
from beforehand.relay.alerts import DEADMAN_ENV, WEBHOOK_ENV
from beforehand.sources.selection import Rules, shortlist
from beforehand.stages.seating import ROSTER_FILE
from beforehand.stages.slots import next_slot
from beforehand.stages.status import counted

LEAST_FREE_BYTES = 1 << 30
SLOW_SYNC_MS = 50.0


def examine(league: LeagueFolder, *, offline: bool) -> list[Finding]:
    """Everything in turn; a part that fails is a finding and does not hide the others."""
    declaration = league.declaration()
    lineup = _lineup(league, declaration)
    found = [
        _runnable(declaration),
        *_sealed(league),
        _schedule(league, declaration),
        _clock(league),
        _disk(league),
    ]
    found += _keys(lineup)
    found += [*examine_anchors(league, declaration, offline=offline), _told_to()]
    if offline:
        found.append(Finding("venue", UNCHECKED, "--offline"))
        found.append(Finding("models", UNCHECKED, "--offline"))
        return found
    return found + asyncio.run(_outside(league, declaration, lineup))


def _lineup(league: LeagueFolder, declaration: Declaration) -> Lineup:
    path = league.path / ROSTER_FILE
    if path.is_file():
        return Lineup.parse(path.read_bytes(), str(path))
    return Lineup.of(declaration.content, "the declaration")


def _runnable(declaration: Declaration) -> Finding:
    missing = missing_features(declaration)
    if missing:
        return Finding("declaration", BAD, " ".join(missing))
    if EXAMPLE_DOMAIN in declaration.origin:
        return Finding(
            "declaration", BAD, f"its origin is still the example {declaration.origin}: put yours"
        )
    return Finding("declaration", GOOD, f"{declaration.name}, SHA-256 {declaration.sha256}")


def _sealed(league: LeagueFolder) -> list[Finding]:
    """Whether the declaration in the folder is the one that the book was begun under."""
    if not league.declared:
        return []
    try:
        pen, situation = league.open()
        pen.store.close()
    except BeforehandError as error:
        return [Finding("sealed declaration", UNCHECKED, str(error))]
    edited = league.edited(situation.declaration)
    if edited is not None:
        return [Finding("sealed declaration", BAD, edited)]
    return [Finding("sealed declaration", GOOD, "the folder's is the book's")]


def _schedule(league: LeagueFolder, declaration: Declaration) -> Finding:
    try:
        coming = next_slot(declaration.content["schedule"], league.clock().now())
    except BeforehandError as error:
        return Finding("schedule", BAD, str(error))
    return Finding("schedule", GOOD if coming else BAD, f"the next slot is {coming}")


def _clock(league: LeagueFolder) -> Finding:
    """The clock against the book; how right it is only a clock outside can say."""
    now = league.clock().now()
    if league.declared:
        try:
            pen, _ = league.open()
        except BeforehandError as error:
            return Finding("clock", UNCHECKED, str(error))
        with pen:
            last = pen.store.last_at
        if last and instant_key(now) < instant_key(last):
            return Finding("clock", BAD, f"it says {now}, and the book's last line is of {last}")
    zone = "" if time.timezone == 0 else " (the machine's zone is not UTC, which is no matter)"
    return Finding("clock", GOOD, f"it says {now}{zone}; keep it by NTP")


def _disk(league: LeagueFolder) -> Finding:
    """Free space, and how long one synced write takes: every answer waits for one."""
    free = shutil.disk_usage(league.path).free
    trial = league.path / "state" / "doctor"
    begun = time.perf_counter()
    write_synced(trial, b"one synced write\n")
    took = (time.perf_counter() - begun) * 1000
    trial.unlink()
    said = f"{free / 1e9:.1f} GB free, one synced write took {took:.1f} ms"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", BAD, f"{said}: make room")
    if took > SLOW_SYNC_MS:
        return Finding("disk", BAD, f"{said}: too slow to seal many answers; use a local disk")
    return Finding("disk", GOOD, said)


def _keys(lineup: Lineup) -> list[Finding]:
    """Whether every key that is named is set; its value is never shown."""
    found = []
    for name in dict.fromkeys(
        model["key_env"] for model in lineup.models if model.get("key_env") is not None
    ):
        state = GOOD if os.environ.get(name) else BAD
        said = f"{name} is set" if state == GOOD else f"{name} is not set: export {name}=…"
        found.append(Finding("key", state, said))
    if not lineup.models:
        found.append(Finding("key", UNCHECKED, "no model is asked"))
    return found


def _told_to() -> Finding:
    told = [name for name in (WEBHOOK_ENV, DEADMAN_ENV) if os.environ.get(name)]
    if not told:
        said = f"nobody is told of a missed slot: set {WEBHOOK_ENV} or {DEADMAN_ENV}"
        return Finding("alerts", UNCHECKED, said)
    return Finding("alerts", GOOD, f"set: {', '.join(told)}")


async def _outside(league: LeagueFolder, declaration: Declaration, lineup: Lineup) -> list[Finding]:
    found = [await _guarded("venue", lambda: _venue(league, declaration))]
    connections = Connections()
    try:
        for model in lineup.models:
            only = Lineup((model,))
            name = f"model {model['forecaster']}"
            try:
                key_of(model)
            except BeforehandError as error:
                found.append(Finding(name, UNCHECKED, str(error)))
                continue
            made = forecasters_of(only, declaration, connections)[model["forecaster"]]
            found.append(await _guarded(name, lambda made=made: _model(league, made)))  # type: ignore[misc]
    finally:
        await connections.close()
    return found


async def _guarded(what: str, look: Callable[[], Coroutine[Any, Any, Finding]]) -> Finding:
    try:
        return await look()
    except BeforehandError as error:
        return Finding(what, BAD, str(error))


async def _venue(league: LeagueFolder, declaration: Declaration) -> Finding:
    """The whole listing, as a slot would read it, and how many markets it leaves."""
    clock = league.clock()
    source = venue_of(league, declaration, clock)
    try:
        listing = await source.listing()
    finally:
        await source.close()
    rules = Rules.of(declaration.content["questions"]["select"])
    left = shortlist(listing, rules, clock.now()).markets
    said = f"{counted(len(listing.markets), 'market')} listed, {len(left)} may be chosen now"
    if listing.problems or not listing.complete:
        return Finding("venue", BAD, f"{said}; {'; '.join(listing.problems)}")
    return Finding("venue", GOOD if len(left) >= rules.markets else BAD, said)


async def _model(league: LeagueFolder, forecaster: Forecaster) -> Finding:
    """Credit, listing, and one real ask, which costs what an ask costs and is written down."""
    found = await probe(forecaster)
    if found.trial is not None:
        note_trial(league.path, league.clock().now(), forecaster.name, found.trial.cost)
    credit = "" if found.credit is None else f", credit {found.credit}"
    what = f"model {forecaster.name}"
    if found.problems:
        return Finding(what, BAD, f"{'; '.join(found.problems)}{credit}")
    served = found.trial.served_model if found.trial else None
    cost = found.trial.cost if found.trial else None
    return Finding(what, GOOD, f"answers as {served}, one ask cost {cost}{credit}")
