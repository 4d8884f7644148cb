"""Whatever the bytes are, a table comes out or a FormatError; and two readers of CSV agree."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.sources.formats import read_any
from beforehand.sources.table import read_table
from tests.sources.shared_data import SHIPPED

HEADER = b"forecaster,question,probability,outcome,crowd,cluster,time,segment,side,status\n"
ROW = b"a,q,0.5,1,0.4,c,2026-01-05T12:00:00Z,s,yes,ok\n"
PIECES = st.sampled_from(
    [
        *(b",", b"\n", b'"', b";", b"\t", b"\r\n", b"0.5", b"1", b"yes", b"missing", b"nan", b""),
        *(b"1e-5", b"62", b"\0", b"\xff", b"\xc3\xa9", b"2026-01-05T12:00:00Z", b"a,q,0.5,1\n"),
        *(ROW, HEADER, b"{", b"}", b"[", b'{"p": 1}\n', b"\xef\xbb\xbf", b" ", b"1e999999"),
    ]
)


def read_or_refuse(path: Path) -> None:
    for skip_bad in (False, True):
        for read in (read_table, read_any):
            try:
                table = read(path, skip_bad=skip_bad)
            except FormatError as error:
                assert str(error) and len(str(error)) < 2000
            else:
                assert len(table) + table.n_missing > 0
                assert (table.units <= 10_000).all() and set(table.outcome.tolist()) <= {
                    1,
                    0,
                    -1,
                    -2,
                }


@given(
    pieces=st.lists(PIECES, max_size=20), start=st.sampled_from([HEADER, HEADER + ROW, b"", b"{"])
)
@example(pieces=[b'a,"q\n'], start=HEADER + ROW)
@example(pieces=[ROW[:-1], b"\r"], start=HEADER)
def test_pieces_of_a_table_in_any_order(
    pieces: list[bytes], start: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "t"
    path.write_bytes(start + b"".join(pieces))
    read_or_refuse(path)


def good_files() -> dict[str, bytes]:
    """One good file of every kind."""
    parquet = io.BytesIO()
    pl.read_csv(io.BytesIO(HEADER + ROW)).write_parquet(parquet)
    shipped = {
        path.name: path.read_bytes()
        for path in SHIPPED.rglob("*")
        if path.suffix in (".json", ".gz") and path.stat().st_size < 40_000
    }
    return {**shipped, "csv": HEADER + ROW, "parquet": parquet.getvalue()}


GOOD = good_files()


@given(data=st.data())
def test_one_byte_more_less_or_other(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = GOOD[data.draw(st.sampled_from(sorted(GOOD)))]
    place = data.draw(st.integers(0, len(content) - 1))
    put = data.draw(st.sampled_from([b"", b"\0", b'"', b",", b"\xff", b"9", b"\n", b"[", b"}"]))
    cut = data.draw(st.sampled_from([0, 1, 7, len(content)]))
    path = tmp_path_factory.mktemp("byte") / "t"
    path.write_bytes(content[:place] + put + content[place + cut :])
    read_or_refuse(path)


cells = st.text(st.sampled_from(list('ab",; \n\té\u2028')), max_size=5)


@given(
    rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from(",;\t"),
)
def test_fields_are_those_of_the_standard_library(
    rows: list[tuple[str, str]],
    quoting: Literal[0, 1, 2],
    end: str,
    delimiter: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=quoting, lineterminator=end, delimiter=delimiter)
    writer.writerow(["forecaster", "question", "probability", "outcome"])
    for place, (forecaster, question) in enumerate(rows):
        writer.writerow([f"f{forecaster}", f"{place}{question}", "0.5", "1"])
    path = tmp_path_factory.mktemp("fields") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    table = read_table(path)
    names = [table.forecasters[place] for place in table.forecaster_index.tolist()]
    asked = [table.questions[place] for place in table.question_index.tolist()]
    assert names == [f"f{forecaster}" for forecaster, _ in rows]
    assert asked == [f"{place}{question}" for place, (_, question) in enumerate(rows)]
