"""Tiles as C2SP tlog-tiles says: paths, widths, framing, and the tree that they spell."""

from __future__ import annotations

import hashlib
import re

import pytest

from beforehand.book.tiles import TILE_WIDTH, TileBuilder, tile_files, tile_path, tile_root
from beforehand.book.tree import Frontier, leaf_hash, tree_root

from . import plain_tree

SIZES = (
    *(1, 2, 3, 100, 254, 255, 256, 257, 258, 511, 512, 513, 767, 768),
    *(65_535, 65_536, 65_537, 70_000),
)


def entry(index: int) -> bytes:
    return hashlib.sha256(b"%d" % index).digest()


def widths(size: int) -> dict[int, int]:
    """The hashes at each level: floor(size / 256**level)."""
    found, level = {}, 0
    while size >> 8 * level:
        found[level] = size >> 8 * level
        level += 1
    return found


def wanted_paths(size: int) -> set[str]:
    """Every file that a tree of this size has, by the words of the specification."""
    paths = set()
    levels: list[tuple[int | str, int]] = [("entries", size), *widths(size).items()]
    for level, count in levels:
        full, rest = divmod(count, 256)
        paths |= {tile_path(level, index) for index in range(full)}
        if rest:
            paths.add(tile_path(level, full, rest))
    return paths


@pytest.fixture(scope="module", params=SIZES)
def tree(request: pytest.FixtureRequest) -> tuple[int, dict[str, bytes]]:
    size = request.param
    files: dict[str, bytes] = {}
    for path, data in tile_files(entry(i) for i in range(size)):
        assert path not in files, "a file is written once"
        files[path] = data
    return size, files


@pytest.mark.parametrize(
    ("level", "index", "width", "path"),
    [
        # c2sp.org/tlog-tiles: "index 1234067 will be encoded as x001/x234/067"
        (0, 1_234_067, 256, "tile/0/x001/x234/067"),
        (0, 1_234_067, 1, "tile/0/x001/x234/067.p/1"),
        ("entries", 1_234_067, 255, "tile/entries/x001/x234/067.p/255"),
        (0, 0, 256, "tile/0/000"),
        (0, 999, 256, "tile/0/999"),
        (0, 1000, 256, "tile/0/x001/000"),
        (1, 999_999, 8, "tile/1/x999/999.p/8"),
        (2, 1_000_000, 256, "tile/2/x001/x000/000"),
        (63, 5, 256, "tile/63/005"),
    ],
)
def test_paths(level: int | str, index: int, width: int, path: str) -> None:
    assert tile_path(level, index, width) == path


def test_the_sizes_of_the_specification() -> None:
    # "a tree of size 70,000 will be represented by 273 full level 0 tiles, one
    # partial level 0 tile of width 112, one full level 1 tile, one partial level
    # 1 tile of width 17, and one partial level 2 tile of width 1"
    paths = {path for path, _ in tile_files(entry(i) for i in range(70_000))}
    assert sum(bool(re.fullmatch(r"tile/0/\d{3}", path)) for path in paths) == 273
    partial = {path for path in paths if ".p/" in path and "entries" not in path}
    assert partial == {"tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1"}
    assert "tile/1/000" in paths
    small = {path for path, _ in tile_files(entry(i) for i in range(256))}
    assert small == {"tile/entries/000", "tile/0/000", "tile/1/000.p/1"}


def test_no_tree_no_tiles() -> None:
    # "Empty tiles MUST NOT be served."
    assert list(tile_files([])) == []


def test_the_files_are_those_of_the_size(tree: tuple[int, dict[str, bytes]]) -> None:
    size, files = tree
    assert set(files) == wanted_paths(size)


def test_every_hash_is_where_the_specification_puts_it(
    tree: tuple[int, dict[str, bytes]],
) -> None:
    size, files = tree
    row = [leaf_hash(entry(i)) for i in range(size)]
    for level, count in widths(size).items():
        assert len(row) == count
        for start in range(0, count, 256):
            hashes = row[start : start + 256]
            assert files[tile_path(level, start // 256, len(hashes))] == b"".join(hashes)
        # "each hash in a tile is the Merkle Tree Hash of a full tile at the level below"
        full = range(0, count - count % 256, 256)
        row = [tree_root(row[start : start + 256]) for start in full]


def test_the_tiles_alone_spell_the_root(tree: tuple[int, dict[str, bytes]]) -> None:
    # the right edge, from the top down: whole subtrees of 256**level leaves each
    size, files = tree
    frontier = Frontier()
    for level in sorted(widths(size), reverse=True):
        count = widths(size)[level]
        rest = count % 256
        if rest:
            data = files[tile_path(level, count // 256, rest)]
            for start in range(0, len(data), 32):
                frontier.append_subtree(data[start : start + 32], 256**level)
    assert frontier.size == size
    assert frontier.root() == tree_root(leaf_hash(entry(i)) for i in range(size))


def test_entries_are_framed_by_their_length(tree: tuple[int, dict[str, bytes]]) -> None:
    # "sequences of big-endian uint16 length-prefixed log entries"
    size, files = tree
    index = 0
    for bundle in range((size + 255) // 256):
        width = min(256, size - 256 * bundle)
        data = files[tile_path("entries", bundle, width)]
        place = 0
        for _ in range(width):
            length = int.from_bytes(data[place : place + 2], "big")
            held = data[place + 2 : place + 2 + length]
            assert held == entry(index)
            place, index = place + 2 + length, index + 1
        assert place == len(data)
    assert index == size


def test_a_full_tile_is_8192_bytes_and_never_a_partial_one() -> None:
    files = dict(tile_files(entry(i) for i in range(600)))
    assert TILE_WIDTH == 256
    for path, data in files.items():
        if path.startswith("tile/entries"):
            continue
        width = int(path.partition(".p/")[2] or 256)
        assert 1 <= width <= 256
        assert len(data) == 32 * width
    assert "tile/0/000.p/256" not in files


def test_tile_root_is_the_tree_over_its_hashes() -> None:
    entries = [entry(i) for i in range(256)]
    hashes = [leaf_hash(value) for value in entries]
    assert tile_root(list(hashes)) == plain_tree.mth(entries)


def test_a_builder_gives_a_full_tile_as_soon_as_it_is_full() -> None:
    builder = TileBuilder()
    given = {}
    for i in range(256):
        files = list(builder.add(entry(i)))
        assert bool(files) is (i == 255)
        given.update(files)
    assert set(given) == {"tile/entries/000", "tile/0/000"}
    assert dict(builder.finish()).keys() == {"tile/1/000.p/1"}
