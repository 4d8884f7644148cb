"""The inbox: where submissions wait for the pen, so that who takes them in needs no pen.

    inbox/new/FORECASTER/RUN/SHA256.json        waiting
    inbox/done/FORECASTER/RUN/SHA256.LINE.json  in the book, at that line
    inbox/refused/…                             what could not be sealed, beside a .reason.txt
    inbox/receipts/ab/SHA256                    the receipt of each

A file is written whole and synced before its receipt is given out. It holds
the salts too, so that a drain that is killed and begun again makes the very
same bodies. It leaves `new` only after its line is in the book.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Self

from beforehand.book.bodies import SALT_BYTES
from beforehand.book.store import sync_folder, write_synced
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, RuleError
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.shape import Choice, Table, Text
from beforehand.stages.key import SigningKey
from beforehand.stages.receipt import PROMISE_SECONDS, Receipt
from beforehand.stages.submission import MAX_SUBMISSION_BYTES, Submission

INBOX_NAME = "inbox"
INBOX_FORMAT = "beforehand-inbox/1"
MAX_PER_RUN = 20
MAX_WAITING_BYTES = 5_000_000
MAX_FILE_BYTES = MAX_SUBMISSION_BYTES + 10_000
LEAST_FREE_BYTES = 256 << 20

_SALT = Text(2 * SALT_BYTES, 2 * SALT_BYTES, r"[0-9a-f]+", "a salt in hex")
_TABLE = Table(
    {
        "format": Choice((INBOX_FORMAT,)),
        "receipt": Text(4000),
        "salts": Table({"answer": _SALT, "submission": _SALT}),
        "submission": Table(open_keys=True),
    }
)


@dataclass(frozen=True)
class Item:
    """A submission as it waits: with its receipt, as signed, and the salts of its bodies."""

    submission: Submission
    note: str
    receipt: Receipt
    salts: dict[str, str]

    def data(self) -> bytes:
        """The bytes of its file."""
        return (
            seal_json(
                {
                    "format": INBOX_FORMAT,
                    "receipt": self.note,
                    "salts": self.salts,
                    "submission": self.submission.object(),
                }
            )
            + b"\n"
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The item of a file; FormatError where it is not one, or its parts contradict."""
        value = decode_json(data)
        _TABLE.check(value, "inbox")
        submission = Submission.of(value["submission"])
        note = value["receipt"]
        receipt = Receipt.unchecked(note.encode("utf-8"))
        said = (receipt.origin, receipt.run, receipt.forecaster, receipt.submission)
        if said != (
            submission.origin,
            submission.run,
            submission.forecaster,
            submission.sha256,
        ):
            raise FormatError("inbox: the receipt is of another submission")
        return cls(submission, note, receipt, value["salts"])


@dataclass(frozen=True)
class Backlog:
    """How much waits, and since when: `oldest` is None where nothing does."""

    waiting: int = 0
    refused: int = 0
    oldest: str | None = None
    promised_by: str | None = None


