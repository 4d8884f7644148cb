"""A league that is killed while it plays, over and over: run by test_crashes.py on its own.

    python crash_player.py play FOLDER KILLS SEED ...   (one league a seed, below FOLDER)
    python crash_player.py claim FOLDER COUNT           (COUNT processes start one slot at once)

Two slots, three models, two markets, and settling after them. Every play is a
child of this process; the child says on a pipe when it is about to append,
when it has, and when a call is at a model; the parent kills it with SIGKILL
after a number of those that the seed draws. The next child goes on from the
folder, until one ends by itself. What the models were asked is kept on their
own side, in `paid.jsonl`, as an endpoint would keep it.

Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from beforehand.book.store import FileStore
from beforehand.clock import SimulatedClock, instant_key
from beforehand.errors import ConflictError
from beforehand.forecasters.forecaster import Reply, Request
from beforehand.stages.slots import later
from beforehand.stages.tick import next_due, tick
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    Behaviour,
    LiveLeague,
    MadeModel,
    MadeVenue,
    answers,
    fails,
    in_turn,
    live_declaration,
    made_market,
)

CHANGES = {
    'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 10 5 1 *", "0 22 5 1 *"]',
    "attempts = 3": "attempts = 8",
    'cap = "50.00"': 'cap = "0.50"',
    "every_hours = 4": "every_hours = 8",
}
CLOSES = "2026-01-06T23:00:00Z"
END = "2026-01-07T03:00:00Z"
MODEL_BEHAVIOURS: dict[str, Behaviour] = {
    "model-a": answers("0.31", "0.004"),
    "model-b": in_turn(fails("rate_limited", retryable=True, cost="0"), answers("0.42", "0.003")),
    "model-c": in_turn(fails("unparseable", cost="0.002"), answers("0.53", None)),
}


class PaidModel(MadeModel):
    """A model whose side remembers every call, whoever made it and whether it came back."""

    paid: Path
    slot: str = ""
    say: Any = None

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        question = json.loads(request.body)["ask"]
        key = {"model": self.name, "slot": self.slot, "question": question}
        record = {**key, "body": request.body.decode()}
        with self.paid.open("ab", buffering=0) as file:
            file.write(json.dumps(record).encode() + b"\n")
        held = [json.loads(raw) for raw in self.paid.read_bytes().split(b"\n") if raw]
        attempt = sum(all(each[k] == v for k, v in key.items()) for each in held)
        self.say()
        await asyncio.sleep(0.003 * (1 + "bc".find(self.name[-1])))
        self.say()
        reply = self.behaviour(question, attempt)
        return Reply(
            reply.status,
            reply.probability,
            reply.raw,
            cost=reply.cost,
            served_model=f"made-up/{self.name}",
            retryable=reply.retryable,
        )


def begin(folder: Path) -> None:
    """Declare the league."""
    LiveLeague.begin(folder, MODEL_BEHAVIOURS, markets=0, changes=CHANGES).venue.markets.clear()


def league_in(folder: Path, pipe: int) -> LiveLeague:
    """The league of a folder, as a fresh process finds it."""

    def say() -> None:
        if pipe >= 0:
            os.write(pipe, b".")

    clock = SimulatedClock(folder / "clock")
    venue = MadeVenue(clock, [made_market(1, closes=CLOSES), made_market(2, closes=CLOSES)])
    venue.outcomes = {"m1": "yes", "m2": "no"}
    models: dict[str, MadeModel] = {}
    for name, behaviour in MODEL_BEHAVIOURS.items():
        model = PaidModel(name, behaviour)
        model.paid, model.say = folder / "paid.jsonl", say
        models[name] = model
    append = FileStore.append

    def told(self: FileStore, *given: Any, **named: Any) -> Any:
        say()
        stored = append(self, *given, **named)
        say()
        return stored

    FileStore.append = told  # type: ignore[method-assign]
    return LiveLeague(folder, live_declaration(MODELS, CHANGES), clock, venue, models)


def play(folder: Path, pipe: int = -1) -> None:
    """Go on from wherever the folder is, to the end."""
    league = league_in(folder, pipe)
    while True:
        over = instant_key(league.clock.now()) >= instant_key(CLOSES)
        league.venue.states = {} if over else {"m1": "open", "m2": "open"}
        for model in league.models.values():
            model.slot = league.clock.now()[:13]  # type: ignore[attr-defined]
        pen, situation = league.open()
        with pen:
            asyncio.run(tick(pen, situation, league.world(), folder))
            due = next_due(situation, later(league.clock.now(), seconds=1), folder)
        if due is None or instant_key(due) > instant_key(END):
            return
        league.clock.step_to(due)


def child(folder: Path, pipe: int) -> None:
    try:
        play(folder, pipe)
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(3)


def killed_play(folder: Path, events: int, wait: float) -> bool:
    """Play in a child that is killed after so many events and a moment; whether it was in time."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        child(folder, theirs)
    os.close(theirs)
    heard = 0
    while heard < events and (piece := os.read(ours, 1)):
        heard += len(piece)
    if heard >= events:
        until = time.perf_counter() + wait
        while time.perf_counter() < until:
            pass
    os.kill(pid, signal.SIGKILL)
    _, code = os.waitpid(pid, 0)
    os.close(ours)
    assert os.WIFSIGNALED(code) or os.waitstatus_to_exitcode(code) == 0, "the play ended badly"
    return os.WIFSIGNALED(code)


