"""Reading the seed's book format: a hash-chained book, its forecasts, its chain of asks.

Kinds and fields are those that the text names. The chain's own public files
were not at hand when this was written; what the text leaves open is read
tolerantly and judged as not shown.
"""

from __future__ import annotations

from typing import Any

from beforehand.book.folder import Folder, read_file
from beforehand.errors import FormatError
from beforehand.publish.conformance.events import table_contracts
from beforehand.publish.conformance.evidence import take_evidence
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_form import take_walked
from beforehand.publish.conformance.folder_lines import read_cells, take_line
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.replication import read_replications
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import (
    Answer,
    Ask,
    Correction,
    Outcome,
    Row,
    Run,
    Stamp,
    before,
    text,
    texts,
)
from beforehand.publish.conformance.scores import decimal_of
from beforehand.publish.conformance.standard_file import STANDARD_NAME, StandardFile
from beforehand.publish.conformance.tables import read_json, read_rows
from beforehand.publish.conformance.walk_lines import Walked, read_stamps, walk_lines
from beforehand.records.codec import digest, is_digest

MAX_ASK_BYTES = 4 << 20


def read_book(
    folder: Folder,
    book: str,
    profile: Profile,
    as_of: str,
    *,
    lone: bool,
    standard: StandardFile | None = None,
) -> Exhibit:
    """The exhibit of a book; `lone` where nothing beside it is to be read.

    `standard` says which file plays which role; without it their names do.
    """
    exhibit = Exhibit(
        form="book", title=profile.title or book, folder=folder, base="", profile=profile,
        as_of=as_of, book=book,
    )  # fmt: skip
    names = [book] if lone else folder.names()
    if standard is not None:
        names = take_mapped(exhibit, standard)
    exhibit.simulated = profile.simulated
    mapped = () if standard is None else standard.files.get("stamps", ())
    stamps = read_stamps(folder, names, mapped)
    exhibit.stamps = [held for held in stamps if is_list_of(held.path, book)]
    asks = {name[-67:-3]: name for name in names if name[-72:-67] == "asks/"}
    exhibit.read_body = lambda sha256: _ask_text(folder, asks, sha256)
    walked = Walked()
    questions: dict[int, str] = {}
    for n, value in walk_lines(folder, book, {held.lines for held in exhibit.stamps}, walked):
        if exhibit.origin or (n == 1 and text(value, "kind") == "league"):
            take_line(exhibit, n, value, questions)
        if not exhibit.origin:
            _take(exhibit, n, value)
    exhibit.lines = walked.lines
    take_walked(exhibit, book, walked)
    take_evidence(exhibit, folder)
    role = standard.one if standard is not None else lambda role: None
    asked = role("asks") or next((n for n in names if n.rpartition("/")[2] == "asks.jsonl"), None)
    if asked is not None:
        _read_asks(exhibit, folder, asked, stamps)
    table = role("forecasts") or next((n for n in names if n.endswith("forecasts.csv")), None)
    if table is not None:
        _read_rows(exhibit, folder, table)
    _read_board(exhibit, folder, names)
    exhibit.replications = read_replications(folder, names)
    return exhibit


def take_mapped(exhibit: Exhibit, standard: StandardFile) -> list[str]:
    """The files that are mapped and there; one that is not there is a fault of the files."""
    names = standard.names()
    exhibit.files += [
        (name, f"{STANDARD_NAME} maps it, and it is missing")
        for name in names
        if not exhibit.folder.has(name)
    ]
    return [name for name in names if exhibit.folder.has(name)]


def is_list_of(path: str, name: str) -> bool:
    """Whether a path in a stamped list is that of a file; the seed's own paths are internal."""
    last = name.rpartition("/")[2]
    kind = "asks.jsonl" if last.endswith("asks.jsonl") else "book.jsonl"
    listed = path.rpartition("/")[2]
    return listed == last or (last.endswith(kind) and listed.endswith(kind))


def _ask_text(folder: Folder, asks: dict[str, str], sha256: str) -> bytes | None:
    """The text of a question, published as asks/SHA256.md."""
    name = asks.get(sha256)
    if name is None or not is_digest(sha256):
        return None
    data = read_file(folder, name, MAX_ASK_BYTES)
    return data if digest(data) == sha256 else b""


def _take(exhibit: Exhibit, n: int, value: dict[str, Any]) -> None:
    kind, at = text(value, "kind"), text(value, "at")
    exhibit.first_at = exhibit.first_at or at
    exhibit.last_at = at or exhibit.last_at
    if kind == "declaration":
        exhibit.rules.append((exhibit.at_line(n), at))
    if kind == "declaration" and isinstance(value.get("declares"), dict):
        _declare(exhibit, n, value["declares"])
    elif kind == "run":
        exhibit.runs.append(_run(n, at, value))
    elif kind == "answer":
        exhibit.answers.append(_answer(n, at, value))
    elif kind in ("score", "score_h"):
        exhibit.outcomes.append(Outcome(n, at, text(value, "run_id"), "scored", at))
    elif kind == "correction":
        named = value.get("of")
        lines = tuple(named) if isinstance(named, list) else (named,)
        exhibit.corrections.append(
            Correction(n, at, lines, "", text(value, "reason"), text(value, "source"))
        )


