"""`beforehand bench faults`: a live league killed at random points ends as the undisturbed one.

`undisturbed_s` is what one forked process takes to play the league, without
the interpreter's start; `undisturbed_with_start_s` is a fresh interpreter's.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from beforehand.cli.bench_endings import Ending
from beforehand.cli.bench_ground import MODELS, PATIENCE_SECONDS, SHIPPED_CAP, Ground, child
from beforehand.cli.rehearsal import faults_of_a_venue
from beforehand.cli.screen import err, errors_named, out
from beforehand.errors import IntegrityError
from beforehand.stages.status import money

EPILOG = (
    "Example: beforehand bench faults --kills 200. Exit codes: 0 every ending is the undisturbed "
    "one, 1 one differs or fewer kills landed, 130 interrupted: what was found until then is "
    "printed."
)
TOLD_SECONDS = 5.0
MOST_KILLS = 2  # of one league
BOUND_EVERY = 4  # league in so many has a cap that stops it
MOST_BACK_SECONDS = 180
GOAL_SECONDS = 2.0
INTERRUPTED = 130


@dataclass
class Faulted:
    """What the kills came to. `different` names the endings that are not the undisturbed one.

    `kills` landed, `missed` came when the league was over. Money is decimal
    text; `most_*` the most ever committed under the cap beside it.
    """

    wanted: int
    undisturbed_s: float = 0.0
    undisturbed_cpu_s: float = 0.0
    undisturbed_with_start_s: float = 0.0
    goal_s: float = GOAL_SECONDS
    leagues: int = 0
    kills: int = 0
    missed: int = 0
    clock_steps: int = 0
    lines_under_a_clock_behind: int = 0
    asks: int = 0
    served_calls: int = 0
    unserved_asks: int = 0
    resumed: int = 0
    repeated_calls: int = 0
    cap: str = ""
    most_committed: str = "0.00"
    bound_leagues: int = 0
    bound_cap: str = ""
    bound_most_committed: str = "0.00"
    wall_s: float = 0.0
    interrupted: bool = False
    different: list[str] = field(default_factory=list)


def bench_faults(
    kills: Annotated[int, typer.Option(min=1, max=10_000, help="How many kills must land.")] = 200,
    seed: Annotated[int, typer.Option(help="The moments follow from it.")] = 1,
    faults: Annotated[
        str, typer.Option(help='Faults of the venue too, as "error500:rate=0.2;half:rate=0.05".')
    ] = "",
    clock_back: Annotated[
        bool, typer.Option("--clock-back", help="The clock steps back with every kill.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play two slots with three models, kill -9 at a random moment, go on, and compare the end.

    Compared are the counted answers of every forecaster on every question.
    Nothing may be lost: every call that a model received has its ask line,
    and every ask its end. The cap is as tight as two kills allow, and may be
    passed after no line; one league in four has half the money and must stop.
    """
    with errors_named():
        given = faults_of_a_venue(faults)
        result = Faulted(kills)
        with tempfile.TemporaryDirectory(prefix="beforehand-bench-") as made, _stoppable():
            try:
                with Ground(Path(made), given, clock_back) as ground:
                    run_faults(ground, random.Random(seed), result)  # noqa: S311 - of a bench
            except KeyboardInterrupt:
                result.interrupted = True
    _tell(result, as_json)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(1 if result.different or result.kills < kills else 0)


def _tell(result: Faulted, as_json: bool) -> None:
    if as_json:
        out.print_json(json.dumps(result.__dict__))
        return
    met = "met" if result.undisturbed_s < GOAL_SECONDS else "not met"
    for said in (
        f"undisturbed: {result.undisturbed_s:.2f} s ({result.undisturbed_cpu_s:.2f} s of CPU), "
        f"{result.undisturbed_with_start_s:.2f} s with the interpreter's start; "
        f"goal under {GOAL_SECONDS:g} s: {met}",
        f"{result.kills} of {result.wanted} kills landed in {result.leagues} leagues, "
        f"{result.missed} came too late; the clock stepped back {result.clock_steps} times, "
        f"{result.lines_under_a_clock_behind} lines say so",
        f"{result.asks} asks, {result.served_calls} received by the models, "
        f"{result.unserved_asks} killed before they were sent; "
        f"{result.resumed} resumed after a kill and say so, "
        f"{result.repeated_calls} repeated in all",
        f"at most {result.most_committed} committed under a cap of {result.cap}; in "
        f"{result.bound_leagues} leagues {result.bound_most_committed} under {result.bound_cap}",
        f"{len(result.different)} endings differ; {result.wall_s:.0f} s"
        + (" (interrupted)" if result.interrupted else ""),
    ):
        out.print(said, soft_wrap=True)
    for said in result.different[:10]:
        out.print(f"DIFFERENT {said}", markup=False, soft_wrap=True)


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# ---- what is played on it


