"""Salted cells: one cell of a withheld answer can be proved alone, and the others stay hidden.

The answer line carries `cells_root`, the root of the tree (`tree`) over one
leaf a cell, in the answer's order:

    leaf  = SHA-256(0x00 || parts), each part behind its length, four bytes big-endian
    parts = "beforehand-cell/1", path, salt, J(cell)
    salt  = HMAC-SHA-256(K, path)

`path` is the cell's question; K are 32 random bytes of that one answer. Its
sealed body carries K as `cells_key`. To show one cell, its salt and a few
hashes are enough (`CellProof`); K, and so the other salts, do not follow from
it. To show all, the body is published, as it is anyway once due.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from beforehand.book.checkpoint import is_utf8
from beforehand.book.tree import check_inclusion, inclusion_path, leaf_hash, tree_root
from beforehand.errors import FormatError
from beforehand.records.codec import is_digest, seal_json

CELL_FORMAT = "beforehand-cell/1"
CELLS_KEY_BYTES = 32
MAX_CELL_STEPS = 64
_CELL_PROOF_KEYS = {"path", "salt", "cell", "index", "size", "steps"}


def cell_salt(key: bytes, path: str) -> bytes:
    """The salt of the cell at `path`."""
    return hmac.new(key, path.encode("utf-8"), hashlib.sha256).digest()


def cell_leaf(path: str, salt: bytes, cell: Mapping[str, Any]) -> bytes:
    """The leaf hash of a cell."""
    parts = (CELL_FORMAT.encode("ascii"), path.encode("utf-8"), salt, seal_json(dict(cell)))
    return leaf_hash(b"".join(len(part).to_bytes(4, "big") + part for part in parts))


def cells_root(cells: Sequence[Any], key: bytes) -> str:
    """The root over an answer's cells, in hex; FormatError where they are none, or name one twice.

    >>> cells_root([{"question": "q1", "p": "0.62"}], bytes(32))[:16]
    '467506e61b134d1a'
    """
    return tree_root(_cell_leaves(cells, key)).hex()


def _cell_leaves(cells: Sequence[Any], key: bytes) -> list[bytes]:
    if len(key) != CELLS_KEY_BYTES:
        raise FormatError(f"the key of salted cells has {CELLS_KEY_BYTES} bytes, not {len(key)}")
    paths = [_cell_path(cell) for cell in cells]
    if not paths or len(set(paths)) != len(paths):
        raise FormatError("an answer has at least one cell, and one a question")
    pairs = zip(paths, cells, strict=True)
    return [cell_leaf(path, cell_salt(key, path), cell) for path, cell in pairs]


def _cell_path(cell: Any) -> str:
    path = cell.get("question") if isinstance(cell, dict) else None
    if not isinstance(path, str) or not is_utf8(path):
        raise FormatError("a cell names its question")
    return path


def opened_cells(answer: Any) -> tuple[list[Any], bytes]:
    """The cells and the key in an opened answer body; FormatError where they are not salted."""
    cells = answer.get("cells") if isinstance(answer, dict) else None
    key = answer.get("cells_key") if isinstance(answer, dict) else None
    if not isinstance(cells, list):
        raise FormatError("the answer body holds no list of cells")
    if not is_digest(key):
        raise FormatError("the answer body holds no cells_key, 64 hex digits")
    return cells, bytes.fromhex(str(key))


@dataclass(frozen=True)
class CellProof:
    """One cell, its salt, and its way to the root: leaf `index` of `size`."""

    path: str
    salt: bytes
    cell: Mapping[str, Any]
    index: int
    size: int
    steps: tuple[bytes, ...]

    @classmethod
    def make(cls, cells: Sequence[Any], key: bytes, path: str) -> Self:
        """The proof of the cell at `path`; FormatError where the answer has none."""
        leaves = _cell_leaves(cells, key)
        paths = [_cell_path(cell) for cell in cells]
        if path not in paths:
            raise FormatError(f"the answer has no cell on {path!r:.80}")
        index, size = paths.index(path), len(leaves)
        steps = inclusion_path(index, size, lambda start, end: tree_root(leaves[start:end]))
        return cls(path, cell_salt(key, path), dict(cells[index]), index, size, tuple(steps))

    def check(self, root: str) -> None:
        """IntegrityError unless the cell is one of those under the root."""
        leaf = cell_leaf(self.path, self.salt, self.cell)
        check_inclusion(self.index, self.size, leaf, list(self.steps), bytes.fromhex(root))

    def content(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "path": self.path,
            "salt": self.salt.hex(),
            "cell": dict(self.cell),
            "index": self.index,
            "size": self.size,
            "steps": [step.hex() for step in self.steps],
        }

    @classmethod
    def of(cls, value: Any) -> Self:
        """The proof of a JSON object; FormatError where it has not the form of `content`."""
        if not isinstance(value, dict) or set(value) != _CELL_PROOF_KEYS:
            raise FormatError(f"a cell's proof has the keys {', '.join(sorted(_CELL_PROOF_KEYS))}")
        path, cell, steps = value["path"], value["cell"], value["steps"]
        if path != _cell_path(cell) or not is_digest(value["salt"]):
            raise FormatError("a cell's proof has the cell's question as its path, a salt in hex")
        seal_json(cell)
        counts = (value["index"], value["size"])
        if not all(type(count) is int and 0 <= count < 1 << 53 for count in counts):
            raise FormatError("index and size of a cell's proof are whole numbers from 0")
        if (
            not isinstance(steps, list)
            or len(steps) > MAX_CELL_STEPS
            or not all(map(is_digest, steps))
        ):
            raise FormatError("steps is not a list of hashes in lower-case hex")
        ways = tuple(bytes.fromhex(step) for step in steps)
        return cls(path, bytes.fromhex(value["salt"]), cell, *counts, ways)
