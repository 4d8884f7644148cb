"""What a table is read as: names, missing answers, exact rounding, and one result from any form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid
from beforehand.sources.probability import read_probabilities
from beforehand.sources.table import read_table
from tests.sources.made_tables import HEADER, csv_file, rows

NOTES = ("a crowd's probability stands in 2 of 4 forecasts; skill is over these alone",)


def test_the_arrays(tmp_path: Path) -> None:
    text = (
        f"{HEADER},crowd,cluster,time,segment\n"
        "b,q2,0.97505,no,0.5,e1,2026-01-05T12:00:00Z,s\n"
        "a,q1,1,TRUE,,e1,2026-01-05T12:00:00.25+01:00,s\n"
        "a,q4,0,void,0.12345,e2,2026-01-05 12:00Z,t\n"
        "b,q1,missing,,,e2,2026-01-05T12:00:00Z,t\n"
        "b,q3,0.3,,,e2,2026-01-05T12:00:00 UTC,t\n"
    )
    table = read_table(csv_file(tmp_path, text))
    noon = 1_767_614_400_000_000
    assert rows(table) == [
        ("b", "q2", 9750, 0, 5000, "e1", noon, "s"),
        ("a", "q1", 10000, 1, -1, "e1", noon - 3_600_000_000 + 250_000, "s"),
        ("a", "q4", 0, -1, 1234, "e2", noon, "t"),
        ("b", "q3", 3000, -2, -1, "e2", noon, "t"),
    ]
    assert table.n_missing == 1 and dict(table.missing[1]) == {"missing": 1}
    assert (table.rounded, table.largest_rounding) == (1, "0.00005")
    assert (table.crowd_rounded, table.largest_crowd_rounding) == (1, "0.00005")
    assert table.units.dtype == np.uint16 and table.outcome.dtype == np.int8
    assert table.forecaster_index.dtype == table.question_index.dtype == np.int32
    assert table.crowd is not None and table.crowd.dtype == np.int32
    assert table.time is not None and table.time.dtype == np.int64
    assert (table.source, table.format, table.steps, table.notes) == ("t.csv", "CSV", 10_000, NOTES)


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("model,question_id,p,resolved_to", 4),
        ("User,ID,Prob,Result", 4),
        ("agent,market,forecast,resolution", 4),
        ("MODEL NAME,Question-ID,Probability Yes,y", 4),
        (" forecaster , question,prediction,label", 2),
    ],
)
def test_other_names_are_recognised_and_said(header: str, roles: int, tmp_path: Path) -> None:
    table = read_table(csv_file(tmp_path, f"{header}\na,q1,0.5,1\n"))
    assert rows(table)[0][:4] == ("a", "q1", 5000, 1)
    assert sum("is read as the" in note for note in table.notes) == roles


def test_optional_names_and_columns_passed_over(tmp_path: Path) -> None:
    header = f"{HEADER},market_price,session,created_at,colour"
    text = f"{header}\na,q,0.5,1,0.4,d1,2026-01-05T00:00:00Z,red\n"
    table = read_table(csv_file(tmp_path, text))
    assert rows(table)[0][4:6] == (4000, "d1")
    assert table.notes == (
        "column 'market_price' is read as the crowd",
        "column 'session' is read as the cluster",
        "column 'created_at' is read as the time",
        "columns passed over: 'colour'",
    )


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("\ufeff" + HEADER + "\na,q1,0.5,1\n", "a byte order mark was passed over"),
        (HEADER.replace(",", ";") + "\na;q1;0.5;1\n", "fields are separated by semicolons"),
        (HEADER.replace(",", "\t") + "\na\tq1\t0.5\t1\n", "fields are separated by tabs"),
        (HEADER + "\r\n\r\na,q1,0.5,1\r\n\r\n\r\n", "empty lines passed over: 3"),
        (HEADER + "\n\na,q1,0.5,1", "empty lines passed over: 1"),
    ],
)
def test_forms_of_csv(content: str, note: str, tmp_path: Path) -> None:
    table = read_table(csv_file(tmp_path, content))
    assert rows(table)[0][:4] == ("a", "q1", 5000, 1)
    assert note in table.notes


def test_quoted_fields_and_the_row_of_an_editor(tmp_path: Path) -> None:
    text = (
        '"forecaster",question,"probability",outcome\n'
        '"a, the first","said ""yes""\nand no",0.5,1\n'
        "\nb,q1,0.5,1\nb,q2,62,1\n"
    )
    path = csv_file(tmp_path, text)
    with pytest.raises(FormatError, match="line 6, column 'probability'"):
        read_table(path)
    table = read_table(path, skip_bad=True)
    assert table.forecasters == ("a, the first", "b")
    assert table.questions == ("q1", 'said "yes"\nand no')
    assert table.skipped[0].first == ("line 6",)


def test_missing_answers_are_counted_with_their_reasons(tmp_path: Path) -> None:
    text = (
        f"{HEADER},status\na,q1,0.5,1,ok\na,q2,,1,refused\na,q3,NaN,1,Time-out\na,q4,timeout,0,\n"
        "b,q1,,1,rate limited\nb,q2,missing,1,valid\nc,q1,0.5,1,resolved\n"
    )
    with pytest.raises(FormatError, match="line 4, column 'probability'"):
        read_table(csv_file(tmp_path, text))  # "time-out" is no word of a failure
    table = read_table(csv_file(tmp_path, text.replace("Time-out", "Timeout")))
    assert table.forecasters == ("a", "b", "c")
    assert [dict(counts) for counts in table.missing] == [
        {"refused": 1, "timeout": 2},
        {"rate_limited": 1, "missing": 1},
        {},
    ]
    assert len(table) == 2 and table.questions == ("q1", "q2", "q3", "q4")


def test_a_column_of_failures_takes_any_text_as_a_reason(tmp_path: Path) -> None:
    text = f"{HEADER},error\na,q1,0.5,1,\na,q2,,1,HTTP 500: {'x' * 200}\n"
    table = read_table(csv_file(tmp_path, text))
    (reason,) = table.missing[0]
    assert reason.startswith("HTTP 500: x") and len(reason) == 80


@pytest.mark.parametrize(
    ("word", "code"),
    [
        *((word, 1) for word in ("1", "1.0", "yes", "Yes ", "TRUE")),
        *((word, 0) for word in ("0", "0.0", "No", " no", "false")),
        *((word, -1) for word in ("void", "Annulled", "cancelled", "ambiguous")),
        *((word, -2) for word in ("", "NA", "n/a", "open", "unresolved", "nan", "pending")),
    ],
)
def test_the_words_of_an_outcome(word: str, code: int, tmp_path: Path) -> None:
    """Blanks around a label do not matter; a void and an open question are no half."""
    table = read_table(csv_file(tmp_path, f"{HEADER}\na,q1,0.5,{word}\n"))
    assert table.outcome.tolist() == [code]


def test_what_a_person_should_look_at_is_noted(tmp_path: Path) -> None:
    text = f"{HEADER}\nGPT-4,q1,0.5,1\ngpt-4,q1,0.5,1\ngpt-4,q2,0.5,\nGPT-4,q2,0.5,1\n"
    notes = read_table(csv_file(tmp_path, text)).notes
    assert notes == ("forecasters 'GPT-4' and 'gpt-4' are counted as two",)


decimals = st.one_of(
    st.decimals(0, 1, allow_nan=False, allow_infinity=False, places=5),
    st.decimals(0, 1, allow_nan=False, allow_infinity=False),
    st.floats(0, 1).map(lambda value: Decimal(repr(value))),
    st.integers(0, 20_000).map(lambda half: Decimal(half) / 20_000),
)


@given(st.lists(decimals, min_size=1), st.sampled_from([1, 3, 100, 1000, 4096, 10_000, 65_535]))
def test_rounding_is_that_of_the_exact_grid(values: list[Decimal], steps: int) -> None:
    forms = [f"{value:f}" if place % 2 else str(value) for place, value in enumerate(values)]
    held = read_probabilities(pl.Series(forms), steps)
    assert not held.fault.any()
    assert held.units.tolist() == [Grid(steps).units(value) for value in values]
    half = [(value > Decimal("0.5")) - (value < Decimal("0.5")) for value in values]
    assert held.side.tolist() == half
    moved = [
        abs(
            Grid(steps).probability(Grid(steps).units(value))
            - value.as_integer_ratio()[0] * Grid(value.as_integer_ratio()[1]).probability(1)
        )
        for value in values
    ]
    count, largest = held.rounding(np.ones(len(values), dtype=np.bool_))
    assert count == sum(amount != 0 for amount in moved)
    assert float(largest) == pytest.approx(float(max(moved)), rel=1e-9)


@pytest.mark.parametrize("steps", [3, 10_000])
def test_texts_that_are_no_probability_on_any_grid(steps: int) -> None:
    texts = ["", "nan", "inf", "missing", "62", "-1", "5%", "0,5", "x", "1e-401", "0.5"]
    held = read_probabilities(pl.Series(texts), steps)
    assert held.fault.tolist() == [1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    edge = ["1", "1.0", "01", "1e0", "1.00000000000000000000", "1.00000000000000000001", "10e-1"]
    held = read_probabilities(pl.Series(edge), steps)
    assert held.fault.tolist() == [0, 0, 0, 0, 0, 4, 0]
    assert held.units.tolist()[:5] == [steps] * 5 and not held.inside()[:5].any()


def test_the_largest_rounding_is_exact_decimal_text(tmp_path: Path) -> None:
    text = f"{HEADER}\na,q1,0.12345678901234567890123,1\na,q2,0.1,1\n"
    table = read_table(csv_file(tmp_path, text))
    assert (table.rounded, table.largest_rounding) == (1, "0.00004321098765432109877")
    assert read_table(csv_file(tmp_path, text), grid=Grid(100)).units.tolist() == [12, 10]
    with pytest.raises(FormatError, match="from 1 to 65535"):
        read_table(csv_file(tmp_path, text), grid=Grid(100_000))


def test_an_offset_gives_the_same_instant() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 3, 8, 2, 30, tzinfo=UTC)
    forms = [moment.isoformat(), moment.astimezone(east).isoformat(), "2026-03-07T21:30:00-0500"]
    frame = pl.DataFrame({"model": list("abc"), "qid": "q", "p": 0.5, "y": 1, "time": forms})
    times = read_table(frame).time
    assert times is not None and len(set(times.tolist())) == 1
