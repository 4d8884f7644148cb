"""The sealer's own log: one line a seal, so that witnesses can cosign it as they do a book.

A witness cosigns trees, and one history of each (c2sp.org/tlog-witness). So
what somebody seals stands in a tree of theirs, which only grows:

    seals/leaves   32 bytes a seal: the SHA-256 of its statement
    seals/key.pem  the Ed25519 key that signs its checkpoints

Its origin is made from the key. Witnesses follow it by the verifier key that
`seals/verifier.txt` holds. Statements hold no text, and neither does the log.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from beforehand.book.checkpoint import Checkpoint, VerifierKey, sign_note
from beforehand.book.consistency import LeafTree
from beforehand.book.store import write_synced
from beforehand.book.tree import HASH_BYTES, inclusion_path, leaf_hash, tree_root
from beforehand.errors import FormatError
from beforehand.stages.key import SigningKey

LEAVES_NAME, KEY_NAME, VERIFIER_NAME, LOCK_NAME = "leaves", "key.pem", "verifier.txt", "lock"
MAX_SEALS = 100_000


class SealLog:
    """The log in a folder; `keep` makes it where there is none."""

    def __init__(self, folder: Path, key: SigningKey) -> None:
        self.folder, self._key = folder, key

    @classmethod
    def keep(cls, folder: Path) -> SealLog:
        """The log of a folder, its key made once and never overwritten."""
        held = SigningKey.keep("", folder / KEY_NAME).verifier.public
        name = f"seals.beforehand/{hashlib.sha256(held).hexdigest()[:32]}"
        log = cls(folder, SigningKey.load(name, folder / KEY_NAME))
        written, text = folder / VERIFIER_NAME, log.verifier.text().encode("ascii") + b"\n"
        if not written.is_file() or written.read_bytes() != text:
            write_synced(written, text)
        return log

    @property
    def verifier(self) -> VerifierKey:
        """What a witness follows the log by."""
        return self._key.verifier

    def add(self, statement: bytes) -> int:
        """The number of a statement, from 0; it is entered where it is not there yet."""
        data = hashlib.sha256(statement).digest()
        with self._locked():
            held = self._data()
            if data in held:
                return held.index(data)
            if len(held) >= MAX_SEALS:
                raise FormatError(f"{self.folder} holds {MAX_SEALS} seals: begin another folder")
            write_synced(self.folder / LEAVES_NAME, b"".join([*held, data]))
            return len(held)

    def tree(self, size: int) -> LeafTree:
        """The tree over the first `size` seals."""
        return LeafTree([leaf_hash(data) for data in self._data()[:size]])

    def note(self) -> tuple[bytes, int]:
        """The signed checkpoint over all seals, and how many there are."""
        leaves = [leaf_hash(data) for data in self._data()]
        text = Checkpoint(self.verifier.name, len(leaves), tree_root(leaves)).text()
        return sign_note(text, self.verifier, self._key.sign).encode("utf-8"), len(leaves)

    def path(self, index: int, size: int) -> list[bytes]:
        """The inclusion proof of a seal in the tree of `size`."""
        leaves = [leaf_hash(data) for data in self._data()[:size]]
        return inclusion_path(index, size, lambda start, end: tree_root(leaves[start:end]))

    def _data(self) -> list[bytes]:
        path = self.folder / LEAVES_NAME
        data = path.read_bytes() if path.is_file() else b""
        if len(data) % HASH_BYTES or len(data) > MAX_SEALS * HASH_BYTES:
            raise FormatError(f"{path} is not a list of hashes of {HASH_BYTES} bytes")
        return [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One at a time: two seals made at once would be given one number."""
        with (self.folder / LOCK_NAME).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
