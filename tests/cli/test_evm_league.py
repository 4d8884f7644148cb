"""A league anchored on a real EVM node, and checked when the node is gone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from beforehand.anchors.evm import EvmChain
from beforehand.cli.publication import publish_league
from beforehand.clock import SystemClock
from beforehand.records.declaration import Declaration
from beforehand.stages.anchoring import seal_proofs, stamp_checkpoint
from beforehand.stages.declare import declare, open_league
from beforehand.stages.slots import later
from beforehand.testing.local_evm import LocalEvm, find_anvil

from .conftest import beforehand
from .test_evidence import live, play, quiet, settle

pytestmark = pytest.mark.skipif(not find_anvil(), reason="anvil is not installed")

OWN_CHAIN = 424_242


def test_the_book_s_root_on_a_chain_is_evidence_when_the_node_is_gone(tmp_path: Path) -> None:
    clock, trust = SystemClock(), tmp_path / "trust"
    text = live().data.decode("utf-8")
    assert "margin_minutes = 120" in text
    text = text.replace("margin_minutes = 120", "margin_minutes = 0")
    declaration = Declaration.parse(text.encode("utf-8"), "live.toml")
    league, public = tmp_path / "league", tmp_path / "public"
    with (
        LocalEvm(tmp_path / "evm", chain=OWN_CHAIN) as chain,
        open_league(league, declaration, clock) as pen,
    ):
        declare(pen, declaration, league)
        play(pen, declaration)
        pen.checkpoint()
        anchor = EvmChain(chain.node, chain.chain, chain.key, deep_enough=3)
        first = stamp_checkpoint(pen, tmp_path, [anchor], clock.now())
        assert (first.submitted, first.completed, first.problems) == (1, 0, [])
        chain.mine(4)
        second = stamp_checkpoint(pen, tmp_path, [anchor], later(clock.now(), seconds=3600))
        assert (second.submitted, second.completed, second.problems) == (0, 1, [])
        time.sleep(17)  # the block's time and its margin, and "before" is strict
        settle(pen)
        seal_proofs(pen, tmp_path)
        pen.checkpoint()
        publish_league(league, pen.key, public, clock.now(), quiet)

        without = beforehand("blocks", public, "--trust", trust)
        assert without.returncode == 2 and "give --evm-node" in without.stdout
        got = beforehand("blocks", public, "--trust", trust, "--evm-node", chain.url)
        assert got.returncode == 0, got.stdout + got.stderr
        again = beforehand("blocks", public, "--trust", trust)
        assert again.returncode == 0, "what is there already needs no node"

    told = beforehand("verify", public, "--json", "--trust", trust)
    assert told.returncode == 0, told.stdout + told.stderr
    (run,) = json.loads(told.stdout)["leagues"]["blind"]["levels"].values()
    for name in ("P1a", "P2"):
        assert run[name]["level"] == "2" and "evm over" in run[name]["evidence"], run[name]
    assert run["P1b"]["level"] == "1", "a block's time is nobody's signed time"

    (listed,) = public.rglob("list.txt")
    (record,) = public.rglob("list.txt.evm.json")
    lone = beforehand("verify", listed, record, "--trust", trust)
    assert lone.returncode == 0, lone.stdout + lone.stderr
    other = tmp_path / "other.txt"
    other.write_bytes(listed.read_bytes() + b"x")
    assert beforehand("verify", other, record, "--trust", trust).returncode == 1
    bare = beforehand("verify", listed, record)
    assert bare.returncode == 2