def _declare(exhibit: Exhibit, n: int, declares: dict[str, Any]) -> None:
    """The first declaration holds; a later one would be another set of rules."""
    if exhibit.declared is None:
        exhibit.declared, exhibit.declared_line = declares, n


def _run(n: int, at: str, value: dict[str, Any]) -> Run:
    """A run line. The seed labels it by its role, an adopter may say `counted` and `why`."""
    role, counted = text(value, "run_role"), value.get("counted")
    if not isinstance(counted, bool):
        counted = None if not role else role == "session_run"
    return Run(
        n, at, text(value, "run_id"), "", text(value, "slot") or at, counted,
        text(value, "why") or role, None, None, texts(value, "events"),
        text(value, "ask_sha256"),
        text(value, "snapshot_sha256"), value.get("beacon"),
    )  # fmt: skip


def _answer(n: int, at: str, value: dict[str, Any]) -> Answer:
    """An answer line. It is sealed when it is booked; its own time is that of its arrival."""
    booked = text(value, "booked_at")
    sealed = booked if booked and before(at, booked) else at
    model = text(value, "model")
    items = value.get("items")
    # An adopter may name the event of each cell; the seed names asset and horizon.
    cells: dict[str, str | None] = read_cells(value.get("cells")) or {}
    for asset, horizons in items.items() if isinstance(items, dict) else ():
        for horizon, cell in horizons.items() if isinstance(horizons, dict) else ():
            p = cell.get("prob_up") if isinstance(cell, dict) else None
            number = type(p) in (int, float)
            cells[f"{asset}/{horizon}"] = str(p) if number else None
    return Answer(
        n, sealed, text(value, "run_id"), text(value, "seat"), None, at if booked else "", "",
        model, text(value, "version") or model, text(value, "mode"), cells,
    )  # fmt: skip


def _read_asks(exhibit: Exhibit, folder: Folder, name: str, stamps: list[Stamp]) -> None:
    """The chain of outgoing questions, walked as the book is."""
    walked = Walked()
    own = [held for held in stamps if is_list_of(held.path, name)]
    for n, value in walk_lines(folder, name, {held.lines for held in own}, walked):
        if text(value, "kind") == "declaration":
            exhibit.rules.append((Pointer(name, n), text(value, "at")))
        sent = text(value, "ask_sha256") or text(value, "sha256")
        if text(value, "seat"):
            exhibit.asks.append(
                Ask(n, text(value, "at"), text(value, "run_id"), text(value, "seat"), 1,
                    texts(value, "markets"), "", sent, name)
            )  # fmt: skip
    book_stamps, exhibit.stamps = exhibit.stamps, own
    take_walked(exhibit, name, walked)
    exhibit.stamps = book_stamps


def _read_rows(exhibit: Exhibit, folder: Folder, name: str) -> None:
    """The published rows, each cell of the book under the event that its row gives it."""
    try:
        rows = read_rows(folder, name, exhibit.profile)
    except FormatError as error:
        exhibit.files.append((name, str(error)))
        return
    exhibit.rows = [with_outcome(row) for row in rows]
    exhibit.contracts += table_contracts(exhibit, exhibit.rows)
    event = {
        (row.run, row.forecaster, f"{row.contract.get('asset')}/{row.contract.get('horizon')}"):
            row.question
        for row in exhibit.rows
    }  # fmt: skip
    exhibit.answers = [
        Answer(**{**vars(answer), "cells": {
            event.get((answer.run, answer.forecaster, key), key): p
            for key, p in (answer.cells or {}).items()
        }})
        for answer in exhibit.answers
    ]  # fmt: skip


def _read_board(exhibit: Exhibit, folder: Folder, names: list[str]) -> None:
    """The board and the diagnostics, where an adopter publishes them in our form."""
    for name in names:
        last = name.rpartition("/")[2]
        attribute = {"leaderboard.json": "board", "diagnostics.json": "diagnostics",
                     "climatology.json": "climatology"}.get(last)  # fmt: skip
        if attribute is None:
            continue
        exhibit.base = name.rpartition("/")[0]
        try:
            setattr(exhibit, attribute, read_json(folder, name))
        except FormatError as error:
            exhibit.files.append((name, str(error)))


def with_outcome(row: Row) -> Row:
    """A row whose outcome is a strict rise of its prices, where it has them and no outcome."""
    first, last = decimal_of(row.other.get("ref", "")), decimal_of(row.other.get("close", ""))
    if row.outcome or first is None or last is None:
        return row
    return Row(**{**vars(row), "outcome": "yes" if last > first else "no"})
