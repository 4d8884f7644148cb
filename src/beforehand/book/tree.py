"""The RFC 6962 Merkle tree over the lines, built as they come, in O(log n) memory.

Leaf data is the SHA-256 of a line's bytes with its LF; a leaf's hash is
SHA-256(0x00 || data), a node's SHA-256(0x01 || left || right). Proofs follow
RFC 9162, 2.1.3 and 2.1.4. An empty tree has the root SHA-256 of nothing;
no proof from or to it is accepted (docs/adr/0002).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from beforehand.errors import FormatError, IntegrityError

_sha256 = hashlib.sha256

HASH_BYTES = 32
EMPTY_ROOT = _sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf whose data is `data`."""
    return _sha256(b"\x00" + data).digest()


def line_leaf(raw: bytes) -> bytes:
    """The leaf hash of a line, given its bytes without the LF."""
    return _sha256(b"\x00" + _sha256(raw + b"\n").digest()).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return _sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: enough to append and to tell the root.

    >>> frontier = Frontier()
    >>> frontier.append(leaf_hash(b"a")); frontier.append(leaf_hash(b"b"))
    >>> frontier.root() == node_hash(leaf_hash(b"a"), leaf_hash(b"b"))
    True
    """

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def copy(self) -> Frontier:
        """Another edge that grows on its own."""
        other = Frontier()
        other.size, other._peaks = self.size, self._peaks.copy()
        return other

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash at the right."""
        size = self.size
        while size & 1:
            leaf = _sha256(b"\x01" + self._peaks.pop() + leaf).digest()
            size >>= 1
        self._peaks.append(leaf)
        self.size += 1

    def append_subtree(self, root: bytes, width: int) -> None:
        """Add a whole subtree of `width` leaves, a power of two that divides the size."""
        if width & (width - 1) or self.size % width:
            raise FormatError(f"a subtree of {width} leaves cannot follow {self.size} leaves")
        level = self.size // width
        while level & 1:
            root = node_hash(self._peaks.pop(), root)
            level >>= 1
        self._peaks.append(root)
        self.size += width

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        root = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            root = node_hash(peak, root)
        return root


def tree_root(leaves: Iterable[bytes]) -> bytes:
    """The root over leaf hashes."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()


def inclusion_path(index: int, size: int, subtree: Callable[[int, int], bytes]) -> list[bytes]:
    """The inclusion proof of leaf `index` (from 0) in a tree of `size` leaves.

    `subtree(start, end)` gives the root over leaves start..end-1 (RFC 9162, 2.1.3.1).
    """
    if not 0 <= index < size:
        raise FormatError(f"no leaf {index} in a tree of {size}")
    start, end, path = 0, size, []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(start, middle))
            start = middle
    path.reverse()
    return path


def consistency_path(old: int, new: int, subtree: Callable[[int, int], bytes]) -> list[bytes]:
    """The proof that the tree of `new` leaves begins with that of `old` (RFC 9162, 2.1.4.1)."""
    if not 0 < old <= new:
        raise FormatError(f"no consistency proof from {old} to {new} leaves")
    if old == new:
        return []
    start, end, whole, path = 0, new, True, []
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(start, middle))
            start = middle
            whole = False
    if not whole:
        path.append(subtree(start, end))
    path.reverse()
    return path


def check_inclusion(index: int, size: int, leaf: bytes, path: list[bytes], root: bytes) -> None:
    """IntegrityError unless `path` proves the leaf hash at `index` (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        raise IntegrityError(f"no leaf {index} in a tree of {size}")
    _check_widths([leaf, root, *path])
    position, last, current = index, size - 1, leaf
    for step in path:
        if last == 0:
            raise IntegrityError("the inclusion proof is too long")
        if position & 1 or position == last:
            current = node_hash(step, current)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            current = node_hash(current, step)
        position >>= 1
        last >>= 1
    if last != 0:
        raise IntegrityError("the inclusion proof is too short")
    if current != root:
        raise IntegrityError(f"leaf {index} is not in the tree of size {size} with this root")


def check_consistency(
    old: int, new: int, old_root: bytes, new_root: bytes, path: list[bytes]
) -> None:
    """IntegrityError unless `path` proves that the old tree begins the new (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= new:
        raise IntegrityError(f"no tree of {old} leaves can begin one of {new}")
    _check_widths([old_root, new_root, *path])
    if old == new:
        if path or old_root != new_root:
            raise IntegrityError(f"two different trees of size {old}")
        return
    if not path:
        raise IntegrityError("the consistency proof is empty")
    steps = list(path)
    if old & (old - 1) == 0:
        steps.insert(0, old_root)
    position, last = old - 1, new - 1
    while position & 1:
        position >>= 1
        last >>= 1
    was = now = steps[0]
    for step in steps[1:]:
        if last == 0:
            raise IntegrityError("the consistency proof is too long")
        if position & 1 or position == last:
            was = node_hash(step, was)
            now = node_hash(step, now)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            now = node_hash(now, step)
        position >>= 1
        last >>= 1
    if last != 0:
        raise IntegrityError("the consistency proof is too short")
    if was != old_root or now != new_root:
        raise IntegrityError(f"the tree of size {new} does not begin with that of size {old}")


def _check_widths(hashes: list[bytes]) -> None:
    for value in hashes:
        if len(value) != HASH_BYTES:
            raise IntegrityError(f"a hash of {len(value)} bytes; a tree hash has {HASH_BYTES}")


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)
