"""One result from CSV, JSONL, Parquet and frames, and the faults of typed columns."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.sources.table import read_table
from tests.sources.made_tables import EPOCH, HEADER, csv_file, facts, rows

names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6)


names = names.filter(lambda name: name.strip() and name.casefold() not in ("nan",))


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, str]]:
    """Rows of a good table, as the text of their cells."""
    pairs = draw(st.lists(st.tuples(names, names), min_size=1, max_size=12, unique=True))
    moments = st.integers(0, 4_000_000_000_000_000)
    optional = draw(st.sets(st.sampled_from(["crowd", "cluster", "time", "segment"])))
    built = []
    outcomes = st.sampled_from(["1", "0", "void"])
    settled = {question: draw(outcomes) for question in sorted({pair[1] for pair in pairs})}
    for forecaster, question in pairs:
        missing = draw(st.integers(0, 5)) == 0
        row = {
            "forecaster": forecaster,
            "question": question,
            "probability": "refused" if missing else str(draw(st.floats(0, 1))),
            "outcome": draw(st.sampled_from([settled[question], ""])),
        }
        if "crowd" in optional:
            row["crowd"] = draw(st.sampled_from(["", "0.5", "0.123456", "1e-7"]))
        if "cluster" in optional:
            row["cluster"] = draw(names)
        if "segment" in optional:
            row["segment"] = draw(names)
        if "time" in optional:
            row["time"] = (EPOCH + timedelta(microseconds=draw(moments))).isoformat()
        built.append(row)
    return built


def write_csv(folder: Path, held: list[dict[str, str]]) -> Path:
    path = folder / "t.csv"
    pl.DataFrame(held).write_csv(path, quote_style="always")
    return path


@given(held=tables(), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_but_the_order(
    held: list[dict[str, str]], order: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    before = read_table(write_csv(folder, held))
    shuffled = list(held)
    order.shuffle(shuffled)
    after = read_table(write_csv(folder, shuffled))
    assert facts(after) == facts(before)
    stated = [row for row in shuffled if row["probability"] != "refused"]
    assert [row[:2] for row in rows(after)] == [
        (row["forecaster"], row["question"]) for row in stated
    ]


@given(held=tables())
def test_one_result_from_csv_jsonl_parquet_and_frame(
    held: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    frame = pl.DataFrame(held)
    wanted = facts(read_table(write_csv(folder, held)))
    assert facts(read_table(frame)) == wanted
    frame.write_parquet(folder / "t.parquet")
    assert facts(read_table(folder / "t.parquet")) == wanted
    (folder / "t.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in held), encoding="utf-8"
    )
    assert facts(read_table(folder / "t.jsonl")) == wanted
    assert facts(read_table(typed(frame))) == wanted
    typed(frame).write_parquet(folder / "typed.parquet")
    assert facts(read_table(folder / "typed.parquet")) == wanted
    assert facts(read_table(pandas_like(typed(frame)))) == wanted


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with numbers, instants and a status in columns of their own types."""
    said = frame.with_columns(
        status=pl.when(pl.col("probability") == "refused").then(pl.lit("refused")),
        probability=pl.col("probability").cast(pl.Float64, strict=False),
        forecaster=pl.col("forecaster").cast(pl.Categorical),
    )
    if "crowd" in said.columns:
        said = said.with_columns(pl.col("crowd").cast(pl.Float64, strict=False))
    if "time" in said.columns:
        zone = pl.Datetime("us", "America/New_York")
        said = said.with_columns(
            pl.Series("time", [datetime.fromisoformat(text) for text in said["time"]]).cast(zone)
        )
    return said


def pandas_like(frame: pl.DataFrame) -> Any:
    """What pandas shows of a frame of Python objects; pandas itself need not be here."""
    columns = [SimpleNamespace(dtype="object", tolist=s.to_list) for s in frame.get_columns()]
    kind = type(
        "DataFrame", (), {"__module__": "pandas.core.frame", "__len__": lambda _: frame.height}
    )
    like = kind()
    like.columns = frame.columns
    like.iloc = _Places(columns)
    return like


class _Places:
    """`iloc[:, place]`."""

    def __init__(self, columns: list[Any]) -> None:
        self._columns = columns

    def __getitem__(self, key: tuple[slice, int]) -> Any:
        return self._columns[key[1]]


