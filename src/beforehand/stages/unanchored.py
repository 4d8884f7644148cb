"""Anchors that have not answered yet: how many checkpoints wait at each, since when, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from beforehand.anchors.anchor import COMPLETE
from beforehand.anchors.queue import SUBMIT, Item, Queue, wait_after
from beforehand.clock import instant_key, instant_text
from beforehand.stages.anchor_failures import PROMISED
from beforehand.stages.anchoring import QUEUE_NAME, kept_stamps


def unanchored(folder: Path, declared: Sequence[str] = ()) -> list[dict[str, Any]]:
    """By anchor, as JSON values: complete, pending (a promise), failed and queued checkpoints.

    `folder` is the league's; anchors of `declared` are there even where nothing
    was submitted. FormatError where the queue's file is none.
    """
    complete = Counter(stamp.anchor for stamp in kept_stamps(folder) if stamp.state == COMPLETE)
    waiting: dict[str, list[Item]] = {}
    for item in Queue(folder / QUEUE_NAME).items:
        waiting.setdefault(item.anchor, []).append(item)
    names = dict.fromkeys([*declared, *complete, *waiting])
    return [_told(name, complete[name], waiting.get(name, [])) for name in names]


def _told(name: str, complete: int, items: Sequence[Item]) -> dict[str, Any]:
    failing = [item for item in items if item.attempts and item.reason != PROMISED]
    last = max(failing, key=_tried, default=None)
    return {
        "anchor": name,
        "complete": complete,
        "pending": sum(item.task != SUBMIT for item in items),
        "failed": sum(item.task == SUBMIT and item.attempts > 0 for item in items),
        "queued": sum(item.task == SUBMIT and item.attempts == 0 for item in items),
        "since": min((item.since for item in items), key=instant_key, default=None),
        "next_try": min((item.next_at for item in items), key=instant_key, default=None),
        "last_error": None if last is None else last.reason,
        "last_error_at": None if last is None else instant_text(_tried(last)),
    }


def _tried(item: Item) -> datetime:
    """When an item was tried last: the queue keeps when it is tried next, and how often it was."""
    return instant_key(item.next_at) - wait_after(item.attempts)
