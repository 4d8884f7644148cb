"""Recounting: every published score computed again from the book, and compared.

The book is read, the rows are built, the board is folded, and each published
value is called exact, within rounding, or different. Within rounding is one
unit of the last place, and only where a square root or a quantile was taken:
standard errors and the ends of intervals. Everything else is exact or wrong.

Standard library only: `recount.py` is this file joined with the rooms below
it. It says nothing about seals; `verify.py` does that.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sqlite3
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from beforehand.book.bodies import MAX_BODY_BYTES, body_path
from beforehand.book.chain import cut_pieces
from beforehand.book.folder import DirectoryFolder, Folder, read_file
from beforehand.book.manifest import MANIFEST_PATH, MAX_MANIFEST_BYTES, read_manifest
from beforehand.errors import BeforehandError, FormatError, IntegrityError
from beforehand.publish.attempts_table import ATTEMPT_COLUMNS
from beforehand.publish.database import Tables, sqlite_tables, table_sql
from beforehand.publish.fold import fold_book
from beforehand.publish.gains import PLACES
from beforehand.publish.segments import (
    SEGMENTS_NAME,
    all_attempts,
    all_forecasts,
    boards_by_file,
    score_segments,
)
from beforehand.publish.tables import COLUMNS, Column
from beforehand.records.codec import decode_json

MAX_TABLE_BYTES = 1 << 30
_ROUNDED = ("se", "wilson_low", "wilson_high")
_MAX_LISTED = 50


@dataclass
class Recount:
    """How many published values are exact, within rounding, different; and where they differ."""

    exact: int = 0
    within: int = 0
    different: int = 0
    places: list[str] = field(default_factory=list)

    def compare(self, place: str, published: Any, own: Any, *, rounded: bool = False) -> None:
        """Compare a published value with the recomputed one; `rounded` lets the last place move."""
        if type(published) is type(own) and published == own:
            self.exact += 1
        elif rounded and _within_rounding(published, own):
            self.within += 1
        else:
            self.miss(place, f"published {published!r:.60}, recounted {own!r:.60}")

    def miss(self, place: str, what: str) -> None:
        """Count a difference and keep the first places."""
        self.different += 1
        if len(self.places) < _MAX_LISTED:
            self.places.append(f"{place}: {what}")


def _within_rounding(published: Any, own: Any) -> bool:
    """Both decimal texts of the board's places, one unit of the last place apart at most."""
    if not isinstance(published, str) or not isinstance(own, str):
        return False
    try:
        first, second = Decimal(published), Decimal(own)
    except InvalidOperation:
        return False
    if not (first.is_finite() and second.is_finite()):
        return False
    same = len(published.partition(".")[2]) == len(own.partition(".")[2]) == PLACES
    return same and abs(first - second) <= Decimal(1).scaleb(-PLACES)


def read_lines(folder: Folder, name: str, count: int) -> Iterator[bytes]:
    """The first `count` lines of a published book, without their LF."""
    given = 0
    with folder.open(name) as stream:
        for _, first_n, data in cut_pieces(stream):
            for raw in data.split(b"\n")[:-1] if first_n else ():
                if given == count:
                    return
                given += 1
                yield raw


def recount_folder(folder: Folder) -> dict[str, Recount]:
    """Recount every league of a published folder; FormatError where that cannot be done."""
    manifest = read_manifest(read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES))
    return {
        league["league"]: recount_league(
            folder, league["path"].rstrip("/"), league["lines"], manifest["as_of"]
        )
        for league in manifest["leagues"]
    }


def recount_league(folder: Folder, base: str, lines: int, as_of: str) -> Recount:
    """Recount one league: every segment's board, forecasts.csv, attempts.csv and league.sqlite.

    `as_of` is the moment of the publication: a body that was due by then and
    is not among the files is not revealed.
    """

    def has_body(sha256: str) -> bool:
        return folder.has(f"{base}/{body_path(sha256)}")

    def read_body(sha256: str) -> bytes | None:
        path = f"{base}/{body_path(sha256)}"
        return read_file(folder, path, MAX_BODY_BYTES) if has_body(sha256) else None

    held = read_lines(folder, f"{base}/book.jsonl", lines)
    fold = fold_book(held, read_body, as_of, has_body)
    parts = score_segments(fold)
    cells, attempts = all_forecasts(parts), all_attempts(parts)
    result = Recount()
    boards = boards_by_file(parts)
    for name in folder.names():
        if name.startswith(f"{base}/{SEGMENTS_NAME}/") and name[len(base) + 1 :] not in boards:
            result.miss(name, "a board of no earlier segment of the book")
    for file, board in boards.items():
        name = f"{base}/{file}"
        _compare_tree(result, name, decode_json(read_file(folder, name, MAX_TABLE_BYTES)), board)
    _compare_csv(result, folder, f"{base}/forecasts.csv", COLUMNS, cells)
    _compare_csv(result, folder, f"{base}/attempts.csv", ATTEMPT_COLUMNS, attempts)
    tables = sqlite_tables(cells, attempts, [part.scores.board for part in parts], fold)
    _compare_sqlite(result, folder, f"{base}/league.sqlite", tables)
    return result


