"""Parquet files, polars and pandas frames: typed columns, turned into text once it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from beforehand.errors import FormatError
from beforehand.sources.faults import TableError
from beforehand.sources.sheet import LIMITS, NESTED, Limits, Sheet, check_file, check_size

_TIMES = {"ns": "%.9f", "us": "%.6f", "ms": "%.3f"}
_IDS = ("forecaster", "question", "cluster", "segment")


def row_place(index: int) -> str:
    """A frame has no lines: its rows are counted from 0, as the frame itself counts them.

    >>> row_place(0)
    'row index 0'
    """
    return f"row index {index}"


def open_parquet(path: Path, *, limits: Limits = LIMITS) -> Sheet:
    """The sheet of a Parquet file; only the columns that are asked for are read."""
    check_file(path, limits)
    try:
        header = tuple(pl.read_parquet_schema(path))
        height = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise TableError(path.name, f"not readable as Parquet: {_first_line(error)}") from None
    _check(path.name, height, header, limits)

    def take(places: Sequence[int]) -> list[pl.Series]:
        names = [header[place] for place in places]
        try:
            frame = pl.read_parquet(path, columns=names)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise TableError(path.name, f"not readable as Parquet: {_first_line(error)}") from None
        return [frame[name] for name in names]

    return Sheet(path.name, "Parquet", header, height, take, row_place)


def open_frame(frame: Any, *, limits: Limits = LIMITS) -> Sheet:
    """The sheet of a polars or pandas frame; pandas is not imported, its methods are used.

    >>> open_frame(pl.DataFrame({"p": [0.5]})).header
    ('p',)
    """
    if isinstance(frame, pl.LazyFrame):
        raise TableError("frame", "a polars LazyFrame", "call .collect() on it first")
    if isinstance(frame, pl.DataFrame):
        _check("frame", frame.height, tuple(frame.columns), limits)
        return Sheet(
            name="frame",
            format="polars frame",
            header=tuple(frame.columns),
            height=frame.height,
            take=lambda places: [frame.to_series(place) for place in places],
            place=row_place,
        )
    if type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "iloc"):
        return _open_pandas(frame, limits)
    raise FormatError(f"a {type(frame).__name__}; give a path, a polars frame or a pandas frame")


def _open_pandas(frame: Any, limits: Limits) -> Sheet:
    header = tuple(str(name) for name in frame.columns)
    _check("frame", len(frame), header, limits)
    return Sheet(
        name="frame",
        format="pandas frame",
        header=header,
        height=len(frame),
        take=lambda places: [_pandas_column(frame.iloc[:, place]) for place in places],
        place=row_place,
    )


def _check(name: str, height: int, header: Sequence[str], limits: Limits) -> None:
    check_size(name, height, len(header), limits)
    if not height:
        raise TableError(name, "column names and no row")


def _pandas_column(column: Any) -> pl.Series:
    kind = str(column.dtype)
    if kind.startswith("datetime64"):
        aware = getattr(column.dt, "tz", None) is not None
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None) if aware else column
        series = pl.Series(moments.to_numpy())
        return series.dt.replace_time_zone("UTC") if aware else series
    if getattr(column.dtype, "kind", "O") in "fiub" and not hasattr(column.dtype, "na_value"):
        return pl.Series(column.to_numpy())
    return pl.Series([_object_text(item) for item in column.tolist()], dtype=pl.String)


def _object_text(value: Any) -> str:
    """The text of one Python value of a mixed column; nothing where it stands for nothing."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    scalar = hasattr(value, "item") and not getattr(value, "shape", ())
    if scalar and isinstance(value.item(), bool):
        return _object_text(value.item())
    if scalar or isinstance(value, (int, float, Decimal)):
        text = str(value)
        return "" if text.lower() == "nan" else text  # nan is how pandas writes nothing
    return NESTED


def column_text(series: pl.Series, role: str, column: str, name: str) -> pl.Series:
    """The cells as text, nothing for null. A float is its shortest text that reads back the same.

    FormatError names a column whose type cannot play the role: an id that is
    a float (`1.0` and `1` would differ), a true or false that is a probability.

    >>> column_text(pl.Series([0.1, None]), "probability", "p", "frame").to_list()
    ['0.1', '']
    """
    kind = series.dtype
    where = f"{name}, column {column!r:.80}"
    if kind == pl.String:
        return series.fill_null("")
    if kind == pl.Boolean:
        if role not in ("outcome", "side", "status"):
            raise TableError(where, f"true and false cannot be the {role}")
        return series.cast(pl.String).fill_null("")
    if kind.is_float() and role in _IDS:
        raise TableError(
            where, f"fractions cannot be the {role}", "make the column text or whole numbers"
        )
    if kind.is_temporal():
        return _moment_text(series, where)
    if kind.is_numeric() or kind in (pl.Categorical, pl.Enum, pl.Null):
        return series.cast(pl.String).fill_null("")
    raise TableError(where, f"a column of {kind} cannot be the {role}")


def _moment_text(series: pl.Series, where: str) -> pl.Series:
    kind = series.dtype
    if isinstance(kind, pl.Datetime):
        form = f"%Y-%m-%dT%H:%M:%S{_TIMES[kind.time_unit]}"
        if kind.time_zone is None:
            return series.dt.strftime(form).fill_null("")
        return series.dt.convert_time_zone("UTC").dt.strftime(form + "Z").fill_null("")
    if kind == pl.Date:
        return series.dt.strftime("%Y-%m-%d").fill_null("")
    raise TableError(where, f"a column of {kind} is no time")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200]
