"""What was due and never disclosed, and what answers that never came cost: on the board, by run."""

from __future__ import annotations

from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.corrected import corrections_listing
from beforehand.site.estimates import counted, interval, mean_text
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, number, short_hash

# So many are listed on a page; leaderboard.json has them all.
MOST_LISTED = 200


def undisclosed(catalogue: Catalogue, run: str = "") -> Listing | None:
    """The bodies that are due and not there, of one run or of all; None where there is none."""
    held = [body for body in catalogue.view.board["not_revealed"] if not run or body["run"] == run]
    if not held:
        return None
    up = "../" if run else ""
    rows = [
        (
            Cell(f"line {body['line']}", f"{up}{catalogue.href_of(body['line'])}"),
            body["role"].replace("_", " "),
            cut(catalogue.label(body["forecaster"]), 60) if body["forecaster"] else NOTHING,
            cut(body["run"], 60) or NOTHING,
            body["due"],
            short_hash(body["sha256"]),
        )
        for body in held[:MOST_LISTED]
    ]
    more = f" The first {MOST_LISTED}; leaderboard.json has all." if len(held) > MOST_LISTED else ""
    return Listing(
        "Not revealed",
        f"{count(len(held))} due by the book and not among the published files. Their lines stand, "
        f"so that nothing can take their place.{more}",
        ("In the book", "What", "Forecaster", "Run", "Due since", "SHA-256"),
        rows,
        left=frozenset(range(6)),
        whole=frozenset({0, 4}),
    )


def service_listing(catalogue: Catalogue) -> Listing | None:
    """The service score of every seat; None where none is declared."""
    board = catalogue.view.board
    held = [entry for entry in board["forecasters"] if entry["service"] is not None]
    if not held:
        return None
    worst = board["rules"]["not_revealed"] == "worst_in_service"
    rule = "loses 1, the worst" if worst else "is left out, as declared"
    return Listing(
        "Service score",
        "Mean Brier loss over all that was expected and is resolved: an answer that never came "
        f"loses {number(board['rules']['service_fill'])}, one that was never disclosed {rule}. "
        "It ranks nobody.",
        ("Forecaster", "Service", "Interval", "n", "Stated", "Filled", "Not revealed"),
        [
            (
                Cell(cut(entry["label"], 60), f"f/{entry['forecaster']}.html#scores"),
                mean_text(entry["service"]["brier"], signs=False),
                interval(entry["service"]["brier"], signs=False),
                counted(entry["service"]["brier"]),
                *(count(entry["service"][end]) for end in ("stated", "filled", "not_revealed")),
            )
            for entry in held
        ],
        kind="sortable",
    )


def disclosure_told(catalogue: Catalogue) -> dict[str, Any]:
    """Both tables, and the corrections, for a board."""
    return {
        "undisclosed": undisclosed(catalogue),
        "service": service_listing(catalogue),
        "corrections": corrections_listing(catalogue),
    }
