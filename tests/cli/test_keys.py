"""`beforehand key`, `identity`, `prove --cell` and `declare --successor-of`, run as commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beforehand.book.reader import BookReader
from beforehand.cli import identity, keys
from beforehand.cli.declaring import declare_league
from beforehand.cli.proving import prove
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from tests.publish.test_salted_cells import publish, salted
from tests.relay.made_league import START, declaration, make_league
from tests.small_league import play_small_league, small_declaration
from tests.stages.test_identity import SLOT, begun

app = typer.Typer()
app.add_typer(keys.app, name="key")
app.add_typer(identity.app, name="identity")
app.command()(prove)
app.command("declare")(declare_league)


class Said:
    def __init__(self, *words: object) -> None:
        done = CliRunner().invoke(app, [str(word) for word in words])
        self.code, self.out, self.err = done.exit_code, done.stdout, done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    play_small_league(tmp_path / "f" / "league").store.close()
    shutil.move(tmp_path / "f" / "league" / "clock", tmp_path / "f" / "clock")
    return tmp_path / "f"


def test_rotate_recover_and_show(folder: Path, tmp_path: Path) -> None:
    first = json.loads(Said("key", "show", folder, "--json").out)
    assert [each["from_line"] for each in first["keys"]] == [1]
    done = Said("key", "rotate", folder, "--reason", "yearly")
    assert (done.code, "on signs: " in done.out) == (0, True)
    usb = tmp_path / "usb.pem"
    shutil.move(folder / "league/keys/recovery.pem", usb)
    (folder / "league/keys/signing.pem").unlink()
    assert Said("key", "rotate", folder).code == 2
    done = Said("key", "recover", folder, "--recovery", usb, "--json")
    assert done.code == 0
    shown = Said("key", "show", folder)
    assert json.loads(done.out)["key"] in shown.out
    assert shown.out.count("from line ") == 3
    told = json.loads(Said("key", "show", folder, "--json").out)
    assert told["recovery"] != first["recovery"]
    assert (
        "A fresh recovery key is at"
        in Said("key", "recover", folder, "--recovery", folder / "league/keys/recovery.pem").out
    )


def test_what_is_refused_is_named(folder: Path, tmp_path: Path) -> None:
    for words in (
        ("key", "show", tmp_path),
        ("key", "rotate", tmp_path),
        ("key", "recover", folder, "--recovery", tmp_path / "none.pem"),
        ("identity", "reveal", folder, "ada"),
        ("identity", "reveal", tmp_path, "ada"),
    ):
        done = Said(*words)
        assert done.code == 2 and done.err


def test_a_hidden_seat_is_revealed_once(tmp_path: Path) -> None:
    made = begun(tmp_path / "live")
    made.tick_at(SLOT)
    done = Said("identity", "reveal", made.folder, "model-x", "--why", "released")
    assert (done.code, "1 body of model-x revealed" in done.out) == (0, True)
    assert "was revealed before" in Said("identity", "reveal", made.folder, "model-x").out
    told = json.loads(Said("identity", "reveal", made.folder, "model-x", "--json").out)
    assert told == {"seat": "model-x", "revealed": []}


def test_one_cell_is_proved_by_the_operator(tmp_path: Path) -> None:
    league = make_league(tmp_path / "league", salted(declaration().data))
    Inbox(league.folder).accept(league.submission(), league.league_key(), START)
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
        line = pen.store.size
        pen.checkpoint()
    publish(league, tmp_path / "public", START)
    target = tmp_path / "cell.proof"
    words = ("prove", tmp_path / "public", "--line", line, "--question", league.ids[0], "--cell")
    assert Said(*words, "--out", target).code == 2
    assert Said(*words, "--out", target, "--private", league.book).code == 0
    assert json.loads(target.read_bytes())["cell"]["path"] == league.ids[0]


def test_a_successor_is_declared_by_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    notes = BookReader(folder / "league").checkpoints()
    (tmp_path / "checkpoint").write_bytes(notes[max(notes)])
    text = small_declaration().data.replace(b"small/book", b"second/book")
    (tmp_path / "second.toml").write_bytes(text)
    second = tmp_path / "second"
    second.mkdir()
    (second / "clock").write_text("2026-01-20T00:00:00Z\n")
    words = ("declare", tmp_path / "second.toml", "--dir", second, "--successor-of")
    assert Said(*words, tmp_path / "none").code == 2
    (tmp_path / "bad").write_bytes(b"\xff")
    assert Said(*words, tmp_path / "bad").code == 2
    done = Said(*words, tmp_path / "checkpoint")
    assert done.code == 0, done.err
    line = json.loads(next(BookReader(second / "league").lines()))
    assert line["successor_of"]["size"] == max(notes)
