"""A league in the world's own time with every anchor, driven by `beforehand tick` alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from beforehand.anchors.trust_files import write_authority
from beforehand.book.checkpoint import VerifierKey
from beforehand.cli.rehearsed_league import rehearsal_declaration
from beforehand.clock import SimulatedClock, SystemClock
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_evm import LocalEvm, find_anvil
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.replicas import Replicas
from beforehand.testing.served import Asked, Served, Told
from tests.relay.witness_world import new_witness, served_witness

from .conftest import START as COMMAND
from .conftest import beforehand

WORDS = ("opentimestamps", "rfc3161", "rekor", "git", "archive", "witness", "evm")
STAMP = "20260101000000"
CHAIN = 424_243


@dataclass
class Outside:
    """What the league reaches, and what its commands are told of it."""

    folder: Path
    trust: Path
    calendar: LocalCalendar
    chain: LocalEvm
    environment: dict[str, str]

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        env = {
            "COLUMNS": "200",
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
            # The very code that the tests import, whatever is installed beside it.
            "PYTHONPATH": os.pathsep.join(sys.path),
            **self.environment,
        }
        return subprocess.run(
            [sys.executable, "-c", COMMAND, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
            env=env,
        )


def served_folder(public: Path, captures: bool = False) -> Served:
    """The public folder as a site, or a web archive that captures that site."""

    def serve(asked: Asked) -> Told:
        _, _, name = asked.path.partition("/api/v1/")
        if captures and asked.path.startswith("/save/"):
            page = asked.path.removeprefix("/save/")
            return Told(302, headers={"Location": f"/web/{STAMP}/{page}"})
        held = public / "api" / "v1" / name
        return Told(200, held.read_bytes()) if held.is_file() else Told(404)

    return Served(serve)


@contextmanager
def outside(folder: Path) -> Iterator[Outside]:
    """Two authorities, a calendar with its chain, a log, a repository, a witness, an EVM node."""
    clock, league, trust = SystemClock(), folder / "blind", folder / "trust"
    league.mkdir()
    with ExitStack() as stack:
        authorities = [LocalTsa(folder / name, name) for name in ("one", "two")]
        tsas = [stack.enter_context(Served(each.serve)) for each in authorities]
        for each in authorities:
            write_authority(trust / "tsa" / each.name, each.authority)
        calendar, log = LocalCalendar(clock), LocalRekor(clock)
        served = stack.enter_context(Served(calendar.serve))
        calendar.url = served.url
        rekor = stack.enter_context(Served(log.serve))
        (trust / "trusted_root.json").write_bytes(log.trusted_root())
        remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
        site = stack.enter_context(served_folder(league / "public"))
        captured = stack.enter_context(served_folder(league / "public", captures=True))
        chain = stack.enter_context(LocalEvm(folder / "evm", chain=CHAIN))
        witness_key = new_witness(folder / "witness", name="witness.example/w")
        witness = stack.enter_context(served_witness(folder / "witness", clock))
        (trust / "witnesses.txt").write_text(f"{witness_key.text()}\n", encoding="ascii")
        SimulatedClock(folder / "venue-clock", clock.now())
        replicas = stack.enter_context(
            Replicas(
                folder / "replicas",
                clock=folder / "venue-clock",
                venue_options=("--no-limits",),
                model_options=("--no-limits",),
            )
        )
        (league / "settings.toml").write_text(
            f'[venue]\ngamma = "{replicas.gamma}"\nclob = "{replicas.clob}"\n'
            f"requests_per_second = 10000\n\n[asking]\nbackoff_milliseconds = 5\n\n[anchors]\n"
            f'calendars = ["{served.url}"]\nrekor = "{rekor.url}"\ngit = "{remote}"\n'
            f'archive = "{captured.url}"\narchive_of = "{site.url}"\n'
            f'evm = "{chain.url}"\nevm_chain = {CHAIN}\nevm_depth = 2\n'
            f'witnesses = [{{ url = "{witness.url}", key = "{witness_key.text()}" }}]\n'
            f'authorities = {{ one = "{tsas[0].url}", two = "{tsas[1].url}" }}\n',
            encoding="ascii",
        )
        (league / "declaration.toml").write_text(declaration(replicas.models), encoding="utf-8")
        environment = {"BEFOREHAND_EVM_KEY": chain.key.hex()}
        yield Outside(league, trust, calendar, chain, environment)


def declaration(models: str) -> str:
    """A league whose runs are all asked for by hand, so that one can be had now."""
    text = rehearsal_declaration(2, models)
    words = ", ".join(f'"{word}"' for word in WORDS)
    for old, new in (
        ('time = "simulated"', 'time = "live"'),
        ("use = []", f'use = [{words}]\nauthorities = ["one", "two"]\neach_answer = ["two"]'),
        ("rehearsal.beforehand.example/rehearsal/book", "league.test/rehearsal/book"),
        ("markets = 12", "markets = 2"),
        ('rule = "every_run"', 'rule = "scheduled_run"'),
        ('cron = ["0 10 * * *", "0 22 * * *"]', 'cron = ["0 0 1 1 *"]'),
    ):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text.replace('= "deadline"', '= "line"')


@pytest.mark.skipif(not find_anvil(), reason="anvil is not installed")
def test_a_league_with_every_anchor_is_ticked_published_and_verified(tmp_path: Path) -> None:
    with outside(tmp_path) as world:
        made = world.run("declare", world.folder)
        assert made.returncode == 0, made.stderr
        origin, key = origin_and_key(world.folder)
        FollowedLogs(tmp_path / "witness").add(origin, key)
        first = world.run("tick", world.folder, "--json", "--extra", "to see every anchor at work")
        assert first.returncode == 0, first.stdout + first.stderr
        told = json.loads(first.stdout)
        # A list is captured once it is published: the declaration's, and the run's.
        assert told["problems"]
        assert all("anchor archive over" in each for each in told["problems"]), told["problems"]
        (run,) = told["opened"]
        assert told["closed"] == {run: "complete"}
        held = {path.name for path in world.folder.glob("stamps/*/*")}
        assert {
            "list.txt.ots.pending",
            "list.txt.one.tsr",
            "list.txt.two.tsr",
            "list.txt.rekor.json",
            "list.txt.git.json",
            "list.txt.witness.json",
            "list.txt.evm.json.pending",
        } <= held
        world.calendar.mine()
        world.chain.mine(4)
        # What is to be tried next is no fact: without it a tick finds it in what is kept.
        (world.folder / "state" / "anchors.json").unlink()
        second = world.run("tick", world.folder, "--json")
        assert second.returncode == 0, second.stdout + second.stderr
        assert json.loads(second.stdout)["problems"] == []
        held = {path.name for path in world.folder.glob("stamps/*/*")}
        assert {"list.txt.ots", "list.txt.evm.json", "list.txt.archive.json"} <= held
        got = world.run(
            *("blocks", world.folder / "public", "--trust", world.trust),
            *("--evm-node", world.chain.url),
        )
        # The block of a chain without work is none of Bitcoin's; a test of its own takes it.
        assert got.returncode == 2 and "--bitcoin-node" in got.stdout, got.stdout + got.stderr
        world.run("publish", world.folder)
        signer = next((world.folder / "public").rglob("rekor.pub.pem"))
        (world.trust / "signers").mkdir()
        (world.trust / "signers" / "log.pem").write_bytes(signer.read_bytes())
    # Nothing outside is there any more: what follows is offline.
    checked = beforehand("verify", world.folder / "public", "--json", "--trust", world.trust)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    league = json.loads(checked.stdout)["leagues"]["rehearsal"]
    assert league["levels"][run]["P2"]["level"] == "2+", "the witness is the reader's own"
    assert league["levels"][run]["exclusivity"]["level"] == "2+"
    answers = league["brackets"][run]["answers"]
    assert answers["signed_alone"] == answers["valid"] == answers["bounded"] > 0


def origin_and_key(folder: Path) -> tuple[str, VerifierKey]:
    """What a witness is told of the book: line 1 names both."""
    first = json.loads((folder / "league" / "book.jsonl").read_bytes().split(b"\n")[0])
    return first["origin"], VerifierKey.parse(first["key"])
