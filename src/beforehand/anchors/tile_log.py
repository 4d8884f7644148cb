"""A log asked anew: does its tree hold the entry, and has it only grown since the bundle?

A bundle proves that a tree held its entry, and not that everybody is shown
this tree. Rekor v2 publishes its tree as tiles (C2SP tlog-tiles) below
`URL/api/v2/`: `checkpoint`, `tile/L/N`, and `tile/L/N.p/W` at the right edge.
From them both proofs are computed here, against the log's own newest
checkpoint, signed by the key that the reader pinned. Every read is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from beforehand.anchors.bundle import LogEntry, parse_bundle
from beforehand.anchors.hashed_entry import V2
from beforehand.anchors.log_proof import open_log_checkpoint
from beforehand.anchors.transport import SECONDS, Answer, exchange
from beforehand.anchors.trust import LogKey, Trust
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.tiles import TILE_WIDTH, tile_path
from beforehand.book.tree import (
    HASH_BYTES,
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    node_hash,
    tree_root,
)
from beforehand.errors import FormatError, IntegrityError, RemoteError

MAX_CHECKPOINT_BYTES = 64 << 10
MAX_TILE_BYTES = TILE_WIDTH * HASH_BYTES
# Two proofs in a tree of 2^63 leaves touch at most two paths and an edge, one tile a level each.
MAX_TILES = 32
_TILE_LEVELS = 8  # a tile holds the hashes of eight levels


@dataclass
class TileTree:
    """One tree head of a log, whose nodes are read from tiles as they are needed."""

    prefix: str
    size: int
    seconds: float = SECONDS
    _tiles: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def subtree(self, start: int, end: int) -> bytes:
        """The root over leaves start..end-1 (RFC 9162), for the ranges that proofs ask for."""
        width = end - start
        if width & (width - 1) or start % width:
            middle = start + (1 << (width - 1).bit_length() - 1)
            return node_hash(self.subtree(start, middle), self.subtree(middle, end))
        level, height = divmod(width.bit_length() - 1, _TILE_LEVELS)
        number, count = start >> (_TILE_LEVELS * level), 1 << height
        tile, first = divmod(number, TILE_WIDTH)
        row = self._tile(level, tile)
        places = range(first * HASH_BYTES, (first + count) * HASH_BYTES, HASH_BYTES)
        return tree_root([row[at : at + HASH_BYTES] for at in places])

    def _tile(self, level: int, number: int) -> bytes:
        """A tile as wide as this tree has it; a log may serve the full one in its place."""
        if (level, number) not in self._tiles:
            if len(self._tiles) >= MAX_TILES:
                raise RemoteError(f"{self.prefix}: more than {MAX_TILES} tiles were needed")
            self._tiles[level, number] = self._fetched(level, number)
        return self._tiles[level, number]

    def _fetched(self, level: int, number: int) -> bytes:
        width = min(TILE_WIDTH, (self.size >> (_TILE_LEVELS * level)) - number * TILE_WIDTH)
        answer = self._asked(tile_path(level, number, width))
        if answer.status == 404 and width < TILE_WIDTH:
            answer = self._asked(tile_path(level, number))
        row = answer.expect(200)
        if len(row) not in (width * HASH_BYTES, MAX_TILE_BYTES):
            raise RemoteError(f"{answer.url}: a tile of {len(row)} bytes, not of {width} hashes")
        return row[: width * HASH_BYTES]

    def _asked(self, path: str) -> Answer:
        return exchange(f"{self.prefix}/{path}", limit=MAX_TILE_BYTES, seconds=self.seconds)


def newest_checkpoint(prefix: str, log: LogKey, seconds: float = SECONDS) -> Checkpoint:
    """The checkpoint that the log serves now; IntegrityError unless the pinned key signed it."""
    answer = exchange(f"{prefix}/checkpoint", limit=MAX_CHECKPOINT_BYTES, seconds=seconds)
    return open_log_checkpoint(answer.expect(200), log)


def ask_log(data: bytes, url: str, trust: Trust, seconds: float = SECONDS) -> str:
    """What the log behind a bundle shows now, in words, where it holds the entry.

    IntegrityError where its newest tree, by the pinned key, does not hold the
    entry or does not begin with the tree that the bundle proves; RemoteError
    where it cannot be asked; FormatError where the bundle is of a log without
    tiles, or of one that `trust` does not pin. The bundle itself is for
    `bundle_check`.
    """
    entry = parse_bundle(data).entry
    if entry.version != V2:
        raise FormatError(f"an entry of version {entry.version:.20}: only Rekor v2 keeps tiles")
    log = next((each for each in trust.logs if each.log_id == entry.log_id), None)
    if log is None:
        raise FormatError("the entry is of a log that is not trusted, and it was not asked")
    return still_held(entry, log, url, seconds)


def still_held(entry: LogEntry, log: LogKey, url: str, seconds: float = SECONDS) -> str:
    """The same for an entry and its log's key."""
    proof = entry.proof
    if proof is None or not proof.checkpoint:
        raise FormatError("the entry has no inclusion proof with a signed checkpoint")
    then = open_log_checkpoint(proof.checkpoint, log)
    prefix = url.rstrip("/") + "/api/v2"
    now = newest_checkpoint(prefix, log, seconds)
    if now.size < then.size:
        raise RemoteError(
            f"{prefix}: shows a tree of {now.size}, older than the entry's of {then.size}",
            retryable=True,
        )
    tree = TileTree(prefix, now.size, seconds)
    try:
        path = inclusion_path(proof.index, now.size, tree.subtree)
        check_inclusion(proof.index, now.size, leaf_hash(entry.body), path, now.root)
        grown = consistency_path(then.size, now.size, tree.subtree)
        check_consistency(then.size, now.size, then.root, now.root, grown)
    except IntegrityError as error:
        raise IntegrityError(f"{log.host} now signs another tree: {error}") from None
    return (
        f"asked now, {log.host} signs a tree of {now.size} that holds the entry and begins with "
        f"the tree of {then.size} (recomputed from its tiles)"
    )
