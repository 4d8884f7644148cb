"""Submissions that failed, and promises not yet kept: what to try again, and when.

The book says what is sealed; this file only remembers when to try next, and
can be lost without losing evidence. A note that is submitted late is sealed as
what it is: its evidence bears the time it was given, never the one it missed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path

from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, is_digest

SUBMIT = "submit"
UPGRADE = "upgrade"

FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=6)
MAX_QUEUE_BYTES = 16 << 20
MAX_ITEMS = 10_000
MAX_REASON = 400


@dataclass(frozen=True)
class Item:
    """One thing to do: submit the note with this digest to an anchor, or upgrade its evidence."""

    anchor: str
    digest: str
    task: str
    since: str
    next_at: str
    attempts: int = 0
    reason: str = ""


def wait_after(attempts: int) -> timedelta:
    """How long to wait after so many failed attempts: doubled each time, up to six hours.

    >>> [wait_after(n) // FIRST_WAIT for n in (1, 2, 3, 40)]
    [1, 2, 4, 360]
    """
    doublings = min(max(attempts, 1) - 1, 20)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)


def next_attempt(attempts: int, failed_at: str) -> str:
    """The instant of the next attempt, after `attempts` failures, the last at `failed_at`."""
    return instant_text(instant_key(failed_at) + wait_after(attempts))


class Queue:
    """The items, kept in one JSON file that is replaced whole at every change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._items = {_key(item): item for item in _load(path)} if path.exists() else {}

    @property
    def items(self) -> list[Item]:
        """Everything that waits, the next first."""
        return sorted(
            self._items.values(), key=lambda item: (instant_key(item.next_at), item.anchor)
        )

    def due(self, now: str) -> list[Item]:
        """What may be tried at `now`."""
        return [item for item in self.items if instant_key(item.next_at) <= instant_key(now)]

    def add(self, anchor: str, digest: str, task: str, now: str) -> Item:
        """Something to do at once; what is there already stays as it is."""
        if task not in (SUBMIT, UPGRADE):
            raise FormatError(f"{task!r:.40} is not a task of the queue")
        if not is_digest(digest):
            raise FormatError(f"{digest!r:.80} is not a SHA-256 in hex")
        item = self._items.get((anchor, digest, task))
        if item is None:
            if len(self._items) >= MAX_ITEMS:
                raise FormatError(f"the queue holds {MAX_ITEMS} items already")
            item = Item(anchor, digest, task, since=now, next_at=now)
            self._items[_key(item)] = item
            self._write()
        return item

    def failed(self, item: Item, now: str, reason: str) -> Item:
        """The item set back to its next attempt, with the reason."""
        attempts = item.attempts + 1
        later = replace(
            item, attempts=attempts, next_at=next_attempt(attempts, now), reason=reason[:MAX_REASON]
        )
        self._items[_key(item)] = later
        self._write()
        return later

    def done(self, item: Item) -> None:
        """Forget an item."""
        self._items.pop(_key(item), None)
        self._write()

    def _write(self) -> None:
        """Replace the file whole: a crash leaves the old one or the new one."""
        text = json.dumps([asdict(item) for item in self.items], indent=1, sort_keys=True)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(self._path.name + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


def _key(item: Item) -> tuple[str, str, str]:
    return item.anchor, item.digest, item.task


def _load(path: Path) -> Iterable[Item]:
    if path.stat().st_size > MAX_QUEUE_BYTES:
        raise FormatError(f"{path} is over {MAX_QUEUE_BYTES} bytes")
    try:
        return parse_items(path.read_bytes())
    except FormatError as error:
        raise FormatError(
            f"{path} is not a queue of submissions ({error}); move it away: what is due follows "
            "from the book"
        ) from None


def parse_items(data: bytes) -> list[Item]:
    """The items of the file's bytes; FormatError where they have not the form written here."""
    value = decode_json(data)
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise FormatError(f"not a list of at most {MAX_ITEMS} items")
    return [_item(each) for each in value]


def _item(value: object) -> Item:
    if not isinstance(value, dict):
        raise FormatError("an item is not an object")
    texts = {
        key: value.get(key) for key in ("anchor", "digest", "task", "since", "next_at", "reason")
    }
    attempts = value.get("attempts")
    if set(value) != {*texts, "attempts"} or not isinstance(attempts, int) or attempts < 0:
        raise FormatError("an item has other keys than are written here")
    words = {key: text for key, text in texts.items() if isinstance(text, str)}
    if len(words) != len(texts) or words["task"] not in (SUBMIT, UPGRADE):
        raise FormatError("an item's part is not a text, or its task is unknown")
    if not is_digest(words["digest"]):
        raise FormatError("an item's digest is not a SHA-256 in hex")
    instant_key(words["since"])
    instant_key(words["next_at"])
    return Item(attempts=attempts, **words)
