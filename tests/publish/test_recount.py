"""A score edited, re-hashed and re-signed is found by the recount."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from beforehand.book.manifest import MANIFEST_PATH, sign_manifest
from beforehand.book.options import Options
from beforehand.book.verify import verify_folder
from beforehand.cli.verification import verify_published
from beforehand.publish.recount import recount_folder, recount_lines
from beforehand.records.codec import digest
from beforehand.testing.memory_folder import MemoryFolder

from .conftest import Published

BASE = "api/v1/small/"


def resigned(small: Published, name: str, data: bytes) -> dict[str, bytes]:
    """The folder with one file exchanged and everything above it made to fit."""
    files = {**small.files, name: data}
    manifest = json.loads(files[MANIFEST_PATH])
    del manifest["signature"]
    for entry in manifest["files"]:
        if entry["path"] == name:
            entry["bytes"], entry["sha256"] = len(data), digest(data)
    files[MANIFEST_PATH] = sign_manifest(manifest, [(small.key.verifier, small.key.sign)])
    return files


def written(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_everything_published_is_reproduced_exactly(small: Published) -> None:
    result = recount_folder(MemoryFolder(small.files))["small"]
    assert (result.within, result.different, result.places) == (0, 0, [])
    assert result.exact > 500


def edited(small: Published, name: str) -> bytes:
    data = small.files[BASE + name]
    if name == "forecasts.csv":
        changed = data.replace(b"0.14440000", b"0.14400000", 1)
    elif name == "leaderboard.json":
        mean = json.loads(data)["forecasters"][0]["brier"]["mean"]
        changed = data.replace(f'"{mean}"'.encode(), b'"0.001000"', 1)
    else:
        base = sqlite3.connect(":memory:")
        base.deserialize(data)
        base.execute("UPDATE forecasts SET brier = '0.00000001' WHERE rowid = 1")
        base.commit()
        changed = base.serialize()
    assert changed != data
    return changed


def last_digit_moved(small: Published) -> bytes:
    """Every stated probability moved by one unit of its last place."""
    rows = list(csv.reader(io.StringIO(small.files[BASE + "forecasts.csv"].decode(), newline="")))
    column = rows[0].index("p")
    for row in rows[1:]:
        if row[column]:
            places = len(row[column].partition(".")[2])
            row[column] = str(Decimal(row[column]) + Decimal(1).scaleb(-places))
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def test_rounding_is_granted_only_where_a_root_was_taken(small: Published) -> None:
    name = BASE + "forecasts.csv"
    files = resigned(small, name, last_digit_moved(small))
    result = recount_folder(MemoryFolder(files))["small"]
    assert result.within == 0 and result.different > 6


def test_every_table_of_the_database_is_recounted(small: Published) -> None:
    name = BASE + "league.sqlite"
    for statement in (
        "UPDATE leaderboard SET gain = '0.500000' WHERE rowid = 2",
        "UPDATE resolutions SET outcome = 'void' WHERE rowid = 1",
        "UPDATE questions SET line = 1 WHERE rowid = 1",
        "UPDATE dictionary SET meaning = 'x' WHERE rowid = 1",
        "DELETE FROM resolutions WHERE rowid = 1",
        "CREATE TABLE champions (name TEXT)",
    ):
        base = sqlite3.connect(":memory:")
        base.deserialize(small.files[name])
        base.execute(statement)
        base.commit()
        files = resigned(small, name, base.serialize())
        assert recount_folder(MemoryFolder(files))["small"].different >= 1, statement


@pytest.mark.parametrize("name", ["forecasts.csv", "leaderboard.json", "league.sqlite"])
def test_a_score_edited_rehashed_and_resigned_is_found(
    small: Published, options: Options, tmp_path: Path, name: str
) -> None:
    files = resigned(small, BASE + name, edited(small, name))
    assert verify_folder(MemoryFolder(files), options).findings == [], "seals say nothing of scores"
    public = written(files, tmp_path)
    report = verify_published(public, Options(as_of=options.as_of))
    assert report.exit_code == 1
    assert any(finding.step == 9 and name in finding.place for finding in report.findings)
    script = public / "api/v1/recount.py"
    run = subprocess.run(
        [sys.executable, "-I", str(script), str(public)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert name in run.stdout and "NOT reproduced" in run.stdout


def test_parquet_edited_is_found(small: Published, options: Options, tmp_path: Path) -> None:
    import polars as pl

    name = BASE + "forecasts.parquet"
    path = tmp_path / "edited.parquet"
    path.write_bytes(small.files[name])
    frame = pl.read_parquet(path)
    frame = frame.with_columns(brier=pl.when(pl.col("brier").is_not_null()).then(pl.lit("0.1")))
    frame.write_parquet(path)
    public = written(resigned(small, name, path.read_bytes()), tmp_path / "public")
    report = verify_published(public, options)
    assert any("forecasts.parquet row" in finding.place for finding in report.findings)


def test_the_recount_says_what_it_did_not_check(small: Published) -> None:
    told = list(recount_lines(recount_folder(MemoryFolder(small.files))))
    assert told[-1] == "result: the published scores are reproduced"
    assert told[-2].startswith("not checked: seals, signatures")


def test_the_checkers_run_isolated_and_agree(small: Published) -> None:
    for script, words in (("verify.py", "result at"), ("recount.py", "reproduced")):
        run = subprocess.run(
            [sys.executable, "-I", str(small.public / "api/v1" / script), str(small.public)],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert words in run.stdout


def test_the_checker_answers_2_when_it_could_not_check(small: Published, tmp_path: Path) -> None:
    script = str(small.public / "api/v1/verify.py")
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments in ([str(empty)], [str(tmp_path / "nowhere")], ["--nonsense"], [],
                      [str(small.public), "--as-of", "yesterday"],
                      [str(small.public), "--require", "operator"],
                      [str(small.public), "--since", str(empty)]):  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-I", script, *arguments], capture_output=True, text=True, check=False
        )
        assert run.returncode == 2, (arguments, run.stdout, run.stderr)
