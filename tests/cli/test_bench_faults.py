"""`beforehand bench faults`: small numbers of kills, and that its checks would notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.bench_endings import Ending
from beforehand.cli.bench_ground import MODELS, SHIPPED_CAP, Ground, child
from beforehand.errors import IntegrityError

from .conftest import START

VENUE = "error500:rate=0.2;half:rate=0.1;rate429:rate=0.1,seconds=0;garbage:rate=0.1"


def bench(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200", "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def killed(*words: object) -> dict[str, Any]:
    """The result of a small bench, in which every ending must be the undisturbed one."""
    run = bench("bench", "faults", "--json", *words)
    printed, told = run.communicate(timeout=200)
    assert run.returncode == 0, printed[-2000:] + told[-2000:]
    found: dict[str, Any] = json.loads(printed)
    assert found["different"] == [] and not found["interrupted"]
    assert found["kills"] == found["wanted"] <= found["leagues"] * 2
    assert found["served_calls"] + found["unserved_asks"] == found["asks"] > 0
    assert found["resumed"] <= found["repeated_calls"]
    assert 0 < Decimal(found["most_committed"]) <= Decimal(found["cap"]) < SHIPPED_CAP / 50
    return found


@pytest.mark.slow
def test_kills_land_and_every_ending_is_the_undisturbed_one() -> None:
    found = killed("--kills", 6, "--seed", 1)
    assert found["bound_leagues"] >= 1
    most, cap = Decimal(found["bound_most_committed"]), Decimal(found["bound_cap"])
    assert cap * Decimal("0.8") < most <= cap
    assert found["undisturbed_cpu_s"] > 0
    assert 0 < found["undisturbed_s"] < found["undisturbed_with_start_s"]


@pytest.mark.slow
def test_killed_while_the_venue_fails_it_ends_as_if_it_had_not_been() -> None:
    killed("--kills", 3, "--seed", 5, "--faults", VENUE)


def test_killed_and_its_clock_set_back_it_ends_as_if_it_had_not_been() -> None:
    behind = 0
    for seed in range(5, 9):  # a kill may land where no line follows under the clock behind
        found = killed("--kills", 3, "--seed", seed, "--clock-back")
        assert found["clock_steps"] == 3
        behind += found["lines_under_a_clock_behind"]
        if behind:
            break
    assert behind > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_says_what_it_found(number: signal.Signals) -> None:
    run = bench("bench", "faults", "--json", "--kills", 5000)
    assert run.stderr is not None
    while (told := run.stderr.readline()).startswith("0 of 5000 kills landed"):
        pass
    assert "of 5000 kills landed" in told
    run.send_signal(number)
    printed, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    found = json.loads(printed)
    assert found["interrupted"] and found["kills"] > 0 and found["different"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eror500:rate=0.2", "no fault is called 'eror500'"),
        ("slow:second=1", "slow takes no 'second'"),
        ("behaviour:name=stall", "a fault of models"),
    ],
)
@pytest.mark.parametrize("command", ["bench faults", "rehearse"])
def test_a_fault_that_is_none_is_said_before_anything_starts(
    tmp_path: Path, command: str, text: str, said: str
) -> None:
    place = ["--dir", tmp_path / "r"] if command == "rehearse" else []
    run = bench(*command.split(), *place, "--faults", text)
    printed, told = run.communicate(timeout=60)
    assert run.returncode == 2
    assert f"--faults: {said}" in told or said in told
    assert "Traceback" not in told and "usage:" not in told and not printed
    assert not (tmp_path / "r").exists()


# ---- the checks of an ending


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A ground on which a league was played under half the money, and that ending."""
    with Ground(tmp_path_factory.mktemp("ground"), (), clock_back=False) as ground:
        ground.begin(SHIPPED_CAP)
        child(ground.league)
        whole = ground.ending()
        ground.begin(whole.spent / 2)
        child(ground.league)
        yield ground, whole, ground.ending()


def test_half_the_money_stops_the_asking_and_is_never_passed(
    played: tuple[Ground, Ending, Ending],
) -> None:
    _, whole, part = played
    assert part.stopped and part.unlike_part(whole) == []
    assert part.most <= part.cap < whole.most
    assert 0 < len(part.said) < len(whole.said) == 2 * 12 * MODELS
    assert "were stopped by a cap" in part.unlike(whole)[0]


def test_an_answer_too_many_too_few_or_another_one_is_different(
    played: tuple[Ground, Ending, Ending],
) -> None:
    _, whole, part = played
    key = next(iter(whole.said))
    other = Ending(**{**whole.__dict__, "said": {**whole.said, key: "0.987"}})
    less = Ending(**{**whole.__dict__, "said": {k: v for k, v in whole.said.items() if k != key}})
    assert other.unlike(whole) and less.unlike(whole) and not whole.unlike(whole)
    said = {**part.said, next(iter(part.said)): "0.987"}
    assert Ending(**{**part.__dict__, "said": said}).unlike_part(whole)


def test_money_over_the_cap_is_different(played: tuple[Ground, Ending, Ending]) -> None:
    _, whole, part = played
    for ending, compare in ((whole, whole.unlike), (part, part.unlike_part)):
        assert not compare(whole)
        over = Ending(**{**ending.__dict__, "most": ending.cap + Decimal("0.01")})
        again = over.unlike if ending is whole else over.unlike_part
        assert "was committed under a cap" in again(whole)[0]


def test_a_call_without_an_ask_line_is_found(played: tuple[Ground, Ending, Ending]) -> None:
    ground, _, part = played
    log = ground.replicas.folder / "model_requests.jsonl"
    lines = log.read_bytes()
    assert (part.served, part.unserved) == (len(lines.splitlines()), 0)
    log.write_bytes(lines + lines.splitlines(keepends=True)[-1])
    with pytest.raises(IntegrityError, match="was called 2 times and 1 are sealed"):
        ground.ending()
    log.write_bytes(lines)


def test_a_run_left_open_is_found(played: tuple[Ground, Ending, Ending]) -> None:
    ground, _, _ = played
    book = ground.league / "league" / "book.jsonl"
    lines = book.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"kind": "answer"' in line)
    book.write_bytes(b"".join(lines[: cut + 1]))
    with pytest.raises(IntegrityError, match="left open"):
        ground.ending()
    book.write_bytes(b"".join(lines))
