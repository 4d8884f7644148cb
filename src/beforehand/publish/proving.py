"""Proving one line of a published book by itself: its inclusion, its checkpoint, its stamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beforehand.book.bodies import MAX_BODY_BYTES, body_path, open_sealed
from beforehand.book.cells import CellProof, opened_cells
from beforehand.book.checkpoint import MAX_NOTE_BYTES, Checkpoint, is_size
from beforehand.book.folder import Folder, read_file
from beforehand.book.manifest import MANIFEST_PATH, MAX_MANIFEST_BYTES, read_manifest
from beforehand.book.proof_file import Enclosed, ProofFile
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.book.tree import inclusion_path, line_leaf, tree_root
from beforehand.errors import FormatError
from beforehand.publish.stamps import STAMPS_NAME
from beforehand.records.codec import decode_json

MAX_BOOK_BYTES = 8 << 30
# Bodies that say what was forecast; a raw reply or a snapshot would fill the file.
ENCLOSED_ROLES = ("answer", "answer_rows", "declaration", "identity")
MAX_ENCLOSED_BYTES = 256 << 10
LIST_FILE = "list.txt"


@dataclass(frozen=True)
class Wanted:
    """Which line: by number, or the first answer of a forecaster on a question (in a run).

    With `cell`, of an answer with salted cells, the cell on the question alone.
    """

    line: int | None = None
    forecaster: str | None = None
    question: str | None = None
    run: str | None = None
    cell: bool = False


def prove_line(
    folder: Folder, league: str | None, wanted: Wanted, private: BookReader | None = None
) -> ProofFile:
    """The proof of one line of the league published in `folder`.

    `private` is the operator's own book, where the answer that a cell is
    shown of is still withheld. FormatError where the folder is none, or where
    no line is as wanted.
    """
    entry = _league_entry(folder, league)
    base = str(entry["path"])
    raws = read_file(folder, f"{base}/{BOOK_NAME}", MAX_BOOK_BYTES).split(b"\n")[:-1]
    newest = _size_of(read_file(folder, f"{base}/checkpoint", MAX_NOTE_BYTES))
    if newest > len(raws):
        raise FormatError(f"the checkpoint is over {newest} lines, and the book has {len(raws)}")
    n = _line_number(raws[:newest], wanted)
    size = _stamped_size(folder, base, n, newest) or newest
    note = read_file(folder, f"{base}/checkpoints/{size}", MAX_NOTE_BYTES)
    leaves = [line_leaf(raw) for raw in raws[:size]]
    path = inclusion_path(n - 1, size, lambda start, end: tree_root(leaves[start:end]))
    raw = raws[n - 1]
    value = decode_json(raw)
    cell = _cell(folder, base, value, wanted, private) if wanted.cell else None
    return ProofFile(
        str(entry["origin"]),
        str(entry["key"]),
        raw,
        tuple(path),
        note,
        bodies=() if cell else _bodies(folder, base, value),
        evidence=_evidence(folder, base, size),
        cell=cell,
    )


def _size_of(note: bytes) -> int:
    return Checkpoint.parse(note.decode("utf-8").partition("\n\n")[0] + "\n").size


def _stamps(folder: Folder, base: str) -> dict[int, list[str]]:
    """The names of complete evidence by checkpoint size; a promise proves nothing and stays out."""
    held: dict[int, list[str]] = {}
    start = f"{base}/{STAMPS_NAME}/"
    for name in folder.names():
        if not name.startswith(start) or name.endswith(".pending"):
            continue
        size, _, file = name.removeprefix(start).partition("/")
        if is_size(size) and file != LIST_FILE:
            held.setdefault(int(size), []).append(file)
    return held


def _stamped_size(folder: Folder, base: str, n: int, newest: int) -> int | None:
    """The first stamped checkpoint that covers line `n`: the earliest time there is for it."""
    sizes = [size for size in _stamps(folder, base) if n <= size <= newest]
    return min(sizes, default=None)


def _evidence(folder: Folder, base: str, size: int) -> tuple[Enclosed, ...]:
    """The stamped list over the checkpoint, then what others signed over it."""
    names = _stamps(folder, base).get(size, [])
    if not names:
        return ()
    return tuple(
        Enclosed(name, read_file(folder, f"{base}/{STAMPS_NAME}/{size}/{name}", MAX_ENCLOSED_BYTES))
        for name in (LIST_FILE, *sorted(names))
    )


def _cell(
    folder: Folder, base: str, line: dict[str, Any], wanted: Wanted, private: BookReader | None
) -> CellProof:
    """The cell on the wanted question, out of the line's answer body."""
    sha256 = next((b["sha256"] for b in line.get("bodies", ()) if b["role"] == "answer"), None)
    if wanted.question is None or sha256 is None or "cells_root" not in line:
        raise FormatError("--cell needs --question, and an answer with salted cells")
    path = f"{base}/{body_path(sha256)}"
    if folder.has(path):
        data = read_file(folder, path, MAX_BODY_BYTES)
    elif private is not None:
        data = private.read_body(sha256)
    else:
        raise FormatError("the answer is withheld: its operator proves a cell with --private")
    cells, key = opened_cells(decode_json(open_sealed(data).content))
    names = [str(cell.get("question")) for cell in cells if isinstance(cell, dict)]
    for name in names:
        if name == wanted.question or _begins(name, wanted.question):
            return CellProof.make(cells, key, name)
    raise FormatError(f"the answer has no cell on {wanted.question!r:.80}")


