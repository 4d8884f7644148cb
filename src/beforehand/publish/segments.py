"""A book by its segments: each scored by itself under its own declaration, nothing across.

Standard library only: `recount.py` is made of this very file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beforehand.errors import FormatError
from beforehand.publish.attempts_table import attempt_rows
from beforehand.publish.fold import LeagueFold
from beforehand.publish.leaderboard import LeagueScores, score_league
from beforehand.publish.tables import table_rows
from beforehand.scoring.exact import Grid

SEGMENTS_NAME = "segments"


@dataclass(frozen=True)
class SegmentScores:
    """One segment: the part of the fold that is its, and what was computed from that alone."""

    segment: str
    fold: LeagueFold
    scores: LeagueScores

    @property
    def board_name(self) -> str:
        """Its board's file below the league's data, once another segment has begun."""
        return f"{SEGMENTS_NAME}/{self.segment}.json"


def score_segments(fold: LeagueFold) -> list[SegmentScores]:
    """Every segment in the order of the book; the last is the one in force."""
    if not fold.segments:
        raise FormatError("the book has no segment line: nothing says by what it is scored")
    found = []
    for name in fold.segments:
        part = segment_part(fold, name)
        found.append(SegmentScores(name, part, score_league(part)))
    told = [_told(each) for each in found]
    for each in found:
        each.scores.board["segments"] = told
    return found


def segment_part(fold: LeagueFold, name: str) -> LeagueFold:
    """The runs of one segment with what was asked, answered and settled in them."""
    if len(fold.segments) == 1:
        return fold
    runs = {run: held for run, held in fold.runs.items() if held[1].segment == name}
    questions: dict[str, Any] = {}
    for run in runs:
        questions |= fold.questions_of(run)
    return replace(
        fold,
        declaration=fold.declarations[name],
        segments={name: fold.segments[name]},
        runs=runs,
        rosters={n: held for n, held in fold.rosters.items() if held.run in runs},
        snapshots={n: held for n, held in fold.snapshots.items() if held.run in runs},
        questions={key: held for key, held in fold.questions.items() if key in questions},
        asks={n: ask for n, ask in fold.asks.items() if ask.run in runs},
        answers=[held for held in fold.answers if held[1].run in runs],
        asked={key for key in fold.asked if key[0] in runs},
        closes={
            run: held
            for run, held in fold.closes.items()
            if run in runs or (run not in fold.runs and fold.segment_at(held[0]) == name)
        },
        settled={key: held for key, held in fold.settled.items() if key in questions},
        not_revealed=tuple(
            held
            for held in fold.not_revealed
            if held.run in runs
            or (held.run not in fold.runs and fold.segment_at(held.line) == name)
        ),
    )


def _told(each: SegmentScores) -> dict[str, Any]:
    """A segment as every board tells it."""
    record = each.fold.segments[each.segment]
    return {
        "segment": each.segment,
        "methodology": record.methodology,
        "declaration_sha256": each.fold.declaration.sha256,
        "line": each.fold.segment_lines[each.segment],
        "at": record.at,
        "time": record.time,
        "why": record.why,
        "runs": len(each.fold.runs),
    }


def all_forecasts(parts: Sequence[SegmentScores]) -> list[tuple[Any, ...]]:
    """The cells of the forecasts table, segment after segment, each on its own grid."""
    return [cells for part in parts for cells in table_rows(part.scores.rows, _grid_of(part.fold))]


def all_attempts(parts: Sequence[SegmentScores]) -> list[tuple[Any, ...]]:
    """The cells of the attempts table, segment after segment."""
    return [
        cells for part in parts for cells in attempt_rows(part.scores.attempts, _grid_of(part.fold))
    ]


def boards_by_file(parts: Sequence[SegmentScores]) -> Mapping[str, dict[str, Any]]:
    """Every board by its file: the last segment's is `leaderboard.json`."""
    earlier = {part.board_name: part.scores.board for part in parts[:-1]}
    return {"leaderboard.json": parts[-1].scores.board, **earlier}


def _grid_of(fold: LeagueFold) -> Grid:
    return Grid.of(fold.declaration.grid)
