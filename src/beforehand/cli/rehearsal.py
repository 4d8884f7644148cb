"""`beforehand rehearse`: the whole live path over real sockets, against replicas on this machine.

A venue replica and a model replica run as processes of their own; the league
between them is the real one, in simulated time that only steps, never with a
call in flight. Every page of it says that it is simulated.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.options import Options
from beforehand.book.store import write_synced
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.rehearsed_league import write_league
from beforehand.cli.screen import Report, errors_named, out, progress_bars
from beforehand.cli.telling import print_status
from beforehand.cli.world import open_world
from beforehand.clock import SimulatedClock, SystemClock, instant_key
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.forecasters.connections import Connections
from beforehand.sources.market import MarketSource
from beforehand.stages.declare import declare, open_league
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.slots import later
from beforehand.stages.status import counted, money, status_of
from beforehand.stages.tick import World, next_due, tick
from beforehand.testing.faults import Fault, parse_faults
from beforehand.testing.replicas import ReplicaProcess, Replicas

EPILOG = "Example: beforehand rehearse --weeks 3 --dir /tmp/rehearsal --no-serve"
MARK = "beforehand-rehearsal.json"
START = "2026-01-05T00:00:00Z"
DEFAULTS: Mapping[str, Any] = {"weeks": 3, "models": 6, "seed": 1, "faults": ""}
# In the second week the models' account is empty for one slot.
EMPTY_SLOT = "2026-01-14T22"
MADE = ("declaration.toml", "settings.toml", "league", "public", "state", "replicas", "clock")
UNMARKED = {"clock", "clock.new", "replicas"}


# Three models are made by more than one lab's recipe, so that families differ.
@dataclass(frozen=True)
class Plan:
    """What is rehearsed: how long, with how many models, under which seed and faults."""

    weeks: int
    models: int
    seed: int
    faults: str
    venue_port: int
    model_port: int

    @property
    def end(self) -> str:
        """When the rehearsal ends in simulated time."""
        return later(START, days=7 * self.weeks)


def rehearse(
    folder: Annotated[Path, typer.Option("--dir", help="Where to put the league.")] = Path(
        "beforehand-rehearsal"
    ),
    weeks: Annotated[
        int | None, typer.Option(help="Simulated weeks.", min=1, max=52, show_default="3")
    ] = None,
    models: Annotated[
        int | None, typer.Option(help="How many models are asked.", min=1, max=6, show_default="6")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Markets, prices and answers follow from it.", show_default="1"),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(
            help='Faults of the venue, as "error500:rate=0.05;half:rate=0.01".',
            show_default="none",
        ),
    ] = None,
    serve: Annotated[bool, typer.Option(help="Serve the site on loopback at the end.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Start over in a used folder.")] = False,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Run a live league against a simulated venue and simulated models, then publish and verify.

    Markets, prices, answers and outcomes are simulated and say so; sockets,
    clients, money rules, book and pages are the real ones. In the second week
    the models' account is empty for one slot (402). Killed and called again
    with the same --dir, it goes on where it was.
    """
    # Imported here, as who plays a league alone needs none of the page's libraries.
    from beforehand.cli.boardtable import print_skill_board
    from beforehand.cli.publication import publish_league
    from beforehand.cli.serving import serve_until_stopped

    with errors_named():
        begun = time.monotonic()
        Connections()  # says at once what is not installed
        given = {"weeks": weeks, "models": models, "seed": seed, "faults": faults}
        wanted = {**DEFAULTS, **{name: value for name, value in given.items() if value is not None}}
        faults_of_a_venue(str(wanted["faults"]))
        plan = _begun(folder, force)
        if plan is not None:
            _keep_to(plan, given, folder)
        with progress_bars() as bars, _replicas(folder, plan, wanted) as replicas:
            if plan is None:
                ports = (_port(replicas.venue.url), _port(replicas.model.url))
                plan = Plan(**wanted, venue_port=ports[0], model_port=ports[1])
                _write_plan(folder, plan)
            write_league(folder, plan.models, replicas)
            league = LeagueFolder.at(folder)
            pen, situation = open_declared(league)
            with pen:
                turn = Account(replicas.model).turn
                asyncio.run(play(league, pen, situation, plan.end, bars, turn=turn))
                pen.checkpoint()
                data = publish_league(league.book, pen.key, league.public, pen.now()[0], bars)
                told = status_of(situation, pen.now()[0], None)
        out.print(f"{counted(data.checkpoint.size, 'line')} sealed, published in {league.public}\n")
        print_skill_board(data.board)
        print_status(told)
        _reconcile(told, folder / "replicas" / "model_requests.jsonl")
        _verify(league.public)
        took = counted(plan.weeks, "simulated week")
        out.print(f"\n{took} took {time.monotonic() - begun:.0f} s")
        if serve:
            serve_until_stopped(league.public, port)
        else:
            out.print(f"Look at it: [bold]beforehand serve {league.public}[/]")


