"""`beforehand confirm`: a second source's word, sealed, published, and read by the ladder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from beforehand.book.folder import DirectoryFolder
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.book.verify import verify_folder
from beforehand.cli.publication import publish_league
from beforehand.clock import SimulatedClock
from beforehand.publish.conformance.conform import read_exhibit
from beforehand.publish.conformance.second_source import lacks_second_source
from beforehand.stages.declare import reopen_league
from beforehand.testing.memory_folder import MemoryFolder
from tests.small_league import START, play_small_league

from .conftest import beforehand


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    play_small_league(tmp_path / "f" / "league").store.close()
    shutil.move(tmp_path / "f" / "league" / "clock", tmp_path / "f" / "clock")
    return tmp_path / "f"


def settled(folder: Path) -> dict[str, dict[str, str]]:
    lines = map(json.loads, BookReader(folder / "league").lines())
    return {line["question"]: line for line in lines if line["kind"] == "resolution"}


def test_confirmed_published_and_counted(folder: Path, tmp_path: Path) -> None:
    held = settled(folder)
    rows = [f"{name},{line['outcome']},{line['instant']}" for name, line in held.items()]
    table = tmp_path / "b.csv"
    table.write_text("\n".join(["question,value,instant", *rows]) + "\n")
    done = beforehand("confirm", folder, table, "--source", "Agency B", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sealed"] == len(held)
    again = beforehand("confirm", folder, table, "--source", "Agency B")
    assert again.returncode == 0 and "0 confirmations" in again.stdout
    clock = SimulatedClock(folder / "clock", START)
    with reopen_league(folder / "league", clock) as pen:
        now = pen.now()[0]
        publish_league(folder / "league", pen.key, folder / "public", now, lambda *step: None)
    files = {
        path.relative_to(folder / "public").as_posix(): path.read_bytes()
        for path in (folder / "public").rglob("*")
        if path.is_file()
    }
    report = verify_folder(MemoryFolder(files), Options(as_of=now))
    assert report.findings == []
    assert not any("unknown kind" in said for said in report.notes)
    exhibit = read_exhibit(DirectoryFolder(folder / "public"), now)
    assert lacks_second_source(exhibit) == ""
    exhibit.confirmations.pop()
    assert lacks_second_source(exhibit).startswith(f"{len(held) - 1} of {len(held)} outcomes")


@pytest.mark.parametrize(
    ("text", "source", "words"),
    [
        ("question,value\na,yes\n", "B", "needed: question, value, instant"),
        ("question,value,instant\n", "B", "has no row"),
        ("question,value,instant\nq1,yes,2026-01-02\n", "B", "is not settled"),
        ("question,value,instant\nFIRST,maybe,2026-01-02\n", "B", "value"),
        ("question,value,instant\nFIRST,yes,soon\n", "B", "instant"),
        ("question,value,instant\nFIRST,yes,2026-01-02\n", "SAME", "name another source"),
        (
            "question,value,instant\nFIRST,no,2026-01-02\nFIRST,yes,2026-01-02\n",
            "B",
            "stands twice in the table, with two values",
        ),
    ],
)
def test_what_is_no_second_word_is_refused(
    folder: Path, tmp_path: Path, text: str, source: str, words: str
) -> None:
    name, line = next(iter(settled(folder).items()))
    table = tmp_path / "b.csv"
    table.write_text(text.replace("FIRST", name))
    own = line["source"].upper() if source == "SAME" else source
    before = len(list(BookReader(folder / "league").lines()))
    done = beforehand("confirm", folder, table, "--source", own)
    assert done.returncode == 2 and words in " ".join(done.stderr.split()), done.stderr
    assert len(list(BookReader(folder / "league").lines())) == before


def test_attack_a_second_source_that_changed_its_word(folder: Path, tmp_path: Path) -> None:
    """Caught by: its later word is a line too, and what differs is not passed over."""
    name, line = next(iter(settled(folder).items()))
    other = "no" if line["outcome"] == "yes" else "yes"
    table = tmp_path / "b.csv"
    for value, source, sealed in (
        (line["outcome"], "Agency B", 1),
        (other, "Agency B", 1),
        (other, "agency  b", 0),
    ):
        table.write_text(f"question,value,instant\n{name},{value},{line['instant']}\n")
        done = beforehand("confirm", folder, table, "--source", source, "--json")
        assert json.loads(done.stdout)["sealed"] == sealed, done.stderr
    said = [held for held in map(json.loads, BookReader(folder / "league").lines())
            if held["kind"] == "confirmation"]  # fmt: skip
    assert [held["value"] for held in said] == [line["outcome"], other]
