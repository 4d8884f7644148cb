"""The public folder is frozen: its files, its dictionary, its data package, its schemas."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3

import jsonschema
import polars as pl
import pytest

from beforehand.book.reader import BookReader
from beforehand.errors import RuleError
from beforehand.publish.attempts_table import ATTEMPT_COLUMNS
from beforehand.publish.public import FILES, write_data
from beforehand.publish.tables import COLUMNS
from beforehand.records.codec import digest

from .conftest import Published

BASE = "api/v1/small/"

COLUMN_NAMES = [
    "run",
    "forecaster",
    "kind",
    "question",
    "cluster",
    "source",
    "type",
    "horizon",
    "line",
    "cell",
    "sealed_at",
    "p",
    "p_scored",
    "crowd",
    "others_median",
    "others_n",
    "outcome",
    "resolution_line",
    "resolved_on",
    "status",
    "why",
    "brier",
    "others_brier",
    "gain",
    "gain_on_crowd",
    "slot",
    "cohort",
    "attempt",
    "attempts",
    "members",
    "bid",
    "ask",
    "leak",
    "moved",
    "lookup",
    "market",
    "corrections",
    "contract_id",
    "event_id",
    "event_id_v2",
    "segment",
]


def test_the_files_of_the_public_folder_are_frozen(small: Published) -> None:
    body = re.compile(r"api/v1/small/bodies/([0-9a-f]{2})/(\1[0-9a-f]{62})")
    contract = re.compile(r"api/v1/small/contracts/([0-9a-f]{64})\.json")
    hashed = (body, contract)
    plain = sorted(name for name in small.files if not any(r.fullmatch(name) for r in hashed))
    assert plain == [
        "api/v1/code.json",
        "api/v1/conform.pyz",
        "api/v1/leagues.json",
        "api/v1/manifest.json",
        "api/v1/recount.py",
        "api/v1/schema/declaration.schema.json",
        "api/v1/schema/lines.schema.json",
        "api/v1/small/attempts.csv",
        "api/v1/small/book.jsonl",
        "api/v1/small/checkpoint",
        "api/v1/small/checkpoints/10",
        "api/v1/small/checkpoints/13",
        "api/v1/small/checkpoints/8",
        "api/v1/small/contract.schema.json",
        "api/v1/small/datapackage.json",
        "api/v1/small/diagnostics.json",
        "api/v1/small/forecasts.csv",
        "api/v1/small/forecasts.parquet",
        "api/v1/small/leaderboard.json",
        "api/v1/small/league.sqlite",
        "api/v1/small/tile/0/000.p/13",
        "api/v1/small/tile/entries/000.p/13",
        "api/v1/verify.py",
    ]
    assert {BASE + name for name, _ in FILES} <= set(plain)
    for name in small.files:
        if match := body.fullmatch(name):
            assert digest(small.files[name]) == match.group(2)
        if match := contract.fullmatch(name):
            assert digest(small.files[name]) == match.group(1)


def test_the_columns_are_frozen_and_the_dictionary_explains_each(small: Published) -> None:
    assert [column.name for column in COLUMNS] == COLUMN_NAMES
    header = next(csv.reader(io.StringIO(small.files[BASE + "forecasts.csv"].decode())))
    assert header == COLUMN_NAMES
    package = json.loads(small.files[BASE + "datapackage.json"])
    fields = package["resources"][0]["schema"]["fields"]
    assert [field["name"] for field in fields] == COLUMN_NAMES
    assert all(len(field["description"]) > 5 for field in fields)
    for resource in package["resources"]:
        data = small.files[BASE + resource["path"]]
        assert resource["bytes"] == len(data)
        assert resource["hash"] == f"sha256:{digest(data)}"
    assert package["licenses"][0]["name"] == "CC-BY-SA-4.0"
    assert "Karger" in package["attribution"]


def test_csv_parquet_and_sqlite_hold_the_same_cells(small: Published) -> None:
    rows = list(csv.reader(io.StringIO(small.files[BASE + "forecasts.csv"].decode())))[1:]
    frame = pl.read_parquet(io.BytesIO(small.files[BASE + "forecasts.parquet"]))
    base = sqlite3.connect(":memory:")
    base.deserialize(small.files[BASE + "league.sqlite"])
    stored = base.execute("SELECT * FROM forecasts ORDER BY rowid").fetchall()
    for other in (frame.rows(), stored):
        assert [["" if v is None else str(v) for v in row] for row in other] == rows
    said = "SELECT name FROM dictionary WHERE table_name = ?"
    for table, columns in (("forecasts", COLUMNS), ("attempts", ATTEMPT_COLUMNS)):
        names = [row[0] for row in base.execute(said, (table,))]
        assert names == [column.name for column in columns]


def test_each_row_names_a_line_and_a_cell_that_say_the_same(small: Published) -> None:
    lines = [json.loads(line) for line in small.files[BASE + "book.jsonl"].splitlines()]
    rows = list(csv.DictReader(io.StringIO(small.files[BASE + "forecasts.csv"].decode())))
    assert len(rows) > 6
    for row in rows:
        line = lines[int(row["line"]) - 1]
        if row["kind"] == "derived":
            assert line["kind"] in ("run", "snapshot") and row["cell"] == ""
        elif "cells" in line:
            cell = line["cells"][int(row["cell"])]
            assert (cell["question"], cell["p"]) == (row["question"], row["p"])
        else:
            assert line["bodies"][0]["role"] == "answer"


def test_every_line_fits_the_published_schema(small: Published) -> None:
    schema = json.loads(small.files["api/v1/schema/lines.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for raw in small.files[BASE + "book.jsonl"].splitlines():
        validator.validate(json.loads(raw))


def test_publishing_ends_at_a_checkpoint(small: Published, tmp_path_factory: object) -> None:
    from tests.small_league import play_small_league

    folder = tmp_path_factory.mktemp("beyond")  # type: ignore[attr-defined]
    pen = play_small_league(folder / "league")
    pen.store.append(13, [{"at": "2026-01-04T00:00:00Z", "kind": "note"}])
    pen.store.close()
    with pytest.raises(RuleError, match="sign a checkpoint first"):
        write_data(
            BookReader(folder / "league"),
            pen.key.verifier,
            folder / "public",
            "2026-02-01T00:00:00Z",
        )


def test_the_dictionary_prints_the_formula(small: Published) -> None:
    """V45: tools differ by a factor of two; ours says which Brier it is."""
    meaning = {column.name: column.meaning for column in COLUMNS}
    assert meaning["brier"].startswith("(p_scored - outcome)^2, 0 to 1")
