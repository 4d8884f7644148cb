"""A token an answer: each arriving answer closes a checkpoint that an authority signs by itself."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.anchor import Anchor, Subject
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import write_authority
from beforehand.book.checkpoint import Checkpoint
from beforehand.cli.publication import publish_league
from beforehand.clock import SystemClock
from beforehand.errors import FormatError
from beforehand.stages.anchoring import QUEUE_NAME, list_path, seal_proofs, stamp_checkpoint
from beforehand.stages.answer_stamps import AnswerStamps
from beforehand.stages.declare import declare, open_league
from beforehand.stages.slots import later
from beforehand.stages.tick import Ticked, tick
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.cli.conftest import beforehand
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    LiveLeague,
    MadeModel,
    MadeVenue,
    answers,
    fails,
    live_declaration,
    made_market,
)
from tests.stages.raw_book import lines_of, of_kind

ROOT = Path(__file__).resolve().parents[2]
PLAYER = Path(__file__).with_name("stamped_player.py")
EACH = 'use = ["rfc3161"]\nauthorities = ["one", "two"]\neach_answer = ["one"]'
CHANGES = {"use = []": EACH}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalTsa, str]]:
    made = LocalTsa(tmp_path_factory.mktemp("one"), "one")
    with Served(made.serve) as served:
        yield made, served.url


def stamped_tick(
    league: LiveLeague, anchors: Sequence[Anchor], extra: str | None = None
) -> tuple[Ticked, AnswerStamps]:
    """One tick with the stamps of each answer, as the command makes it."""
    pen, situation = league.open()
    world = league.world()
    with pen:
        stamps = AnswerStamps(pen, league.folder, anchors)
        world.stamp_answer = stamps.sealed
        done = asyncio.run(tick(pen, situation, world, league.folder, extra))
        done.problems += stamps.finish().problems
    return done, stamps


def valid_lines(league: LiveLeague) -> list[int]:
    lines = lines_of(league.folder / "league")
    return [line["n"] for line in of_kind(lines, "answer")]


def test_every_answer_closes_a_checkpoint_with_its_own_token(
    tmp_path: Path, authority: tuple[LocalTsa, str]
) -> None:
    made, url = authority
    behaviours = {"model-a": answers("0.5"), "model-b": fails("refused"), "model-c": answers("0.7")}
    league = LiveLeague.begin(tmp_path, behaviours, changes=CHANGES)
    league.clock.step_to(FIRST_SLOT)
    done, _ = stamped_tick(league, [TimeStampAuthority("one", url)])
    assert done.problems == []
    numbers = valid_lines(league)
    assert len(numbers) == 6
    trust = Trust(authorities=(made.authority,))
    for n in numbers:
        note = (tmp_path / "league" / "checkpoints" / str(n)).read_text()
        assert Checkpoint.parse(note.partition("\n\n")[0] + "\n").size == n
        listed = list_path(tmp_path, n)
        assert f": {n} lines, sha256 ".encode() in listed.read_bytes()
        token = listed.with_name("list.txt.one.tsr").read_bytes()
        subject = Subject.of_bytes(listed.read_bytes())
        assert check_bytes(token, subject, trust, SystemClock().now()).exit_code == 0
        other = Subject.of_bytes(list_path(tmp_path, numbers[0] if n != numbers[0] else numbers[1])
                                 .read_bytes())  # fmt: skip
        assert check_bytes(token, other, trust, SystemClock().now()).exit_code == 1


def test_a_dead_authority_is_asked_once_a_tick_and_holds_up_nobody(
    tmp_path: Path, authority: tuple[LocalTsa, str]
) -> None:
    _, url = authority
    league = LiveLeague.begin(tmp_path, changes=CHANGES)
    league.clock.step_to(FIRST_SLOT)
    away = TimeStampAuthority("one", "http://127.0.0.1:9/", seconds=2)
    done, _ = stamped_tick(league, [away])
    assert done.closed == {"2026-01-05T1000": "complete"}
    assert len(done.problems) == 1 and "anchor one over" in done.problems[0]
    numbers = valid_lines(league)
    queued = json.loads((tmp_path / QUEUE_NAME).read_text())
    assert len(queued) == len(numbers) and sum(item["attempts"] for item in queued) == 1
    pen, _ = league.open()
    with pen:
        now = later(FIRST_SLOT, minutes=30)
        pen.checkpoint()
        found = stamp_checkpoint(pen, tmp_path, [TimeStampAuthority("one", url)], now, ["one"])
        assert found.problems == [] and found.completed == len(numbers) + 1
        again = stamp_checkpoint(pen, tmp_path, [TimeStampAuthority("one", url)], now, ["one"])
        assert again.submitted == again.waiting == 0
        assert seal_proofs(pen, tmp_path) == len(numbers) + 1, "and one of the last checkpoint"
        assert seal_proofs(pen, tmp_path) == 0


def test_a_checkpoint_that_a_dead_process_only_signed_is_stamped_by_the_next(
    tmp_path: Path, authority: tuple[LocalTsa, str]
) -> None:
    _, url = authority
    league = LiveLeague.begin(tmp_path, changes=CHANGES)
    league.clock.step_to(FIRST_SLOT)
    pen, situation = league.open()
    world = league.world()
    with pen:  # it dies before any list is made
        world.stamp_answer = lambda: pen.checkpoint() and None
        asyncio.run(tick(pen, situation, world, tmp_path))
    numbers = valid_lines(league)
    assert not any(list_path(tmp_path, n).exists() for n in numbers)
    pen, _ = league.open()
    with pen:
        pen.checkpoint()
        found = stamp_checkpoint(
            pen, tmp_path, [TimeStampAuthority("one", url)], FIRST_SLOT, ["one"]
        )
    assert found.problems == []
    assert all(list_path(tmp_path, n).with_name("list.txt.one.tsr").exists() for n in numbers)


@pytest.mark.parametrize(
    ("anchors", "said"),
    [
        ('use = ["rekor"]\neach_answer = ["one"]', 'needs "rfc3161"'),
        (
            'use = ["rfc3161"]\nauthorities = ["two"]\neach_answer = ["one"]',
            "none of anchors.authorities",
        ),
    ],
)
def test_a_declaration_that_asks_nobody_for_the_token_is_refused(anchors: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        live_declaration(changes={"use = []": anchors})


# ---- end to end, in the world's own time


def live_league(folder: Path, each: bool) -> LiveLeague:
    """A league that made-up models answer now, in a run of its own; nothing is simulated."""
    clock = SystemClock()
    anchors = EACH if each else 'use = ["rfc3161"]\nauthorities = ["one", "two"]'
    changes = {
        "use = []": anchors,
        'time = "simulated"': 'time = "live"',
        'rule = "every_run"': 'rule = "scheduled_run"',
        'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 0 1 1 *"]',
        **{f'{role} = "deadline"': f'{role} = "line"' for role in
           ("answer", "reply", "reasoning", "submission")},
    }  # fmt: skip
    declaration = live_declaration(changes=changes)
    closes = later(clock.now(), hours=72)
    venue = MadeVenue(clock, [made_market(number, closes=closes) for number in range(1, 5)])
    models = {name: MadeModel(name, answers(f"0.{n}5")) for n, name in enumerate(MODELS, 3)}
    with open_league(folder / "league", declaration, clock) as pen:
        declare(pen, declaration, folder / "league")
    return LiveLeague(folder, declaration, clock, venue, models)  # type: ignore[arg-type]


def judged(folder: Path, words: Sequence[object]) -> Mapping[str, Any]:
    run = beforehand(*words, "--json", "--trust", folder / "trust")
    assert run.returncode in (0, 1), run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


@pytest.mark.parametrize("each", [True, False])
def test_the_report_says_whether_each_answer_has_its_own_token(
    tmp_path: Path, authority: tuple[LocalTsa, str], each: bool
) -> None:
    """The evidence: a token over each answer and not over the next; else the SHOULD is not met."""
    made, url = authority
    league = live_league(tmp_path, each)
    anchors = [TimeStampAuthority("one", url)]
    done, _ = stamped_tick(league, anchors if each else [], "a run of now")
    pen, _ = league.open()
    with pen:
        pen.checkpoint()
        stamp_checkpoint(pen, tmp_path, anchors, pen.now()[0], ["one"] if each else [])
        seal_proofs(pen, tmp_path)
        pen.checkpoint()
        public = tmp_path / "public"
        publish_league(tmp_path / "league", pen.key, public, pen.now()[0], lambda *_: None)
    assert list(done.closed.values()) == ["complete"]
    write_authority(tmp_path / "trust" / "tsa" / "one", made.authority)
    told = judged(tmp_path, ["verify", public])
    assert told["findings"] == []
    (bracket,) = told["leagues"]["blind"]["brackets"].values()
    assert bracket["answers"]["valid"] == bracket["answers"]["bounded"] == 6
    assert bracket["answers"]["signed_alone"] == (6 if each else 1), "the last one is alone anyhow"
    text = " ".join(beforehand("verify", public, "--trust", tmp_path / "trust").stdout.split())
    assert f"(each one SHOULD: {'met' if each else 'not met'})" in text
    report = judged(tmp_path, ["conform", public])
    entry = report["requirements"][11]
    assert bool(entry["should"]) is not each
    if each:
        assert any("each answer closed a checkpoint" in said for said in entry["said"])
    else:
        assert "1 of 6 answers closed a checkpoint with a token of their own" in entry["should"][0]


# ---- killed


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_every_signed_answer_is_stamped_once(
    tmp_path: Path, authority: tuple[LocalTsa, str], seed: int
) -> None:
    """An answer whose process died before its checkpoint shares the next one, and no more."""
    made, url = authority
    chance, kills = random.Random(seed), 0
    while True:
        child = subprocess.Popen(
            [sys.executable, PLAYER, tmp_path, url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            _, said = child.communicate(timeout=chance.uniform(0.4, 1.6) if kills < 4 else 60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            kills += 1
            continue
        assert child.returncode == 0, said.decode()
        break
    lines = lines_of(tmp_path / "league")
    answered = [line["n"] for line in of_kind(lines, "answer", status="answered")]
    asked = {(line["forecaster"], line["questions"][0]) for line in of_kind(lines, "ask")}
    assert len(asked) == 6 and len(answered) >= 6
    sizes = {int(path.name) for path in (tmp_path / "league" / "checkpoints").iterdir()}
    assert len(set(answered) - sizes) <= kills, "each death costs one checkpoint at most"
    trust = Trust(authorities=(made.authority,))
    for size in sizes:
        listed = list_path(tmp_path, size)
        token = listed.with_name("list.txt.one.tsr").read_bytes()
        subject = Subject.of_bytes(listed.read_bytes())
        assert check_bytes(token, subject, trust, SystemClock().now()).exit_code == 0, size
    proofs = [line["checkpoint_size"] for line in of_kind(lines, "proof")]
    assert sorted(proofs) == sorted(set(proofs)), "no stamp is sealed twice"
    assert set(proofs) == sizes


def test_a_league_that_has_made_no_run_is_at_no_fault(tmp_path: Path) -> None:
    league = live_league(tmp_path, each=False)
    pen, _ = league.open()
    with pen:
        pen.checkpoint()
        public = tmp_path / "public"
        publish_league(tmp_path / "league", pen.key, public, pen.now()[0], lambda *_: None)
    run = beforehand("conform", public, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads(run.stdout)["requirements"]
    assert [item["id"] for item in told if item["status"] == "FAIL"] == []
    assert told[2]["status"] == "UNVERIFIABLE"
    assert any("no run was made yet" in said for said in told[2]["said"])
