"""What went wrong lately in a league that asks: for the head of its board."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from beforehand.clock import instant_key
from beforehand.site.catalogue import Catalogue
from beforehand.site.text import cut, instant

RECENT = timedelta(days=7)
MOST = 8
GOOD = ("complete", "open")


def incidents(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Runs that did not end well, or in which a forecaster said nothing, in the last seven days.

    These are counted back from the last slot; the last run stands first, MOST at
    most, each with its page where it has one.
    """
    runs = sorted(
        catalogue.view.board["runs"] or (), key=lambda run: instant_key(run["slot"]), reverse=True
    )
    found = []
    for run in runs:
        if instant_key(run["slot"]) < instant_key(runs[0]["slot"]) - RECENT:
            break
        silent = [cut(catalogue.label(name), 60) for name in run["silent"]]
        if run["status"] in GOOD and not silent:
            continue
        there = run["run"] in catalogue.fold.runs
        found.append(
            {
                "slot": instant(run["slot"]),
                "href": f"run/{run['run']}.html" if there else "",
                "status": "" if run["status"] in GOOD else run["status"].replace("_", " "),
                "why": cut(run["why"] or "", 160),
                "silent": silent,
            }
        )
    return found[:MOST]
