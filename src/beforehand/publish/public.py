"""The public folder of a league: its book as it stands, the open tables, the checkers.

Everything is computed from the kept book, offline. Pages are written by the
site beside it; `seal_public` then lists and signs all of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.book.bodies import body_path
from beforehand.book.checkpoint import Checkpoint, Signer, VerifierKey
from beforehand.book.manifest import CHECKER_PATH, MANIFEST_FORMAT, MANIFEST_PATH, sign_manifest
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.book.tiles import tile_files
from beforehand.clock import instant_key
from beforehand.errors import RuleError
from beforehand.publish.attempts import Attempt
from beforehand.publish.attempts_table import ATTEMPT_COLUMNS
from beforehand.publish.checkers import build_recount, build_verify
from beforehand.publish.code import CODE_PATH, code_content
from beforehand.publish.conformance.pyz import build_pyz
from beforehand.publish.contracts import CONTRACT_PROFILE, CONTRACT_SCHEMA, CONTRACTS
from beforehand.publish.database import sqlite_tables, write_sqlite
from beforehand.publish.diagnostics import diagnostics
from beforehand.publish.fold import LeagueFold, fold_book
from beforehand.publish.package import data_package
from beforehand.publish.parquet import write_parquet
from beforehand.publish.rows import Row
from beforehand.publish.segments import (
    SegmentScores,
    all_attempts,
    all_forecasts,
    boards_by_file,
    score_segments,
)
from beforehand.publish.stamps import (
    REPLICATIONS_NAME,
    STAMPS_NAME,
    cosigned,
    publish_log_key,
    publish_replications,
    publish_stamps,
)
from beforehand.publish.tables import COLUMNS, table_csv
from beforehand.publish.unrevealed import Unrevealed
from beforehand.records.codec import decode_json, digest
from beforehand.records.declaration import declaration_schema
from beforehand.records.event_contract import plain_schema
from beforehand.records.kinds import line_schemas

API = "api/v1"
FILES = (
    ("book.jsonl", "the sealed book, one line a fact"),
    ("checkpoint", "the last signed tree head"),
    ("forecasts.csv", "one row a forecast, every column in the data dictionary"),
    ("forecasts.parquet", "the same table as Parquet"),
    ("attempts.csv", "one row a call to a model, retries and failures too, with its cost"),
    ("leaderboard.json", "the board, every number as decimal text"),
    ("diagnostics.json", "how alike forecasters are, and both sides of the crowd's prices"),
    (
        "league.sqlite",
        "every table as SQLite: forecasts, attempts, questions, outcomes, board, runs, costs",
    ),
    (
        "contract.schema.json",
        "the form of the event contracts, which lie in contracts/ under their hashes",
    ),
    ("datapackage.json", "Frictionless data package: the data dictionary and the licence"),
)

Progress = Callable[[str, int, int], None]


def _silent(step: str, done: int, total: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Publication:
    """What was published of the segment in force, and the checkpoint it ends at.

    `earlier` are the segments before it, `not_revealed` the bodies of the whole
    book that are due and not kept.
    """

    fold: LeagueFold
    rows: list[Row]
    board: dict[str, Any]
    checkpoint: Checkpoint
    book_sha256: str
    attempts: list[Attempt]
    earlier: tuple[SegmentScores, ...] = ()
    not_revealed: tuple[Unrevealed, ...] = ()


def write_data(
    reader: BookReader,
    key: VerifierKey,
    public: Path,
    as_of: str,
    licence: bytes | None = None,
    progress: Progress = _silent,
) -> Publication:
    """Write `public/api/v1` for one league, up to its last checkpoint.

    Bodies are published once due at `as_of`; one that is due and no longer kept
    does not stop it, and is listed as not revealed. RuleError where the book
    has no checkpoint yet or lines beyond it: publishing ends at a checkpoint.
    IntegrityError for a body whose bytes are not those of its name.
    """
    notes = reader.checkpoints()
    lines = list(reader.lines())
    if not notes or max(notes) != len(lines):
        raise RuleError(f"{reader.folder}: sign a checkpoint first; publishing ends at one")
    checkpoint = Checkpoint.open(notes[len(lines)], key)

    def read_due(sha256: str) -> bytes | None:
        return reader.read_body(sha256) if sha256 in due and reader.has_body(sha256) else None

    due = _due_bodies(lines, as_of)
    progress("fold", 0, 1)
    fold = fold_book(lines, read_due, as_of, reader.has_body)
    parts = score_segments(fold)
    scores, current = parts[-1].scores, parts[-1].fold
    base = public / API / fold.league.league
    stamps = reader.folder.parent / STAMPS_NAME
    notes = {size: cosigned(stamps, size, note) for size, note in notes.items()}
    _write_book(reader, lines, notes, due, base, progress)
    publish_stamps(stamps, base, len(lines))
    publish_log_key(reader.folder / "keys", base)
    publish_replications(reader.folder.parent / REPLICATIONS_NAME, base)
    progress("tables", 0, 1)
    cells, attempts = all_forecasts(parts), all_attempts(parts)
    _put(base / "forecasts.csv", table_csv(COLUMNS, cells))
    _put(base / "attempts.csv", table_csv(ATTEMPT_COLUMNS, attempts))
    write_parquet(cells, base / "forecasts.parquet")
    boards = [part.scores.board for part in parts]
    write_sqlite(sqlite_tables(cells, attempts, boards, fold), base / "league.sqlite")
    for name, board in boards_by_file(parts).items():
        _put(base / name, _json(board))
    _put(base / "diagnostics.json", _json(diagnostics(current, scores.rows, scores.board)))
    _write_contracts(fold, base)
    if licence is not None:
        _put(base / "LICENSE.txt", licence)
    _put(base / "datapackage.json", _json(data_package(fold, base)))
    _put(public / API / "schema" / "lines.schema.json", _json(line_schemas()))
    _put(public / API / "schema" / "declaration.schema.json", _json(declaration_schema()))
    _put(public / CHECKER_PATH, build_verify())
    _put(public / API / "recount.py", build_recount())
    _put(public / API / "conform.pyz", build_pyz())
    _put(public / CODE_PATH, _json(code_content()))
    book_sha256 = digest(b"".join(raw + b"\n" for raw in lines))
    return Publication(
        current, scores.rows, scores.board, checkpoint, book_sha256, scores.attempts,
        tuple(parts[:-1]), fold.not_revealed,
    )  # fmt: skip


def _write_contracts(fold: LeagueFold, base: Path) -> None:
    """Each event contract under its hash, their schema, and the profile where one is declared."""
    profile = fold.contracts.profile
    for sha256, data in fold.contracts.files().items():
        _put(base / CONTRACTS / f"{sha256}.json", data)
    _put(base / CONTRACT_SCHEMA, _json(plain_schema() if profile is None else profile.schema()))
    if profile is not None:
        _put(base / CONTRACT_PROFILE, _json({"contract": profile.content()}))


def _due_bodies(lines: Sequence[bytes], as_of: str) -> dict[str, str]:
    """The kind of line naming each body that is public at `as_of`, by its hash."""
    moment = instant_key(as_of)
    due: dict[str, str] = {}
    erased, revealed, kinds = set(), set(), {}
    for raw in lines:
        value = decode_json(raw)
        for body in value.get("bodies", ()):
            kinds[body["sha256"]] = value["kind"]
            if body.get("due") and instant_key(body["due"]) <= moment:
                due[body["sha256"]] = value["kind"]
        if value["kind"] == "erased":
            erased.add(value["body_sha256"])
        elif value["kind"] == "revealed":
            revealed.add(value["body_sha256"])
    due |= {sha256: kinds[sha256] for sha256 in revealed}
    for sha256 in erased:
        due.pop(sha256, None)
    return due


def _write_book(
    reader: BookReader,
    lines: Sequence[bytes],
    notes: dict[int, bytes],
    due: dict[str, str],
    base: Path,
    progress: Progress,
) -> None:
    _put(base / BOOK_NAME, b"".join(raw + b"\n" for raw in lines))
    for done, (sha256, kind) in enumerate(due.items()):
        progress("bodies", done, len(due))
        if not reader.has_body(sha256):  # the fold lists it as not revealed
            continue
        data = reader.read_body(sha256)
        _put(base / body_path(sha256), data)
        if kind == "ask":
            _put(base / "asks" / f"{sha256}.md", data)
    entries = (bytes.fromhex(digest(raw + b"\n")) for raw in lines)
    for name, data in tile_files(entries):
        _put(base / name, data)
    _put(base / "checkpoint", notes[len(lines)])
    for size, note in notes.items():
        _put(base / "checkpoints" / str(size), note)


def seal_public(
    public: Path,
    publications: Sequence[tuple[Publication, VerifierKey, Signer]],
    as_of: str,
) -> str:
    """List the leagues, hash every file, sign the manifest; its SHA-256 is returned."""
    leagues = [
        {
            "league": publication.fold.league.league,
            "path": f"{API}/{publication.fold.league.league}",
            "origin": publication.fold.league.origin,
            "key": publication.fold.key,
            "lines": publication.checkpoint.size,
            "root": publication.checkpoint.root.hex(),
            "book_sha256": publication.book_sha256,
        }
        for publication, _, _ in publications
    ]
    listed = [
        {
            **{name: league[name] for name in ("league", "path", "origin", "key")},
            "title": publication.fold.declaration.title,
            "licence": publication.fold.declaration.licence,
            "attribution": publication.fold.declaration.attribution,
        }
        for league, (publication, _, _) in zip(leagues, publications, strict=True)
    ]
    _put(public / API / "leagues.json", _json(listed))
    files = []
    for path in sorted(path for path in public.rglob("*") if path.is_file()):
        name = path.relative_to(public).as_posix()
        if name not in (MANIFEST_PATH, CHECKER_PATH):
            data = path.read_bytes()
            files.append({"path": name, "bytes": len(data), "sha256": digest(data)})
    unsigned = {"format": MANIFEST_FORMAT, "as_of": as_of, "leagues": leagues, "files": files}
    manifest = sign_manifest(unsigned, [(key, sign) for _, key, sign in publications])
    _put(public / MANIFEST_PATH, manifest)
    return digest(manifest)


def swap_in(fresh: Path, public: Path) -> None:
    """Put a freshly written folder in the place of the published one."""
    old = public.with_name(public.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if public.exists():
        public.rename(old)
    fresh.rename(public)
    shutil.rmtree(old, ignore_errors=True)


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8") + b"\n"