def run_faults(ground: Ground, chance: random.Random, result: Faulted) -> None:
    """Kill leagues at moments drawn over the undisturbed run's time until enough kills landed."""
    begun = told = time.monotonic()
    try:
        wanted = _undisturbed(ground, result)
        most = 3 * result.wanted + 10
        while result.kills < result.wanted and result.leagues < most:
            bound = result.leagues % BOUND_EVERY == BOUND_EVERY - 1
            result.leagues += 1
            cap = Decimal(result.bound_cap if bound else result.cap)
            try:
                ground.begin(cap)
                _killed(ground, chance, result)
                ending = ground.ending()
                _take(ending, bound, result)
                odd = ending.unlike_part(wanted) if bound else ending.unlike(wanted)
            except IntegrityError as error:
                odd = [str(error)]
            if odd:
                result.different.append(f"league {result.leagues}: {'; '.join(odd[:4])}")
            if time.monotonic() - told > TOLD_SECONDS or result.kills >= result.wanted:
                told = time.monotonic()
                err.print(
                    f"{result.kills} of {result.wanted} kills landed in {result.leagues} leagues, "
                    f"{len(result.different)} endings differ, {told - begun:.0f} s",
                    soft_wrap=True,
                )
    finally:
        result.wall_s = round(time.monotonic() - begun, 1)


def _undisturbed(ground: Ground, result: Faulted) -> Ending:
    """The undisturbed run: in an interpreter of its own, here, and forked; all end alike."""
    endings = []
    ground.begin(SHIPPED_CAP)
    begun = time.monotonic()
    command = [sys.executable, "-m", "beforehand.cli.bench_ground", str(ground.league)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    result.undisturbed_with_start_s = round(time.monotonic() - begun, 3)
    if done.returncode:
        raise IntegrityError(f"the undisturbed league did not end well: {done.stderr[-500:]!r}")
    endings.append(ground.ending())
    ground.begin(SHIPPED_CAP)
    child(ground.league)  # what is imported late is imported now
    endings.append(ground.ending())
    ground.begin(SHIPPED_CAP)
    begun = time.monotonic()
    ground.fork()
    ground.wait()
    result.undisturbed_s = round(time.monotonic() - begun, 3)
    result.undisturbed_cpu_s = round(ground.cpu_s, 3)
    wanted = ground.ending()
    for each in endings:
        if odd := each.unlike(wanted):
            raise IntegrityError(f"the undisturbed league does not end the same twice: {odd[:4]}")
    _set_caps(wanted, result)
    return wanted


def _set_caps(wanted: Ending, result: Faulted) -> None:
    """The tightest cap under which two kills change nothing, and one that half the money makes.

    What a killed process had in flight keeps its reservation for ever: at most
    a whole run's for each kill. Then the last question must still fit.
    """
    cap = wanted.spent + MOST_KILLS * wanted.reserved_a_run + MODELS * wanted.reserved_a_call
    result.cap, result.bound_cap = money(cap), money(wanted.spent / 2)


def _killed(ground: Ground, chance: random.Random, result: Faulted) -> None:
    """Play, kill at a random moment, play again; killed twice in a third of the leagues."""
    left = result.undisturbed_s
    times = MOST_KILLS if chance.random() < 1 / 3 else 1
    for _ in range(min(times, result.wanted - result.kills)):
        moment = chance.uniform(0.0, left)
        ground.fork()
        time.sleep(moment)
        if not ground.kill():
            result.missed += 1
            return
        result.kills += 1
        left = max(left - moment, 0.1)
        if ground.clock_back:
            ground.step_back(chance.randint(1, MOST_BACK_SECONDS))
            result.clock_steps += 1
    ground.fork()
    ground.wait()


def _take(ending: Ending, bound: bool, result: Faulted) -> None:
    """Add what one ending came to."""
    result.asks += ending.asks
    result.lines_under_a_clock_behind += ending.turned
    result.served_calls += ending.served
    result.unserved_asks += ending.unserved
    result.resumed += ending.resumed
    result.repeated_calls += ending.repeated
    if bound:
        result.bound_leagues += 1
        most = max(Decimal(result.bound_most_committed), ending.most)
        result.bound_most_committed = money(most)
    else:
        result.most_committed = money(max(Decimal(result.most_committed), ending.most))
