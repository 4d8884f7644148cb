"""The forecasts table as Parquet: the one form that needs more than the standard library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from beforehand.publish.tables import COLUMNS


def write_parquet(cells: list[tuple[Any, ...]], path: Path) -> None:
    """The table as Parquet, the same columns; probabilities stay decimal text."""
    kinds = {"string": pl.String, "integer": pl.Int64}
    columns = {
        column.name: pl.Series(column.name, [row[place] for row in cells], kinds[column.type])
        for place, column in enumerate(COLUMNS)
    }
    pl.DataFrame(columns).write_parquet(path, compression="zstd", statistics=False)


def read_parquet(path: Path) -> list[tuple[Any, ...]]:
    """The cells of a published Parquet file, in the dictionary's columns."""
    return pl.read_parquet(path).select([column.name for column in COLUMNS]).rows()
