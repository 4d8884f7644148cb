"""The listing of runs: every slot, how it ended and why, missed ones too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from beforehand.scoring.calibration import wilson
from beforehand.site.catalogue import Catalogue
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, instant, percent

STATUS_WORDS = {
    "open": "running",
    "complete": "complete",
    "stopped_budget": "stopped: budget",
    "failed": "failed",
    "missed": "missed",
}
MEANINGS = {
    "running": "no close line yet",
    "complete": "everything that was asked was answered or failed with its code",
    "stopped: budget": "the next call would have gone over the cap, or the credit was gone",
    "failed": "no forecaster gave a valid answer, or the run broke",
    "missed": "nothing was asked within the grace; a missed slot is never filled in later",
}
OTHERS = "without a cohort"


def runs_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `runs.html.j2` shows."""
    cohorts: dict[str, list[Mapping[str, Any]]] = {}
    for run in catalogue.view.board["runs"] or ():
        cohorts.setdefault(run["cohort"] or OTHERS, []).append(run)
    return {
        "facts": runs_facts(catalogue),
        "cohorts": [
            {"name": name, "mark": name.replace(" ", "-"), "table": _table(name, held, catalogue)}
            for name, held in reversed(cohorts.items())
        ],
        "meanings": [(word, MEANINGS[word]) for word in STATUS_WORDS.values()],
    }


def runs_facts(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """How many slots ended how."""
    runs = catalogue.view.board["runs"] or ()
    ended = Counter(STATUS_WORDS[run["status"]] for run in runs)
    return [(count(ended[word]), word, "") for word in STATUS_WORDS.values() if ended[word]]


def _table(cohort: str, runs: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> Listing:
    rows = [_row(run, catalogue) for run in sorted(runs, key=lambda r: r["slot"], reverse=True)]
    return Listing(
        f"Runs of {cohort}",
        f"{cohort}: {count(len(runs))} slots, the last first. Valid and failed count a forecaster "
        "on a question once, however many attempts it took.",
        ("Slot (UTC)", "Status", "Why", "Questions asked", "Valid", "Failed", "Waiting",
         "Valid share, Wilson", "Attempts", "Committed"),
        rows,
        left=frozenset({0, 1, 2}),
        kind="sortable",
        whole=frozenset({0, 1}),
    )  # fmt: skip


def _row(run: Mapping[str, Any], catalogue: Catalogue) -> tuple[str | Cell, ...]:
    there = run["run"] in catalogue.fold.runs
    href = f"run/{run['run']}.html" if there else "book.html#any-line"
    counted = "" if run["counted"] or not there else "does not count"
    silent = cut(", ".join(catalogue.label(name) for name in run["silent"]), 120)
    return (
        Cell(instant(run["slot"]), href, counted, "" if there else f"n{run['close_line']}"),
        STATUS_WORDS[run["status"]],
        Cell(cut(run["why"] or "", 200) or NOTHING, more=f"silent: {silent}" if silent else ""),
        count(run["asked"]),
        count(run["valid"]),
        count(run["failed"]),
        count(run["waiting"]),
        _share(run["valid"], run["failed"]),
        count(run["attempts"]),
        Cell(run["committed"], more=_standing(run["standing"])),
    )


def _standing(standing: str) -> str:
    return f"{standing} standing" if Decimal(standing) else ""


def _share(valid: int, failed: int) -> Cell:
    share, _, bar = share_text(valid, failed).partition(" (")
    return Cell(share, more=bar.removesuffix(")"))


def share_text(valid: int, failed: int) -> str:
    """The share of valid answers with Wilson's interval, a dash of nothing."""
    bar = wilson(valid, valid + failed)
    if bar is None:
        return NOTHING
    low, high = (percent(repr(end)) for end in bar)
    return f"{percent(repr(valid / (valid + failed)))} ({low} to {high})"