def _compare_tree(
    result: Recount, place: str, published: Any, own: Any, rounded: bool = False
) -> None:
    """Leaf by leaf; a key or item that only one side has is a difference."""
    if isinstance(published, dict) and isinstance(own, dict):
        for key in sorted(published.keys() | own.keys()):
            if key in published and key in own:
                inexact = key in _ROUNDED or ("se" in own and key in ("low", "high"))
                _compare_tree(result, f"{place}.{key}", published[key], own[key], inexact)
            else:
                result.miss(f"{place}.{key}", "only one side has it")
    elif isinstance(published, list) and isinstance(own, list):
        if len(published) != len(own):
            result.miss(place, f"{len(published)} items published, {len(own)} recounted")
        for position, (first, second) in enumerate(zip(published, own, strict=False)):
            name = first.get("forecaster", position) if isinstance(first, dict) else position
            _compare_tree(result, f"{place}[{name}]", first, second)
    else:
        result.compare(place, published, own, rounded=rounded)


def _compare_csv(
    result: Recount,
    folder: Folder,
    name: str,
    columns: Sequence[Column[Any]],
    cells: list[tuple[Any, ...]],
) -> None:
    text = read_file(folder, name, MAX_TABLE_BYTES).decode("utf-8")
    published = list(csv.reader(io.StringIO(text, newline="")))
    header = [column.name for column in columns]
    if not published or published[0] != header:
        raise FormatError(f"{name}: its header is not that of the data dictionary")
    as_text = [["" if value is None else str(value) for value in row] for row in cells]
    _compare_rows(result, name, header, published[1:], as_text, first_row=2)


def _compare_sqlite(
    result: Recount,
    folder: Folder,
    name: str,
    tables: Tables,
) -> None:
    """Every table, cell by cell in the order it was written; no other table stands beside them."""
    data = read_file(folder, name, MAX_TABLE_BYTES)
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(data)
        held = {row[0] for row in base.execute("SELECT name FROM sqlite_schema WHERE sql NOTNULL")}
        for extra in sorted(held - tables.keys()):
            result.miss(f"{name} {extra!r:.80}", "only the published file has it")
        said = dict(base.execute("SELECT name, sql FROM sqlite_schema"))
        for table, (declared, own) in tables.items():
            result.compare(f"{name} {table}, columns", said.get(table), table_sql(table, declared))
            published = base.execute(f'SELECT * FROM "{table}" ORDER BY rowid')  # noqa: S608
            names = [column[0] for column in published.description]
            inexact = ("gain_low", "gain_high") if table == "leaderboard" else ()
            _compare_rows(result, f"{name} {table}", names, list(published), own, inexact=inexact)
    except sqlite3.Error as error:
        raise FormatError(f"{name}: {error}") from None
    finally:
        base.close()


def _compare_rows(
    result: Recount,
    name: str,
    columns: Sequence[str],
    published: Sequence[Any],
    own: Sequence[Any],
    *,
    first_row: int = 1,
    inexact: Sequence[str] = (),
) -> None:
    if len(published) != len(own):
        result.miss(name, f"{len(published)} rows published, {len(own)} recounted")
    for number, (first, second) in enumerate(zip(published, own, strict=False), first_row):
        if not len(first) == len(second) == len(columns):
            result.miss(f"{name} row {number}", "another number of columns")
            continue
        for column, one, other in zip(columns, first, second, strict=True):
            place = f"{name} row {number}, {column}"
            result.compare(place, one, other, rounded=column in inexact)


def recount_lines(results: dict[str, Recount]) -> Iterator[str]:
    """The result for a person, one line at a time."""
    for league, result in results.items():
        yield (
            f"{league}: {result.exact} values exact, {result.within} within rounding, "
            f"{result.different} DIFFERENT"
        )
        yield from (f"  {place}" for place in result.places)
        if result.different > len(result.places):
            yield f"  … and {result.different - len(result.places)} more"
    sound = not any(result.different for result in results.values())
    yield (
        "not checked: seals, signatures, hashes of files (verify.py does that), when anything was "
        "said, the sources of outcomes, and pages"
    )
    yield "result: the published scores are reproduced" if sound else "result: NOT reproduced"


def recount_main(arguments: Sequence[str]) -> int:
    """The command line of `recount.py`: 0 reproduced, 1 different, 2 could not recount."""
    parser = argparse.ArgumentParser(
        prog="recount.py",
        description="Compute every published score of a league again from its book.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 reproduced, 1 different, 2 could not recount.\n"
        "Example:    python3 -I recount.py public/",
    )
    parser.add_argument("path", type=Path, help="the published folder (public/)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    try:
        given = parser.parse_args(arguments)
        results = recount_folder(DirectoryFolder(given.path))
    except SystemExit as leaving:
        return 2 if leaving.code else 0
    except IntegrityError as error:  # found, and nothing could be counted behind it
        print(f"the recount ended: {error}")
        return 1
    except (BeforehandError, UnicodeDecodeError) as error:
        print(f"could not recount: {error}", file=sys.stderr)
        return 2
    except BaseException:  # whatever went wrong, nothing was recounted
        traceback.print_exc()
        return 2
    if given.json:
        print(json.dumps({name: vars(result) for name, result in results.items()}, indent=2))
    else:
        for line in recount_lines(results):
            print(line)
    return 1 if any(result.different for result in results.values()) else 0
