"""A league whose every answer is stamped, ticked by a process that somebody may kill.

    python stamped_player.py FOLDER AUTHORITY_URL

Begins the league where the folder is empty, else goes on; one tick at its
first slot, then whatever waits for a stamp. Ends with 0 when nothing waits.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.clock import SimulatedClock
from beforehand.stages.anchoring import seal_proofs, stamp_checkpoint
from beforehand.stages.answer_stamps import AnswerStamps
from beforehand.stages.declare import declare, open_league
from beforehand.stages.slots import later
from beforehand.stages.tick import tick
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    LiveLeague,
    MadeModel,
    MadeVenue,
    answers,
    live_declaration,
    made_market,
)

CHANGES = {"use = []": 'use = ["rfc3161"]\nauthorities = ["one"]\neach_answer = ["one"]'}


def opened(folder: Path) -> LiveLeague:
    """The league of the folder, begun where it is not there yet."""
    if not (folder / "league" / "book.jsonl").is_file():
        return LiveLeague.begin(folder, changes=CHANGES)
    clock, declaration = SimulatedClock(folder / "clock"), live_declaration(changes=CHANGES)
    with open_league(folder / "league", declaration, clock) as pen:
        declare(pen, declaration, folder / "league")  # it may have died in the midst of that
    venue = MadeVenue(clock, [made_market(number) for number in range(1, 5)])
    models = {name: MadeModel(name, answers(f"0.{n}5")) for n, name in enumerate(MODELS, 3)}
    return LiveLeague(folder, declaration, clock, venue, models)


def main(folder: Path, url: str) -> int:
    league = opened(folder)
    if league.clock.now() < FIRST_SLOT:
        league.clock.step_to(FIRST_SLOT)
    for name, model in league.models.items():
        model.delay = 0.02 * (1 + MODELS.index(name))
    anchors = [TimeStampAuthority("one", url)]
    pen, situation = league.open()
    world = league.world()
    with pen:
        stamps = AnswerStamps(pen, folder, anchors)
        world.stamp_answer = stamps.sealed
        asyncio.run(tick(pen, situation, world, folder))
        stamps.finish()
        pen.checkpoint()
        # A far side that failed is due again within the hour.
        done = stamp_checkpoint(pen, folder, anchors, later(pen.now()[0], hours=7), ["one"])
        seal_proofs(pen, folder)
    return 1 if done.waiting else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
