"""Reading a folder that this package published: manifest, book, bodies, tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.book.bodies import body_path, is_sealed, open_sealed
from beforehand.book.folder import Folder, read_file
from beforehand.book.manifest import MANIFEST_PATH, MAX_MANIFEST_BYTES, read_manifest
from beforehand.book.options import Options
from beforehand.book.verify import verify_folder
from beforehand.clock import instant_key
from beforehand.errors import BeforehandError, FormatError
from beforehand.publish.conformance.evidence import take_evidence, take_lists
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_lines import read_cells, take_line
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.replication import read_replications
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import Answer, before, text
from beforehand.publish.conformance.tables import read_json, read_rows, read_table
from beforehand.publish.conformance.walk_lines import (
    Walked,
    check_stamps,
    fill_prefixes,
    read_stamps,
    walk_lines,
)
from beforehand.publish.recount import recount_league
from beforehand.records.codec import decode_json, digest, is_digest

MAX_BODY_BYTES = 8 << 20
BOARD_OURS = "beforehand-leaderboard/"


def read_folder(folder: Folder, profile: Profile, as_of: str, league: str | None = None) -> Exhibit:
    """The exhibit of one league of a published folder; `league` chooses among several."""
    entry, published_at = _entry(folder, league)
    base = entry["path"].rstrip("/")
    exhibit = Exhibit(
        form="folder", title=entry["league"], folder=folder, base=base, profile=profile, as_of=as_of
    )
    exhibit.book = f"{base}/book.jsonl"
    exhibit.published_at = published_at or as_of
    if not folder.has(exhibit.book):
        raise FormatError(f"{exhibit.book} is missing")
    exhibit.read_body = lambda sha256: _body(folder, base, sha256)
    names = folder.names()
    books = sum(name.endswith("/book.jsonl") for name in names)
    stamps = [s for s in read_stamps(folder, names) if _is_of(s.path, entry["league"], books)]
    exhibit.stamps = stamps
    walked = Walked()
    questions_at: dict[int, str] = {}
    for n, value in walk_lines(folder, exhibit.book, {s.lines for s in stamps}, walked):
        take_line(exhibit, n, value, questions_at)
    take_lists(exhibit, lambda path: _is_of(path, entry["league"], books))
    fill_prefixes(folder, exhibit.book, {stamp.lines for stamp in exhibit.stamps}, walked)
    take_walked(exhibit, exhibit.book, walked)
    take_evidence(exhibit, folder)
    exhibit.lines = walked.lines
    if exhibit.simulated and published_at and before(published_at, as_of):
        # Simulated time stands still between two publications: nothing came due since.
        exhibit.as_of = published_at
    _check_core(exhibit, folder)
    _open_answers(exhibit)
    _read_tables(exhibit, folder, base)
    exhibit.has_code = folder.has("api/v1/recount.py") or folder.has(f"{base}/recount.py")
    _recount(exhibit, folder, base)
    exhibit.replications = read_replications(folder, names)
    return exhibit


def _entry(folder: Folder, league: str | None) -> tuple[dict[str, Any], str]:
    """The league's entry in the manifest and as of when that is.

    The entry is made from the folder where the manifest is unreadable.
    """
    published_at = ""
    try:
        manifest = read_manifest(read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES))
        entries: list[dict[str, Any]] = manifest["leagues"]
        published_at = text(manifest, "as_of")
    except FormatError:
        books = [n for n in folder.names() if n.startswith("api/v1/") and n.endswith("/book.jsonl")]
        entries = [
            {"league": n.split("/")[2], "path": n.removesuffix("/book.jsonl")}
            for n in books
            if n.count("/") == 3
        ]
    if league is not None:
        entries = [entry for entry in entries if entry["league"] == league]
    if len(entries) != 1:
        named = ", ".join(f"{entry['league']}" for entry in entries[:20]) or "none"
        raise FormatError(f"choose one league of the folder with --league; there is: {named}")
    return entries[0], published_at


def _is_of(path: str, league: str, books: int) -> bool:
    """Whether a path in a stamped list is that of this league's book."""
    parts = path.split("/")
    return parts[-1] == "book.jsonl" and (books == 1 or league in parts)


def _body(folder: Folder, base: str, sha256: str) -> bytes | None:
    """A published body, None where it is not there or is not what its name says."""
    path = f"{base}/{body_path(sha256)}"
    if not is_digest(sha256) or not folder.has(path):
        return None
    try:
        data = read_file(folder, path, MAX_BODY_BYTES)
    except FormatError:
        return None
    return data if digest(data) == sha256 else None


