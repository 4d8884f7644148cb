"""Estimates of a board as pages print them: means, intervals, shares, and what a pool is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.site.text import NOTHING, count, number, percent, signed

UNDEFINED = "undefined"


def mean_text(estimate: Mapping[str, Any] | None, *, signs: bool = True) -> str:
    """The mean of an estimate, a dash where there is none."""
    value = None if estimate is None else estimate["mean"]
    return signed(value) if signs else number(value)


def interval(estimate: Mapping[str, Any] | None, *, signs: bool = True) -> str:
    """`low to high`, a dash where there is no interval.

    >>> interval({"low": "-0.01", "high": "0.02", "identical": False})
    '−0.0100 to +0.0200'
    """
    if estimate is None or estimate["low"] is None:
        return NOTHING
    if estimate["identical"] and float(estimate["low"]) == 0:
        return "exactly 0"
    form = signed if signs else number
    return f"{form(estimate['low'])} to {form(estimate['high'])}"


def with_interval(estimate: Mapping[str, Any] | None) -> str:
    """`mean (low to high)`."""
    if estimate is None or estimate["mean"] is None:
        return NOTHING
    if estimate["low"] is None:
        return f"{mean_text(estimate)} (no interval)"
    return f"{mean_text(estimate)} ({interval(estimate)})"


def counted(estimate: Mapping[str, Any] | None) -> str:
    """How many forecasts an estimate is of."""
    return count(0 if estimate is None else estimate["n"])


def tone_of(estimate: Mapping[str, Any]) -> str:
    """Which side of 0 the interval lies on: good, bad or even."""
    if estimate["low"] is None:
        return "even"
    if float(estimate["low"]) > 0:
        return "good"
    return "bad" if float(estimate["high"]) < 0 else "even"


def reliability_text(held: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Share, `valid/attempted` and Wilson's interval of a reliability; a dash where none."""
    if held is None or not held["attempted"]:
        return NOTHING, "n = 0" if held else "", ""
    bar = f"{percent(held['wilson_low'])} to {percent(held['wilson_high'])}"
    return percent(held["share"]), f"{count(held['valid'])}/{count(held['attempted'])}", bar


def leak_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """`share flagged` and `flagged/examined` of what was looked at for leaks.

    Nobody looks at a crowd or at a constant: they say nothing that could give a price away.
    """
    views = entry["views"]
    if views is None or not views["examined"]:
        return NOTHING, "" if entry["kind"] == "derived" else "none examined"
    share = percent(str(views["flagged"] / views["examined"]))
    return share, f"{count(views['flagged'])}/{count(views['examined'])}"


def pool_text(pool: Mapping[str, Any] | None) -> str:
    """What stands by an ensemble wherever it is shown; "" for whoever is none.

    >>> pool_text({"n": 1, "mean_correlation": None, "n_eff": None, "n_eff_why": "one model"})
    'n = 1, mean error correlation undefined, N_eff undefined (one model)'
    """
    if pool is None:
        return ""
    r = UNDEFINED if pool["mean_correlation"] is None else number(pool["mean_correlation"], 3)
    effective = UNDEFINED if pool["n_eff"] is None else number(pool["n_eff"], 2)
    why = f" ({pool['n_eff_why']})" if pool["n_eff"] is None and pool["n_eff_why"] else ""
    return f"n = {count(pool['n'])}, mean error correlation {r}, N_eff {effective}{why}"
