"""`beforehand bench faults`: a live league killed at random points ends as the undisturbed one."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.bodies import open_sealed
from beforehand.book.reader import BookReader
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.rehearsal import START, open_declared, play, write_league
from beforehand.cli.screen import errors_named, out, progress_bars
from beforehand.cli.telling import read_situation
from beforehand.clock import SimulatedClock
from beforehand.errors import IntegrityError
from beforehand.forecasters.connections import Connections
from beforehand.records.codec import decode_json
from beforehand.stages.slots import later
from beforehand.stages.status import money
from beforehand.testing.replicas import Replicas

EPILOG = (
    "Example: beforehand bench faults --kills 200. Exit codes: 0 every ending is the undisturbed "
    "one, 1 one differs."
)
# One day has two slots.
END = later(START, hours=23)
MODELS = 3
PATIENCE_SECONDS = 60.0
Ending = dict[str, str]


@dataclass
class Faulted:
    """What the kills came to. `different` names the endings that are not the undisturbed one."""

    undisturbed_s: float
    kills: int = 0
    restarts: int = 0
    resumed: int = 0
    repeated_calls: int = 0
    different: list[str] = field(default_factory=list)


def bench_faults(
    kills: Annotated[int, typer.Option(min=1, max=10_000, help="How many leagues to kill.")] = 200,
    seed: Annotated[int, typer.Option(help="The moments follow from it.")] = 1,
    faults: Annotated[
        str, typer.Option(help='Faults of the venue too, as "error500:rate=0.2;half:rate=0.05".')
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play two slots with three models, kill -9 at a random moment, go on, and compare the end.

    Compared are the counted answers of every forecaster on every question.
    Lost asks must be ended in the book, nothing may stand half written, and
    the budget may not be passed.
    """
    with (
        errors_named(),
        tempfile.TemporaryDirectory(prefix="beforehand-bench-") as made,
        progress_bars() as bars,
    ):
        Connections()  # says at once what is not installed
        result = run_faults(Path(made), kills, seed, faults, bars)
    if as_json:
        out.print_json(json.dumps(result.__dict__))
    else:
        out.print(
            f"undisturbed: {result.undisturbed_s:.2f} s. {result.kills} leagues killed, "
            f"{result.restarts} restarts, {result.resumed} asks resumed and said so, "
            f"{len(result.different)} endings differ",
            soft_wrap=True,
        )
        for said in result.different[:10]:
            out.print(f"DIFFERENT {said}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if result.different else 0)


def run_faults(folder: Path, kills: int, seed: int, faults: str, progress: Any) -> Faulted:
    """Kill `kills` leagues, each once or more, at moments drawn over the undisturbed run's time."""
    chance = random.Random(seed)  # noqa: S311 - moments of a bench
    whole = folder / "undisturbed"
    begun = time.monotonic()
    wanted = _whole(whole, faults)
    result = Faulted(round(time.monotonic() - begun, 3))
    for number in range(kills):
        progress("leagues killed", number, kills)
        league = folder / f"killed-{number}"
        _killed(league, chance, result, faults)
        ending = _ending(league, result)
        if ending != wanted:
            odd = sorted(set(ending.items()) ^ set(wanted.items()))
            result.different.append(f"league {number}: {odd[:4]}")
    return result


def _whole(folder: Path, faults: str) -> Ending:
    """The undisturbed run and its ending."""
    with _replicas(folder, faults) as replicas:
        _begin(folder, replicas)
        if _child(folder).wait(PATIENCE_SECONDS):
            raise IntegrityError(f"the undisturbed league in {folder} did not end well")
    return _ending(folder, Faulted(0))


def _killed(folder: Path, chance: random.Random, result: Faulted, faults: str) -> None:
    """Play, kill at a random moment, play again; killed twice in a third of the leagues."""
    times = 2 if chance.random() < 1 / 3 else 1
    with _replicas(folder, faults) as replicas:
        _begin(folder, replicas)
        for _ in range(times):
            child = _child(folder)
            try:
                child.wait(chance.uniform(0.0, result.undisturbed_s))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                result.kills += 1
            result.restarts += 1
        if _child(folder).wait(PATIENCE_SECONDS):
            raise IntegrityError(f"the league in {folder} did not go on after it was killed")


def _replicas(folder: Path, faults: str) -> Replicas:
    folder.mkdir(parents=True, exist_ok=True)
    SimulatedClock(folder / "clock", START)
    venue = ("--no-limits", *(("--faults", faults) if faults else ()))
    return Replicas(
        folder / "replicas",
        clock=folder / "clock",
        seed=1,
        venue_options=venue,
        model_options=("--no-limits",),
    )


def _begin(folder: Path, replicas: Replicas) -> None:
    write_league(folder, MODELS, replicas)


def _child(folder: Path) -> subprocess.Popen[bytes]:
    """A process that plays the league in `folder` to its end."""
    with (folder / "child.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "beforehand.cli.bench_faults", str(folder)],
            stdout=log,
            stderr=log,
        )


def _ending(folder: Path, result: Faulted) -> Ending:
    """Every counted answer by run, question and forecaster; what must hold of any ending holds."""
    league = LeagueFolder.at(folder)
    situation = read_situation(league)
    reader = BookReader(league.book)
    ending: Ending = {}
    for run in situation.runs.values():
        if run.close is None or any(run.open_attempts()):
            raise IntegrityError(f"{folder}: run {run.run.run} was left open")
        for (question, name), held in run.attempts.items():
            result.resumed += sum(one.ask.why == "resumed" for one in held)
            result.repeated_calls += len(held) - 1
            if any(one.ask.again is None for one in held[1:]):
                raise IntegrityError(f"{folder}: a call was repeated and its ask does not say so")
            said = "missing"
            for one in held:
                if one.valid and one.answer is not None:
                    body = next(b for b in one.answer.bodies if b.role == "answer")
                    opened = open_sealed(reader.read_body(body.sha256)).content
                    said = str(decode_json(opened)["cells"][0]["p"])
            ending[f"{run.run.run} {question[:14]} {name}"] = said
    total, cap = situation.ledger.total(), situation.ledger.cap
    if cap is not None and total.committed > cap:
        raise IntegrityError(f"{folder}: {money(total.committed)} is over the cap")
    return ending


def child(folder: Path) -> None:
    """Play the league in `folder` from where it is to the end."""
    league = LeagueFolder.at(folder)
    pen, situation = open_declared(league)
    with pen:
        asyncio.run(play(league, pen, situation, END, None))
        pen.checkpoint()


if __name__ == "__main__":
    child(Path(sys.argv[1]))
