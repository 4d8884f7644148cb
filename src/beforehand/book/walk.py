"""One walk over a book: its chain, its tree, its tiles, its digests at the sizes asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from beforehand.book.chain import Piece, check_piece, cut_pieces, row_roots, seam_findings
from beforehand.book.facts import Facts
from beforehand.book.folder import Folder, read_file
from beforehand.book.report import Report, clipped
from beforehand.book.tiles import TILE_WIDTH, TileBuilder
from beforehand.book.tree import Frontier
from beforehand.errors import FormatError

MAX_KINDS = 1000
MAX_KIND_CHARS = 80
MORE_KINDS = "(more kinds)"

Pieces = Callable[[Folder, str], Iterator[tuple[Piece | None, bytes]]]


def in_this_process(folder: Folder, name: str) -> Iterator[tuple[Piece | None, bytes]]:
    """The checked pieces of a book, one after another."""
    with folder.open(name) as stream:
        for _, first_n, data in cut_pieces(stream):
            yield (check_piece(data, first_n) if first_n else None), data


class TileCheck:
    """Compares the published tiles of a tree of `size` leaves with the lines, tile by tile."""

    def __init__(self, folder: Folder, base: str, size: int, label: str, report: Report) -> None:
        self.folder, self.base, self.size = folder, base, size
        self.label, self.report = label, report
        self.builder = TileBuilder()
        self.seen = 0
        self.expected: set[str] = set()

    def take(self, entries: list[bytes], leaves: list[bytes]) -> None:
        for entry, leaf in zip(entries, leaves, strict=True):
            if self.seen == self.size:
                return
            self.seen += 1
            for name, data in self.builder.add_hashed(entry, leaf):
                self._compare(name, data)

    def finish(self) -> None:
        for name, data in self.builder.finish():
            self._compare(name, data)
        prefix = f"{self.base}/tile/"
        for name in self.folder.names():
            if name.startswith(prefix) and name not in self.expected:
                self.report.find(4, name, f"is no tile of the tree of {self.size} lines")

    def _compare(self, name: str, data: bytes) -> None:
        path = f"{self.base}/{name}"
        self.expected.add(path)
        if not self.folder.has(path):
            self.report.find(4, path, "the tile is missing")
            return
        try:
            held = read_file(self.folder, path, 2 * len(data) + 64)
        except FormatError as error:
            self.report.find(4, path, str(error))
            return
        if held != data:
            width = 34 if "/entries/" in name else 32
            place = next(
                (
                    i
                    for i in range(0, len(data), width)
                    if held[i : i + width] != data[i : i + width]
                ),
                len(data),
            )
            self.report.find(4, path, f"differs from the lines at its hash {place // width}")


class ChainWalk:
    """Steps 3 and 4 over one book: the walk, the tree, the tiles, the roots at given sizes."""

    def __init__(
        self,
        folder: Folder,
        book: str,
        label: str,
        report: Report,
        sizes: set[int],
        tiles: TileCheck | None = None,
    ) -> None:
        self.folder, self.book, self.label, self.report = folder, book, label, report
        self.sizes, self.tiles = sorted(sizes, reverse=True), tiles
        self.frontier = Frontier()
        self.roots: dict[int, bytes] = {}
        self.prefix = hashlib.sha256()
        self.prefixes: dict[int, str] = {}
        self.kinds: dict[str, int] = {}
        self.facts = Facts()
        self.odd_lines = 0
        self.odd: tuple[int, str] | None = None
        self.last_link, self.last_at, self.tail = "", "", 0

    def place(self, n: int) -> str:
        return f"{self.label} line {n}"

    def walk(self, walk: Pieces) -> None:
        for piece, data in walk(self.folder, self.book):
            if piece is None:
                self.tail = len(data)
                self.report.find(
                    3, self.place(self.frontier.size + 1), "does not end in a line feed"
                )
                continue
            self._join(piece)
            self._grow(piece)
            self._digest(piece, data)
            self._take(piece)
        self._note_others()
        while self.sizes:
            size = self.sizes.pop()
            if size == 0:
                self.roots[0] = Frontier().root()
        if self.tiles is not None:
            self.tiles.finish()

    def _join(self, piece: Piece) -> None:
        """The seam between two pieces, and what the piece itself found."""
        for n, _, message in seam_findings(piece, self.last_link, self.last_at):
            self.report.find(3, self.place(n), message)
        self.last_link = piece.last_link
        self.last_at = piece.last_at or self.last_at

    def _take(self, piece: Piece) -> None:
        """What the piece's lines say."""
        for n, fact in piece.facts:
            self.facts.add(n, fact)
        for n, step, problem in self.facts.problems:
            self.report.find(step, self.place(n), problem)
        self.facts.problems.clear()
        for kind, count in piece.kinds.items():
            name = clipped(kind, MAX_KIND_CHARS)
            if name not in self.kinds and len(self.kinds) >= MAX_KINDS:
                name = MORE_KINDS
            self.kinds[name] = self.kinds.get(name, 0) + count
        self.odd_lines += piece.odd_lines
        self.odd = self.odd or piece.odd

    def _note_others(self) -> None:
        """Name what is chained and kept though this version does not write it."""
        if self.odd is not None:
            n, why = self.odd
            self.report.notes.append(
                f"{self.label}: lines that hold what this version does not write: "
                f"{self.odd_lines}; the first is line {n}: {why}"
            )
        if self.facts.foreign:
            listed = ", ".join(f"{kind} ({n})" for kind, n in sorted(self.facts.foreign.items()))
            self.report.notes.append(
                f"{self.label}: lines of another league's kinds by these names, chained and kept: "
                f"{listed}"
            )

    def _grow(self, piece: Piece) -> None:
        """Add the piece's leaves, whole rows at once where no wanted size falls inside."""
        roots = iter(piece.roots or row_roots(piece))
        start = 0
        while start < piece.lines:
            size = self.frontier.size
            end = min(piece.lines, start + TILE_WIDTH - size % TILE_WIDTH)
            row = piece.leaves[start:end]
            root = next(roots) if len(row) == TILE_WIDTH else None
            if root is not None and not (self.sizes and self.sizes[-1] < size + TILE_WIDTH):
                self.frontier.append_subtree(root, TILE_WIDTH)
                self._note_root()
            else:
                for leaf in row:
                    self.frontier.append(leaf)
                    self._note_root()
            if self.tiles is not None:
                self.tiles.take(piece.entries[start:end], row)
            start = end

    def _note_root(self) -> None:
        while self.sizes and self.sizes[-1] <= self.frontier.size:
            size = self.sizes.pop()
            self.roots[size] = self.frontier.root() if size else Frontier().root()

    def _digest(self, piece: Piece, data: bytes) -> None:
        """The digest of the book's first N lines, where N is a checkpoint's size."""
        first = piece.first_n
        start = 0
        for size in sorted(size for size in self.roots if first <= size < first + piece.lines):
            end = start
            for _ in range(size - first + 1 - data.count(b"\n", 0, start)):
                end = data.find(b"\n", end) + 1
            self.prefix.update(data[start:end])
            self.prefixes[size] = self.prefix.hexdigest()
            start = end
        self.prefix.update(data[start:])

    def summary(self) -> dict[str, Any]:
        return {
            "lines": self.frontier.size,
            "kinds": dict(sorted(self.kinds.items())),
            "root": self.frontier.root().hex(),
            "last_link": self.last_link,
            "last_at": self.last_at,
            "sha256": self.prefix.hexdigest(),
        }
