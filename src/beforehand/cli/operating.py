"""`beforehand tick` and `beforehand run`: a live league, one step or for as long as it is left."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.manifest import MANIFEST_PATH
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.outside import anchors_of, answer_stamps
from beforehand.cli.publication import not_revealed_told, publish_league
from beforehand.cli.screen import err, errors_named, out, progress_bars
from beforehand.cli.world import open_world
from beforehand.clock import Clock, instant_key
from beforehand.errors import BeforehandError, ConflictError
from beforehand.records.codec import decode_json
from beforehand.relay.watch import keep_watch
from beforehand.stages.anchoring import seal_proofs, stamp_checkpoint
from beforehand.stages.answer_stamps import AnswerStamps
from beforehand.stages.declare import plugins_of
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.status import counted
from beforehand.stages.tick import Ticked, next_due, tick

Folder = Annotated[Path, typer.Argument(help="The league's folder, as `beforehand init` made it.")]
NoPublish = Annotated[bool, typer.Option("--no-publish", help="Leave public/ as it is.")]
# Submissions and settings are looked at this often between due times.
LONGEST_SLEEP_SECONDS = 20.0

TICK_EPILOG = (
    "Example, every minute from cron: * * * * * beforehand tick /srv/blind. Exit codes: 0 done "
    "or nothing due, 1 a run ended without one valid answer, 2 could not run."
)
RUN_EPILOG = (
    "Example: beforehand run /srv/blind. Ctrl-C or SIGTERM ends it after what is in flight."
)


def tick_once(
    folder: Folder,
    no_publish: NoPublish = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    extra: Annotated[
        str | None,
        typer.Option(
            "--extra",
            metavar="WHY",
            help="Make a run now that is on no schedule: sealed and published as not counted.",
        ),
    ] = None,
) -> None:
    """Do whatever is due now, once: missed slots, a due slot, settling, publishing."""
    with errors_named():
        league = LeagueFolder.at(folder)
        try:
            pen, situation = league.open()
        except ConflictError:
            if extra is not None:
                raise  # whoever asks for a run is told that there was none
            out.print("another tick is at work on this league; nothing to do here")
            return
        with pen:
            before = pen.store.size
            with progress_bars() as bars:
                done = asyncio.run(step(league, pen, situation, bars, extra))
            finish(league, pen, situation, done, before=before, publish=not no_publish)
    if as_json:
        out.print_json(json.dumps(asdict(done)))
    else:
        print_ticked(done)
    if done.unready:
        raise typer.Exit(2)
    if done.failed:
        raise typer.Exit(1)


def run_league(folder: Folder, no_publish: NoPublish = False) -> None:
    """Run the league: do what is due, sleep until the next thing is, again and again."""
    with errors_named():
        asyncio.run(_loop(LeagueFolder.at(folder), publish=not no_publish))


async def _loop(league: LeagueFolder, *, publish: bool) -> None:
    """Tick and sleep; asleep it lays the pen down, so that other commands get their turn."""
    pen, situation = league.open()
    out.print(f"{league.path} runs; Ctrl-C ends it, and calling it again goes on", soft_wrap=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    while not stop.is_set():
        with pen:
            due = await _round(league, pen, situation, publish=publish)
        await _sleep(pen.clock, due, stop)
        while not stop.is_set():
            try:
                pen, situation = league.reopen(pen, situation)
                break
            except ConflictError:  # another command is at work, and what it does is not done twice
                await _sleep(pen.clock, pen.clock.now(), stop)
    out.print("stopped")


async def _round(
    league: LeagueFolder, pen: Pen, situation: Situation, *, publish: bool
) -> str | None:
    """One tick; when the next thing is due."""
    before = pen.store.size
    done = await step(league, pen, situation, None)
    finish(league, pen, situation, done, before=before, publish=publish)
    if pen.store.size != before:
        print_ticked(done)
    now = pen.now()[0]
    due = next_due(situation, now, league.path)
    failed = pen.store.size == before and bool(done.problems or done.unready)
    # What could not be done just now is not tried again at once.
    return None if failed and due == now else due


async def _sleep(clock: Clock, due: str | None, stop: asyncio.Event) -> None:
    """Until something is due, but never long: an entrant's answer may arrive meanwhile."""
    seconds = LONGEST_SLEEP_SECONDS
    if due is not None:
        left = (instant_key(due) - instant_key(clock.now())).total_seconds()
        seconds = max(0.2, min(seconds, left))
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return


