"""The tally: exact, additive, the same for any order, chunk, thread or engine."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring import columns, fast, tally
from beforehand.scoring.columns import pack
from beforehand.scoring.exact import Grid
from beforehand.scoring.tally import Tally

GRID = Grid(100)
NAMES = ("a", "b", "c")
ROWS = st.lists(st.tuples(st.integers(0, 100), st.booleans(), st.integers(0, 2)), max_size=60)
Rows = list[tuple[int, bool, int]]

# The compiled loop where numba is there; else the same loops as plain Python below.
ENGINES = [False, True] if fast.available() else [False]


def tallied(rows: Rows, **options: Any) -> Tally:
    units, happened, index = ([row[k] for row in rows] for k in range(3))
    return Tally.of(units, happened, index, NAMES, GRID, **options)


def packed(rows: Rows, **options: Any) -> Tally:
    units, happened, index = ([row[k] for row in rows] for k in range(3))
    words, offsets = pack(units, happened, index, len(NAMES), GRID)
    return Tally.of_packed(words, offsets, NAMES, GRID, **options)


@given(ROWS)
def test_counts_what_is_there(rows: Rows) -> None:
    found, wanted = tallied(rows), Counter(rows)
    for place, name in enumerate(NAMES):
        assert found.rows(name) == sum(row[2] == place for row in rows)
    for (units, happened, place), n in wanted.items():
        assert found.row(NAMES[place])[int(happened), units] == n
    assert found.counts.sum() == len(rows)


@given(ROWS, ROWS, ROWS)
def test_adding_is_exact_associative_and_has_a_zero(a: Rows, b: Rows, c: Rows) -> None:
    whole = tallied(a + b + c)
    assert (tallied(a) + tallied(b)) + tallied(c) == whole
    assert tallied(a) + (tallied(b) + tallied(c)) == whole
    assert tallied(c) + tallied(a) + tallied(b) == whole
    assert whole + tallied([]) == whole


@given(ROWS, st.randoms(), st.integers(1, 3), st.sampled_from(ENGINES))
def test_order_threads_engine_and_form_change_no_count(
    rows: Rows, rng: random.Random, threads: int, use_fast: bool
) -> None:
    shuffled = rows[:]
    rng.shuffle(shuffled)
    whole = tallied(rows)
    assert tallied(shuffled, threads=threads, use_fast=use_fast) == whole
    assert packed(shuffled, threads=threads, use_fast=use_fast) == whole


@given(ROWS, st.integers(1, 9), st.integers(1, 5))
def test_the_loops_as_plain_python_count_the_same(rows: Rows, chunk: int, threads: int) -> None:
    """What numba compiles, run without it, in small chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "_compiled", lambda loop: loop)
        patch.setattr(fast, "_STRETCH", chunk)
        for module in (fast, tally, columns):
            patch.setattr(module, "CHUNK", chunk)
        units, happened, index = ([row[k] for row in rows] for k in range(3))
        words, offsets = pack(units, happened, index, len(NAMES), GRID)
        counts = np.zeros((2, 3, 2, 101), dtype=np.int64)
        fast.count_packed(words, offsets, counts[0], threads)
        arrays = [np.array(values, dtype=np.int64) for values in (units, happened, index)]
        fast.count_rows(*arrays, counts[1], threads)
        chunked = [tallied(rows), packed(rows)]
    whole = tallied(rows)
    assert chunked == [whole, whole]
    for found in counts:
        assert Tally.from_counts(found, NAMES, GRID) == whole


@given(ROWS, ROWS)
def test_void_rows_are_absent_whatever_stands_in_them(rows: Rows, void: Rows) -> None:
    mixed = [*rows, (7, True, 1), *void]
    counted = [True] * len(rows) + [False] * (len(void) + 1)
    units = np.array([row[0] for row in mixed])
    units[len(rows) :] = 10**6  # out of range, and not looked at
    found = Tally.of(
        units, [row[1] for row in mixed], [row[2] for row in mixed], NAMES, GRID, counted=counted
    )
    assert found == tallied(rows)


def test_a_grid_wider_than_the_chunk() -> None:
    grid = Grid(1_000_000)
    found = Tally.of([999_999, 3, 3], [1, 0, 0], [1, 0, 0], ["a", "b"], grid)
    assert found.row("b")[1, 999_999] == 1 and found.row("a")[0, 3] == 2
    assert found.counts.sum() == 3


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_every_whole_number_type(dtype: type) -> None:
    units = np.array([0, 60, 100], dtype=dtype)
    assert Tally.of(units, [1, 0, 1], units * 0, ["a"], GRID).rows("a") == 3


@pytest.mark.parametrize("use_fast", ENGINES)
@pytest.mark.parametrize(
    ("units", "happened", "index", "told"),
    [
        ([5, 101], [1, 1], [0, 0], "row 1: units is 101"),
        ([5, -1], [1, 1], [0, 0], "row 1: units is -1"),
        ([5, 6], [1, 2], [0, 0], "row 1: happened is 2"),
        ([5, 6], [1, 0], [0, 3], "row 1: forecaster_index is 3"),
        ([5.0, 6.0], [1, 0], [0, 0], "units holds whole numbers"),
        ([5, 6], ["yes", "no"], [0, 0], "happened holds booleans, or 0 and 1"),
        ([5, 6], [1.0, 0.5], [0, 0], "happened holds booleans, or 0 and 1"),
        ([5, 6], [1], [0, 0], "different lengths: units 2, happened 1"),
        ([[5, 6]], [1, 0], [0, 0], "one dimension"),
    ],
)
def test_a_bad_row_is_named_and_never_repaired(
    units: Any, happened: Any, index: Any, told: str, use_fast: bool
) -> None:
    with pytest.raises(FormatError, match=told):
        Tally.of(units, happened, index, NAMES, GRID, use_fast=use_fast)


