"""Killed anywhere and started again: nothing lost, nothing twice, nothing paid for in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.store import FileStore
from beforehand.clock import instant_key
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    Killed,
    LiveLeague,
    answers,
    dies,
    fails,
    in_turn,
    steps,
)
from tests.stages.raw_book import (
    Line,
    attempts_of,
    body_of,
    lines_of,
    most_committed,
    of_kind,
    said,
)

ROOT = Path(__file__).parents[2]
PLAYER = Path(__file__).with_name("crash_player.py")
RUN = "2026-01-05T1000"
CAP = Decimal("0.50")
SEEDS = range(1, 21)
SHARES = 4  # processes that play beside each other


def player(*words: object) -> dict[str, Any]:
    """Run crash_player.py in a process of its own."""
    done = subprocess.run(
        [sys.executable, PLAYER, *map(str, words)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


# ---- a real process, killed at twenty seeded points


@pytest.fixture(scope="module")
def played() -> Iterator[Path]:
    """A folder with one undisturbed league and one for every seed.

    In memory where that is to be had: what SIGKILL leaves behind is the same
    there, and a sync costs nothing.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield play_all(Path(name))


def play_all(folder: Path) -> Path:
    """Play every seed, some processes beside each other."""

    def share(number: int) -> dict[str, Any]:
        seeds = [seed for seed in SEEDS if seed % SHARES == number]
        return player("play", folder / str(number), 3, *seeds)

    with ThreadPoolExecutor(SHARES) as pool:
        found = list(pool.map(share, range(SHARES)))
    kills = [play["kills"] for each in found for play in each["plays"]]
    assert len(kills) == len(SEEDS) and sum(kill > 0 for kill in kills) >= 18, kills
    return folder


def folder_of(played: Path, seed: int) -> Path:
    return played / str(seed % SHARES) / str(seed)


def ending(folder: Path) -> dict[str, Any]:
    """What a league comes to: answers, ends of runs, outcomes; by names that no crash changes."""
    lines = lines_of(folder / "league")
    markets = {q["question"]: q["contract"]["market"] for q in of_kind(lines, "question")}
    return {
        "said": {
            (run, name, markets[question]): p
            for (run, name, question), p in said(folder / "league", lines).items()
        },
        "asked": {run["run"]: sorted(map(markets.get, run["questions"]))
                  for run in of_kind(lines, "run")},
        "ends": {close["run"]: close["status"] for close in of_kind(lines, "close")},
        "outcomes": {markets[line["question"]]: line["outcome"]
                     for line in of_kind(lines, "resolution")},
    }  # fmt: skip


def test_the_undisturbed_league_plays_as_written(played: Path) -> None:
    whole = ending(played / "0" / "whole")
    assert len(whole["said"]) == 12
    assert set(whole["said"].values()) == {"0.31", "0.42", "0.53"}
    assert whole["ends"] == {RUN: "complete", "2026-01-05T2200": "complete"}
    assert whole["outcomes"] == {"m1": "yes", "m2": "no"}
    assert whole == ending(played / "1" / "whole")


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_anywhere_the_league_ends_as_if_it_had_not_been(played: Path, seed: int) -> None:
    folder = folder_of(played, seed)
    assert ending(folder) == ending(played / "0" / "whole")
    lines = lines_of(folder / "league")
    # One run a slot, one close a run, one resolution a question.
    for kind, key in (("run", "slot"), ("close", "run"), ("resolution", "question")):
        assert max(Counter(line[key] for line in of_kind(lines, kind)).values()) == 1
    # The cap holds at every line.
    assert all(most <= CAP for most in most_committed(lines).values())
    check_attempts(lines)
    check_paid(folder, lines)
    with FileStore(folder / "league") as store:  # the chain and its bodies are sound
        assert store.size == len(lines) and store.cut == 0
        for line in lines:
            for body in line.get("bodies", ()):
                assert store.read_body(body["sha256"])


def check_attempts(lines: list[Line]) -> None:
    """Each ask has its end, and each one that repeats another says which and why."""
    for held in attempts_of(lines).values():
        assert [ask["attempt"] for ask, _ in held] == list(range(1, len(held) + 1))
        assert held[0][0]["why"] == "first" and "again" not in held[0][0]
        for (before, answer), (ask, _) in pairwise(held):
            assert ask["again"] == before["n"]
            lost = answer is not None and answer["status"] == "not_answered"
            assert (ask["why"] == "resumed") == lost
        for ask, answer in held:
            assert answer is not None, f"line {ask['n']} has no end"
            assert answer["n"] > ask["n"]


def check_paid(folder: Path, lines: list[Line]) -> None:
    """Every call that a model got has an ask line of its own, with the very bytes."""
    paid: Counter[tuple[str, str, str]] = Counter()
    for raw in (folder / "paid.jsonl").read_bytes().split(b"\n"):
        if raw:
            call = json.loads(raw)
            paid[call["model"], call["slot"], call["body"]] += 1
    slots = {run["run"]: run["slot"][:13] for run in of_kind(lines, "run")}
    sealed = Counter(
        (ask["forecaster"], slots[ask["run"]], body_of(folder / "league", ask, "ask").decode())
        for ask in of_kind(lines, "ask")
    )
    for call, times in paid.items():
        assert times <= sealed[call], f"{call} was paid {times} times and sealed {sealed[call]}"


