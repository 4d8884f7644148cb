"""Consistency of two trees, beyond what the proofs of `tree` give: made from leaves, and turned
against whoever signed two trees that do not agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from beforehand.book.tree import (
    EMPTY_ROOT,
    check_consistency,
    consistency_path,
    line_leaf,
    node_hash,
    tree_root,
)
from beforehand.errors import FormatError, IntegrityError


class LeafTree:
    """A tree over leaf hashes that are all in memory."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves

    @classmethod
    def of_lines(cls, lines: Iterable[bytes], size: int) -> LeafTree:
        """The tree over the first `size` lines (without LF); FormatError where there are fewer."""
        leaves = [line_leaf(raw) for raw in islice(lines, size)]
        if len(leaves) < size:
            raise FormatError(f"the book has {len(leaves)} lines, and {size} are asked for")
        return cls(leaves)

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._leaves)

    def root(self, size: int) -> bytes:
        """The root over the first `size` leaves."""
        if not 0 <= size <= self.size:
            raise FormatError(f"no root over {size} of {self.size} leaves")
        return self._subtree(0, size) if size else EMPTY_ROOT

    def path(self, old: int, new: int) -> list[bytes]:
        """The proof that the first `new` leaves begin with the first `old`; empty from size 0.

        A witness that saw nothing yet has nothing to compare with, and is sent
        no proof (c2sp.org/tlog-witness, add-checkpoint).
        """
        if not 0 <= old <= new <= self.size:
            raise FormatError(f"no proof from {old} to {new} of {self.size} leaves")
        return consistency_path(old, new, self._subtree) if old else []

    def _subtree(self, start: int, end: int) -> bytes:
        return tree_root(self._leaves[start:end])


def implied_prefix(old: int, new: int, new_root: bytes, path: Sequence[bytes]) -> bytes | None:
    """The root over the first `old` leaves of the tree with `new_root`, where `path` shows it.

    A consistency proof builds both roots from the same nodes. Where it ends at
    `new_root`, the root it gives for `old` leaves is that tree's own, whatever
    was signed for that size. None where the path shows nothing: for an `old`
    that is a power of two the wire form leaves out the very node that counts.
    """
    if not 0 < old < new or not path or old & (old - 1) == 0:
        return None
    position, last = old - 1, new - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    prefix = path[0]
    for step in path[1:]:
        if position & 1 or position == last:
            prefix = node_hash(step, prefix)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        position, last = position >> 1, last >> 1
    try:
        check_consistency(old, new, prefix, new_root, list(path))
    except IntegrityError:
        return None
    return prefix
