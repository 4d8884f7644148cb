"""Corrections on a page: each with the lines it is a word on, which stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import count, cut

MOST_LISTED = 200
LINES_SHOWN = 8


def corrections_listing(catalogue: Catalogue) -> Listing | None:
    """Every correction of the league; None where there is none."""
    held = catalogue.view.board["corrections"]
    if not held:
        return None
    more = f" The last {MOST_LISTED}; leaderboard.json has all." if len(held) > MOST_LISTED else ""
    return Listing(
        "Corrections",
        f"{count(len(held))} later words on earlier lines. What they name stands as it stood; a "
        f"number moves only where an outcome was corrected.{more}",
        ("In the book", "Sealed at", "On", "Says", "Source", "Moves"),
        [
            (
                Cell(f"line {each['line']}", catalogue.href_of(each["line"])),
                each["at"],
                _lines(each["lines"]),
                cut(each["reason"], 400),
                cut(each["source"], 100),
                _moves(each),
            )
            for each in held[-MOST_LISTED:]
        ],
        left=frozenset(range(6)),
        whole=frozenset({0, 1}),
    )


def _moves(each: Mapping[str, Any]) -> str:
    if each["outcome"] is None:
        return "nothing"
    if not each["questions"]:
        return "nothing here: another segment's outcome, or one that was corrected again"
    return f"the outcome, to {each['outcome']}"


def _lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:LINES_SHOWN]))
    more = len(lines) - LINES_SHOWN
    said = "line" if len(lines) == 1 else "lines"
    return f"{said} {shown}" + (f" and {count(more)} more" if more > 0 else "")