def test_eight_processes_that_start_one_slot_make_one_run(tmp_path: Path) -> None:
    found = player("claim", tmp_path / "league", 8)
    assert found["opened"] == 1 and found["broken"] == 0, found
    lines = lines_of(tmp_path / "league" / "league")
    assert len(of_kind(lines, "run")) == 1 and len(of_kind(lines, "roster")) == 1
    assert Counter(ask["why"] for ask in of_kind(lines, "ask"))["first"] == 6
    assert len(said(tmp_path / "league" / "league", lines)) == 6


# ---- the same in one process, at every append


def died_at(
    folder: Path, patch: pytest.MonkeyPatch, at: int, after: bool, cap: str = "50.00"
) -> bool:
    """Tick a fresh league, dying at append number `at`, and once more; whether it died."""
    league = LiveLeague.begin(
        folder,
        {
            "model-a": answers("0.31", "0.01"),
            "model-b": in_turn(fails("timeout", retryable=True), answers("0.42")),
            "model-c": in_turn(fails("empty"), answers("0.53")),
        },
        changes={'cap = "50.00"': f'cap = "{cap}"'},
    )
    append, count, died = FileStore.append, 0, False

    def counted(self: FileStore, *given: Any) -> Any:
        nonlocal count
        count += 1
        if count == at and not after:
            raise Killed
        stored = append(self, *given)
        if count == at:
            raise Killed
        return stored

    with patch.context() as inner:
        inner.setattr(FileStore, "append", counted)
        try:
            league.tick_at(FIRST_SLOT)
        except Killed:
            died = True
    for model in league.models.values():
        model.behaviour = {"model-a": answers("0.31"), "model-b": answers("0.42"),
                           "model-c": answers("0.53")}[model.name]  # fmt: skip
    league.tick()
    return died


def settled_as_whole(folder: Path) -> None:
    lines = lines_of(folder / "league")
    check_attempts(lines)
    assert Counter(said(folder / "league", lines).values()) == {"0.31": 2, "0.42": 2, "0.53": 2}
    assert [close["status"] for close in of_kind(lines, "close")] == ["complete"]


@pytest.mark.parametrize("after", [False, True])
def test_dying_at_any_append_leaves_a_book_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    at, died = 0, True
    while died:
        at += 1
        died = died_at(tmp_path / str(at), monkeypatch, at, after)
        settled_as_whole(tmp_path / str(at))
    assert 4 < at < 40


@pytest.mark.parametrize("after", [False, True])
def test_dying_at_any_append_never_passes_a_tight_cap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    for at in range(2, 8):
        folder = tmp_path / str(at)
        died_at(folder, monkeypatch, at, after, "0.07")
        lines = lines_of(folder / "league")
        check_attempts(lines)
        assert most_committed(lines)["2026-W02"] <= Decimal("0.07")
        first = Counter(ask["questions"][0] for ask in of_kind(lines, "ask", why="first"))
        assert set(first.values()) == {3}, "a market was asked of some models only"


def test_dying_between_the_ask_line_and_the_reply_is_told_in_the_next_ask(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, {"model-a": in_turn(dies, answers("0.3"))}, markets=1)
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    (lost,) = of_kind(lines_of(tmp_path / "league"), "ask")
    league.tick()
    lines = lines_of(tmp_path / "league")
    first, second = of_kind(lines, "ask")
    assert first == lost
    assert (second["why"], second["again"], second["attempt"]) == ("resumed", first["n"], 2)
    ended, answered = of_kind(lines, "answer")
    assert (ended["ask_line"], ended["status"]) == (first["n"], "not_answered")
    assert "cost" not in ended and ended["n"] < second["n"]
    assert (answered["ask_line"], answered["status"]) == (second["n"], "answered")
    assert body_of(tmp_path / "league", first, "ask") == body_of(tmp_path / "league", second, "ask")