class Inbox:
    """The inbox of a league's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / INBOX_NAME

    # ---- taking in

    def accept(
        self,
        submission: Submission,
        key: SigningKey,
        now: str,
        *,
        promise_seconds: int = PROMISE_SECONDS,
    ) -> tuple[str, bool]:
        """Keep a judged submission; its signed receipt, and whether it is new here.

        What was accepted before gets the receipt it had. RuleError where the
        entrant has sent too much for this run, or the disk is nearly full.
        """
        sha256 = submission.sha256
        with self._locked():
            held = self._held(submission)
            if held is not None:
                note = Item.parse(held.read_bytes()).note
                self._keep_receipt(sha256, note)
                return note, False
            self._check_room(submission)
            promised = instant_key(now) + timedelta(seconds=promise_seconds)
            receipt = Receipt(
                submission.origin,
                submission.run,
                submission.forecaster,
                sha256,
                now,
                instant_text(promised),
            )
            salts = {role: secrets.token_hex(SALT_BYTES) for role in ("answer", "submission")}
            item = Item(submission, receipt.signed(key), receipt, salts)
            write_synced(self._place("new", submission) / f"{sha256}.json", item.data())
            self._keep_receipt(sha256, item.note)
        return item.note, True

    def receipt(self, sha256: str) -> str | None:
        """The receipt of a submission, by its hash."""
        path = self._receipt_path(sha256)
        return path.read_text("utf-8") if path.is_file() else None

    def _receipt_path(self, sha256: str) -> Path:
        return self.folder / "receipts" / sha256[:2] / sha256

    def _keep_receipt(self, sha256: str, note: str) -> None:
        path = self._receipt_path(sha256)
        if not path.is_file():
            write_synced(path, note.encode("utf-8"))

    def _place(self, state: str, submission: Submission) -> Path:
        return self.folder / state / submission.forecaster / submission.run

    def _held(self, submission: Submission) -> Path | None:
        """Where this very submission is; looked for in the order in which files move."""
        sha256 = submission.sha256
        waiting = self._place("new", submission) / f"{sha256}.json"
        if waiting.is_file():
            return waiting
        return next(self._place("done", submission).glob(f"{sha256}.*.json"), None)

    def _check_room(self, submission: Submission) -> None:
        places = [self._place(state, submission) for state in ("new", "done")]
        if sum(1 for place in places for _ in place.glob("*.json")) >= MAX_PER_RUN:
            raise RuleError(
                f"{submission.forecaster} has sent {MAX_PER_RUN} submissions for "
                f"{submission.run}: no more are taken, and the first valid one counts"
            )
        waiting = (self.folder / "new" / submission.forecaster).glob("*/*.json")
        if sum(path.stat().st_size for path in waiting) > MAX_WAITING_BYTES:
            raise RuleError("too much of yours waits to be sealed; send it again in a few minutes")
        if shutil.disk_usage(self.folder).free < LEAST_FREE_BYTES:
            raise RuleError("the disk of this league is nearly full; nothing is taken in")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, so that the bounds hold; the inbox is its owner's alone."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    # ---- giving out

    def waiting(self) -> list[Path]:
        """The files that wait to be sealed."""
        return sorted((self.folder / "new").glob("*/*/*.json"))

    def read(self, path: Path) -> Item:
        """The item in a waiting file; FormatError where it is not what its name says."""
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise FormatError(f"a file over {MAX_FILE_BYTES} bytes")
        item = Item.parse(data)
        place = self._place("new", item.submission) / f"{item.submission.sha256}.json"
        if place != path:
            raise FormatError("the file does not stand where its content belongs")
        return item

    def done(self, path: Path, line: int) -> None:
        """Move a file whose submission is in the book at `line`."""
        self._move(path, "done", f"{path.stem}.{line}.json")

    def refuse(self, path: Path, reason: str) -> None:
        """Move a file that cannot be sealed, beside the reason why."""
        place = self.folder / "refused" / path.relative_to(self.folder / "new").parent
        write_synced(place / f"{path.stem}.reason.txt", reason.encode("utf-8", "replace") + b"\n")
        self._move(path, "refused", path.name)

    def _move(self, path: Path, state: str, name: str) -> None:
        place = self.folder / state / path.relative_to(self.folder / "new").parent
        place.mkdir(parents=True, exist_ok=True)
        path.replace(place / name)
        sync_folder(place)
        sync_folder(path.parent)

    def backlog(self) -> Backlog:
        """What waits now, for the league's health."""
        receipts = []
        waiting = self.waiting()
        for path in waiting:
            note = self.receipt(path.stem)
            if note is not None:
                receipts.append(Receipt.unchecked(note.encode("utf-8")))
        refused = sum(1 for _ in (self.folder / "refused").glob("*/*/*.reason.txt"))
        oldest = min(receipts, key=lambda receipt: instant_key(receipt.received_at), default=None)
        if oldest is None:
            return Backlog(len(waiting), refused)
        return Backlog(len(waiting), refused, oldest.received_at, oldest.promised_by)
