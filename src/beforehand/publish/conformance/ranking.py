"""Requirement 10: no rank before a minimum, intervals by cluster, a margin for no difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import listed, number, text
from beforehand.publish.conformance.scores import board_place, decimal_of, entries

_EQUIVALENT = ("equivalent", "no difference", "no material difference", "none")


def check_ranking(exhibit: Exhibit) -> Check:
    """Requirement 10."""
    check = Check(10)
    board = exhibit.board
    if exhibit.form == "table" or board is None:
        check.gap(
            "no board with ranks and intervals is published",
            "publish ranks with their minimum, and intervals by session or cluster",
        )
        return check
    rules = board.get("rules")
    least = number(rules, "min_events")
    clusters = number(rules, "min_clusters_interval")
    place = board_place(exhibit)
    _check_declared(check, exhibit, least, clusters)
    ranked = [entry for entry in entries(exhibit) if entry.get("rank") is not None]
    for entry in ranked:
        _check_ranked(check, entry, least, clusters, place)
    for entry in entries(exhibit):
        _check_intervals(check, entry, clusters, place)
    _check_ties(check, ranked, place)
    _check_verdicts(check, exhibit, place)
    if not check.faults:
        check.saw(
            f"{len(ranked)} are ranked, each with at least {least} resolved forecasts and an "
            f"interval over at least {clusters} clusters",
            place,
        )
        check.holds_since(exhibit.first_at or None)
    return check


def _check_declared(
    check: Check, exhibit: Exhibit, least: int | None, clusters: int | None
) -> None:
    for name, value in (("min_events", least), ("min_clusters_interval", clusters)):
        if value is None or value < 2:
            check.fault(f"the board states no minimum of its own: {name}", board_place(exhibit))
        declared = exhibit.declaration("board", name)
        if value is not None and declared is not None and declared != value:
            check.fault(
                f"the board's {name} is {value}, the declaration's {declared!r:.20}",
                board_place(exhibit),
            )


def _check_ranked(
    check: Check, entry: Mapping[str, Any], least: int | None, clusters: int | None, place: Pointer
) -> None:
    name, n = text(entry, "forecaster")[:60], number(entry, "n_counted")
    if least is not None and (n is None or n < least):
        check.fault(f"{name!r} has a rank with {n} resolved forecasts, below {least}", place)
    held = number(entry, "clusters")
    if clusters is not None and (held is None or held < clusters):
        check.fault(f"{name!r} has a rank over {held} clusters, below {clusters}", place)
    gain = entry.get("gain")
    if not isinstance(gain, dict) or gain.get("low") is None or gain.get("high") is None:
        check.fault(f"{name!r} has a rank and no interval", place)


def _check_intervals(
    check: Check, entry: Mapping[str, Any], clusters: int | None, place: Pointer
) -> None:
    """No interval is printed below the minimum; each encloses its own estimate."""
    name = text(entry, "forecaster")[:60]
    for key in ("brier", "gain", "gain_on_crowd"):
        held = entry.get(key)
        if not isinstance(held, dict) or held.get("low") is None:
            continue
        count = number(held, "clusters")
        if clusters is not None and (count is None or count < clusters):
            check.fault(
                f"{name!r}: an interval of {key} over {count} clusters, below {clusters}", place
            )
        low, mean, high = (decimal_of(str(held.get(word))) for word in ("low", "mean", "high"))
        if low is None or mean is None or high is None or not low <= mean <= high:
            check.fault(f"{name!r}: the interval of {key} does not enclose its estimate", place)


def _check_ties(check: Check, ranked: list[dict[str, Any]], place: Pointer) -> None:
    """Ranks follow the estimate that ranks."""
    held = []
    for entry in ranked:
        gain = entry.get("gain")
        mean = decimal_of(str(gain.get("mean"))) if isinstance(gain, dict) else None
        if mean is not None and type(entry.get("rank")) is int:
            held.append((entry["rank"], mean, text(entry, "forecaster")[:60]))
    for (rank, mean, _), (other, less, name) in zip(sorted(held), sorted(held)[1:], strict=False):
        if other > rank and less > mean:
            check.fault(f"{name!r} gains more than the one ranked before it", place)


def _check_verdicts(check: Check, exhibit: Exhibit, place: Pointer) -> None:
    """A claim of no difference lies within a declared margin."""
    declared = decimal_of(str(exhibit.declaration("primary", "margin") or ""))
    for item in listed(exhibit.board, "comparisons"):
        if text(item, "verdict").lower() not in _EQUIVALENT:
            continue
        margin = decimal_of(text(item, "margin")) or declared
        low, high = decimal_of(text(item, "low")), decimal_of(text(item, "high"))
        if margin is None:
            check.fault("a claim of no difference without a declared margin", place)
        elif low is None or high is None or not -margin < low <= high < margin:
            check.fault("a claim of no difference whose interval leaves the declared margin", place)
