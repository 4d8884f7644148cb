"""A table of forecasts from anywhere, as arrays: every bad row named, none repaired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from beforehand.sources.columns import recognise
from beforehand.sources.delimited import open_delimited
from beforehand.sources.dictionary import Dictionary
from beforehand.sources.doubts import doubts
from beforehand.sources.faults import LeftOut, Mask, TableError
from beforehand.sources.frame import column_text, open_frame, open_parquet
from beforehand.sources.jsonl import open_jsonl
from beforehand.sources.sheet import (
    LIMITS,
    PARQUET,
    Limits,
    Sheet,
    check_file,
    read_bytes,
    refuse_packed,
)
from beforehand.sources.validation import Checked, check_cells

DEFAULT_STEPS = 10_000


class HasSteps(Protocol):
    """A grid of equal steps from 0 to 1, such as `scoring.exact.Grid`."""

    @property
    def steps(self) -> int: ...


@dataclass(frozen=True, eq=False)
class ForecastTable:
    """Stated forecasts as arrays of one length `n`, and what does not stand in them, counted.

    * `forecasters`, `questions`, `clusters`, `segments`: the names, sorted; the
      arrays `*_index` (int32, n) point into them. A forecaster with missing
      answers alone is there too.
    * `units` (uint16, n): the probability of YES in `steps` equal steps, half
      to even. `rounded` of them moved, by `largest_rounding` at most.
    * `outcome` (int8, n): 1 yes, 0 no, -1 void, -2 still open.
    * `crowd` (int32, n): the crowd's probability in steps, -1 where there is none.
    * `time` (int64, n): microseconds since 1970 UTC.
    * `missing`: for each forecaster the number of missing answers by reason.
    * `skipped`: bad rows left out on request; `kept_out`: what an importer
      keeps out by the rules of its format. `notes`: what was recognised.

    `crowd`, `cluster_index`, `time` and `segment_index` are None where the
    input has no such column.
    """

    source: str
    format: str
    steps: int
    forecasters: tuple[str, ...]
    forecaster_index: NDArray[np.int32]
    questions: tuple[str, ...]
    question_index: NDArray[np.int32]
    units: NDArray[np.uint16]
    outcome: NDArray[np.int8]
    crowd: NDArray[np.int32] | None
    clusters: tuple[str, ...]
    cluster_index: NDArray[np.int32] | None
    time: NDArray[np.int64] | None
    segments: tuple[str, ...]
    segment_index: NDArray[np.int32] | None
    missing: tuple[Mapping[str, int], ...]
    rounded: int
    largest_rounding: str
    crowd_rounded: int
    largest_crowd_rounding: str
    skipped: tuple[LeftOut, ...]
    kept_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """The number of stated forecasts."""
        return len(self.units)

    @property
    def n_missing(self) -> int:
        """Missing answers of all forecasters."""
        return sum(sum(counts.values()) for counts in self.missing)

    @property
    def n_skipped(self) -> int:
        """Bad rows left out."""
        return sum(left.count for left in self.skipped)


def read_table(
    source: Any,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    columns: Mapping[str, str | None] | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """The forecasts of a CSV, Parquet or JSONL file, or of a polars or pandas frame.

    Needed are a forecaster, a question, a probability of YES and an outcome;
    a crowd's probability, a cluster or session, a time with its zone, a
    segment, an answer side and a status are used where they are. Other usual
    names are recognised (`columns.NAMES`) and said in `notes`; `columns`
    settles a role by name, `{"forecaster": "model", "time": None}`.

    `grid` has `steps`, at most 65,535; 10,000 where none is given. FormatError
    names file, place and column of the first bad row, what to do, and counts the others; with
    `skip_bad` bad rows are left out and counted by reason.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"model": ["a"], "qid": ["q"], "p": ["0.62"], "y": ["yes"]})
    >>> table = read_table(frame)
    >>> table.units.tolist(), table.outcome.tolist(), table.notes[0]
    ([6200], [1], "column 'model' is read as the forecaster")
    """
    try:
        sheet = open_sheet(source, skip_bad=skip_bad, limits=limits)
    except TableError as error:
        raise _counted(error, source, grid, columns, limits) from None
    return table_of(sheet, skip_bad=skip_bad, grid=grid, columns=columns, limits=limits)


def _counted(
    error: TableError,
    source: Any,
    grid: HasSteps | None,
    columns: Mapping[str, str | None] | None,
    limits: Limits,
) -> TableError:
    """The error of a line that is no row, with the rows counted whose cells are bad, too."""
    if error.more is None:
        return error
    try:
        sheet = open_sheet(source, skip_bad=True, limits=limits)
        table_of(sheet, grid=grid, columns=columns, limits=limits)
    except TableError as cells:
        if cells.more is None:
            return error
        same = {cells.reason: cells.more.get(cells.reason, 0) + 1}
        more = {**error.more, **cells.more, **same}
        return TableError(error.where, error.what, error.todo, more, error.reason)
    return error


def open_sheet(source: Any, *, skip_bad: bool = False, limits: Limits = LIMITS) -> Sheet:
    """The sheet of a file, told by its first bytes and not by its name, or of a frame."""
    if not isinstance(source, (str, Path)):
        return open_frame(source, limits=limits)
    path = Path(source)
    check_file(path, limits)
    with path.open("rb") as file:
        head = file.read(4096)
    refuse_packed(head, path.name)
    if head.startswith(PARQUET):
        return open_parquet(path, limits=limits)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        todo = "write one object a line (JSONL), or let read_any find its format"
        raise TableError(path.name, "a list in JSON", todo)
    if start.startswith(b"{"):
        return open_jsonl(read_bytes(path, limits), path.name, skip_bad=skip_bad, limits=limits)
    return open_delimited(read_bytes(path, limits), path.name, skip_bad=skip_bad, limits=limits)


def table_of(
    sheet: Sheet,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    columns: Mapping[str, str | None] | None = None,
    limits: Limits = LIMITS,
    kept_out: Sequence[LeftOut] = (),
) -> ForecastTable:
    """The table of a sheet, as `read_table` has it; importers come in here."""
    found = recognise(sheet.header, sheet.name + sheet.head, columns)
    series = sheet.take(list(found.places.values()))
    texts = {
        role: column_text(cells, role, sheet.header[place], sheet.name)
        for (role, place), cells in zip(found.places.items(), series, strict=True)
    }
    labels = sheet.labels or {}
    names = {
        role: labels.get(sheet.header[place], sheet.header[place])
        for role, place in found.places.items()
    }
    steps = DEFAULT_STEPS if grid is None else grid.steps
    checked = check_cells(texts, names, sheet, steps, skip_bad, limits)
    table = _table(sheet, checked, steps)
    chosen = found.notes if sheet.labels is None else ()
    said = (*sheet.notes, *chosen, *doubts(table))
    return replace(table, notes=said, kept_out=tuple(kept_out))


def _table(sheet: Sheet, checked: Checked, steps: int) -> ForecastTable:
    kept, stated = checked.kept, checked.kept & ~checked.absent
    here = stated[kept]
    forecasters, forecaster = checked.forecaster.kept(kept)
    questions, question = checked.question.kept(kept)
    clusters, cluster = _optional(checked.cluster, stated)
    segments, segment = _optional(checked.segment, stated)
    rounded, largest = checked.probability.rounding(stated)
    crowd_rounded, largest_crowd, crowd = 0, "0", None
    if checked.crowd is not None:
        priced = stated & (checked.crowd.fault == 0)
        crowd_rounded, largest_crowd = checked.crowd.rounding(priced)
        crowd = np.where(priced, checked.crowd.units, -1)[stated].astype(np.int32)
    return ForecastTable(
        source=sheet.name,
        format=sheet.format,
        steps=steps,
        forecasters=forecasters,
        forecaster_index=forecaster[here],
        questions=questions,
        question_index=question[here],
        units=checked.probability.units[stated].astype(np.uint16),
        outcome=checked.outcome[stated],
        crowd=crowd,
        clusters=clusters,
        cluster_index=cluster,
        time=None if checked.time is None else checked.time[stated],
        segments=segments,
        segment_index=segment,
        missing=_missing(checked, forecasters, forecaster),
        rounded=rounded,
        largest_rounding=largest,
        crowd_rounded=crowd_rounded,
        largest_crowd_rounding=largest_crowd,
        skipped=(*sheet.skipped, *checked.skipped),
        kept_out=(),
        notes=(),
    )


def _optional(
    found: Dictionary | None, rows: Mask
) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    return ((), None) if found is None else found.kept(rows)


def _missing(
    checked: Checked, forecasters: Sequence[str], forecaster: NDArray[np.int32]
) -> tuple[Mapping[str, int], ...]:
    counts: list[dict[str, int]] = [{} for _ in forecasters]
    absent = checked.absent[checked.kept]
    if absent.any():
        reasons = checked.reason[checked.kept][absent]
        pairs = forecaster[absent].astype(np.int64) * len(checked.reasons) + reasons
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            place, reason = divmod(int(pair), len(checked.reasons))
            counts[place][checked.reasons[reason]] = int(count)
    return tuple(MappingProxyType(held) for held in counts)