async def play(
    league: LeagueFolder,
    pen: Pen,
    situation: Situation,
    end: str,
    bars: Report | None,
    source: MarketSource | None = None,
    turn: Callable[[str], None] | None = None,
) -> None:
    """Step from one due time to the next until `end`, a tick at each.

    `source` reads the venue in place of the league's own reader, and is
    closed; `turn` is told the moment before each tick.
    """
    clock = pen.clock
    if not isinstance(clock, SimulatedClock):
        raise RuleError("only simulated time can be stepped")
    first, last = instant_key(START), instant_key(end)
    total = int((last - first).total_seconds() // 3600)
    async with open_world(league, situation.declaration, clock) as world, _instead(source, world):
        while True:
            if turn is not None:
                turn(clock.now())
            await tick(pen, situation, world, league.path)
            due = next_due(situation, later(clock.now(), seconds=1), league.path)
            if due is None or instant_key(due) > last:
                break
            clock.step_to(due)
            if bars is not None:
                hours = int((instant_key(due) - first).total_seconds() // 3600)
                bars("simulated hours", hours, total)
    clock.step_to(end)


@asynccontextmanager
async def _instead(source: MarketSource | None, world: World) -> AsyncIterator[None]:
    if source is None:
        yield
        return
    own, world.source = world.source, source
    try:
        yield
    finally:
        await source.close()
        world.source = own


def open_declared(league: LeagueFolder) -> tuple[Pen, Situation]:
    """The pen of the rehearsal's league, declared where it is not yet."""
    declaration = league.declaration()
    pen = open_league(league.book, declaration, SimulatedClock(league.path / "clock"))
    try:
        declare(pen, declaration, league.book)
        situation = Situation(declaration)
        situation.catch_up(pen.records())
    except BaseException:
        pen.store.close()
        raise
    return pen, situation


class Account:
    """The models' account, which is empty in EMPTY_SLOT and paid up before and after it."""

    def __init__(self, models: ReplicaProcess) -> None:
        self._models = models
        self._empty = False

    def turn(self, now: str) -> None:
        """Let the account be as it is at this moment."""
        empty = now.startswith(EMPTY_SLOT)
        if empty != self._empty:
            self._models.control(credit="0" if empty else None)
            self._empty = empty


# ---- what is rehearsed


def _begun(folder: Path, force: bool) -> Plan | None:
    """The plan of a rehearsal that was begun here; None for a folder made fresh."""
    if folder.exists() and not folder.is_dir():
        raise RuleError(f"{folder} is a file; choose another --dir")
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()):
        # One that was killed before its mark was written has a clock and replicas at most.
        names = {path.name for path in folder.iterdir()}
        unmarked = "clock" in names and names <= UNMARKED
        if not mark.is_file() and not unmarked:
            raise RuleError(f"{folder} holds something no rehearsal made; choose another --dir")
        if not force and not unmarked:
            out.print(f"going on with the rehearsal in {folder}; --force starts over")
            return Plan(**json.loads(mark.read_text(encoding="ascii")))
        for name in (*MADE, MARK):
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    SimulatedClock(folder / "clock", START)
    return None


def _keep_to(plan: Plan, given: Mapping[str, Any], folder: Path) -> None:
    """RuleError where an option asks for another rehearsal than the one that was begun here."""
    for name, value in given.items():
        held = getattr(plan, name)
        if value is not None and value != held:
            raise RuleError(
                f"the rehearsal in {folder} was begun with --{name} {held or 'none'}, and cannot "
                f"go on with {value or 'none'}: leave the option out to go on, give --force to "
                "start over, or choose another --dir"
            )


def _replicas(folder: Path, plan: Plan | None, wanted: Mapping[str, Any]) -> Replicas:
    """The replicas; those of a begun rehearsal at the ports that its roster names."""
    ports = (plan.venue_port, plan.model_port) if plan else (0, 0)
    options = [("--port", str(port), "--no-limits") for port in ports]
    faults = plan.faults if plan else wanted["faults"]
    venue = (*options[0], *(("--faults", faults) if faults else ()))
    return Replicas(
        folder / "replicas",
        clock=folder / "clock",
        seed=plan.seed if plan else wanted["seed"],
        venue_options=venue,
        model_options=options[1],
    )


def faults_of_a_venue(text: str) -> tuple[Fault, ...]:
    """The faults of a command line, before anything is started; FormatError says what is wrong."""
    try:
        given = parse_faults(text)
    except FormatError as error:
        raise FormatError(f"--faults: {error}") from None
    if any(fault.kind == "behaviour" for fault in given):
        raise FormatError("--faults: behaviour is a fault of models, and these are the venue's")
    return given


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


def _write_plan(folder: Path, plan: Plan) -> None:
    text = json.dumps(plan.__dict__, indent=1) + "\n"
    write_synced(folder / MARK, text.encode("ascii"))


# ---- what it came to


def _reconcile(told: dict[str, Any], log: Path) -> None:
    """The book's money beside what the model replica wrote down as charged.

    A call whose reply never came was charged all the same; the book cannot
    know how much, so that its whole reservation stands.
    """
    total = told["budget"]["total"]
    charged = sum((Decimal(each) for each in _charges(log)), Decimal(0))
    unheard = charged - Decimal(total["spent"])
    out.print(
        f"money: {total['spent']} charged by the book's lines and {total['standing']} standing; "
        f"the model replica charged {money(charged)}"
        + (f", {money(unheard)} of it for replies that never came" if unheard else ""),
        soft_wrap=True,
    )


def _charges(log: Path) -> list[str]:
    with log.open(encoding="utf-8") as lines:
        return [str(json.loads(line).get("cost", "0")) for line in lines]


def _verify(public: Path) -> None:
    from beforehand.book.verify import report_lines
    from beforehand.cli.verification import verify_published

    out.print("\n[bold]Verify[/] – from the published files alone")
    report = verify_published(public, Options(as_of=SystemClock().now()))
    for line in report_lines(report):
        out.print(f"   {line}", markup=False, soft_wrap=True)
    if report.exit_code:
        raise IntegrityError("the rehearsal's own publication does not verify")
