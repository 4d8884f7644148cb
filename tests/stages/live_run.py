"""One run of a live league, played without a venue: asks and answers, then outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from beforehand.forecasters.forecaster import Forecaster
from beforehand.records.lineup import Lineup
from beforehand.sources.market import Listing
from beforehand.stages.asking import Asking
from beforehand.stages.opening import open_slot
from beforehand.stages.pen import Pen
from beforehand.stages.settling import settle
from beforehand.stages.situation import Situation
from beforehand.stages.slots import Slot, later
from tests.stages.live_world import MadeModel, MadeVenue, answers, made_market


class OpenVenue(MadeVenue):
    """A venue that lists all it has, whatever the time is."""

    async def listing(self) -> Listing:
        return Listing(tuple(self.markets), evidence=self._evidence("listing"))


def venue_at(pen: Pen) -> OpenVenue:
    now = pen.clock.now()
    markets = [made_market(n, closes=later(now, days=3)) for n in range(1, 4)]
    return OpenVenue(pen.clock, markets)


def one_run(pen: Pen, situation: Situation) -> OpenVenue:
    """A slot of this very moment, opened and asked."""
    situation.catch_up(pen.records())
    venue, now = venue_at(pen), pen.clock.now()
    slot = Slot(now, later(now, minutes=60), later(now, minutes=60))

    async def play() -> None:
        run = await open_slot(pen, situation, venue, slot, pen.store.folder.parent)
        assert run is not None
        lineup = Lineup.of(situation.declaration.content)
        models: Mapping[str, Forecaster] = {
            model["forecaster"]: MadeModel(model["forecaster"], answers("0.4"))
            for model in lineup.models
        }
        await Asking(pen, situation, run, models).ask_all()

    asyncio.run(play())
    return venue


def settle_all(pen: Pen, now: str) -> None:
    """Every market of the run ends as yes, a moment later."""
    from beforehand.stages.declare import declaration_of

    situation = Situation(declaration_of(pen))
    situation.catch_up(pen.records())
    venue = venue_at(pen)
    venue.outcomes = {market.id: "yes" for market in venue.markets}
    asyncio.run(settle(pen, situation, venue, now))
