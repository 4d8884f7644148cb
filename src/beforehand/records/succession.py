"""What a later declaration of a league may change, and what stays for as long as the book."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.declaration import Declaration

# What names the book, what an answer and its outcome are, and what a verifier judges every line
# by: a change of these is another league, in a book of its own (`declare --successor-of`).
KEPT_BY_SEGMENTS = (
    *("league.name", "league.origin", "segment.time", "segment.counted"),
    *("questions.from", "questions.archive", "questions.cluster"),
    *("schedule.kind", "counted_run", "answers.entry", "answers.from", "answers.cells"),
    *("answers.price", "resolution", "scoring.primary", "scoring.grid", "bodies"),
    *("budget.currency", "budget.per", "anchors.quorum", "anchors.margin_minutes"),
    *("anchors.beacon", "contract", "season", "primary", "readers", "onchain"),
)


def check_succession(old: Declaration, new: Declaration) -> None:
    """FormatError where a segment's declaration changes what stays, or has the same name."""
    changed = [
        path
        for path in KEPT_BY_SEGMENTS
        if _declared_under(old.content, path) != _declared_under(new.content, path)
    ]
    if changed:
        raise FormatError(
            f"the segment {new.segment!r} changes {', '.join(changed)}, which stays for as long "
            "as the book: such a change is another league, with --successor-of"
        )
    if new.segment == old.segment:
        raise FormatError(f"a new segment has a name of its own; {new.segment!r} is the last one's")


def _declared_under(content: Mapping[str, Any], path: str) -> Any:
    value: Any = content
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
