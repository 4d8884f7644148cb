"""The tree: RFC 6962 / 9162, against the recursive definition and two sets of vectors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.tree import (
    EMPTY_ROOT,
    Frontier,
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    line_leaf,
    node_hash,
    tree_root,
)
from beforehand.errors import FormatError, IntegrityError

from . import plain_tree

VECTORS = Path(__file__).parents[1] / "vectors"

ENTRIES = [b"entry %d" % i for i in range(70)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
SIZES = range(1, len(ENTRIES) + 1)

MERKLE = json.loads((VECTORS / "merkle_rfc6962" / "vectors.json").read_text(encoding="utf-8"))


def subtree(start: int, end: int) -> bytes:
    return plain_tree.mth(ENTRIES[start:end])


def raw(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def refused(check: Callable[..., None], *values: Any) -> bool:
    try:
        check(*values)
    except IntegrityError:
        return True
    return False


# ---- vectors


@pytest.mark.parametrize("name", MERKLE["inclusion"])
def test_inclusion_vector(name: str) -> None:
    case = MERKLE["inclusion"][name]
    path = [raw(step) for step in case["proof"] or ()]
    wrong = refused(
        check_inclusion,
        *(case["leafIdx"], case["treeSize"], raw(case["leafHash"]), path, raw(case["root"])),
    )
    assert wrong is case["wantErr"]


@pytest.mark.parametrize("name", MERKLE["consistency"])
def test_consistency_vector(name: str) -> None:
    case = MERKLE["consistency"][name]
    path = [raw(step) for step in case["proof"] or ()]
    wrong = refused(
        check_consistency,
        *(case["size1"], case["size2"], raw(case["root1"]), raw(case["root2"]), path),
    )
    assert wrong is case["wantErr"]


def test_the_merkle_vectors_are_all_there() -> None:
    assert (len(MERKLE["inclusion"]), len(MERKLE["consistency"])) == (61, 68)


def test_toy_tree_of_the_standard() -> None:
    # sealed-standard 4.3 and 2.1: two lines, their leaves and root
    leaves = [
        bytes.fromhex("eeaba2367447e6539cb771a57990b1f46a8f9b9191bfdb7530b0d8ec34a689b8"),
        bytes.fromhex("299dedce167b198da1cd442f6e9f118e56aa852d2868383b56060f9feb8660e0"),
    ]
    root = "7ddc1cef07cefbbf016a8796f7b84aae563be30ecb08ca5c2ad461a8fe1db75f"
    assert tree_root(leaves).hex() == root


def test_book_vector_roots_and_proofs(book_vector: dict[str, Any]) -> None:
    raws = book_vector["book"].encode("utf-8").split(b"\n")[:-1]
    leaves = [line_leaf(line) for line in raws]
    roots = [raw(line["root_b64"]) for line in book_vector["lines"]]
    assert [tree_root(leaves[:size]) for size in range(1, 8)] == roots

    def over(start: int, end: int) -> bytes:
        return tree_root(leaves[start:end])

    for index, path in enumerate(book_vector["inclusion_size_7"]):
        steps = [raw(step) for step in path]
        assert inclusion_path(index, 7, over) == steps
        check_inclusion(index, 7, leaves[index], steps, roots[6])
    for old, path in book_vector["consistency_to_7"].items():
        steps = [raw(step) for step in path]
        assert consistency_path(int(old), 7, over) == steps
        check_consistency(int(old), 7, roots[int(old) - 1], roots[6], steps)


# ---- the recursive definition


@pytest.mark.parametrize("size", SIZES)
def test_root_and_proofs_are_those_of_the_definition(size: int) -> None:
    entries = ENTRIES[:size]
    root = plain_tree.mth(entries)
    assert tree_root(LEAVES[:size]) == root
    for index in range(size):
        path = plain_tree.path(index, entries)
        assert inclusion_path(index, size, subtree) == path
        check_inclusion(index, size, LEAVES[index], path, root)
    for old in range(1, size + 1):
        path = plain_tree.proof(old, entries)
        assert consistency_path(old, size, subtree) == path
        check_consistency(old, size, plain_tree.mth(ENTRIES[:old]), root, path)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 13])
def test_a_proof_proves_nothing_but_its_own_leaf_place_and_size(size: int) -> None:
    root = plain_tree.mth(ENTRIES[:size])
    for index in range(size):
        path = plain_tree.path(index, ENTRIES[:size])
        for place in range(size + 2):
            if place != index:
                assert refused(check_inclusion, place, size, LEAVES[index], path, root)
                assert refused(check_inclusion, index, size, LEAVES[place], path, root)
        assert refused(check_inclusion, -1, size, LEAVES[index], path, root)


@pytest.mark.parametrize("size", range(1, 14))
def test_every_bit_flip_of_an_inclusion_proof_is_refused(size: int) -> None:
    root = plain_tree.mth(ENTRIES[:size])
    for index in range(size):
        parts = [LEAVES[index], root, *plain_tree.path(index, ENTRIES[:size])]
        for place, bit in ((p, b) for p in range(len(parts)) for b in range(256)):
            leaf, top, *path = flipped(parts, place, bit)
            assert refused(check_inclusion, index, size, leaf, path, top)


@pytest.mark.parametrize("new", range(1, 12))
def test_every_bit_flip_of_a_consistency_proof_is_refused(new: int) -> None:
    for old in range(1, new + 1):
        path = plain_tree.proof(old, ENTRIES[:new])
        parts = [plain_tree.mth(ENTRIES[:old]), plain_tree.mth(ENTRIES[:new]), *path]
        for place, bit in ((p, b) for p in range(len(parts)) for b in range(256)):
            first, second, *steps = flipped(parts, place, bit)
            assert refused(check_consistency, old, new, first, second, steps)


def flipped(parts: list[bytes], place: int, bit: int) -> list[bytes]:
    changed = bytearray(parts[place])
    changed[bit // 8] ^= 1 << bit % 8
    return [*parts[:place], bytes(changed), *parts[place + 1 :]]


@pytest.mark.parametrize("size", [2, 3, 6, 8, 11])
def test_a_proof_longer_shorter_or_reordered_is_refused(size: int) -> None:
    root = plain_tree.mth(ENTRIES[:size])
    for index in range(size):
        path = plain_tree.path(index, ENTRIES[:size])
        others = [path[:-1], path[1:], [*path, root], [root, *path], [*path, path[-1]]]
        if len(set(path)) > 1:
            others.append(path[::-1])
        for other in others:
            assert refused(check_inclusion, index, size, LEAVES[index], other, root)
    for old in range(1, size):
        path = plain_tree.proof(old, ENTRIES[:size])
        first = plain_tree.mth(ENTRIES[:old])
        for other in ([], path[:-1], path[1:], [*path, root], [first, *path]):
            assert refused(check_consistency, old, size, first, root, other)


@pytest.mark.parametrize("width", [0, 31, 33])
def test_hashes_of_another_width_are_refused(width: int) -> None:
    # concatenation alone would let bytes wander between two hashes
    root = plain_tree.mth(ENTRIES[:2])
    assert refused(check_inclusion, 0, 2, LEAVES[0], [LEAVES[1][:width].ljust(width)], root)
    assert refused(check_inclusion, 0, 1, b"x" * width, [], b"x" * width)
    assert refused(check_consistency, 1, 1, b"x" * width, b"x" * width, [])


def test_a_node_cannot_stand_for_a_leaf() -> None:
    # the second preimage that the prefixes 0x00 and 0x01 exclude
    inner = LEAVES[0] + LEAVES[1]
    assert leaf_hash(inner) != node_hash(LEAVES[0], LEAVES[1])


# ---- the empty tree: nothing is accepted from it or to it


def test_the_empty_tree_has_a_root_and_no_proofs() -> None:
    assert EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert Frontier().root() == tree_root([]) == EMPTY_ROOT
    one = plain_tree.mth(ENTRIES[:1])
    assert refused(check_consistency, 0, 0, EMPTY_ROOT, EMPTY_ROOT, [])
    assert refused(check_consistency, 0, 1, EMPTY_ROOT, one, [])
    assert refused(check_consistency, 0, 1, EMPTY_ROOT, one, [one])
    assert refused(check_consistency, 1, 0, one, EMPTY_ROOT, [])
    assert refused(check_inclusion, 0, 0, EMPTY_ROOT, [], EMPTY_ROOT)


@pytest.mark.parametrize(("old", "new"), [(0, 0), (0, 5), (5, 4), (-1, 3)])
def test_no_consistency_proof_is_made_where_none_is_accepted(old: int, new: int) -> None:
    with pytest.raises(FormatError):
        consistency_path(old, new, subtree)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (3, 3), (-1, 3)])
def test_no_inclusion_proof_is_made_of_a_leaf_outside(index: int, size: int) -> None:
    with pytest.raises(FormatError):
        inclusion_path(index, size, subtree)


# ---- the frontier


@given(st.lists(st.integers(0, 6), max_size=12))
def test_subtrees_appended_whole_are_leaves_appended_singly(powers: list[int]) -> None:
    fast, slow = Frontier(), Frontier()
    for power in powers:
        width = 1 << power
        leaves = [leaf_hash(b"%d" % (fast.size + i)) for i in range(width)]
        if fast.size % width:
            with pytest.raises(FormatError):
                fast.append_subtree(tree_root(leaves), width)
            continue
        fast.append_subtree(tree_root(leaves), width)
        for leaf in leaves:
            slow.append(leaf)
        assert (fast.size, fast.root()) == (slow.size, slow.root())
    fast.append(leaf_hash(b"last"))
    slow.append(leaf_hash(b"last"))
    assert fast.root() == slow.root()


@pytest.mark.parametrize("width", [3, 6, 255])
def test_a_subtree_whose_width_is_no_power_of_two_is_refused(width: int) -> None:
    with pytest.raises(FormatError):
        Frontier().append_subtree(LEAVES[0], width)


def test_telling_the_root_changes_nothing() -> None:
    frontier = Frontier()
    for size, leaf in enumerate(LEAVES, 1):
        frontier.append(leaf)
        assert frontier.root() == frontier.root() == plain_tree.mth(ENTRIES[:size])
