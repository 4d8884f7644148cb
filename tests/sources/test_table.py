"""Bad input is named with file, row and column, or left out and counted; never repaired."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from beforehand.sources.table import read_table
from tests.sources.made_tables import GOOD, HEADER, left_out, refused

# A bad cell in line 4 of a good table: its row, the reason, the column, and what to do.
BAD = {
    "percent": ("c,q1,62,1", "above 1", "probability", "percent? found 62", "divide by 100"),
    "just above 1": ("c,q1,1.0001,1", "above 1", "probability", "found 1.0001"),
    "below 0": ("c,q1,-0.1,1", "below 0", "probability", "'-0.1'"),
    "percent sign": ("c,q1,62%,1", "percent sign", "probability", "as a fraction"),
    "decimal comma": ('c,q1,"0,62",1', "decimal comma", "probability", "write a point"),
    "nan": ("c,q1,nan,1", "not a finite number", "probability", "nan"),
    "minus nan": ("c,q1,-NaN,1", "not a finite number", "probability", "NaN"),
    "infinity": ("c,q1,inf,1", "not a finite number", "probability", "inf"),
    "overflow": ("c,q1,1e999,1", "above 1", "probability", "1e999"),
    "empty": ("c,q1,,1", "no probability", "probability", "write 'missing'"),
    "blank": ("c,q1,  ,1", "no probability", "probability", "write 'missing'"),
    "NA": ("c,q1,N/A,1", "no probability", "probability", "status column"),
    "text": ("c,q1,likely,1", "not a number", "probability", "'likely'"),
    "range": ("c,q1,0.6-0.7,1", "not a number", "probability", "'0.6-0.7'"),
    "underscore": ("c,q1,0.1_0,1", "not a number", "probability", "'0.1_0'"),
    "other digits": ("c,q1,٠.٥,1", "not a number", "probability", "0 to 1"),
    "400 places": (f"c,q1,0.{'0' * 400}1,1", "too many places", "probability", "400"),
    "tiny": ("c,q1,1e-99999,1", "too many places", "probability", "400"),
    "half": ("c,q1,0.6,0.5", "no outcome", "outcome", "void", "yes", "even"),
    "two": ("c,q1,0.6,2", "no outcome", "outcome", "accepted are 1, yes, true; 0, no, false"),
    "word": ("c,q1,0.6,maybe", "no outcome", "outcome", "annulled", "unresolved"),
    "no forecaster": (",q1,0.6,1", "no forecaster", "forecaster", "every row needs"),
    "no question": ("c, ,0.6,1", "no question", "question", "every row needs"),
    "repeated": ("a,q1,0.7,1", "repeated answer", "question", "after line 2", "time column"),
    "repeated missing": ("a,q1,missing,1", "repeated answer", "question", "after line 2"),
    "too few": ("c,q1,0.6", "number of fields", "", "3 fields where the header has 4"),
    "too many": ("c,q1,0.6,1,2", "number of fields", "", "5 fields where the header has 4"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_named_or_left_out(case: str, write: Callable[..., Path]) -> None:
    row, reason, column, *said = BAD[case]
    path = write(*GOOD[:2], row, GOOD[2])
    refused(path, "t.csv, line 4", *([f"column '{column}'"] if column else []), *said)
    table = left_out(path, reason, [4])
    assert (len(table), table.n_skipped) == (3, 1)


def test_a_character_that_no_name_holds(write: Callable[..., Path]) -> None:
    """A NUL in the first bytes tells a binary file; a later one is a bad row."""
    path = write(*(f"m,p{n:05},0.5,1" for n in range(300)), "m,q\0,0.6,1")
    refused(path, "t.csv, line 302, column 'question'", "NUL")
    assert len(left_out(path, "not a plain value", [302])) == 300


def test_the_first_bad_row_is_named_and_each_counted_once(write: Callable[..., Path]) -> None:
    path = write(*GOOD, "c,q1,x,maybe", "c,q2,y,0", "c,q3,0.5,9")
    refused(path, "line 5", "'x'", "; and 2 more rows: not a number (1), no outcome (1)")
    table = read_table(path, skip_bad=True)
    assert [(left.reason, left.count) for left in table.skipped] == [
        ("not a number", 2),
        ("no outcome", 1),
    ]
    assert table.skipped[0].line() == "not a number: 2 (line 5, line 6)"


def test_a_question_settled_two_ways_is_bad_in_all_its_rows(write: Callable[..., Path]) -> None:
    path = write("a,q1,0.4,", *GOOD, "b,q1,0.3,VOID", "c,q1,refused,1", "c,q2,0.5,0")
    refused(
        path,
        "t.csv, line 2, column 'outcome': question 'q1' has the outcome '1' in line 3 and 'VOID'",
        "in line 6; one question is one event",
        "; and 4 more rows: contrary outcomes (4)",
    )


def test_contrary_outcomes_are_left_out_with_their_question(write: Callable[..., Path]) -> None:
    path = write(*GOOD[:2], "b,q1,0.5,0", "c,q1,0.4,", "c,q2,0.3,", "d,q1,refused,1")
    refused(path, "line 2, column 'outcome'", "'1' in line 2 and '0' in line 4", "date or horizon")
    table = left_out(path, "contrary outcomes", [2, 4, 5, 7])
    assert (table.questions, len(table), table.n_missing) == (("q2",), 2, 0)
    whole = write("a,q1,0.5,1", "b,q1,0.5,no")
    refused(whole, "no row is left", "contrary outcomes: 2 (line 2, line 3)", skip_bad=True)


def test_what_contradicts_nobody(write: Callable[..., Path]) -> None:
    """Another word for the same outcome, an open row, and a row that is bad already."""
    path = write("a,q1,0.5,1", "b,q1,0.5,YES", "c,q1,0.5,", "d,q1,0.5,1.0")
    assert len(read_table(path)) == 4
    assert len(left_out(write("a,q1,0.5,1", "b,q1,62,0"), "above 1", [3])) == 1


def test_a_doubled_row_with_another_outcome_is_no_repetition(write: Callable[..., Path]) -> None:
    path = write(*GOOD, "a,q1,0.62,0")
    refused(path, "'1' in line 2 and '0' in line 5")
    assert len(left_out(path, "contrary outcomes", [2, 4, 5])) == 1


def test_a_crowd_that_says_two_things_at_one_time_is_noted(write: Callable[..., Path]) -> None:
    at = "2026-01-05T12:00:00Z"
    timed = HEADER + ",crowd,time"
    same = ("a,q1,0.5,1,0.5," + at, "b,q1,0.5,1,0.7," + at, "b,q2,0.5,1,0.7," + at)
    notes = read_table(write(*same, header=timed)).notes
    told = (
        "1 question has more than one crowd's probability at one time, the first 'q1' (0.5 and 0.7)"
    )
    assert [note.startswith(told) for note in notes] == [True]
    moved = [row.replace("0.7," + at, "0.7,2026-01-06T12:00:00Z") for row in same]
    assert read_table(write(*moved, header=timed)).notes == ()
    both = read_table(
        write("a,q1,0.5,1,0.5", "b,q1,0.5,1,0.7", "a,q2,0.5,1,", header=HEADER + ",crowd")
    )
    assert [note.split(",")[0] for note in both.notes] == [
        "a crowd's probability stands in 2 of 3 forecasts; skill is over these alone",
        "1 question has more than one crowd's probability in different rows",
    ]


def test_percents_and_fractions_in_one_column(write: Callable[..., Path]) -> None:
    path = write("a,q1,0.4,1", "a,q2,0,0", "a,q3,62,1")
    refused(path, "line 4", "percents and fractions are mixed (0.4 in line 2)")
    left_out(path, "above 1", [4])


def test_a_column_of_percents_is_doubted_even_where_bad_rows_are_left_out(
    write: Callable[..., Path],
) -> None:
    path = write("a,q1,62,1", "a,q2,40,0", "a,q3,1,1")
    assert "mixed" not in refused(path, "line 2", "percent?", "divide by 100")
    table = left_out(path, "above 1", [2, 3])
    assert any("2 of 3 probabilities were above 1" in note for note in table.notes)


def test_a_table_that_is_bad_throughout_is_an_error_in_both_modes(
    write: Callable[..., Path],
) -> None:
    path = write("a,q1,62,1", "a,q2,40,0")
    refused(path, "line 2")
    refused(path, "no row is left", "above 1: 2 (line 2, line 3)", skip_bad=True)


TIMED = HEADER + ",time"


@pytest.mark.parametrize(
    ("cell", "reason", "said"),
    [
        ("2026-01-05 12:00:00", "time without a zone", "has no zone"),
        ("2026-01-05T12:00:00.5", "time without a zone", "with Z or its offset"),
        ("2026-01-05T12:00", "time without a zone", "has no zone"),
        ("2026-01-05", "time without a zone", "name the column 'session'"),
        ("", "no time", "leave the whole column out"),
        ("1767614400", "no time", "2026-01-05T12:00:00Z"),
        ("2026-02-30T12:00:00Z", "no time", "is no date and time"),
        ("2026-01-05T24:00:00Z", "no time", "is no date and time"),
        ("2026-01-05T12:00:00+25:00", "no time", "is no date and time"),
        ("2026-01-05T12:00:00.0000001Z", "too fine a time", "finer than a microsecond"),
        ("January 5", "no time", "is no time"),
    ],
)
def test_a_time_that_is_no_instant(
    cell: str, reason: str, said: str, write: Callable[..., Path]
) -> None:
    path = write(
        "a,q1,0.5,1,2026-01-05T12:00:00Z",
        f"a,q2,0.5,1,{cell}",
        "a,q3,0.5,1,2026-01-05T12:00:00Z",
        header=TIMED,
    )
    refused(path, "t.csv, line 3, column 'time'", said)
    assert len(left_out(path, reason, [3])) == 2


def test_a_time_without_a_zone_is_refused_in_every_time_zone(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    naive = write("a,q1,0.5,1,2026-01-05 12:00:00", header=TIMED)
    aware = write("a,q1,0.5,1,2026-01-05 12:00:00Z", header=TIMED, name="z.csv")
    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        refused(naive, "line 2", "no zone")
        moments = read_table(aware).time
        assert moments is not None and moments.tolist() == [1_767_614_400_000_000]
    monkeypatch.undo()
    time.tzset()


def test_a_second_answer_is_one_at_the_same_time_only(write: Callable[..., Path]) -> None:
    rows = ("a,q1,0.5,1,2026-01-05T12:00:00Z", "a,q1,0.6,1,2026-01-05T13:00:00+01:00")
    refused(write(*rows, header=TIMED), "line 3", "at the same time, after line 2")
    later = "a,q1,0.6,1,2026-01-05T13:00:01+01:00"
    assert len(read_table(write(rows[0], later, header=TIMED))) == 2


SIDED = HEADER + ",side"


@pytest.mark.parametrize(
    ("row", "reason", "said"),
    [
        ("c,q1,0.8,1,no", "side contradicts probability", "above one half"),
        ("c,q1,0.2,1,YES", "side contradicts probability", "the probability is that of YES"),
        ("c,q1,0.50001,1,down", "side contradicts probability", "above one half"),
        ("c,q1,0.8,1,perhaps", "no answer side", "accepted are 1, yes, true, up"),
    ],
)
def test_side_and_probability_that_contradict_each_other(
    row: str, reason: str, said: str, write: Callable[..., Path]
) -> None:
    path = write(
        "a,q1,0.5,1,no", "a,q2,0.5,1,yes", row, "b,q1,0.2,1,No", "b,q2,0.9,1,", header=SIDED
    )
    refused(path, "t.csv, line 4, column 'side'", said)
    assert len(left_out(path, reason, [4])) == 4


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("62", "above 1"),
        ("x", "not a number"),
        ("inf", "not a finite number"),
        ("refused", "a missing answer"),
        ("5%", "percent sign"),
    ],
)
def test_a_crowd_that_is_no_probability(cell: str, reason: str, write: Callable[..., Path]) -> None:
    path = write("a,q1,0.5,1,0.4", f"a,q2,0.5,1,{cell}", "a,q3,0.5,1,", header=HEADER + ",crowd")
    refused(path, "t.csv, line 3, column 'crowd'")
    crowd = left_out(path, reason, [3]).crowd
    assert crowd is not None and crowd.tolist() == [4000, -1]


def test_a_status_that_contradicts_the_probability(write: Callable[..., Path]) -> None:
    path = write("a,q1,0.5,1,ok", "a,q2,0.5,1,timeout", header=HEADER + ",status")
    refused(path, "t.csv, line 3, column 'status'", "'timeout'", "'0.5'")
    left_out(path, "status contradicts probability", [3])


def test_an_optional_name_may_not_be_empty(write: Callable[..., Path]) -> None:
    for role in ("cluster", "segment"):
        path = write("a,q1,0.5,1,x", "a,q2,0.5,1,", header=f"{HEADER},{role}")
        refused(path, "line 3", f"column '{role}'", "leave the whole column out")
        left_out(path, f"no {role}", [3])
