"""Everything a site is made from: a fold, its rows and board, and what lies beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from beforehand.publish.attempts import Attempt
from beforehand.publish.fold import LeagueFold
from beforehand.publish.rows import Row
from beforehand.publish.stamps import PublishedStamp
from beforehand.records.league import Segment


@dataclass(frozen=True)
class SiteView:
    """One league, ready to be shown.

    `checkpoints` are `(size, at, root in hex)`, oldest first. `published` are
    outside numbers beside ours: title, ours, theirs, n, note. `files` are
    `(name, one line)` of the data files in the league's data folder. `lines`
    are the book's raw lines: with them pages name every line's kind, link and
    evidence; without them only what the fold keeps. `attempts` are the calls of
    a league that asks models; left out, they are gathered from the fold.
    `stamps` are the lists and the evidence in the league's data folder, by size.
    `root` is the folder of the pages, `LEAGUE/segment/NAME` for a segment that
    has ended; left out, the league's own.
    """

    league: str
    fold: LeagueFold
    rows: list[Row]
    board: dict[str, Any]
    read_body: Callable[[str], bytes | None]
    checkpoints: list[tuple[int, str, str]]
    checker_sha256: str
    published: list[dict[str, Any]]
    files: list[tuple[str, str]]
    lines: Sequence[bytes] = ()
    attempts: Sequence[Attempt] | None = None
    stamps: Sequence[PublishedStamp] = ()
    root: str = ""

    @property
    def place(self) -> str:
        """The folder of the pages below public."""
        return self.root or self.league

    @property
    def simulated(self) -> list[Segment]:
        """The segments in simulated time: where there is one, every page says so."""
        return [held for held in self.fold.segments.values() if held.time == "simulated"]
