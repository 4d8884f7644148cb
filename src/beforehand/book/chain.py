"""Walking the chain: every seal and link, every leaf, piece by piece in O(log n) memory.

The book is cut into pieces of whole lines, aligned to the tree, so that one
process or several do the same work on them and the results fold in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, BinaryIO

from beforehand.book.line import read_line
from beforehand.book.tiles import TILE_WIDTH
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import MAX_LINE_BYTES

PIECE_LINES = 16 * TILE_WIDTH

# Kinds whose lines the later steps of the recipe look at.
_FACT_KINDS = ("league", "segment", "question", "roster", "run", "ask", "answer", "erased")


@dataclass
class Piece:
    """What one run of lines says. `entries` and `leaves` hold 32 bytes a line."""

    first_n: int
    lines: int = 0
    first_prev: str = ""
    last_link: str = ""
    first_at: str = ""
    last_at: str = ""
    entries: list[bytes] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    findings: list[tuple[int, str, str]] = field(default_factory=list)
    facts: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)


def check_piece(data: bytes, first_n: int) -> Piece:
    """Check whole lines (each ending in LF) of which the first should be line `first_n`.

    `first_prev` and `first_at` are for the caller to compare with the piece
    before. A stored link, not a recomputed one, is what the next line must
    name, so that one change is named at one line.
    """
    piece = Piece(first_n)
    raws = data.split(b"\n")
    raws.pop()
    link, at, at_key = None, "", None
    note, entry, leaf = piece.findings.append, piece.entries.append, piece.leaves.append
    kinds = piece.kinds
    for n, raw in enumerate(raws, first_n):
        hashed = sha256(raw + b"\n").digest()
        entry(hashed)
        leaf(sha256(b"\x00" + hashed).digest())
        try:
            value, seal, own_link = read_line(raw)
        except FormatError as error:
            note((n, "line", str(error)))
            link = None
            continue
        stored_n, stored_prev = value.get("n"), value.get("prev")
        if type(stored_n) is not int or stored_n != n:
            note((n, "number", f"n is {stored_n!r:.40}, and this is line {n}"))
        if link is None:
            if n == first_n:
                piece.first_prev = stored_prev if isinstance(stored_prev, str) else "?"
        elif stored_prev != link:
            note((n, "prev", "prev is not the link of the line before"))
        if value.get("seal") != seal:
            note(
                (n, "seal", f"the content hashes to {seal}, the seal says {_short(value, 'seal')}")
            )
        link = value.get("link")
        if link != own_link:
            note(
                (n, "link", f"the line hashes to {own_link}, the link says {_short(value, 'link')}")
            )
        if not isinstance(link, str):
            link = None
        stored_at, kind = value.get("at"), value.get("kind")
        if stored_at != at:
            try:
                key = instant_key(stored_at)  # type: ignore[arg-type]
            except FormatError as error:
                note((n, "at", str(error)))
            else:
                if at_key is not None and key < at_key:
                    note((n, "at", f"{stored_at} is before {at} of an earlier line"))
                at, at_key = str(stored_at), key
                piece.first_at = piece.first_at or at
        if not isinstance(kind, str):
            note((n, "kind", "the line has no kind"))
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind in _FACT_KINDS or "bodies" in value:
            piece.facts.append((n, _fact(value)))
    piece.lines = len(raws)
    piece.last_link, piece.last_at = link or "?", at
    return piece


def _short(value: dict[str, Any], key: str) -> str:
    return f"{value.get(key)!r:.70}"


def _fact(value: dict[str, Any]) -> dict[str, Any]:
    """What the later steps need of a line: everything but its longest lists."""
    return {key: item for key, item in value.items() if key not in ("cells", "quotes", "link")}


def cut_pieces(stream: BinaryIO, lines: int = PIECE_LINES) -> Iterator[tuple[int, int, bytes]]:
    """`(offset, first_n, bytes)` of each piece of `lines` whole lines.

    The last may be shorter. Bytes after the last LF come last, with first_n 0:
    such a tail does not exist yet. FormatError for a line over the limit.
    """
    offset, first_n, held, count = 0, 1, bytearray(), 0
    while True:
        block = stream.read(1 << 20)
        if not block:
            break
        start = 0
        while True:
            missing = lines - count
            present = block.count(b"\n", start)
            if present < missing:
                held += block[start:]
                count += present
                break
            end = start
            for _ in range(missing):
                end = block.find(b"\n", end) + 1
            held += block[start:end]
            yield offset, first_n, bytes(held)
            offset += len(held)
            first_n += lines
            held.clear()
            count, start = 0, end
        tail = len(held) - (held.rfind(b"\n") + 1)
        if tail > MAX_LINE_BYTES:
            place = first_n + count
            raise FormatError(f"line {place} is over the limit of {MAX_LINE_BYTES} bytes")
    whole = held.rfind(b"\n") + 1
    if whole:
        yield offset, first_n, bytes(held[:whole])
    if len(held) > whole:
        yield offset + whole, 0, bytes(held[whole:])
