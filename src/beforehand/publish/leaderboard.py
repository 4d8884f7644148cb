"""The board: every forecaster's score with n, coverage and interval, and who is ranked.

Standard library only: `recount.py` is made of this very file.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from beforehand.errors import IntegrityError
from beforehand.publish.fold import LeagueFold
from beforehand.publish.rows import Row
from beforehand.records.codec import digest, seal_json
from beforehand.scoring.calibration import calibration_bins, calibration_error, wilson
from beforehand.scoring.exact import Grid, decimal_places, mean
from beforehand.scoring.paired import LEVEL, ClusterMean, cluster_mean

PLACES = 6
IN = ("counted", "open", "void")
ECE_LEAST = 30
BOARD_FORMAT = "beforehand-leaderboard/1"


def build_board(fold: LeagueFold, rows: list[Row]) -> dict[str, Any]:
    """The leaderboard as JSON values; numbers are decimal text of six places.

    A statistic of nothing is null. `gain` is the Brier loss of the median of
    everybody else's forecasts minus the forecaster's own, on the same events;
    `gain_on_average` the mean loss of everybody else minus the forecaster's
    own, which is 0 on average for one who is no different from the others (a
    median of many beats most of its members, so `gain` is below 0 for such a
    one). `others_brier` is that mean loss.
    """
    grid = Grid.of(fold.declaration.grid)
    by_forecaster: dict[str, list[Row]] = {}
    for row in rows:
        by_forecaster.setdefault(row.forecaster, []).append(row)
    offered = sum(len(fold.questions_of(run)) for run in fold.runs)
    gains: dict[str, Fraction | None] = {}
    entries = []
    for name, held in by_forecaster.items():
        entry, gains[name] = _entry(name, held, offered, grid, fold)
        entries.append(entry)
    _give_ranks(entries, gains)
    counted = [row for row in rows if row.status == "counted"]
    return {
        "format": BOARD_FORMAT,
        "league": fold.league.league,
        "title": fold.declaration.title,
        "origin": fold.league.origin,
        "lines": fold.lines,
        "as_of": fold.last_at,
        "time": [segment.time for segment in fold.segments.values()],
        "grid": str(fold.declaration.grid),
        "level": str(LEVEL),
        "rules": {
            "rank_by": fold.declaration.rank_by,
            "min_events": fold.declaration.min_events,
            "min_clusters_interval": fold.declaration.min_clusters_interval,
            "shared_min": fold.declaration.shared_min,
        },
        "events": offered,
        "events_resolved": len({(row.run, row.question) for row in counted}),
        "questions": len({question.cluster for _, question in fold.questions.values()}),
        "rounding": _rounding(rows, grid),
        "forecasters": entries,
        "shared": _shared(entries, by_forecaster, fold, grid),
    }


def _entry(
    name: str, rows: list[Row], offered: int, grid: Grid, fold: LeagueFold
) -> tuple[dict[str, Any], Fraction | None]:
    """A forecaster's entry, and the exact gain that ranks it."""
    counted = [row for row in rows if row.status == "counted" and row.units is not None]
    stated = [row for row in rows if row.status in IN]
    losses = [(row.cluster, grid.brier(loss(row, grid))) for row in counted]
    gains = [(row.cluster, own) for row in counted if (own := paired_gain(row, grid)) is not None]
    least = fold.declaration.min_clusters_interval
    brier, gain = cluster_mean(losses, least=least), cluster_mean(gains, least=least)
    against_crowd = cluster_mean(_crowd_gains(counted, grid), least=least)
    others = [
        (row.cluster, _loss_of(row.others_loss, grid))
        for row in counted
        if row.others_loss is not None
    ]
    against_average = cluster_mean(_average_gains(counted, grid), least=least)
    kind = rows[0].kind
    events = {row.question for row in counted}
    enough = len(events) >= fold.declaration.min_events
    why = ""
    if kind == "derived":
        why = "derived, not a contestant"
    elif not enough:
        why = f"fewer than {fold.declaration.min_events} resolved events"
    elif gain.low is None:
        why = f"fewer than {least} questions to compare on"
    entry = {
        "forecaster": name,
        "kind": kind,
        "label": fold.declaration.labels.get(name, name),
        "rank": None,
        "why_unranked": why,
        "n_stated": len(stated),
        "n_counted": len(counted),
        "n_open": sum(row.status == "open" for row in rows),
        "n_void": sum(row.status == "void" for row in rows),
        "n_missing": sum(row.status == "missing" for row in rows),
        "n_out": sum(row.status not in (*IN, "missing") for row in rows),
        "coverage": _share(len({(row.run, row.question) for row in stated}), offered),
        "clusters": brier.clusters,
        "brier": _estimate(brier),
        "brier_events": _text(mean(value for _, value in losses)),
        "others_brier": _text(cluster_mean(others, least=least).mean),
        "gain": _estimate(gain),
        "gain_on_average": _estimate(against_average),
        "gain_on_crowd": _estimate(against_crowd),
        "by_type": _by_type(counted, grid),
        "calibration": _calibration(counted, grid),
    }
    return entry, gain.mean


def scored_units(row: Row) -> int:
    """The grid point of a row with a probability; any other must not come here."""
    if row.units is None:
        raise IntegrityError(f"line {row.line}: a row without a probability is scored")
    return row.units


def loss(row: Row, grid: Grid) -> int:
    """The Brier loss of a counted row in squared grid steps."""
    return grid.brier_units(scored_units(row), row.happened)