def _league_entry(folder: Folder, league: str | None) -> dict[str, Any]:
    if not folder.has(MANIFEST_PATH):
        raise FormatError(f"{MANIFEST_PATH} is missing: give the published folder (public/)")
    manifest = read_manifest(read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES))
    held: dict[str, dict[str, Any]] = {str(entry["league"]): entry for entry in manifest["leagues"]}
    if league is None and len(held) == 1:
        return next(iter(held.values()))
    if league not in held:
        raise FormatError(f"choose a league of this folder with --league: {', '.join(held)}")
    return held[league]


def _line_number(raws: list[bytes], wanted: Wanted) -> int:
    if wanted.line is not None:
        if not 1 <= wanted.line <= len(raws):
            raise FormatError(f"line {wanted.line}: the checkpoint covers lines 1 to {len(raws)}")
        return wanted.line
    if wanted.forecaster is None or wanted.question is None:
        raise FormatError("give --line N, or --forecaster and --question")
    asked: dict[int, list[str]] = {}
    for n, raw in enumerate(raws, 1):
        value = decode_json(raw)
        if value.get("kind") == "ask":
            asked[n] = value.get("questions", [])
        if value.get("kind") != "answer" or value.get("forecaster") != wanted.forecaster:
            continue
        if wanted.run not in (None, value.get("run")) or value.get("status") != "answered":
            continue
        about = [cell.get("question") for cell in value.get("cells", ())]
        about += asked.get(value.get("ask_line", 0), [])
        if any(name == wanted.question or _begins(name, wanted.question) for name in about):
            return n
    raise FormatError(
        f"no answer of {wanted.forecaster!r:.80} on {wanted.question!r:.80} in this book"
    )


def _begins(name: Any, part: str) -> bool:
    """Whether an id begins as given, with or without its prefix, from eight characters on."""
    return len(part) >= 8 and str(name).removeprefix("evc1:").startswith(part.removeprefix("evc1:"))


def _bodies(folder: Folder, base: str, line: dict[str, Any]) -> tuple[Enclosed, ...]:
    """The published bodies of the line that say what was forecast."""
    found = []
    for body in line.get("bodies", ()):
        path = f"{base}/{body_path(body['sha256'])}"
        if body["role"] in ENCLOSED_ROLES and folder.has(path):
            data = read_file(folder, path, MAX_BODY_BYTES)
            if len(data) <= MAX_ENCLOSED_BYTES:
                found.append(Enclosed(body["role"], data))
    return tuple(found)
