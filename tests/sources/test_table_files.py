"""Files that are no table, limits, and headers: named, whatever the mode."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from beforehand.errors import FormatError
from beforehand.sources.sheet import LIMITS, Limits
from beforehand.sources.table import read_table
from tests.sources.made_tables import GOOD, HEADER, left_out, refused

OTHER_FORMS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty"),
    "blanks": (b" \n \n", "empty"),
    "header only": (HEADER.encode(), "a header and no row"),
    "header and blanks": (HEADER.encode() + b"\n\n  \n", "a header and no row"),
    "empty first line": (f"\n{HEADER}\na,q,0.5,1\n".encode(), "line 1: empty; the column names"),
    "no header": (b"gpt,q1,0.62,1\ngpt,q2,0.1,0\n", "the line with the column names is missing"),
    "no probability": (b"model,question,resolution\na,q,1\n", "no column for the probability"),
    "no outcome": (b"p,question,model,colour\n0.5,q,a,1\n", "no column for the outcome"),
    "UTF-16": (HEADER.encode("utf-16"), "UTF-16"),
    "UTF-16 unmarked": (HEADER.encode("utf-16-le") + b"\n\0", "UTF-16"),
    "gzip": (gzip.compress(HEADER.encode()), "unpack it first (gunzip)"),
    "workbook": (b"PK\x03\x04xl/workbook", "Excel workbook"),
    "not Parquet": (b"PAR1 and then nothing", "not readable as Parquet"),
    "JSON list": (b'[{"p": 1}]', "one object a line (JSONL)"),
    "carriage returns": (f"{HEADER}\ra,q,0.5,1\r".encode(), "carriage returns"),
    "open quote": (f'{HEADER}\na,"q,0.5,1\nb,q,0.5,1\n'.encode(), "line 2"),
    "quote inside": (f'{HEADER}\na,5" q,0.5,1\nb,q "x",1,1\n'.encode(), "line 2: a quotation mark"),
    "Latin-1": (f"{HEADER}\na,\xe9t\xe9,0.5,1\n".encode("latin-1"), "line 2: not UTF-8"),
    "Latin-1 header": (
        "forecaster,qu\xe9,p,y\n".encode("latin-1") + b"a,q,1,1\n",
        "line 1: not UTF-8",
    ),
}


@pytest.mark.parametrize("case", OTHER_FORMS)
def test_a_file_of_another_form(case: str, tmp_path: Path) -> None:
    content, said = OTHER_FORMS[case]
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    refused(path, "file.csv", said)
    refused(path, "file.csv", skip_bad=True)


def test_no_such_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.csv", "none.csv: no such file")
    refused(tmp_path, "a folder")
    refused({"p": [1]}, "give a path, a polars frame or a pandas frame")
    refused(pl.LazyFrame({"p": [1]}), ".collect()")
    refused(pl.DataFrame({"p": []}), "no row")


def test_what_is_not_utf_8_in_one_row_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"{HEADER}\na,q1,0.5,1\n".encode() + b"a,q\xe9,0.5,1\na,q3,0.5,1\n")
    refused(path, "t.csv, line 3", "save the file as CSV in UTF-8")
    assert left_out(path, "not UTF-8", [3]).questions == ("q1", "q3")


def test_a_million_columns(write: Callable[..., Path]) -> None:
    refused(write("a", header=",".join(["c"] * 500_000)), "500000 columns", "limit of 1000")
    wide = write(*GOOD, ",".join(["1"] * 500_000))
    refused(wide, "t.csv, line 5", "500000 fields where the header has 4")
    assert len(left_out(wide, "number of fields", [5])) == 3
    wider = write(*GOOD, "," * 1_000_000 + "x" * 50_000)
    refused(wider, "t.csv, line 5: 1050000 bytes, over the limit of 1048576")
    assert len(left_out(wider, "line too long", [5])) == 3
    million = write(*GOOD, header=",".join(["column"] * 1_000_000))
    refused(million, "line 1: over the limit of 1048576 bytes")


def test_one_line_of_100_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    began = time.monotonic()
    path.write_bytes(b"x" * 100_000_000)
    refused(path, "line 1: over the limit")
    path.write_bytes(f"{HEADER}\na,q1,0.5,1\nb,".encode() + b"x" * 100_000_000 + b",0.5,1\n")
    refused(path, "t.csv, line 3: 100000008 bytes, over the limit of 1048576 a line")
    assert len(left_out(path, "line too long", [3])) == 1
    path.write_bytes(b'{"forecaster": "' + b"x" * 100_000_000 + b'"}\n')
    refused(path, "line 1: 100000018 bytes, over the limit")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (replace(LIMITS, file_bytes=50), "over the limit of 50 bytes; split the file"),
        (replace(LIMITS, rows=2), "3 rows, over the limit of 2"),
        (replace(LIMITS, columns=3), "4 columns, over the limit of 3"),
        (replace(LIMITS, line_bytes=9), "over the limit of 9"),
        (replace(LIMITS, line_bytes=40, text_bytes=1), "line 2, column 'question': 2 bytes, over"),
    ],
)
def test_every_limit_is_named(limits: Limits, said: str, write: Callable[..., Path]) -> None:
    refused(write(*GOOD), said, limits=limits)
    frame = pl.DataFrame({"forecaster": ["a", "b", "c"], "question": ["q"] * 3, "p": [0.5] * 3})
    frame = frame.with_columns(outcome=pl.lit(1))
    jsonl = write(*GOOD).with_suffix(".jsonl")
    frame.write_ndjson(jsonl)
    parquet = jsonl.with_suffix(".parquet")
    frame.write_parquet(parquet)
    if limits.rows == 2 or limits.columns == 3:
        for source in (frame, jsonl, parquet):
            refused(source, "over the limit of", limits=limits)
    if limits.file_bytes == 50:
        refused(jsonl, "over the limit of 50", limits=limits)
        refused(parquet, "over the limit of 50", limits=limits)


def test_two_columns_for_one_role_are_named_and_can_be_settled(
    write: Callable[..., Path],
) -> None:
    path = write("a,b,q1,0.5,1", header="model,user,question,p,y")
    refused(
        path,
        "t.csv, line 1: 'model' and 'user' could both be the forecaster",
        "columns={'forecaster'",
    )
    assert read_table(path, columns={"forecaster": "user"}).forecasters == ("b",)
    twice = write("a,q1,0.5,0.6,1", header="model,question,p,p,y")
    refused(twice, "'p' and 'p' could both be the probability")
    dated = write("a,q1,0.5,1,x,y", header=HEADER + ",date,created_at")
    refused(dated, "'date' and 'created_at' could both be the time")
    assert read_table(dated, columns={"time": None}).time is None
    with pytest.raises(FormatError, match="is no role"):
        read_table(path, columns={"colour": "p"})
    with pytest.raises(FormatError, match="0 columns are named 'nobody'"):
        read_table(path, columns={"forecaster": "nobody"})