def paired_gain(row: Row, grid: Grid) -> Fraction | None:
    """The others' median's loss minus the row's own; None where nobody else answered."""
    if row.others_units is None:
        return None
    return grid.brier(grid.brier_units(row.others_units, row.happened) - loss(row, grid))


def _crowd_gains(counted: list[Row], grid: Grid) -> Iterable[tuple[str, Fraction]]:
    for row in counted:
        if row.crowd_units is not None:
            crowd = grid.brier_units(row.crowd_units, row.happened)
            yield row.cluster, grid.brier(crowd - loss(row, grid))


def _loss_of(units: Fraction, grid: Grid) -> Fraction:
    """Squared grid steps as a loss."""
    return units / (grid.steps * grid.steps)


def _average_gains(counted: list[Row], grid: Grid) -> Iterable[tuple[str, Fraction]]:
    for row in counted:
        if row.others_loss is not None:
            yield row.cluster, _loss_of(row.others_loss - loss(row, grid), grid)


def _estimate(value: ClusterMean) -> dict[str, Any]:
    return {
        "mean": _text(value.mean),
        "se": _float(value.se),
        "low": _float(value.low),
        "high": _float(value.high),
        "n": value.n,
        "clusters": value.clusters,
        "identical": value.identical,
    }


def _by_type(counted: list[Row], grid: Grid) -> dict[str, Any]:
    """Mean loss by question type, each event weighing once, and the mean of the types."""
    losses: dict[str, list[Fraction]] = {}
    for row in counted:
        losses.setdefault(row.type, []).append(grid.brier(loss(row, grid)))
    table = {
        name: {"n": len(held), "brier": _text(mean(held))} for name, held in sorted(losses.items())
    }
    means = [value for held in losses.values() if (value := mean(held)) is not None]
    return {"types": table, "mean_of_types": _text(mean(means))}


def _calibration(counted: list[Row], grid: Grid) -> dict[str, Any]:
    bins = calibration_bins(((scored_units(row), row.happened) for row in counted), grid)
    rows = []
    for item in bins:
        bar = wilson(item.yes, item.n)
        stated = Fraction(item.sum_units, grid.steps * item.n) if item.n else None
        rows.append(
            {
                "low": _text(grid.probability(item.low)),
                "high": _text(grid.probability(item.high)),
                "n": item.n,
                "yes": item.yes,
                "mean_stated": _text(stated),
                "share": _text(Fraction(item.yes, item.n)) if item.n else None,
                "wilson_low": _float(bar[0]) if bar else None,
                "wilson_high": _float(bar[1]) if bar else None,
            }
        )
    error = calibration_error(bins, grid) if len(counted) >= ECE_LEAST else None
    return {"bins": rows, "ece": _text(error), "ece_least": ECE_LEAST}


def _give_ranks(entries: list[dict[str, Any]], gains: dict[str, Fraction | None]) -> None:
    """Rank by the exact gain, the most first; equal gains share a rank. The others follow, by n."""

    def exact(entry: dict[str, Any]) -> Fraction:
        gain = gains[entry["forecaster"]]
        if gain is None:  # a rank demands an interval, and an interval a mean
            raise IntegrityError(f"{entry['forecaster']} is ranked and has no gain")
        return gain

    ranked = [entry for entry in entries if not entry["why_unranked"]]
    ranked.sort(key=lambda entry: (-exact(entry), entry["forecaster"]))
    for place, entry in enumerate(ranked, 1):
        before = ranked[place - 2] if place > 1 else None
        tie = before is not None and exact(before) == exact(entry)
        entry["rank"] = before["rank"] if tie and before else place
    rest = [entry for entry in entries if entry["why_unranked"]]
    rest.sort(key=lambda e: (e["kind"] != "derived", -e["n_counted"], e["forecaster"]))
    entries[:] = ranked + rest


def _shared(
    entries: list[dict[str, Any]],
    by_forecaster: dict[str, list[Row]],
    fold: LeagueFold,
    grid: Grid,
) -> dict[str, Any]:
    """The events that every ranked forecaster answered: size, hash, and scores if large enough."""
    names = [entry["forecaster"] for entry in entries if entry["rank"] is not None]
    counted = {
        name: {row.question: row for row in by_forecaster[name] if row.status == "counted"}
        for name in names
    }
    common = sorted(set.intersection(*(set(held) for held in counted.values()))) if names else []
    least = fold.declaration.shared_min
    scores = None
    if len(common) >= least:
        scores = {
            name: _text(mean(grid.brier(loss(counted[name][q], grid)) for q in common))
            for name in names
        }
    return {
        "n": len(common),
        "least": least,
        "sha256": digest(seal_json(common)),
        "brier": scores,
    }


def _rounding(rows: list[Row], grid: Grid) -> dict[str, Any]:
    """How many stated probabilities the grid moved, and by how much at most."""
    moved = [
        abs(Fraction(row.p) - grid.probability(row.units))
        for row in rows
        if row.kind != "derived" and row.units is not None
    ]
    return {
        "stated": len(moved),
        "moved": sum(value > 0 for value in moved),
        "most": decimal_places(max(moved, default=Fraction(0)), 8),
    }


def _text(value: Fraction | None) -> str | None:
    return None if value is None else decimal_places(value, PLACES)


def _share(part: int, whole: int) -> str | None:
    return _text(Fraction(part, whole)) if whole else None


def _float(value: float | None) -> str | None:
    return None if value is None else decimal_places(Fraction(value), PLACES)
