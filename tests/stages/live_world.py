"""A small live league in simulated time, with a venue and models of its own in one process.

The venue and the models are made up and plain, so that a test can say exactly
what each of them does; the real clients have tests of their own, over sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from beforehand.clock import Clock, SimulatedClock, instant_key
from beforehand.errors import RemoteError
from beforehand.forecasters.forecaster import BlindQuestion, Forecaster, Reply, Request
from beforehand.leagues import shipped
from beforehand.records.codec import seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.lineup import Lineup
from beforehand.sources.market import Depth, Evidence, Level, Listing, Market, Settlement
from beforehand.stages.declare import declare, open_league
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.slots import later
from beforehand.stages.tick import Ticked, World, next_due, tick
from tests.stages.raw_book import answers_by_ask, lines_of, of_kind

START = "2026-01-05T09:00:00Z"
FIRST_SLOT = "2026-01-05T10:00:00Z"
MODELS = ("model-a", "model-b", "model-c")


def live_declaration(
    models: tuple[str, ...] = MODELS, changes: Mapping[str, str] | None = None
) -> Declaration:
    """The shipped blind declaration in simulated time, with made-up models and few markets."""
    text = shipped()["blind"].decode("utf-8")
    head, tail = text[: text.index("\n[[models]]")], text[text.index("\n[snapshot]") :]
    asked = "".join(
        f'\n[[models]]\nforecaster = "{name}"\nvia = "plugin"\nplugin = "made-up"\n'
        f'model = "made-up/{name}"\nprice_ask = "0.01"\n'
        for name in models
    )
    text = head + asked + tail
    given = {
        'time = "live"': 'time = "simulated"',
        "markets = 12": "markets = 2",
        'use = ["opentimestamps", "rfc3161", "rekor"]\n'
        'authorities = ["freetsa", "digicert", "sectigo"]\nquorum = 2\n': "use = []\n",
        'beacon = "drand"\n': "",
        "seats = 6": f"seats = {len(models)}",
        **(changes or {}),
    }
    for old, new in given.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return Declaration.parse(text.encode("utf-8"), "live.toml")


def made_market(number: int, *, closes: str = "2026-01-08T12:00:00Z", event: str = "") -> Market:
    """A market that passes the selection."""
    return Market(
        venue="polymarket",
        id=f"m{number}",
        event=event or f"e{number}",
        topic=f"topic {number}",
        question=f"Will number {number} be drawn?",
        description="Drawn from an urn. YES if it is.",
        yes_token=str(10**40 + number),
        closes=closes,
        accepting=True,
        closed=False,
        bid=Decimal("0.40"),
        ask=Decimal("0.44"),
        volume_24h=Decimal(1000 - number),
    )


@dataclass
class MadeVenue:
    """A venue whose markets, prices and outcomes a test sets."""

    clock: Clock
    markets: list[Market] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    broken: bool = False
    name: str = "polymarket"
    looked_up: list[str] = field(default_factory=list)
    listed: int = 0
    # What the listing says of itself, and what a settlement leaves unclear.
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    complete: bool = True
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # By market: bid and ask of its depth where they are not the listing's, and what is raised.
    depths: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    faults: dict[str, BaseException] = field(default_factory=dict)

    def _evidence(self, what: str) -> tuple[Evidence, ...]:
        data = seal_json({"made": "up", "what": what, "at": self.clock.now()})
        return (Evidence(f"https://venue.test/{what}", data, self.clock.now()),)

    async def listing(self) -> Listing:
        self.listed += 1
        if self.broken:
            raise RemoteError("the venue answered 500", retryable=True)
        open_ = [m for m in self.markets if instant_key(m.closes) > instant_key(self.clock.now())]
        return Listing(
            tuple(open_),
            evidence=self._evidence("listing"),
            problems=self.problems,
            complete=self.complete,
            warnings=self.warnings,
        )

    async def depth(self, market: Market) -> Depth:
        held = next(each for each in self.markets if each.id == market.id)
        if market.id in self.faults:
            raise self.faults[market.id]
        if self.broken or held.bid is None or held.ask is None:
            raise RemoteError("no book", retryable=True)
        bid, ask = self.depths.get(market.id, (str(held.bid), str(held.ask)))
        return Depth(
            market.id,
            self.clock.now(),
            () if bid is None else (Level(Decimal(bid), Decimal(10)),),
            () if ask is None else (Level(Decimal(ask), Decimal(10)),),
            None,
            self._evidence(f"book-{market.id}"),
        )

    async def settlement(self, market_id: str) -> Settlement:
        self.looked_up.append(market_id)
        if market_id in self.faults:
            raise self.faults[market_id]
        if self.broken:
            raise RemoteError("the venue answered 500", retryable=True)
        state = self.states.get(market_id, "final" if market_id in self.outcomes else "open")
        evidence = self._evidence(f"end-{market_id}")
        doubts = self.doubts.get(market_id, ())
        if state != "final":
            return Settlement(market_id, state, f"it is {state}", evidence, problems=doubts)
        now = self.clock.now()
        outcome = self.outcomes[market_id]
        return Settlement(market_id, state, "made up", evidence, outcome, None, now, doubts)

    async def close(self) -> None:
        return


Behaviour = Callable[[str, int], Reply]


def answers(probability: str, cost: str | None = "0.004") -> Behaviour:
    """A model that says one number."""

    def reply(question: str, attempt: int) -> Reply:
        raw = seal_json({"probability": probability, "question": question})
        money = None if cost is None else Decimal(cost)
        return Reply("answered", probability, raw, "because", cost=money)

    return reply


def fails(status: str, *, retryable: bool = False, cost: str | None = "0") -> Behaviour:
    """A model that never answers."""

    def reply(question: str, attempt: int) -> Reply:
        money = None if cost is None else Decimal(cost)
        return Reply(status, raw=b"no", cost=money, retryable=retryable)

    return reply


class Killed(BaseException):
    """The process dies here: nothing in the package may catch it."""


def _unless_killed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Calls that die together with the process are no news."""
    if not isinstance(context.get("exception"), Killed):
        loop.default_exception_handler(context)