def take_walked(exhibit: Exhibit, name: str, walked: Walked) -> None:
    """What the walk over a book found wrong in it, and against its stamped lists."""
    exhibit.chain += [(Pointer(name, n), message) for n, _, message in walked.problems]
    for stamp, message in check_stamps(exhibit.stamps, walked):
        exhibit.chain.append((Pointer(stamp.place.file, stamp.place.line), message))
        exhibit.misfits.add(stamp)


def _check_core(exhibit: Exhibit, folder: Folder) -> None:
    """Manifest, files, tiles and checkpoints, as the verifier judges them (steps 1, 2, 4, 5)."""
    try:
        report = verify_folder(folder, Options(as_of=exhibit.as_of))
    except BeforehandError as error:
        exhibit.files.append((MANIFEST_PATH, str(error)))
        return
    others = f"{exhibit.base}/"
    for found in report.findings:
        if found.step in (1, 2):
            exhibit.files.append((found.place, found.message))
        elif found.step in (4, 5) and (
            found.place.startswith(others) or found.place.startswith(MANIFEST_PATH)
        ):
            exhibit.chain.append((Pointer(found.place), found.message))


def _open_answers(exhibit: Exhibit) -> None:
    """The cells of answers that were withheld and are published by now."""
    sealed = {
        (body.n): body.sha256
        for body in exhibit.bodies
        if (body.kind, body.role) == ("answer", "answer")
    }
    opened = []
    for answer in exhibit.answers:
        cells = answer.cells
        if cells is None:
            cells = _sealed_cells(exhibit.read_body(sealed.get(answer.n, "")))
        opened.append(answer if cells is answer.cells else _with_cells(answer, cells))
    exhibit.answers = opened


def _with_cells(answer: Answer, cells: Mapping[str, str | None] | None) -> Answer:
    return Answer(**{**vars(answer), "cells": cells})


def _sealed_cells(data: bytes | None) -> dict[str, str | None] | None:
    if data is None or not is_sealed(data):
        return None
    try:
        value = decode_json(open_sealed(data).content)
    except FormatError:
        return None
    return read_cells(value.get("cells")) if isinstance(value, dict) else None


def is_due(due: str | None, as_of: str) -> bool:
    """Whether a body's due time has come; an unreadable one has."""
    if due is None:
        return False
    try:
        return instant_key(due) <= instant_key(as_of)
    except FormatError:
        return True


# ---- tables


def _read_tables(exhibit: Exhibit, folder: Folder, base: str) -> None:
    for attribute, file in (
        ("board", "leaderboard.json"),
        ("diagnostics", "diagnostics.json"),
        ("climatology", "climatology.json"),
    ):
        try:
            setattr(exhibit, attribute, read_json(folder, f"{base}/{file}"))
        except FormatError as error:
            exhibit.files.append((f"{base}/{file}", str(error)))
    for name in dict.fromkeys(held.segment for held in exhibit.segments):
        file = f"{base}/segments/{name}.json"
        try:
            board = read_json(folder, file)
        except FormatError as error:
            exhibit.files.append((file, str(error)))
        else:
            exhibit.earlier_boards |= {} if board is None else {file: board}
    name = f"{base}/forecasts.csv"
    if folder.has(name):
        try:
            exhibit.rows = read_rows(folder, name, exhibit.profile)
        except FormatError as error:
            exhibit.files.append((name, str(error)))
    name = f"{base}/readers.csv"
    if folder.has(name):
        try:
            _, rows = read_table(folder, name)
            exhibit.readers = [{**row, "": str(k)} for k, row in rows]
        except FormatError as error:
            exhibit.files.append((name, str(error)))


def _recount(exhibit: Exhibit, folder: Folder, base: str) -> None:
    """Every value of a board of ours, computed again; of another board the rows are checked."""
    if not text(exhibit.board, "format").startswith(BOARD_OURS):
        exhibit.recount_why = "the board is not of this package's format"
        return
    try:
        result = recount_league(folder, base, exhibit.lines, exhibit.published_at)
    except (BeforehandError, ValueError, KeyError, TypeError, RecursionError) as error:
        exhibit.recount_why = f"could not be done: {error}"
        return
    exhibit.recount = (result.exact + result.within, result.different, result.places)
