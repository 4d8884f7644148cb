"""tlog-tiles (c2sp.org/tlog-tiles): the tree as static files that any web host serves.

Tile `tile/L/N` holds up to 256 hashes of level 8L; the right edge is a
partial tile `tile/L/N.p/W`. `tile/entries/N` holds the leaf data, here the
32-byte SHA-256 of each line, each with a two-byte length before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from beforehand.book.tree import node_hash

TILE_WIDTH = 256


def tile_path(level: int | str, index: int, width: int = TILE_WIDTH) -> str:
    """The path of a tile below the book's folder.

    >>> tile_path(0, 1234067, 5)
    'tile/0/x001/x234/067.p/5'
    """
    groups = [f"{index % 1000:03d}"]
    index //= 1000
    while index:
        groups.append(f"x{index % 1000:03d}")
        index //= 1000
    path = f"tile/{level}/" + "/".join(reversed(groups))
    return path if width == TILE_WIDTH else f"{path}.p/{width}"


class TileBuilder:
    """Turns entries into tile files, each as soon as it is full; 256 hashes a level in memory."""

    def __init__(self) -> None:
        self._levels: list[list[bytes]] = []
        self._written: list[int] = []
        self._entries: list[bytes] = []
        self._entry_index = 0

    def add(self, entry: bytes) -> Iterator[tuple[str, bytes]]:
        """Take one entry (32 bytes); give the files that this completes."""
        yield from self.add_hashed(entry, hashlib.sha256(b"\x00" + entry).digest())

    def add_hashed(self, entry: bytes, leaf: bytes) -> Iterator[tuple[str, bytes]]:
        """The same where the leaf's hash is known already."""
        self._entries.append(len(entry).to_bytes(2, "big") + entry)
        if len(self._entries) == TILE_WIDTH:
            yield tile_path("entries", self._entry_index), b"".join(self._entries)
            self._entries.clear()
            self._entry_index += 1
        yield from self._push(0, leaf)

    def _push(self, level: int, value: bytes) -> Iterator[tuple[str, bytes]]:
        if level == len(self._levels):
            self._levels.append([])
            self._written.append(0)
        row = self._levels[level]
        row.append(value)
        if len(row) == TILE_WIDTH:
            yield tile_path(level, self._written[level]), b"".join(row)
            root = tile_root(row)
            row.clear()
            self._written[level] += 1
            yield from self._push(level + 1, root)

    def finish(self) -> Iterator[tuple[str, bytes]]:
        """The partial tiles of the right edge."""
        if self._entries:
            path = tile_path("entries", self._entry_index, len(self._entries))
            yield path, b"".join(self._entries)
        for level, row in enumerate(self._levels):
            if row:
                yield tile_path(level, self._written[level], len(row)), b"".join(row)


def tile_root(row: list[bytes]) -> bytes:
    """The root over a full tile's hashes."""
    while len(row) > 1:
        row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
    return row[0]


def tile_files(entries: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Every tile file of the tree over these entries."""
    builder = TileBuilder()
    for entry in entries:
        yield from builder.add(entry)
    yield from builder.finish()