def test_a_pandas_frame_as_pandas_makes_it() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "model": pd.Categorical(["a", "a", "b"]),
            "id": [1, 2, 1],
            "p": [0.1, float("nan"), 1.0],
            "outcome": pd.array([True, None, True], dtype="boolean"),
            "crowd": [0.5, float("nan"), 0.25],
            "failure": [None, "refused", None],
            "time": pd.to_datetime(["2026-01-05T12:00:00Z"] * 3).tz_convert("America/New_York"),
        }
    )
    table = read_table(frame)
    noon = 1_767_614_400_000_000
    assert rows(table) == [
        ("a", "1", 1000, 1, 5000, None, noon, None),
        ("b", "1", 10000, 1, 2500, None, noon, None),
    ]
    assert dict(table.missing[0]) == {"refused": 1} and table.format == "pandas frame"
    frame["time"] = frame["time"].dt.tz_localize(None)
    with pytest.raises(FormatError, match=r"frame, row index 0, column 'time': .* has no zone"):
        read_table(frame)


def test_single_precision_is_read_as_it_is_printed() -> None:
    """0.1 as a 32-bit float is 0.100000001490116...; its shortest text is 0.1."""
    frame = pl.DataFrame({"model": "a", "qid": ["1", "2"], "y": 1}).with_columns(
        p=pl.Series([0.1, 0.97505], dtype=pl.Float32)
    )
    table = read_table(frame)
    assert (table.units.tolist(), table.rounded) == ([1000, 9750], 1)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"question": [1.0]}, "fractions cannot be the question"),
        ({"probability": [True]}, "true and false cannot be the probability"),
        ({"forecaster": [False]}, "true and false cannot be the forecaster"),
        ({"probability": [[0.5]]}, "cannot be the probability"),
        ({"outcome": [{"a": 1}]}, "cannot be the outcome"),
        ({"time": [timedelta(1)]}, "is no time"),
        ({"time": [EPOCH.replace(tzinfo=None)]}, "row index 0, column 'time': .* has no zone"),
        ({"time": [EPOCH.date()]}, "row index 0, column 'time': .* is a day"),
        ({"probability": [float("nan")]}, "row index 0, column 'probability': 'NaN'"),
        ({"probability": [None]}, "row index 0, column 'probability': empty"),
        ({"probability": [62]}, "row index 0, column 'probability': percent"),
        ({"outcome": [0.5]}, "row index 0, column 'outcome': '0.5' is no outcome"),
    ],
)
def test_typed_columns_that_cannot_play_their_role(column: dict[str, Any], said: str) -> None:
    held = {"forecaster": ["a"], "question": ["q"], "probability": [0.5], "outcome": [1]}
    with pytest.raises(FormatError, match=said):
        read_table(pl.DataFrame(held | column, strict=False))


JSON_FAULTS: dict[str, tuple[str, str]] = {
    "not JSON": ("{oops", "not JSON"),
    "a list": ("[1]", "list where an object was expected"),
    "a key twice": ('{"p": 1, "p": 2}', "one key stands twice"),
    "a list for a number": ('{"model": "a", "qid": "q", "p": [0.5], "y": 1}', "a list"),
    "a list for an id": ('{"model": "a", "qid": ["q", "r"], "p": 0.5, "y": 1}', "a list"),
    "NaN": ('{"model": "a", "qid": "q", "p": NaN, "y": 1}', "'NaN'"),
    "true": ('{"model": "a", "qid": "q", "p": true, "y": 1}', "'true' is not a number"),
    "no probability": ('{"model": "a", "qid": "q", "y": 1}', "empty"),
}


@pytest.mark.parametrize("case", JSON_FAULTS)
def test_bad_lines_of_jsonl(case: str, tmp_path: Path) -> None:
    line, said = JSON_FAULTS[case]
    good = '{"model": "a", "qid": "q0", "p": 0.10000000000000000001, "y": null, "other": {}}'
    path = csv_file(tmp_path, f"{good}\n\n{line}\n{good.replace('q0', 'q1')}\n", "t.jsonl")
    with pytest.raises(FormatError, match=r"t\.jsonl, line 3.*") as caught:
        read_table(path)
    assert said in str(caught.value)
    table = read_table(path, skip_bad=True)
    assert (len(table), table.n_skipped, table.skipped[0].first) == (2, 1, ("line 3",))
    assert (table.rounded, table.largest_rounding) == (2, "0.00000000000000000001")


def test_blocks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is looked at block by block: the smallest blocks find what one block finds."""
    text = f'{HEADER}\n"a, b",q1,0.5,1\n\nc,"x\n""y""",0.25,0\nd,q2,0.75,1\n'
    path = csv_file(tmp_path, text)
    wanted = facts(read_table(path))
    for size in range(1, len(text) + 2):
        monkeypatch.setattr("beforehand.sources.layout.BLOCK", size)
        assert facts(read_table(path)) == wanted
