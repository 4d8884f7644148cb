"""Sealed replies read again: what the present parser reads otherwise is listed, nothing changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from beforehand.book.reader import BookReader
from beforehand.forecasters.forecaster import Reply
from beforehand.publish.public import write_data
from tests.stages.live_world import FIRST_SLOT, MODELS, LiveLeague

from .conftest import beforehand


def read_as_it_stands(question: str, attempt: int) -> Reply:
    return Reply("answered", "0.40", b'{"probability": 0.4}', "because", cost=Decimal(0))


def read_by_an_older_parser(question: str, attempt: int) -> Reply:
    """The bytes say 0.53, and 0.35 was taken from them."""
    return Reply("answered", "0.35", b'{"probability": 0.53}', "because", cost=Decimal(0))


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def league(tmp_path: Path) -> LiveLeague:
    """Two questions asked of two commands and of a plugin, whose replies are its own affair."""
    behaviours = dict.fromkeys(MODELS, read_as_it_stands)
    return LiveLeague.begin(tmp_path / "league", behaviours, changes=TWO_COMMANDS)


# The first two of three seats are commands; the third stays a plugin of somebody else's.
TWO_COMMANDS = {
    f'plugin = "made-up"\nmodel = "made-up/{name}"\n': (
        f'plugin = "command"\noptions = ["true"]\nmodel = "made-up/{name}"\n'
    )
    for name in ("model-a", "model-b")
}


def test_what_reads_as_it_was_sealed_is_no_difference(league: LiveLeague) -> None:
    league.tick_at(FIRST_SLOT)
    before = files(league.folder)
    run = beforehand("reparse", league.folder, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    (told,) = json.loads(run.stdout)["leagues"]
    assert (told["read"], told["differences"]) == (4, [])
    assert told["left_out"] == {"read by a plugin of its own": 2}
    assert files(league.folder) == before


def test_what_reads_otherwise_is_listed_and_nothing_is_changed(league: LiveLeague) -> None:
    league.models["model-b"].behaviour = read_by_an_older_parser
    league.models["model-c"].behaviour = read_by_an_older_parser
    league.tick_at(FIRST_SLOT)
    before = files(league.folder)
    run = beforehand("reparse", league.folder, "--json")
    assert run.returncode == 1, run.stdout + run.stderr
    (told,) = json.loads(run.stdout)["leagues"]
    assert told["read"] == 4
    assert {each["forecaster"] for each in told["differences"]} == {"model-b"}
    each = told["differences"][0]
    assert (each["probability"], each["now_probability"]) == ("0.35", "0.53")
    table = beforehand("reparse", league.folder)
    assert table.returncode == 1
    assert "4 replies read again" in table.stdout and "2 read otherwise" in table.stdout
    assert table.stdout.count("0.53") == 2
    assert files(league.folder) == before


def test_a_public_folder_is_read_as_far_as_it_shows(league: LiveLeague, tmp_path: Path) -> None:
    league.models["model-b"].behaviour = read_by_an_older_parser
    league.tick_at(FIRST_SLOT)
    for as_of, read, code in (("2026-01-05T10:01:00Z", 0, 0), ("2026-01-05T12:00:00Z", 4, 1)):
        public = tmp_path / "public"
        shutil.rmtree(public, ignore_errors=True)
        pen, _ = league.open()
        with pen:
            pen.checkpoint()
            write_data(BookReader(league.folder / "league"), pen.key.verifier, public, as_of)
        run = beforehand("reparse", public, "--json")
        assert run.returncode == code, run.stdout + run.stderr
        (told,) = json.loads(run.stdout)["leagues"]
        assert told["read"] == read


def test_a_folder_without_a_book_is_refused(tmp_path: Path) -> None:
    run = beforehand("reparse", tmp_path)
    assert run.returncode == 2 and "no book" in run.stderr
