"""`beforehand reparse`: sealed replies read again by the present parser; nothing is changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from beforehand.book.bodies import is_sealed, open_sealed
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.forecasters.parse import PARSER_VERSION
from beforehand.forecasters.reparse import READ, Difference, Stored, differences
from beforehand.publish.attempts import body_of
from beforehand.publish.fold import LeagueFold, ReadBody, fold_book
from beforehand.publish.public import API
from beforehand.records.codec import decode_json
from beforehand.records.forecast import Answer, Cell
from beforehand.records.run import Roster

EPILOG = (
    "Example: beforehand reparse blind. Exit codes: 0 every reply reads as it was sealed, "
    "1 some read otherwise, 2 could not be read."
)
# A plugin reads its replies itself; of those only the command's are read by this parser.
OWN_PLUGINS = ("command",)


@dataclass
class Reread:
    """What came of reading a league's replies again; `left_out` counts why some were not."""

    league: str
    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    found: list[tuple[Answer, Difference]] = field(default_factory=list)


def reparse(
    folder: Annotated[
        Path, typer.Argument(help="A league's folder, or the public folder of one or several.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Read every sealed reply again with the present parser, and list what it reads otherwise.

    Nothing is changed: what was sealed stands, and scores go by it.
    """
    with errors_named(as_json=as_json):
        held = [_reread(book) for book in _books(folder)]
    if as_json:
        out.print_json(json.dumps({"parser": PARSER_VERSION, "leagues": [_told(h) for h in held]}))
    else:
        for each in held:
            _print(each)
    if any(each.found for each in held):
        raise typer.Exit(1)


def _books(folder: Path) -> list[Path]:
    """The folders that hold a book: the league's own, or those that are published here."""
    for own in (folder, folder / "league"):
        if (own / BOOK_NAME).is_file():
            return [own]
    found = sorted(path.parent for path in (folder / API).glob(f"*/{BOOK_NAME}"))
    if not found:
        raise FormatError(f"{folder} is neither a league's folder nor a public folder: no book")
    return found


def _reread(folder: Path) -> Reread:
    reader = BookReader(folder)

    def read_body(sha256: str) -> bytes | None:
        try:
            return reader.read_body(sha256)
        except FormatError:
            return None

    fold = fold_book(reader.lines(), read_body)
    told = Reread(fold.league.league)
    answers: dict[str, Answer] = {}

    def stored() -> Iterator[Stored]:
        for n, answer, each in _stored(fold, read_body, told):
            answers[f"line {n}"] = answer
            yield each

    told.found = [(answers[each.name], each) for each in differences(stored())]
    return told


def _stored(
    fold: LeagueFold, read_body: ReadBody, told: Reread
) -> Iterator[tuple[int, Answer, Stored]]:
    """Every reply that this parser once read, with its verdict as it was sealed."""
    foreign = {n: _foreign(roster, read_body) for n, roster in fold.rosters.items()}
    for n, answer, cells in fold.answers:
        sha256 = body_of(answer, "reply")
        if answer.ask_line is None or answer.status not in READ or sha256 is None:
            told.left_out["no reply that was parsed"] += 1
        elif answer.forecaster in foreign[fold.runs[answer.run][1].roster_line]:
            told.left_out["read by a plugin of its own"] += 1
        elif (data := read_body(sha256)) is None:
            told.left_out["withheld or erased"] += 1
        elif (sealed := _verdict(answer, cells)) is None:
            told.left_out["its answer is withheld or of several questions"] += 1
        else:
            told.read += 1
            raw = open_sealed(data).content if is_sealed(data) else data
            yield n, answer, Stored(f"line {n}", raw, answer.status, *sealed)


def _verdict(answer: Answer, cells: tuple[Cell, ...] | None) -> tuple[str | None] | None:
    """The probability that was sealed, None in it for a failure; None where it is not known."""
    if answer.status != "answered":
        return (None,)
    return (cells[0].p,) if cells is not None and len(cells) == 1 else None


def _foreign(roster: Roster, read_body: ReadBody) -> set[str]:
    """The seats of a roster whose replies another package's code has read."""
    sha256 = body_of(roster, "lineup")
    data = None if sha256 is None else read_body(sha256)
    models: list[Mapping[str, Any]] = [] if data is None else decode_json(data)["models"]
    return {
        model["forecaster"]
        for model in models
        if model["via"] == "plugin" and model["plugin"] not in OWN_PLUGINS
    }


def _told(held: Reread) -> dict[str, Any]:
    return {
        "league": held.league,
        "read": held.read,
        "left_out": dict(held.left_out),
        "differences": [
            {
                "line": int(each.name.removeprefix("line ")),
                "run": answer.run,
                "forecaster": answer.forecaster,
                "status": each.status,
                "probability": each.probability,
                "now_status": each.now.status,
                "now_probability": each.now.probability,
                "now_detail": each.now.detail,
            }
            for answer, each in held.found
        ],
    }


def _print(held: Reread) -> None:
    if held.found:
        table = Table(box=box.SIMPLE_HEAD)
        for name in ("line", "run", "forecaster", "sealed", "read now"):
            table.add_column(name)
        for answer, each in held.found:
            sealed = each.probability or each.status
            now = each.now.probability or f"{each.now.status} {each.now.detail}".strip()
            name = each.name.removeprefix("line ")
            table.add_row(name, answer.run, answer.forecaster, sealed, now)
        out.print(table)
    out.print(
        f"{held.league}: {held.read} replies read again by {PARSER_VERSION}, "
        f"{len(held.found)} read otherwise; nothing was changed",
        soft_wrap=True,
    )
    for why, count in held.left_out.items():
        out.print(f"   not read: {count}, {why}", soft_wrap=True)
