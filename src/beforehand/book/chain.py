"""Walking the chain: every seal and link, every leaf, piece by piece in O(log n) memory.

The book is cut into pieces of whole lines, aligned to the tree, so that one
process or several do the same work on them and the results fold in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, BinaryIO

from beforehand.book.line import read_stored
from beforehand.book.tiles import TILE_WIDTH, tile_root
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import BOOKKEEPING, MAX_LINE_BYTES, check_content

PIECE_LINES = 8 * TILE_WIDTH
PIECE_BYTES = 1 << 23
BLOCK_BYTES = 1 << 16

# Kinds whose lines the later steps of the recipe look at.
_FACT_KINDS = frozenset(
    (
        *("league", "segment", "question", "roster", "run", "ask", "answer"),
        *("resolution", "correction", "erased", "revealed", "key"),
    )
)

_TIME_OF_DAY = re.compile(r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z", re.ASCII)


@dataclass
class Piece:
    """What one run of lines says. `entries` and `leaves` hold 32 bytes a line.

    `first_prev` is None where the first line cannot be read; `first_at` is
    the time of line `first_at_n`, the first that has one. `roots` are those of
    its whole rows of TILE_WIDTH lines, where somebody has computed them.
    `odd_lines` hold what a writer refuses and J takes; `odd` is the first.
    """

    first_n: int
    lines: int = 0
    first_prev: str | None = None
    last_link: str = ""
    first_at: str = ""
    first_at_n: int = 0
    last_at: str = ""
    entries: list[bytes] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    roots: list[bytes] = field(default_factory=list)
    findings: list[tuple[int, str, str]] = field(default_factory=list)
    facts: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    odd_lines: int = 0
    odd: tuple[int, str] | None = None


def check_piece(data: bytes, first_n: int) -> Piece:
    """Check whole lines (each ending in LF) of which the first should be line `first_n`.

    `first_prev` and `first_at` are for the caller to compare with the piece
    before. A stored link, not a recomputed one, is what the next line must
    name, so that one change is named at one line.
    """
    piece = Piece(first_n)
    raws = data.split(b"\n")
    raws.pop()
    link, at = None, ""
    note, entry, leaf = piece.findings.append, piece.entries.append, piece.leaves.append
    kinds = piece.kinds
    for n, raw in enumerate(raws, first_n):
        hashed = sha256(raw + b"\n").digest()
        entry(hashed)
        leaf(sha256(b"\x00" + hashed).digest())
        try:
            value, seal, own_link, writable = read_stored(raw)
        except FormatError as error:
            note((n, "line", str(error)))
            link = None
            continue
        get = value.get
        stored_n, stored_prev = get("n"), get("prev")
        if type(stored_n) is not int or stored_n != n:
            note((n, "number", f"n is {stored_n!r:.40}, and this is line {n}"))
        if link is None:
            if n == first_n:
                piece.first_prev = stored_prev if isinstance(stored_prev, str) else "?"
        elif stored_prev != link:
            note((n, "prev", "prev is not the link of the line before"))
        if get("seal") != seal:
            note(
                (n, "seal", f"the content hashes to {seal}, the seal says {_short(value, 'seal')}")
            )
        link = get("link")
        if link != own_link:
            note(
                (n, "link", f"the line hashes to {own_link}, the link says {_short(value, 'link')}")
            )
        if not isinstance(link, str):
            link = None
        stored_at, kind = get("at"), get("kind")
        if stored_at != at or not at:
            at = _take_at(piece, n, stored_at, at)
        if not writable:
            _note_odd(piece, n, value)
        if not isinstance(kind, str):
            note((n, "kind", "the line has no kind"))
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind in _FACT_KINDS or "bodies" in value:
            piece.facts.append((n, _fact(value)))
    piece.lines = len(raws)
    piece.last_link, piece.last_at = link or "?", at
    return piece


def seam_findings(piece: Piece, last_link: str, last_at: str) -> list[tuple[int, str, str]]:
    """What is wrong where a piece meets the line before it, then what is wrong inside.

    `last_link` is "?" where the line before has none that could be named.
    """
    found = []
    if piece.first_prev is not None and last_link not in (piece.first_prev, "?"):
        found.append((piece.first_n, "prev", "prev is not the link of the line before"))
    if last_at and piece.first_at and instant_key(piece.first_at) < instant_key(last_at):
        message = f"{piece.first_at} is before {last_at} of an earlier line"
        found.append((piece.first_at_n, "at", message))
    return found + piece.findings


def row_roots(piece: Piece) -> list[bytes]:
    """The roots of the whole rows of TILE_WIDTH lines of the tree that lie in a piece."""
    first = -(piece.first_n - 1) % TILE_WIDTH
    starts = range(first, piece.lines - TILE_WIDTH + 1, TILE_WIDTH)
    return [tile_root(piece.leaves[start : start + TILE_WIDTH]) for start in starts]


def _take_at(piece: Piece, n: int, instant: Any, earlier: str) -> str:
    """The time that the line after line `n` must not be before; what is wrong with it is noted.

    `earlier` is the time before it, "" for none. On one day, instants of the
    same length sort as their texts do.
    """
    if (
        type(instant) is str
        and instant[:10] == earlier[:10]
        and len(instant) == len(earlier)
        and _TIME_OF_DAY.fullmatch(instant, 10)
    ):
        back = instant < earlier
    else:
        try:
            back = instant_key(instant) < instant_key(earlier or instant)
        except FormatError as error:
            piece.findings.append((n, "at", str(error)))
            return earlier
        if not piece.first_at:
            piece.first_at, piece.first_at_n = instant, n
    if back:
        piece.findings.append((n, "at", f"{instant} is before {earlier} of an earlier line"))
    return str(instant)


def _short(value: dict[str, Any], key: str) -> str:
    return f"{value.get(key)!r:.70}"


def _note_odd(piece: Piece, n: int, value: dict[str, Any]) -> None:
    """Count a line that no writer of ours makes; the words are those of its refusal."""
    try:
        check_content({key: item for key, item in value.items() if key not in BOOKKEEPING})
    except FormatError as error:
        piece.odd_lines += 1
        piece.odd = piece.odd or (n, str(error))


def _fact(value: dict[str, Any]) -> dict[str, Any]:
    """What the later steps need of a line: everything but its longest lists.

    Of an answer's cells, the questions on which it states a probability.
    """
    fact = {key: item for key, item in value.items() if key not in ("cells", "quotes", "link")}
    if fact["kind"] == "answer":
        fact["stated"] = stated_questions(value["cells"]) if "cells" in value else []
    return fact


def stated_questions(cells: Any) -> list[str] | None:
    """The questions of the cells that state a probability; None where these are no cells."""
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        return None
    stated = [cell.get("question") for cell in cells if "p" in cell]
    return stated if all(isinstance(name, str) for name in stated) else None


def cut_pieces(stream: BinaryIO, lines: int = PIECE_LINES) -> Iterator[tuple[int, int, bytes]]:
    """`(offset, first_n, bytes)` of each piece of whole lines.

    A piece ends where a multiple of `lines` does, sooner at PIECE_BYTES or at
    the end. Bytes after the last LF come last, with first_n 0: such a tail
    does not exist yet. FormatError for a line over the limit, its LF counted.
    """
    offset, first_n, held, count, tail = 0, 1, bytearray(), 0, 0
    while block := stream.read(BLOCK_BYTES):
        ended = block.find(b"\n")
        if tail + (ended + 1 or len(block)) > MAX_LINE_BYTES:
            place = first_n + count
            raise FormatError(f"line {place} is over the limit of {MAX_LINE_BYTES} bytes")
        tail = len(block) - block.rfind(b"\n") - 1 if ended >= 0 else tail + len(block)
        start, present = 0, block.count(b"\n")
        while present >= (missing := lines - (first_n - 1) % lines - count):
            end = _after_lines(block, start, missing)
            held += block[start:end]
            yield offset, first_n, bytes(held)
            offset += len(held)
            first_n += count + missing
            present -= missing
            held.clear()
            count, start = 0, end
        held += block[start:]
        count += present
        whole = len(held) - tail
        if whole >= PIECE_BYTES:
            yield offset, first_n, bytes(held[:whole])
            offset += whole
            first_n += count
            del held[:whole]
            count = 0
    whole = len(held) - tail
    if whole:
        yield offset, first_n, bytes(held[:whole])
    if tail:
        yield offset + whole, 0, bytes(held[whole:])


def _after_lines(block: bytes, start: int, lines: int) -> int:
    """Where the `lines`-th line from `start` ends, by halving: counting is faster than finding."""
    end = len(block)
    while lines > 1:
        middle = (start + end) // 2
        present = block.count(b"\n", start, middle)
        if present < lines:
            start, lines = middle, lines - present
        else:
            end = middle
    return block.index(b"\n", start) + 1
