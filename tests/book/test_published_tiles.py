"""Tiles published beside a book are compared with its lines, file by file and byte by byte."""

from __future__ import annotations

from io import BytesIO
from typing import BinaryIO

import pytest

from beforehand.book.report import Report
from beforehand.book.tiles import tile_files
from beforehand.book.walk import ChainWalk, TileCheck, in_this_process

from . import plain_tree
from .plain_chain import chained, notes, stored

DATA = stored(chained(notes(600)))
ENTRIES = [plain_tree.sha(raw + b"\n") for raw in DATA.split(b"\n")[:-1]]
TILES = {f"league/{name}": data for name, data in tile_files(ENTRIES)}


class Files:
    """A published folder in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self) -> list[str]:
        return sorted(self.files)

    def has(self, name: str) -> bool:
        return name in self.files

    def open(self, name: str) -> BinaryIO:
        return BytesIO(self.files[name])


def found(files: dict[str, bytes], size: int = 600) -> list[str]:
    """The places of the findings over these tiles, for a tree of `size` lines."""
    folder = Files({"league/book.jsonl": DATA, **files})
    report = Report("2026-12-31T00:00:00Z")
    tiles = TileCheck(folder, "league", size, "league", report)
    ChainWalk(folder, "league/book.jsonl", "book", report, {size}, tiles).walk(in_this_process)
    return [finding.place for finding in report.findings]


def test_the_tiles_of_the_book_are_sound() -> None:
    assert found(TILES) == []


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 511, 512, 513, 599])
def test_the_tiles_of_an_earlier_size_are_sound_at_that_size(size: int) -> None:
    files = {f"league/{name}": data for name, data in tile_files(ENTRIES[:size])}
    assert found(files, size) == []
    assert found(files) != []


@pytest.mark.parametrize("name", TILES)
def test_every_changed_byte_of_a_tile_is_found_in_its_file(name: str) -> None:
    data = TILES[name]
    for place in range(0, len(data), 97):
        changed = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        assert found({**TILES, name: changed}) == [name]


@pytest.mark.parametrize("name", TILES)
def test_a_tile_missing_shorter_or_longer_is_found(name: str) -> None:
    data = TILES[name]
    assert found({k: v for k, v in TILES.items() if k != name}) == [name]
    for other in (b"", data[:-1], data[:-32], data + b"\x00", data + data, data * 100):
        assert found({**TILES, name: other}) == [name]


@pytest.mark.parametrize(
    "name",
    [
        *("league/tile/0/003", "league/tile/0/002.p/87", "league/tile/0/002.p/89"),
        *("league/tile/2/000.p/1", "league/tile/entries/003", "league/tile/x", "league/tile/0/2"),
    ],
)
def test_a_file_that_is_no_tile_of_the_tree_is_found(name: str) -> None:
    assert found({**TILES, name: TILES["league/tile/0/000"][:32]}) == [name]


def test_two_tiles_exchanged_are_found() -> None:
    one, two = "league/tile/0/000", "league/tile/0/001"
    assert found({**TILES, one: TILES[two], two: TILES[one]}) == [one, two]