def whole_lines(folder: Path) -> bytes:
    data = (folder / "league" / "book.jsonl").read_bytes()
    return data[: data.rfind(b"\n") + 1]


def play_seed(folder: Path, most_kills: int, seed: int, events: int) -> dict[str, Any]:
    """One league, killed one or more times and then left alone."""
    rng = random.Random(seed)
    begin(folder)
    kills, before = 0, whole_lines(folder)
    for number in range(1, rng.randint(1, most_kills) + 1):
        most = max(1, int(events * 0.8 / number))
        kills += killed_play(folder, rng.randint(1, most), rng.random() * 0.004)
        after = whole_lines(folder)
        assert after.startswith(before), "a line that was there is gone"
        before = after
    pid = os.fork()
    if pid == 0:
        child(folder, -1)
    _, code = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(code) == 0, "the last play ended badly"
    assert whole_lines(folder).startswith(before), "a line that was there is gone"
    return {"seed": seed, "kills": kills}


def events_of_a_play(folder: Path) -> int:
    """How many events an undisturbed play has."""
    begin(folder)
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        child(folder, theirs)
    os.close(theirs)
    heard = 0
    while piece := os.read(ours, 4096):
        heard += len(piece)
    _, code = os.waitpid(pid, 0)
    os.close(ours)
    assert os.waitstatus_to_exitcode(code) == 0, "the undisturbed play ended badly"
    return heard


def claim(folder: Path, count: int) -> dict[str, Any]:
    """Many processes tick one due slot at the same instant."""
    begin(folder)
    SimulatedClock(folder / "clock").step_to(FIRST_SLOT)
    gate, opened = os.pipe()
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os.close(opened)
            league = league_in(folder, -1)
            for model in league.models.values():
                model.slot = FIRST_SLOT[:13]  # type: ignore[attr-defined]
            os.read(gate, 1)
            try:
                done = league.tick()
                os._exit(10 if done.opened else 11)
            except ConflictError:
                os._exit(12)
            except BaseException as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                os._exit(3)
        pids.append(pid)
    os.close(gate)
    os.close(opened)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return {"opened": codes.count(10), "nothing": codes.count(11), "kept_out": codes.count(12),
            "broken": len(codes) - sum(map(codes.count, (10, 11, 12)))}  # fmt: skip


def main(words: list[str]) -> dict[str, Any]:
    if words[0] == "claim":
        return claim(Path(words[1]), int(words[2]))
    folder, kills = Path(words[1]), int(words[2])
    events = events_of_a_play(folder / "whole")
    plays = [play_seed(folder / seed, kills, int(seed), events) for seed in words[3:]]
    return {"events": events, "plays": plays}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