@pytest.mark.parametrize("use_fast", ENGINES)
def test_the_first_bad_row_is_named_whichever_column_it_is_in(use_fast: bool) -> None:
    with pytest.raises(FormatError, match="row 1: happened is 7"):
        Tally.of([0, 0, 500], [1, 7, 1], [0, 9, 0], ["a"], Grid(100), use_fast=use_fast, start=0)
    counted = [True, False, True, True]
    with pytest.raises(FormatError, match="row 12: happened is 7"):
        Tally.of([0, 0, 0, 500], [1, 9, 7, 1], [0] * 4, ["a"], GRID, counted=counted, start=10)


@pytest.mark.parametrize("use_fast", ENGINES)
def test_a_packed_word_beyond_the_grid_is_named(use_fast: bool) -> None:
    words = np.array([0, 5, 202], dtype=np.uint16)
    with pytest.raises(FormatError, match="row 2: packed is 202"):
        Tally.of_packed(words, [0, 3], ["a"], GRID, use_fast=use_fast)


def test_the_plain_loops_name_bad_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_compiled", lambda loop: loop)
    counts = np.zeros((1, 2, 101), dtype=np.int64)
    with pytest.raises(FormatError, match="row 2: packed is 202"):
        fast.count_packed(np.array([0, 5, 202], dtype=np.uint16), np.array([0, 3]), counts)
    for place, told in enumerate(("units", "happened", "forecaster_index")):
        held = [np.array([0, 0, 0]) for _ in range(3)]
        held[place][1] = 200
        with pytest.raises(FormatError, match=f"row 8: {told} is 200"):
            fast.count_rows(*held, counts, first=7)
    with pytest.raises(FormatError, match="threads"):
        fast.count_packed(np.zeros(2, dtype=np.uint16), np.array([0, 2]), counts, 0)


def test_packed_rows_have_their_form() -> None:
    words = np.zeros(3, dtype=np.uint16)
    for offsets in ([0, 2], [1, 3], [0], [0, 1, 3]):
        with pytest.raises(FormatError, match="offsets are 2 numbers"):
            Tally.of_packed(words, offsets, ["a"], GRID)
    with pytest.raises(FormatError, match="descend"):
        Tally.of_packed(words, [0, 2, 1, 3], NAMES, GRID)
    with pytest.raises(FormatError, match="uint16"):
        Tally.of_packed(words.astype(np.uint32), [0, 3], ["a"], GRID)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="uint16"):
        Tally.of_packed(words, [0, 3], ["a"], Grid(32_768))
    with pytest.raises(FormatError, match="16 bits"):
        pack([0], [0], [0], 1, Grid(32_768))
    assert Tally.of_packed(words, [0, 3], ["a"], Grid(32_767)).rows("a") == 3


def test_counts_have_their_form() -> None:
    good = np.zeros((1, 2, 101), dtype=np.int64)
    for bad in (good - 1, good[:, :1], good.astype(float), good + (1 << 60)):
        with pytest.raises(FormatError, match="count"):
            Tally.from_counts(bad, ["a"], GRID)
    with pytest.raises(FormatError, match=r"2\^53 rows"):
        Tally.from_counts(good + (1 << 50), ["a"], GRID)


def test_sums_do_not_overflow_unseen() -> None:
    counts = np.zeros((1, 2, 101), dtype=np.int64)
    counts[0, 1, 50] = 1 << 53
    full = Tally.from_counts(counts, ["a"], GRID)
    assert full.rows("a") == 1 << 53
    with pytest.raises(FormatError, match=r"2\^53 rows"):
        full + full


def test_forecasters_join_in_the_order_they_appear() -> None:
    left = Tally.of([1], [1], [0], ["a"], GRID)
    right = Tally.of([2, 3], [1, 0], [0, 1], ["b", "a"], GRID)
    assert (left + right).forecasters == ("a", "b")
    assert left + right == right + left
    assert (left + right).rows("a") == 2
    assert left not in (right, "a")


def test_what_cannot_be_tallied_is_refused() -> None:
    for names in (["a", "a"], "ab", [1]):
        with pytest.raises(FormatError):
            Tally.of([], [], [], names, GRID)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="steps"):
        Tally.of([], [], [], ["a"], Grid(1_000_001))
    one = Tally.of([1], [1], [0], ["a"], GRID)
    with pytest.raises(FormatError, match="do not add"):
        one + Tally.of([1], [1], [0], ["a"], Grid(10))
    with pytest.raises(FormatError, match="no forecaster 'z'"):
        one.row("z")
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_row_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Tally.of([1], [1], [0], ["a"], GRID).row("a")[0, 0] = 1


def test_numba_is_only_asked_for_where_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_numba", lambda: None)
    assert not fast.wanted(10**9, None)
    with pytest.raises(FormatError, match="numba is not installed"):
        fast.wanted(1, True)
    monkeypatch.setattr(fast, "_numba", lambda: object())
    assert fast.wanted(10**9, None) and not fast.wanted(1000, None)


def test_without_numba_nothing_imports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fast.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError)
    )
    fast._numba.cache_clear()
    assert not fast.available()
    monkeypatch.undo()
    fast._numba.cache_clear()