def dies(question: str, attempt: int) -> Reply:
    """The asking process dies while this model is at work."""
    raise Killed


def steps(clock: SimulatedClock, instant: str, behaviour: Behaviour) -> Behaviour:
    """A model during whose work the time becomes `instant`."""

    def reply(question: str, attempt: int) -> Reply:
        if instant_key(clock.now()) < instant_key(instant):
            clock.step_to(instant)
        return behaviour(question, attempt)

    return reply


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """A model that behaves differently from attempt to attempt; the last one stays."""

    died: list[str] = []
    deaths = sum(behaviour is dies for behaviour in behaviours)
    lives = [behaviour for behaviour in behaviours if behaviour is not dies]

    def reply(question: str, attempt: int) -> Reply:
        chosen = behaviours[min(attempt, len(behaviours)) - 1]
        if chosen is dies and len(died) >= deaths:
            chosen = lives[0]  # the process has died as often as it should, on any question
        if chosen is dies:
            died.append(question)
        return chosen(question, attempt)

    return reply


@dataclass
class MadeModel:
    """A forecaster whose behaviour a test sets; it counts the calls it gets."""

    name: str
    behaviour: Behaviour
    price: Decimal = Decimal("0.01")
    calls: list[str] = field(default_factory=list)
    delay: float = 0.0
    ready: Callable[[str], bool] | None = None

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        body = seal_json({"to": self.name, "ask": question.question, "reask": reask})
        return Request(body, self.price)

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        key = request.body.decode("utf-8")
        self.calls.append(key)
        question = key.split('"ask": "')[1].split('"')[0]
        await asyncio.sleep(self.delay)
        while self.ready is not None and not self.ready(question):
            await asyncio.sleep(0.002)
        attempt = sum(f'"ask": "{question}"' in call for call in self.calls)
        reply = self.behaviour(question, attempt)
        if reply.served_model is not None:
            return reply
        return replace(reply, served_model=f"made-up/{self.name}")

    async def close(self) -> None:
        return


@dataclass
class LiveLeague:
    """A league in a folder, with its clock, venue and models; opened anew like a restart."""

    folder: Path
    declaration: Declaration
    clock: SimulatedClock
    venue: MadeVenue
    models: dict[str, MadeModel]

    @classmethod
    def begin(
        cls,
        folder: Path,
        behaviours: Mapping[str, Behaviour] | None = None,
        *,
        markets: int = 4,
        changes: Mapping[str, str] | None = None,
    ) -> LiveLeague:
        """Declare the league an hour before its first slot."""
        given = behaviours or {name: answers(f"0.{n}5") for n, name in enumerate(MODELS, 3)}
        declaration = live_declaration(tuple(given), changes)
        clock = SimulatedClock(folder / "clock", START)
        venue = MadeVenue(clock, [made_market(number) for number in range(1, markets + 1)])
        models = {name: MadeModel(name, behaviour) for name, behaviour in given.items()}
        with open_league(folder / "league", declaration, clock) as pen:
            declare(pen, declaration, folder / "league")
        return cls(folder, declaration, clock, venue, models)

    def let_wait(self, name: str, *others: str) -> MadeModel:
        """Have a model reply only once answers of these to the same question stand in the book."""

        def ready(question: str) -> bool:
            lines = lines_of(self.folder / "league")
            run = of_kind(lines, "run")[-1]["run"]
            texts = {q["question"]: q["contract"]["question"] for q in of_kind(lines, "question")}
            ended = answers_by_ask(lines)
            return set(others) <= {
                ask["forecaster"]
                for ask in of_kind(lines, "ask", run=run)
                if ask["n"] in ended and texts[ask["questions"][0]] == question
            }

        self.models[name].ready = ready
        return self.models[name]

    def open(self) -> tuple[Pen, Situation]:
        """The pen and where the league stands, read from the book."""
        pen = open_league(self.folder / "league", self.declaration, self.clock)
        situation = Situation(self.declaration)
        situation.catch_up(pen.records())
        return pen, situation

    def world(self) -> World:
        """The venue and the models, with waits too short to notice."""

        def seat(lineup: Lineup) -> Mapping[str, Forecaster]:
            return {
                model["forecaster"]: self.models[model["forecaster"]] for model in lineup.models
            }

        return World(self.venue, seat, backoff=0.001)

    def tick(self) -> Ticked:
        """One tick by a process of its own, as far as the book can tell."""
        pen, situation = self.open()

        async def once() -> Ticked:
            asyncio.get_running_loop().set_exception_handler(_unless_killed)
            return await tick(pen, situation, self.world(), self.folder)

        with pen:
            return asyncio.run(once())

    def tick_at(self, instant: str) -> Ticked:
        """Step the clock, then tick."""
        self.clock.step_to(instant)
        return self.tick()

    def play_until(self, instant: str) -> list[Ticked]:
        """Step from one due time to the next until `instant`, ticking at each."""
        done = []
        while True:
            pen, situation = self.open()
            pen.store.close()
            due = next_due(situation, later(self.clock.now(), seconds=1), self.folder)
            if due is None or instant_key(due) > instant_key(instant):
                return done
            done.append(self.tick_at(due))
