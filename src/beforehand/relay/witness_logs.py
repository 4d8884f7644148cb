"""The logs that a witness follows: one file, a line each, and a key that never changes.

A line is the log's verifier key, a space, and its origin; `#` begins a
comment. The file may be written by hand while the witness runs. Which key an
origin was first followed with is pinned in the state as well, so that another
one in the file is refused and never used.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.store import write_synced
from beforehand.errors import FormatError, RuleError

LOGS_NAME = "logs"
MAX_LOGS = 10_000
MAX_LOGS_BYTES = 4 << 20
# What the logs' own specification gives an origin (c2sp.org/tlog-cosignature, 1 to 255 bytes).
MAX_ORIGIN_BYTES = 255


def parse_logs(text: str) -> dict[str, VerifierKey]:
    """The key of each origin; FormatError names the line that is wrong."""
    logs: dict[str, VerifierKey] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        key, _, origin = line.partition(" ")
        try:
            check_origin(origin)
            found = VerifierKey.parse(key)
        except FormatError as error:
            raise FormatError(f"{LOGS_NAME} line {number}: {error}") from None
        if origin in logs:
            raise FormatError(f"{LOGS_NAME} line {number}: {origin!r:.80} stands twice")
        logs[origin] = found
    if len(logs) > MAX_LOGS:
        raise FormatError(f"more than {MAX_LOGS} logs")
    return logs


def check_origin(origin: str) -> None:
    """FormatError where a text cannot be the first line of a checkpoint."""
    size = len(origin.encode("utf-8", "replace"))
    if not 0 < size <= MAX_ORIGIN_BYTES or not origin.isprintable() or origin != origin.strip():
        raise FormatError(
            f"{origin!r:.80} is no origin: one printable line of up to {MAX_ORIGIN_BYTES} bytes"
        )


def logs_text(logs: Mapping[str, VerifierKey]) -> str:
    """The file's text."""
    lines = ["# The logs this witness follows: KEY ORIGIN. A key is for ever."]
    lines += [f"{key.text()} {origin}" for origin, key in logs.items()]
    return "\n".join(lines) + "\n"


class FollowedLogs:
    """The file in a witness's folder, read again when it changes."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOGS_NAME
        self._seen: tuple[int, int, int] | None = None
        self._logs: dict[str, VerifierKey] = {}

    def now(self) -> Mapping[str, VerifierKey]:
        """The logs as the file has them; FormatError where it cannot be read."""
        try:
            held = self._path.stat()
        except FileNotFoundError:
            return {}
        mark = (held.st_mtime_ns, held.st_size, held.st_ino)
        if mark != self._seen:
            self._logs, self._seen = self._read(held), mark
        return self._logs

    def _read(self, held: os.stat_result) -> dict[str, VerifierKey]:
        if held.st_size > MAX_LOGS_BYTES:
            raise FormatError(f"{self._path} is over {MAX_LOGS_BYTES} bytes")
        try:
            return parse_logs(self._path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise FormatError(f"{self._path} is not UTF-8") from None

    def check(self, origin: str, key: VerifierKey) -> bool:
        """Whether a log is followed already; RuleError where it is, with another key."""
        check_origin(origin)
        held = self.now().get(origin)
        if held is not None and held != key:
            raise RuleError(
                f"{origin} is followed with the key {held.text()}, and a key is pinned for ever: "
                "a log with a new key is a new origin"
            )
        return held is not None

    def add(self, origin: str, key: VerifierKey) -> bool:
        """Follow a log; False where it is followed already."""
        with self._path.with_name(f"{LOGS_NAME}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.check(origin, key):
                return False
            logs = {**self.now(), origin: key}
            write_synced(self._path, logs_text(logs).encode("utf-8"))
            return True