async def step(
    league: LeagueFolder, pen: Pen, situation: Situation, bars: Any, extra: str | None = None
) -> Ticked:
    """One tick, with the world opened for it and given back."""
    stamps = answer_stamps(league, situation.declaration, pen)
    async with open_world(league, situation.declaration, pen.clock, bars, plugins_of(pen)) as world:
        world.stamp = lambda held: _stamp_run(league, held, situation, stamps)
        world.stamp_answer = None if stamps is None else stamps.sealed
        try:
            done = await tick(pen, situation, world, league.path, extra)
        finally:
            stamped = None if stamps is None else await asyncio.to_thread(stamps.finish)
    done.problems += [] if stamped is None else stamped.problems
    return done


def finish(
    league: LeagueFolder,
    pen: Pen,
    situation: Situation,
    done: Ticked,
    *,
    before: int,
    publish: bool,
) -> None:
    """Sign and anchor a checkpoint, publish what is new or due, tell who wants to be told."""
    if pen.store.size != before or not pen.store.checkpoints():
        seal_proofs(pen, league.path)
        situation.catch_up(pen.records())
        pen.checkpoint()
    now = pen.now()[0]
    edited = league.edited(situation.declaration)
    done.problems += [] if edited is None else [edited]
    stamped = _stamp(league, pen, situation, now, done)
    if publish and (pen.store.size != before or stamped or _behind(league, situation, now)):
        with progress_bars() as bars:
            data = publish_league(league.book, pen.key, league.public, now, bars)
        done.problems += not_revealed_told(data)
    watched = keep_watch(
        league.path,
        pen.records(),
        situation.declaration,
        now,
        public=league.public if publish else None,
        went_well=not done.failed and not done.unready,
        told=len(done.problems),
    )
    done.problems += watched.problems


def _stamp_run(
    league: LeagueFolder, pen: Pen, situation: Situation, answers: AnswerStamps | None
) -> list[str]:
    """Sign what stands and submit it, before the next run of this tick; what failed.

    The stamps of single answers are waited for: one queue serves both.
    """
    if answers is not None:
        answers.finish()
    pen.checkpoint()
    done = Ticked()
    _stamp(league, pen, situation, pen.now()[0], done)
    return done.problems


def _stamp(league: LeagueFolder, pen: Pen, situation: Situation, now: str, done: Ticked) -> bool:
    """Submit to the declared anchors what is due; whether any evidence is new."""
    anchors, problems = anchors_of(league, situation.declaration, pen, pen.clock)
    done.problems += problems
    each = situation.declaration.content.get("anchors", {}).get("each_answer", ())
    stamped = stamp_checkpoint(pen, league.path, anchors, now, each)
    done.problems += stamped.problems
    return bool(stamped.submitted or stamped.completed)


def _behind(league: LeagueFolder, situation: Situation, now: str) -> bool:
    """Whether answers came due since the folder was published, or nothing was published yet."""
    try:
        manifest = decode_json((league.public / MANIFEST_PATH).read_bytes())
        since = instant_key(manifest["as_of"])
    except (OSError, KeyError, BeforehandError):
        return True
    deadlines = (instant_key(run.roster.deadline) for run in situation.runs.values())
    return any(since < deadline <= instant_key(now) for deadline in deadlines)


def print_ticked(done: Ticked) -> None:
    """What a tick did, a line a thing; one line where nothing was due."""
    lines = [f"opened {run}" for run in done.opened]
    lines += [f"missed {run}: never backfilled" for run in done.missed]
    lines += [f"run {run}: {status}" for run, status in done.closed.items()]
    if done.accepted:
        lines.append(f"{counted(done.accepted, 'submission')} sealed")
    if done.settled is not None:
        found = done.settled
        lines.append(
            f"settling: {counted(found.looked_up, 'market')} looked up, {found.resolved} resolved, "
            f"{found.corrected} corrected, {len(found.failed)} could not be read"
        )
    if not lines and not done.unready:
        lines.append("nothing was due")
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
    for problem in done.problems:
        out.print(f"problem: {problem}", markup=False, soft_wrap=True)
    for reason in done.unready:
        err.print(f"not ready: {reason}", markup=False, soft_wrap=True)
