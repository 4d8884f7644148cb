"""A blind league written, published, verified and recounted, and the tables that are open."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.manifest import MANIFEST_PATH, sign_manifest
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.book.verify import verify_folder
from beforehand.publish.public import seal_public, write_data
from beforehand.publish.recount import recount_folder
from beforehand.records.codec import digest
from beforehand.records.run import Seat
from beforehand.stages.key import SigningKey
from beforehand.testing.memory_folder import MemoryFolder

from .blind_league import SLOT, BlindBook, asked_book, drawn_table, model_seats, settle_all

AS_OF = "2027-01-01T00:00:00Z"
BASE = "api/v1/blind-test/"


@dataclass(frozen=True)
class Public:
    """A published blind league and its key."""

    folder: Path
    key: SigningKey
    files: dict[str, bytes]

    def board(self) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(self.files[BASE + "leaderboard.json"])
        return held

    def table(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.files[BASE + name].decode())))


def a_book_of_everything() -> BlindBook:
    """Retries, a lost call, an entrant, a missed slot, a stop by the budget, end prices, a void."""
    table = drawn_table(32, 2, failing={"cat": 0.1}, per_event=2)
    book = asked_book(table)
    seats = (*model_seats(), Seat("stranger", "accepted"))
    run = book.run("2026-01-06T10:00:00Z", dict.fromkeys((33, 34), ("0.40", "0.46")), seats=seats)
    first = book.ask(run, "ant", 33)
    book.answer(
        run, "ant", 33, ask_line=first, failure="transport", cost=None, detail="connection_refused"
    )
    again = book.ask(run, "ant", 33, attempt=2, why="retry", again=first)
    book.answer(
        run, "ant", 33, "0.35", ask_line=again, leak_flag=True, leaks=("venue",), citations=2
    )
    for name in ("bee", "cat", "dog"):
        book.say(run, name, 33, "0.4", leak_flag=False)
    book.ask(run, "elk", 33)
    book.answer(run, "stranger", 33, "0.9")
    book.end(run, {33: ("0.60", "0.66")})
    book.close(run, "stopped_budget", "the cap is reached")
    book.close("2026-01-06T22", "missed")
    settle_all(book, table)
    book.settle(33, "void", at="2026-01-21T00:00:00Z")
    return book


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Public:
    folder = tmp_path_factory.mktemp("blind")
    pen = a_book_of_everything().write(folder / "league")
    pen.store.close()
    data = write_data(BookReader(folder / "league"), pen.key.verifier, folder / "public", AS_OF)
    seal_public(folder / "public", [(data, pen.key.verifier, pen.key.sign)], AS_OF)
    return Public(folder / "public", pen.key, MemoryFolder.of(folder / "public").files)


def test_the_book_verifies_and_its_scores_are_reproduced_exactly(public: Public) -> None:
    report = verify_folder(MemoryFolder(public.files), Options(as_of=AS_OF))
    assert report.findings == []
    result = recount_folder(MemoryFolder(public.files))["blind-test"]
    assert (result.within, result.different, result.places) == (0, 0, [])
    assert result.exact > 30_000


def test_the_one_file_recount_runs_isolated(public: Public) -> None:
    run = subprocess.run(
        [sys.executable, "-I", str(public.folder / "api/v1/recount.py"), str(public.folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert run.returncode == 0, run.stdout + run.stderr


def exchanged(public: Public, name: str, data: bytes) -> dict[str, bytes]:
    """The folder with one file exchanged, hashed and signed anew."""
    files = {**public.files, name: data}
    manifest = json.loads(files[MANIFEST_PATH])
    del manifest["signature"]
    for entry in manifest["files"]:
        if entry["path"] == name:
            entry["bytes"], entry["sha256"] = len(data), digest(data)
    files[MANIFEST_PATH] = sign_manifest(manifest, [(public.key.verifier, public.key.sign)])
    return files


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE attempts SET cost = '0.001' WHERE rowid = 1",
        "DELETE FROM attempts WHERE standing = 'retried'",
        "UPDATE runs SET status = 'complete' WHERE status = 'missed'",
        "UPDATE cohorts SET failed = 0",
        "UPDATE costs SET standing = '0.00' WHERE forecaster = 'elk'",
        "UPDATE leaderboard SET pool_n_eff = '6.000000' WHERE forecaster = 'ensemble'",
        "UPDATE leaderboard SET paper_total = '1.000000' WHERE forecaster = 'ant'",
        "UPDATE forecasts SET moved = 0 WHERE moved = 1",
        "UPDATE attempts SET detail = 'http_500' WHERE detail = 'connection_refused'",
        "UPDATE seats SET company = 'another' WHERE forecaster = 'ant'",
        "UPDATE seats SET open_weights = 1 WHERE forecaster = 'ant'",
    ],
)
def test_every_new_table_is_recounted(public: Public, statement: str) -> None:
    name = BASE + "league.sqlite"
    base = sqlite3.connect(":memory:")
    base.deserialize(public.files[name])
    base.execute(statement)
    base.commit()
    files = exchanged(public, name, base.serialize())
    assert recount_folder(MemoryFolder(files))["blind-test"].different >= 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attempts.csv", b",transport,retried,", b",transport,failed,"),
        ("leaderboard.json", b'"n_eff": "', b'"n_eff": "1'),
        ("leaderboard.json", b'"imputed": 5', b'"imputed": 6'),
        ("leaderboard.json", b'"state": "complete"', b'"state": "running"'),
    ],
)
def test_every_new_value_is_recounted(public: Public, name: str, old: bytes, new: bytes) -> None:
    data = public.files[BASE + name]
    if old not in data:
        old, new = old.rstrip(b"0123456789"), new.rstrip(b"0123456789") + b"9"
    assert old in data
    files = exchanged(public, BASE + name, data.replace(old, new, 1))
    assert recount_folder(MemoryFolder(files))["blind-test"].different >= 1


def test_the_database_tells_seats_and_failures_apart(public: Public) -> None:
    base = sqlite3.connect(":memory:")
    base.deserialize(public.files[BASE + "league.sqlite"])
    said = "SELECT DISTINCT entry, company, family, provider, open_weights FROM seats WHERE "
    assert base.execute(said + "forecaster = 'ant'").fetchall() == [
        ("asked", "ant company", "ant", "lab", 0)
    ]
    # What a seat does not say is empty, and never a guess.
    assert base.execute(said + "forecaster = 'stranger'").fetchall() == [
        ("accepted", None, None, None, None)
    ]
    assert base.execute("SELECT count(DISTINCT run) FROM seats").fetchone()[0] > 1
    details = "SELECT status, detail FROM attempts WHERE detail IS NOT NULL"
    assert base.execute(details).fetchall() == [("transport", "connection_refused")]
    assert [row["detail"] for row in public.table("attempts.csv") if row["detail"]] == [
        "connection_refused"
    ]


def test_B31_the_attempts_reconcile_to_the_last_digit(public: Public) -> None:  # noqa: N802
    attempts, costs = public.table("attempts.csv"), public.board()["costs"]
    charged = sum(Decimal(row["charged"]) for row in attempts if row["charged"])
    standing = sum(Decimal(row["charged"]) for row in attempts if row["reservation_stands"] == "1")
    assert charged == Decimal(costs["committed"])
    assert standing == Decimal(costs["standing"]) == Decimal("0.02")
    assert len(attempts) == costs["attempts"]
    assert Decimal(costs["cap"]) >= charged


def test_an_attempt_names_its_lines_and_bodies(public: Public) -> None:
    lines = [json.loads(line) for line in public.files[BASE + "book.jsonl"].splitlines()]
    for row in public.table("attempts.csv"):
        ask = lines[int(row["ask_line"]) - 1]
        assert (ask["kind"], ask["forecaster"]) == ("ask", row["forecaster"])
        assert ask["bodies"][0]["sha256"] == row["prompt_sha256"]
        assert f"{BASE}asks/{row['prompt_sha256']}.md" in public.files
        if row["answer_line"]:
            answer = lines[int(row["answer_line"]) - 1]
            assert answer["ask_line"] == ask["n"] and answer["status"] == row["status"]
            assert row["model_served"] == answer["served_model"]
        if row["status"] == "answered":
            assert f"{BASE}bodies/{row['reply_sha256'][:2]}/{row['reply_sha256']}" in public.files


def test_the_forecasts_have_one_row_a_run_question_and_forecaster(public: Public) -> None:
    rows = public.table("forecasts.csv")
    keys = [(row["run"], row["question"], row["forecaster"]) for row in rows]
    assert len(keys) == len(set(keys))
    held = next(row for row in rows if row["attempts"] == "2")
    assert (held["status"], held["attempt"], held["leak"], held["moved"]) == ("void", "2", "1", "1")
    lost = next(r for r in rows if r["forecaster"] == "elk" and r["run"] == "2026-01-06T10")
    assert (lost["status"], lost["why"], lost["p"]) == ("missing", "not_answered", "")


def test_every_run_is_there_the_missed_one_too(public: Public) -> None:
    runs = public.board()["runs"]
    assert [run["status"] for run in runs] == ["complete"] * 2 + ["stopped_budget", "missed"]
    assert runs[0]["slot"] == SLOT and {run["cohort"] for run in runs} == {"2026-W02"}
    cohort = public.board()["cohorts"][0]
    assert (cohort["state"], cohort["void"], cohort["missed"]) == ("complete", 5, 1)
    parts = ("scored", "void", "stale", "open", "waiting", "failed")
    assert sum(cohort[key] for key in parts) == cohort["forecasts"]


def test_the_data_package_explains_both_tables(public: Public) -> None:
    package = json.loads(public.files[BASE + "datapackage.json"])
    for place, name in enumerate(("forecasts.csv", "attempts.csv")):
        resource = package["resources"][place]
        assert resource["path"] == name
        header = next(csv.reader(io.StringIO(public.files[BASE + name].decode())))
        assert [field["name"] for field in resource["schema"]["fields"]] == header
        assert all(len(field["description"]) > 5 for field in resource["schema"]["fields"])


def test_the_reference_names_every_key_of_the_board(public: Public) -> None:
    text = (Path(__file__).parents[2] / "docs/reference/tables.md").read_text(encoding="utf-8")
    board = public.board()
    ensemble = next(e for e in board["forecasters"] if e["forecaster"] == "ensemble")
    ant = next(e for e in board["forecasters"] if e["forecaster"] == "ant")
    head = {"format", "league", "title", "origin", "grid", "level"}
    for held in (
        {key: None for key in board if key not in head},
        board["rules"],
        board["shared"],
        board["analysis"],
        *(ant[key] for key in ("reliability", "views", "sensitivity", "paper", "gain")),
        ant,
        ensemble["pool"],
        board["runs"][0],
        board["cohorts"][0],
        board["cohorts"][0]["forecasters"][0],
        board["costs"],
        board["costs"]["forecasters"][0],
        board["analysis"]["curve"][0],
        board["analysis"]["correlations"][0],
        board["analysis"]["ensembles"]["ensemble"],
    ):
        for key in held:
            assert re.search(rf"\b{key}\b", text), key


def test_what_an_uncounted_run_asked_is_in_no_number_of_the_board() -> None:
    """Beside its own row among the runs, and the money that it cost."""
    book = BlindBook()
    for hour, numbers, counted in ((10, (1, 2), True), (13, (2, 3, 4), False)):
        quotes = dict.fromkeys(numbers, ("0.40", "0.46"))
        run = book.run(f"2026-01-05T{hour}:00:00Z", quotes, counted=counted)
        for number in numbers:
            book.say(run, "ant", number, "0.5")
        book.close(run)
    for number in (1, 2, 3, 4):
        book.settle(number, "yes")
    board = book.scores().board
    assert (board["events"], board["questions"], board["events_resolved"]) == (2, 2, 2)
    (cohort,) = board["cohorts"]
    assert (cohort["questions"], cohort["forecasts"], cohort["runs"]) == (2, 2, 2)
    assert board["costs"]["attempts"] == 5
