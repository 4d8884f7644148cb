"""The formats that can be read, told by what stands in a file and not by its name."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.sources import metaculus, superforecasters
from beforehand.sources.delib_ai_wisdom import COLUMNS as DELIB_COLUMNS
from beforehand.sources.delib_ai_wisdom import read_delib_ai_wisdom
from beforehand.sources.forecastbench_answers import crowd_table, read_forecast_set
from beforehand.sources.forecastbench_rounds import COLUMNS as ROUND_COLUMNS
from beforehand.sources.forecastbench_rounds import read_rounds
from beforehand.sources.forecastbench_sets import (
    QuestionSet,
    ResolutionSet,
    read_question_set,
    read_resolution_set,
)
from beforehand.sources.inspect_log import read_inspect_log
from beforehand.sources.jsontext import decode_text, read_json
from beforehand.sources.sheet import GZIP, LIMITS, PARQUET, Limits, check_file, read_bytes
from beforehand.sources.table import ForecastTable, HasSteps, read_table

HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Options:
    """What a reader is told besides the path."""

    skip_bad: bool = False
    grid: HasSteps | None = None
    columns: Mapping[str, str | None] | None = None
    scorer: str | None = None
    limits: Limits = LIMITS


@dataclass(frozen=True)
class Format:
    """A format: its name, what it is told by, and its reader."""

    name: str
    told_by: str
    read: Callable[[Path, Options], ForecastTable]


def read_any(
    path: Path | str,
    format: str | None = None,
    *,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    columns: Mapping[str, str | None] | None = None,
    scorer: str | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """The forecasts of a file of any known format; `format` names it where that is not seen.

    `table.format` and the first of `table.notes` say which it was. `columns`
    is for plain tables, `scorer` for inspect logs.

    >>> from importlib import resources
    >>> folder = Path(str(resources.files("beforehand"))) / "data" / "forecastbench_2024_07_21"
    >>> read_any(folder / "superforecaster_individual.csv").notes[0]
    'read as forecastbench-people, told by its column names'
    """
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise FormatError(f"{format!r:.40} is no format; there are {', '.join(FORMATS)}")
    name = detect(path, limits) if format is None else format
    known = FORMATS[name]
    if columns and name != "table":
        raise FormatError(
            f"{path.name}: a choice of columns is for plain tables, and this is {name}, told by "
            f"{known.told_by}"
        )
    table = known.read(path, Options(skip_bad, grid, columns, scorer, limits))
    how = f"told by {known.told_by}" if format is None else "as asked"
    return replace(table, notes=(f"read as {name}, {how}", *table.notes))


def detect(path: Path | str, limits: Limits = LIMITS) -> str:
    """The name of a file's format, a key of FORMATS.

    FormatError for a file that has no forecasts in it, such as a resolution
    set alone.
    """
    path = Path(path)
    check_file(path, limits)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(PARQUET):
        return "table"
    packed = head.startswith(GZIP)
    if packed:
        head = _unpacked_head(head)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return "table" if packed else _detect_json(path, start, limits)
    found = _detect_csv(start)
    if found == "table" and packed:
        return "table"  # which refuses it, and says what to do
    return found


def _unpacked_head(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def _detect_csv(head: bytes) -> str:
    line = head.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    try:
        header = set(next(csv.reader([line]), []))
    except csv.Error:
        return "table"  # whose reader says what is wrong
    if set(metaculus.FORECAST_COLUMNS) <= header:
        return "metaculus"
    if set(DELIB_COLUMNS) <= header:
        return "delib-ai-wisdom"
    if header == set(superforecasters.COLUMNS):
        return "forecastbench-people"
    return "forecastbench-rounds" if set(ROUND_COLUMNS) <= header else "table"


def _detect_json(path: Path, start: bytes, limits: Limits) -> str:
    line = start.split(b"\n", 1)[0].rstrip()
    if line.endswith(b"}") and len(line) < HEAD_BYTES:
        first = _keys(line, path.name)
        if first and not first & {"questions", "forecasts", "resolutions", "samples"}:
            return "table"
    keys = _keys(read_bytes(path, limits), path.name)
    if {"eval", "status"} <= keys:
        return "inspect-log"
    if "forecasts" in keys:
        return "forecastbench-forecasts"
    if "questions" in keys:
        return "forecastbench-questions"
    if "resolutions" in keys:
        raise FormatError(
            f"{path.name}: a resolution set holds outcomes and no forecast; give the question set "
            "or the forecast set, with this file beside it"
        )
    return "table"


def _keys(data: bytes, name: str) -> set[str]:
    try:
        value = decode_text(data, name)
    except FormatError:
        return set()
    return set(value) if isinstance(value, dict) else set()


def _read_plain(path: Path, options: Options) -> ForecastTable:
    return read_table(
        path,
        skip_bad=options.skip_bad,
        grid=options.grid,
        columns=options.columns,
        limits=options.limits,
    )


def _read_questions(path: Path, options: Options) -> ForecastTable:
    questions = read_question_set(path, limits=options.limits)
    return crowd_table(questions, _resolutions(path, questions.due, options), options.grid)


def _read_people(path: Path, options: Options) -> ForecastTable:
    """The superforecaster file, with its question set and outcomes beside it."""
    questions, _, outcomes = (path.with_name(name) for name in superforecasters.FILES)
    data = (read_bytes(file, options.limits) for file in (questions, path, outcomes))
    return superforecasters.read_superforecasters(*data, grid=options.grid)


def _read_answers(path: Path, options: Options) -> ForecastTable:
    """A forecast set, with the question and resolution set that lie beside it."""
    held: Any = read_json(path, options.limits)
    name = str(held.get("question_set", ""))
    asked = path.with_name(name) if name.endswith(".json") and "/" not in name else None
    questions: QuestionSet | None = None
    if asked is not None and asked.is_file():
        questions = read_question_set(asked, limits=options.limits)
    return read_forecast_set(
        path,
        questions=questions,
        resolutions=_resolutions(path, name[:10], options),
        skip_bad=options.skip_bad,
        grid=options.grid,
        limits=options.limits,
    )


def _resolutions(path: Path, due: str, options: Options) -> ResolutionSet | None:
    """The resolution set of the round beside `path`, where there is one."""
    beside = (
        path.with_name(f"{due}_resolution_set.json") if due.replace("-", "").isdigit() else path
    )
    if beside == path or not beside.is_file():
        return None
    return read_resolution_set(beside, limits=options.limits)


FORMATS: Mapping[str, Format] = {
    item.name: item
    for item in (
        Format("table", "its columns or its being Parquet", _read_plain),
        Format("forecastbench-questions", "its key questions", _read_questions),
        Format("forecastbench-forecasts", "its key forecasts", _read_answers),
        Format("forecastbench-people", "its column names", _read_people),
        Format(
            "forecastbench-rounds",
            "its column names",
            lambda path, told: read_rounds(
                path, skip_bad=told.skip_bad, grid=told.grid, limits=told.limits
            ),
        ),
        Format(
            "metaculus",
            "its column names",
            lambda path, told: metaculus.read_metaculus(
                path, skip_bad=told.skip_bad, grid=told.grid, limits=told.limits
            ),
        ),
        Format(
            "inspect-log",
            "its keys eval and status",
            lambda path, told: read_inspect_log(
                path,
                scorer=told.scorer,
                skip_bad=told.skip_bad,
                grid=told.grid,
                limits=told.limits,
            ),
        ),
        Format(
            "delib-ai-wisdom",
            "its column names",
            lambda path, told: read_delib_ai_wisdom(
                path, skip_bad=told.skip_bad, grid=told.grid, limits=told.limits
            ),
        ),
    )
}
