"""A later word on earlier lines: sealed once, shown beside them, moving nothing."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from beforehand.book.store import FileStore
from beforehand.stages.correct import MOST_LINES
from tests.stages.live_world import FIRST_SLOT, LiveLeague
from tests.stages.raw_book import lines_of, of_kind

from .conftest import beforehand

SETTLED = "2026-01-08T14:00:00Z"
WHY = "The headline <b>shown</b> was of another market."


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league with one asked and settled slot, published."""
    folder = tmp_path_factory.mktemp("played") / "live"
    league = LiveLeague.begin(folder)
    league.tick_at(FIRST_SLOT)
    league.venue.outcomes = {f"m{number}": "yes" for number in range(1, 5)}
    league.tick_at(SETTLED)
    assert beforehand("publish", folder).returncode == 0
    return folder


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(played, tmp_path / "live"))


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "public/api/v1/blind/forecasts.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_word_is_shown_beside_what_stands(folder: Path) -> None:
    before = table(folder)
    book = (folder / "league/book.jsonl").read_bytes()
    answer = of_kind(lines_of(folder / "league"), "answer", forecaster="model-a")[0]
    outcome = of_kind(lines_of(folder / "league"), "resolution")[0]
    run = beforehand(
        "correct", folder, "--lines", f"{outcome['n']}, {answer['n']}", "--why", WHY,
        "--source", "the venue's notice", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    line = json.loads(run.stdout)["line"]
    again = beforehand(
        "correct", folder, "--lines", f"{answer['n']},{outcome['n']}", "--why", WHY,
        "--source", "the venue's notice", "--json",
    )  # fmt: skip
    assert json.loads(again.stdout) == {"line": line, "new": False}
    assert (folder / "league/book.jsonl").read_bytes().startswith(book), "nothing is rewritten"
    (sealed,) = of_kind(lines_of(folder / "league"), "correction")
    assert sealed["lines"] == sorted((answer["n"], outcome["n"])) and sealed["reason"] == WHY
    assert "outcome" not in sealed

    assert beforehand("publish", folder).returncode == 0
    after = table(folder)
    labelled = {row["line"] for row in after if row["corrections"] == str(line)}
    assert str(answer["n"]) in labelled
    for old, new in zip(before, after, strict=True):
        named = outcome["question"] == new["question"] or new["line"] == str(answer["n"])
        assert bool(new["corrections"]) == named
        assert {**old, "corrections": ""} == {**new, "corrections": ""}, "no number moves"
    board = json.loads((folder / "public/api/v1/blind/leaderboard.json").read_text())
    (told,) = board["corrections"]
    assert (told["line"], told["outcome"], told["questions"]) == (line, None, [])
    page = (folder / "public/blind/index.html").read_text()
    assert 'id="corrections"' in page and "&lt;b&gt;shown" in page and "<b>shown" not in page
    pages = [path.read_text() for path in (folder / "public/blind/q").glob("*.html")]
    assert sum(f'id="c{line}"' in text for text in pages) == len(
        {row["question"] for row in after if row["corrections"]}
    )
    verified = beforehand("verify", folder / "public", "--as-of", SETTLED)
    assert verified.returncode == 0, verified.stdout
    judged = beforehand("conform", folder / "public", "--as-of", SETTLED, "--json")
    held = {each["id"]: each for each in json.loads(judged.stdout)["requirements"]}
    for number in (2, 15):
        assert held[number]["status"] == "PASS"
        assert "1 corrections" in json.dumps(held[number]), held[number]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("0", "line 0 is not in the book"),
        ("99999", "a correction names earlier lines"),
        ("3,3", "named twice"),
        ("3,x", "give numbers of lines"),
        ("-1", "give numbers of lines"),
        (",".join(map(str, range(1, MOST_LINES + 2))), f"from 1 to {MOST_LINES} lines"),
    ],
)
def test_what_names_no_earlier_line_is_refused(folder: Path, lines: str, said: str) -> None:
    before = (folder / "league/book.jsonl").read_bytes()
    run = beforehand("correct", folder, f"--lines={lines}", "--why", "w")
    assert run.returncode == 2
    assert said in " ".join(run.stderr.split())
    assert (folder / "league/book.jsonl").read_bytes() == before


def test_a_reason_that_no_line_may_hold_is_refused(folder: Path) -> None:
    before = (folder / "league/book.jsonl").read_bytes()
    for why in ("", "x" * 2001):
        run = beforehand("correct", folder, "--lines", "3", "--why", why)
        assert run.returncode == 2 and "reason" in run.stderr, run.stderr
    assert (folder / "league/book.jsonl").read_bytes() == before


def test_killed_before_its_checkpoint_it_is_done_once(folder: Path) -> None:
    run = beforehand("correct", folder, "--lines", "3", "--why", "w", "--json")
    line = json.loads(run.stdout)["line"]
    note = folder / "league/checkpoints" / str(line)
    note.unlink()  # what a kill between the line and its signature leaves
    again = beforehand("correct", folder, "--lines", "3", "--why", "w", "--json")
    assert json.loads(again.stdout) == {"line": line, "new": False}
    assert note.is_file()
    with FileStore(folder / "league") as store:
        assert store.size == line
