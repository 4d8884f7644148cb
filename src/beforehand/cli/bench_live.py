"""`beforehand bench live`: a thousand calls in flight, sealed, against slow models."""

from __future__ import annotations

import asyncio
import json
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.cli.rehearsed_league import rehearsal_declaration
from beforehand.cli.screen import errors_named, out
from beforehand.cli.world import forecasters_of
from beforehand.clock import SimulatedClock, SystemClock
from beforehand.errors import IntegrityError
from beforehand.forecasters.connections import Connections
from beforehand.records.codec import digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.lineup import Lineup
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef, Record
from beforehand.records.run import Roster, Run
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.stages.asking import Asking
from beforehand.stages.declare import declare, open_league
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.slots import later
from beforehand.testing.replicas import Replicas

EPILOG = (
    "Example: beforehand bench live --calls 1000. Goals: under 2 ms of CPU a call, under 500 MB, "
    "within 1.2 times the slowest call; which are met is said. Exit codes: 0 measured, 1 an answer "
    "is missing."
)
GOALS = {"cpu_ms_a_call": 2.0, "memory_mb": 500.0, "wall_ratio": 1.2}
AT = "2026-01-05T10:00:00Z"  # of the replicas alone: the league has the world's own time
RUN = "load"


@dataclass(frozen=True)
class Load:
    """What one run of the load came to."""

    calls: int
    valid: int
    wall_s: float
    slowest_s: float
    cpu_ms_a_call: float
    memory_mb: float

    @property
    def wall_ratio(self) -> float:
        """How long all took, in slowest calls."""
        return self.wall_s / self.slowest_s

    def content(self) -> dict[str, Any]:
        """As JSON values."""
        ratio = round(self.wall_ratio, 3)
        return {**self.__dict__, "wall_ratio": ratio, "goals": GOALS, "met": self.met()}

    def met(self) -> dict[str, bool]:
        """Which goals are met."""
        return {name: getattr(self, name) < most for name, most in GOALS.items()}


def bench_live(
    calls: Annotated[int, typer.Option(min=6, max=6000, help="Calls in flight at once.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.0, help="How long a reply takes.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Ask at once, seal every ask before it is sent and every answer when it comes.

    The models are a replica in a process of its own that answers slowly. CPU
    and memory are this process's: client, parser, pen and book together.
    """
    with errors_named(), tempfile.TemporaryDirectory(prefix="beforehand-bench-") as made:
        Connections()  # says at once what is not installed
        folder = Path(made)
        SimulatedClock(folder / "clock", AT)
        options = ("--reply-seconds", str(seconds), "--no-limits")
        with Replicas(folder / "replicas", clock=folder / "clock", model_options=options) as both:
            result = asyncio.run(_load(folder, both.models, calls))
    if as_json:
        out.print_json(json.dumps(result.content()))
    else:
        out.print(
            f"{result.calls} calls in flight: {result.wall_s:.2f} s, {result.wall_ratio:.2f} of "
            f"the slowest call ({result.slowest_s:.2f} s); {result.cpu_ms_a_call:.2f} ms of CPU a "
            f"call; {result.memory_mb:.0f} MB; {result.valid} valid answers sealed",
            soft_wrap=True,
        )
        out.print(_goals_told(result), soft_wrap=True)
    if result.valid != result.calls:
        raise typer.Exit(1)


def _goals_told(result: Load) -> str:
    """Every goal with met or not met; a goal that is not met is no failure."""
    said = (
        f"{name} under {most:g} {'met' if result.met()[name] else 'not met'}"
        for name, most in GOALS.items()
    )
    return f"goals: {', '.join(said)}"


async def _load(folder: Path, endpoint: str, calls: int) -> Load:
    text = rehearsal_declaration(4, endpoint)
    text = text.replace('time = "simulated"', 'time = "live"')
    text = text.replace("timeout_seconds = 5", "timeout_seconds = 90")
    declaration = Declaration.parse(text.encode("utf-8"), "the bench's declaration")
    lineup = Lineup.of(declaration.content)
    connections = Connections()
    clock = SystemClock()
    with open_league(folder / "league", declaration, clock) as pen:
        declare(pen, declaration, folder / "league")
        situation = Situation(declaration)
        _open_run(pen, situation, lineup, -(-calls // len(lineup.models)))
        models = forecasters_of(lineup, declaration, connections)
        asking = Asking(pen, situation, situation.runs[RUN], models, backoff=0.01)
        cpu, begun = time.process_time(), time.monotonic()
        asked = await asking.ask_all()
        wall, cpu = time.monotonic() - begun, time.process_time() - cpu
        await connections.close()
        attempts = [one for held in situation.runs[RUN].attempts.values() for one in held]
    answers = [one.answer for one in attempts if one.answer is not None]
    slowest = max(answer.latency_ms or 0 for answer in answers) / 1000
    if not slowest:
        raise IntegrityError("no call has taken any time: nothing was measured")
    return Load(
        asked.calls,
        sum(one.valid for one in attempts),
        round(wall, 3),
        slowest,
        round(cpu * 1000 / asked.calls, 3),
        round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def _open_run(pen: Pen, situation: Situation, lineup: Lineup, questions: int) -> None:
    """A run over made-up questions, sealed as a slot's opening is."""
    slot, _ = pen.now()
    deadline = later(slot, seconds=3600)
    texts = [
        seal_json({"question": f"Made-up question {n} of a bench?", "description": "None."}) + b"\n"
        for n in range(questions)
    ]
    contracts = [
        {"source": "made-up", "market": str(n), "closes": deadline, "text_sha256": digest(text)}
        for n, text in enumerate(texts)
    ]
    ids = [question_id(contract) for contract in contracts]
    first = pen.store.size + 1

    def build(at: str) -> list[Record]:
        lines: list[Record] = [
            Question(
                at=at,
                bodies=(BodyRef("text", digest(text), at),),
                question=name,
                contract=contract,
                cluster=f"made-up:{contract['market']}",
                horizon=deadline,
                source="made-up",
                type="market",
            )
            for name, contract, text in zip(ids, contracts, texts, strict=True)
        ]
        quotes = tuple(
            Quote(question=name, read_at=at, bid="0.4", ask="0.44", volume="900") for name in ids
        )
        lines.append(Snapshot(at=at, run=RUN, quotes=quotes, moment="start"))
        lines.append(
            Roster(
                at=at,
                run=RUN,
                seats=lineup.seats(),
                deadline=deadline,
                retry="none",
                counted_run="every run",
            )
        )
        lines.append(
            Run(
                at=at,
                run=RUN,
                segment=situation.declaration.segment,
                slot=slot,
                counted=True,
                snapshot_line=first + len(ids),
                roster_line=first + len(ids) + 1,
                questions=tuple(ids),
            )
        )
        return lines

    pen.write(build, texts)
    situation.catch_up(pen.records())