def test_answers_sealed_before_the_death_stay_and_count(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = in_turn(dies, answers("0.5"))
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    before = (tmp_path / "league" / "book.jsonl").read_bytes()
    stated = said(tmp_path / "league", lines_of(tmp_path / "league"))
    assert len(stated) == 2
    league.tick()
    assert (tmp_path / "league" / "book.jsonl").read_bytes().startswith(before)
    assert said(tmp_path / "league", lines_of(tmp_path / "league")).items() >= stated.items()


# ---- clocks that step back


def set_clock(folder: Path, instant: str) -> None:
    """As a machine's clock may be set: simulated time itself never steps back."""
    (folder / "clock").write_text(instant + "\n", encoding="ascii")


def interrupted(tmp_path: Path, at: str = FIRST_SLOT) -> LiveLeague:
    """A league that died in its first slot, one call of model-a unanswered."""
    league = LiveLeague.begin(tmp_path, dict.fromkeys(MODELS, answers("0.4")), markets=1)
    league.models["model-a"].behaviour = in_turn(dies, answers("0.3"))
    with pytest.raises(Killed):
        league.tick_at(at)
    return league


@pytest.mark.parametrize("clock", ["2026-01-05T09:59:59Z", "2026-01-05T09:59:00Z"])
def test_a_small_step_back_is_kept_in_the_line_and_asking_goes_on(
    tmp_path: Path, clock: str
) -> None:
    league = interrupted(tmp_path)
    size = len(lines_of(tmp_path / "league"))
    set_clock(tmp_path, clock)
    league.tick()
    fresh = lines_of(tmp_path / "league")[size:]
    assert of_kind(fresh, "ask")
    for line in fresh:
        assert (line["at"], line["clock"]) == (FIRST_SLOT, clock)


@pytest.mark.parametrize("clock", ["2026-01-05T09:58:59Z", "2026-01-05T04:00:00Z"])
def test_asking_pauses_while_the_clock_is_more_than_a_minute_behind_the_book(
    tmp_path: Path, clock: str
) -> None:
    league = interrupted(tmp_path)
    calls = sum(len(model.calls) for model in league.models.values())
    size = len(lines_of(tmp_path / "league"))
    set_clock(tmp_path, clock)
    league.tick()
    fresh = lines_of(tmp_path / "league")[size:]
    assert not of_kind(fresh, "ask"), "asked by a clock that cannot be right"
    assert not of_kind(fresh, "close"), "a pause is no end"
    assert sum(len(model.calls) for model in league.models.values()) == calls
    set_clock(tmp_path, "2026-01-05T10:01:00Z")
    league.tick()
    assert len(said(tmp_path / "league", lines_of(tmp_path / "league"))) == 3


def test_no_new_slot_is_asked_while_the_clock_is_far_behind(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    late = "2026-01-05T22:00:00Z"
    league.venue.broken = True
    league.tick_at(late)  # nothing was opened; the settling pass fails too
    league.venue.broken = False
    calls = sum(len(model.calls) for model in league.models.values())
    set_clock(tmp_path, "2026-01-05T11:00:00Z")
    league.tick()
    assert sum(len(model.calls) for model in league.models.values()) == calls
    set_clock(tmp_path, "2026-01-05T22:05:00Z")
    assert league.tick().opened == ["2026-01-05T2200"]


def test_a_clock_that_steps_back_during_a_round_never_turns_the_books_time(
    tmp_path: Path,
) -> None:
    league = LiveLeague.begin(tmp_path, markets=2)
    forward = steps(league.clock, "2026-01-05T10:20:00Z", answers("0.5"))

    def back(question: str, attempt: int) -> Any:
        set_clock(tmp_path, "2026-01-05T10:00:30Z")
        return answers("0.6")(question, attempt)

    league.let_wait("model-b", "model-a").behaviour = forward
    league.let_wait("model-c", "model-a", "model-b").behaviour = back
    league.tick_at(FIRST_SLOT)
    lines = lines_of(tmp_path / "league")
    times = [instant_key(line["at"]) for line in lines]
    assert times == sorted(times)
    turned = [line for line in lines if "clock" in line]
    assert turned and all(line["clock"] == "2026-01-05T10:00:30Z" for line in turned)
    assert all(line["at"] == "2026-01-05T10:20:00Z" for line in turned)
    # What was in flight is paid for, and kept.
    assert {line["forecaster"] for line in of_kind(lines, "answer")} == set(MODELS)


def test_asking_pauses_in_the_round_in_which_the_clock_steps_back(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    forward = steps(league.clock, "2026-01-05T10:20:00Z", answers("0.5"))

    def back(question: str, attempt: int) -> Any:
        set_clock(tmp_path, "2026-01-05T10:00:30Z")
        return fails("timeout", retryable=True)(question, attempt)

    league.let_wait("model-b", "model-a").behaviour = forward
    league.let_wait("model-c", "model-a", "model-b")
    league.models["model-c"].behaviour = in_turn(back, answers("0.6"))
    league.tick_at(FIRST_SLOT)
    assert len(league.models["model-c"].calls) == 1, "tried again by a clock that cannot be right"
    set_clock(tmp_path, "2026-01-05T10:21:00Z")
    league.tick()
    assert len(said(tmp_path / "league", lines_of(tmp_path / "league"))) == 3


def test_a_step_back_before_anything_was_asked_settles_nothing_twice(tmp_path: Path) -> None:
    league = LiveLeague.begin(tmp_path, markets=1)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes["m1"] = "yes"
    league.tick_at("2026-01-08T12:00:00Z")
    set_clock(tmp_path, "2026-01-07T12:00:00Z")
    for _ in range(2):
        league.tick()
    lines = lines_of(tmp_path / "league")
    assert len(of_kind(lines, "resolution")) == 1 and not of_kind(lines, "correction")
