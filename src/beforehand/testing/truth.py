"""What the simulated models are given of the truth: the hidden probability of each question.

The venue replica writes it into its state folder whenever the clock has moved,
the model replica reads it. It is a file, so that either runs without the other.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.testing.simulated import DAY, LONGEST_HOURS, SimEvent
from beforehand.testing.walk import HOUR
from beforehand.testing.wording import MARK

FORMAT = "beforehand-truth/1"
NAME = "truth.json"
# A settled question is still known for a while, for whoever asks late.
KEPT_SECONDS = 14 * DAY
# No event that began earlier is still known.
TOLD_DAYS = (LONGEST_HOURS * HOUR + KEPT_SECONDS) // DAY + 1

_TAG = re.compile(re.escape(MARK) + r" ([A-Za-z0-9-]+):")


@dataclass(frozen=True)
class Known:
    """What is true of one question: its market, the chance of YES now, and its end."""

    question: str
    market: str
    chance: float
    end: str


def truth_of(events: list[SimEvent], now: int) -> dict[str, Any]:
    """The truth of every market of `events` that is not long over, by question."""
    return {
        "format": FORMAT,
        "now": now,
        "questions": {
            market.question: {
                "market": market.id,
                "chance": round(market.chance(now), 6),
                "end": market.end,
            }
            for event in events
            if now < event.fate.closes + KEPT_SECONDS
            for market in event.markets
            if market.kind != "placeholder"
        },
    }


def write_truth(path: Path, truth: dict[str, Any]) -> None:
    """Replace the file in one step."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(truth), encoding="ascii")
    fresh.replace(path)


class Truth:
    """The file as the model replica reads it, again only where it was replaced."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._mark: tuple[int, int] | None = None
        self._by_market: dict[str, Known] = {}

    def find(self, text: str) -> Known | None:
        """What is known of the first simulated question that stands in a text."""
        self._refresh()
        for tag in _TAG.findall(text):
            known = self._by_market.get(tag)
            if known is not None and known.question in text:
                return known
        return None

    def _refresh(self) -> None:
        if self._path is None:
            return
        try:
            stat = self._path.stat()
            mark = (stat.st_mtime_ns, stat.st_ino)
            if mark == self._mark:
                return
            questions = json.loads(self._path.read_text(encoding="ascii"))["questions"]
        except FileNotFoundError:
            return
        self._mark = mark
        self._by_market = {
            each["market"]: Known(text, each["market"], float(each["chance"]), each["end"])
            for text, each in questions.items()
        }
