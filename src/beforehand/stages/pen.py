"""The pen: the one thing that appends, with its time, its bodies and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from beforehand.book.bodies import is_sealed
from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.line import Line
from beforehand.book.store import FileStore
from beforehand.clock import Clock, instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import BOOKKEEPING, decode_json, digest
from beforehand.records.kinds import decode
from beforehand.records.record import BodyRef, Record, Unknown
from beforehand.stages.key import SigningKey

BATCH_LINES = 500


class Pen:
    """Appends records to one book and signs its checkpoints.

    A line's time is the clock's, or the last line's where the clock runs
    behind; the raw reading is then kept in the line.
    """

    def __init__(self, store: FileStore, clock: Clock, key: SigningKey) -> None:
        self.store, self.clock, self.key = store, clock, key
        self._held: list[tuple[int, Record | Unknown]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.store.close()

    def now(self) -> tuple[str, str | None]:
        """The time of the next line, and the clock's raw reading where the two differ."""
        read, last = self.clock.now(), self.store.last_at
        if last and instant_key(read) < instant_key(last):
            return last, read
        return read, None

    def records(self) -> list[tuple[int, Record | Unknown]]:
        """Every line of the book, decoded, with its number."""
        if self._held is None:
            self._held = []
            for n, raw in enumerate(self.store.lines(), 1):
                value = decode_json(raw)
                content = {key: item for key, item in value.items() if key not in BOOKKEEPING}
                self._held.append((n, decode(content)))
        return self._held

    def write(
        self,
        build: Callable[[str], Sequence[Record]],
        bodies: Sequence[bytes] = (),
        wrote: Callable[[int], None] | None = None,
    ) -> list[Line]:
        """Append the records that `build` makes for the line's time, in bounded batches.

        A body goes with the batch that names it first. `wrote` is told the
        number of lines after each batch.
        """
        at, read = self.now()
        records = [replace(record, clock=read) if read else record for record in build(at)]
        given = {digest(data): data for data in bodies}
        lines: list[Line] = []
        for start in range(0, len(records), BATCH_LINES):
            batch = records[start : start + BATCH_LINES]
            named = {body.sha256 for record in batch for body in record.bodies}
            sent = [given.pop(name) for name in sorted(named & given.keys())]
            contents = [record.content() for record in batch]
            stored = self.store.append(self.store.size, contents, sent)
            lines += stored
            if self._held is not None:
                self._held += zip((line.n for line in stored), batch, strict=True)
            if wrote is not None:
                wrote(len(batch))
        return lines

    def checkpoint(self) -> Checkpoint:
        """Sign the tree as it stands and keep the note; the same size is signed once."""
        point = Checkpoint(self.key.verifier.name, self.store.size, self.store.root())
        if not self.store.has_checkpoint(point.size):
            note = sign_note(point.text(), self.key.verifier, self.key.sign)
            self.store.keep_checkpoint(point.size, note.encode("utf-8"))
        return point


def open_body(role: str, data: bytes, at: str) -> BodyRef:
    """The reference of a body that is public with its line."""
    if is_sealed(data):
        raise FormatError("a sealed body is not public at once")
    return BodyRef(role, digest(data), at)
