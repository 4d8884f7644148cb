"""One forecaster's entry on the board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beforehand.publish.accounts import paper_account
from beforehand.publish.fold import LeagueFold
from beforehand.publish.gains import (
    average_gain,
    board_estimate,
    board_float,
    board_mean,
    board_share,
    board_text,
    is_scored,
    loss,
    mean_crowd_gain,
    mean_loss,
    ranking_gain,
    scored_units,
    simple_mean,
)
from beforehand.publish.ranking import Scored, SharedSet, why_not_on_own, why_not_on_shared
from beforehand.publish.reliability import Attended, Key
from beforehand.publish.rows import IN, Row
from beforehand.publish.rules import Rules
from beforehand.publish.sensitivity import imputed_views, leak_views
from beforehand.publish.service_score import Served, service_told
from beforehand.records.run import Seat
from beforehand.scoring.calibration import calibration_bins, calibration_error, wilson
from beforehand.scoring.exact import mean

_IDENTITY_KEYS = (
    *("model", "version", "mode", "provider", "family", "company", "quantisation"),
    *("open_weights", "side"),
)


_TOLD_APART = ("missing", "not_revealed", "pending", "sealed")


@dataclass(frozen=True)
class BoardView:
    """All that an entry is made from. `shared` is None where each is compared on its own rows.

    `offered_keys` are the runs and questions that count as offered.
    """

    fold: LeagueFold
    rules: Rules
    offered_keys: Set[Key]
    scored: Scored
    attended: Mapping[str, Attended]
    shared: SharedSet | None
    seats: Mapping[str, Seat]
    served: Mapping[str, Served]

    @property
    def offered(self) -> int:
        """How many events were offered: what coverage is a share of."""
        return len(self.offered_keys)

    @property
    def crowd_rows(self) -> Mapping[Key, Row]:
        """The crowd's counted rows."""
        return self.scored.get(self.rules.named("crowd") or "", {})


def board_entry(
    name: str, rows: Sequence[Row], view: BoardView
) -> tuple[dict[str, Any], Fraction | None]:
    """A forecaster's entry as JSON, and the exact gain that ranks it."""
    rules, kind = view.rules, rows[0].kind
    counted = [row for row in rows if is_scored(row)]
    compared = counted if view.shared is None else view.shared.rows(view.scored[name])
    gain = board_mean(((row, ranking_gain(row, rules)) for row in compared), rules)
    if view.shared is None:
        why = why_not_on_own(kind, counted, gain.low is not None, rules)
    else:
        why = why_not_on_shared(
            name, kind, view.shared, view.scored[name], gain.low is not None, rules
        )
    entry = {
        "forecaster": name,
        "kind": kind,
        "label": view.fold.declaration.labels.get(name, name),
        "identity": _identity(view.seats.get(name)),
        "rank": None,
        "why_unranked": why,
        **_counts(rows, view.offered),
        **_measures(counted, gain_json=board_estimate(gain), rules=rules),
        "service": service_told(name, view.served, rules),
        **_asked_measures(name, kind, counted, compared, view),
    }
    return entry, gain.mean


def _identity(seat: Seat | None) -> dict[str, Any] | None:
    """Who the forecaster is, as the last roster that seats it says."""
    return None if seat is None else {key: getattr(seat, key) for key in _IDENTITY_KEYS}


def _counts(rows: Sequence[Row], offered: int) -> dict[str, Any]:
    """How many rows there are of each kind."""
    statuses = Counter(row.status for row in rows)
    stated = [row for row in rows if row.status in IN]
    counted = [row for row in rows if is_scored(row)]
    return {
        "n_stated": len(stated),
        "n_counted": len(counted),
        "n_open": statuses["open"],
        "n_stale": statuses["stale"],
        "n_void": statuses["void"],
        "n_missing": statuses["missing"],
        "n_not_revealed": statuses["not_revealed"],
        "n_waiting": statuses["pending"] + statuses["sealed"],
        "n_out": sum(row.status not in (*IN, *_TOLD_APART) for row in rows),
        "coverage": board_share(len({(row.run, row.question) for row in stated}), offered),
        "clusters": len({row.cluster for row in counted}),
        "questions": len({row.weighed_as for row in counted}),
    }


def _measures(counted: Sequence[Row], *, gain_json: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """What every league says of a forecaster's own counted rows."""
    grid = rules.grid
    squares = grid.steps * grid.steps
    others = [(row, row.others_loss / squares) for row in counted if row.others_loss is not None]
    return {
        "brier": board_estimate(mean_loss(counted, rules)),
        "brier_events": simple_mean(grid.brier(loss(row, grid)) for row in counted),
        "others_brier": board_text(board_mean(others, rules).mean),
        "gain": gain_json,
        "gain_on_average": board_estimate(
            board_mean(((row, average_gain(row, grid)) for row in counted), rules)
        ),
        "gain_on_crowd": board_estimate(mean_crowd_gain(counted, rules)),
        "by_type": _by_type(counted, rules),
        "calibration": _calibration(counted, rules),
    }


def _asked_measures(
    name: str, kind: str, counted: Sequence[Row], compared: Sequence[Row], view: BoardView
) -> dict[str, Any]:
    """What only leagues that ask models have; null elsewhere."""
    rules = view.rules
    if not rules.asked:
        return dict.fromkeys(
            ("brier_shared", "reliability", "views", "sensitivity", "paper", "pool")
        )
    held = view.attended.get(name, Attended())
    # A mean over a part of the set would stand in one column with means over all of it.
    whole = view.shared is not None and len(compared) == len(view.shared.keys)
    baseline = kind == "derived" and rules.derived.get(name) not in ("mean", "median")
    return {
        "brier_shared": board_text(mean_loss(compared, rules).mean) if whole else None,
        "reliability": None if baseline else held.told(),
        "views": leak_views(counted, rules),
        "sensitivity": None
        if kind == "derived"
        else imputed_views(held, view.crowd_rows, counted, rules),
        "paper": paper_account(counted, rules) if "paper_pnl" in rules.also else None,
        "pool": None,
    }


def _by_type(counted: Sequence[Row], rules: Rules) -> dict[str, Any]:
    """Mean loss by question type, each event weighing once, and the mean of the types."""
    losses: dict[str, list[Fraction]] = {}
    for row in counted:
        losses.setdefault(row.type, []).append(rules.grid.brier(loss(row, rules.grid)))
    table = {
        name: {"n": len(held), "brier": simple_mean(held)} for name, held in sorted(losses.items())
    }
    means = [value for held in losses.values() if (value := mean(held)) is not None]
    return {"types": table, "mean_of_types": simple_mean(means)}


def _calibration(counted: Sequence[Row], rules: Rules) -> dict[str, Any]:
    grid = rules.grid
    bins = calibration_bins(((scored_units(row), row.happened) for row in counted), grid)
    rows = []
    for item in bins:
        bar = wilson(item.yes, item.n)
        stated = Fraction(item.sum_units, grid.steps * item.n) if item.n else None
        rows.append(
            {
                "low": board_text(grid.probability(item.low)),
                "high": board_text(grid.probability(item.high)),
                "n": item.n,
                "yes": item.yes,
                "mean_stated": board_text(stated),
                "share": board_share(item.yes, item.n),
                "wilson_low": board_float(bar[0]) if bar else None,
                "wilson_high": board_float(bar[1]) if bar else None,
            }
        )
    error = calibration_error(bins, grid) if len(counted) >= rules.ece_least else None
    return {"bins": rows, "ece": board_text(error), "ece_least": rules.ece_least}
