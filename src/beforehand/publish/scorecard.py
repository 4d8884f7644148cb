"""The scorecard of a table of forecasts: every measure of every forecaster, and who is better.

The same functions make a league's board and an analyst's table. Numbers of the
scorecard are floats for reading by programs; what they are computed from is
exact. A statistic of nothing is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beforehand.publish.standing import standings
from beforehand.records.codec import digest, seal_json
from beforehand.scoring.calibration import Bin, wilson
from beforehand.scoring.clustered import clustered_mean
from beforehand.scoring.compare import Comparison, paired
from beforehand.scoring.cox import cox_clustered
from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp
from beforehand.scoring.measures import bins, brier, ece, log_loss, sharpness, spherical
from beforehand.scoring.skill import skill_score
from beforehand.scoring.tally import Tally
from beforehand.sources.faults import LeftOut
from beforehand.sources.table import ForecastTable

SCORECARD_FORMAT = "beforehand-scorecard/1"
LEAST_RELIABILITY = Fraction(4, 5)
# Who answered fewer of the questions does not shrink the shared set.
LEAST_SHARE = Fraction(4, 5)
MARGIN = 0.01

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Scorecard:
    """What was scored: the table, its grid, and the content as JSON values."""

    table: ForecastTable
    grid: Grid
    content: Mapping[str, Any] = field(repr=False)


def build_scorecard(table: ForecastTable, margin: float = MARGIN) -> Scorecard:
    """Score a table. `margin` is the Brier difference that counts as none (equivalence)."""
    scored = _Scored(table, Grid(table.steps), margin)
    return Scorecard(table, scored.grid, scored.content())


class _Scored:
    """A table's resolved rows, sorted by forecaster, and what is computed from them."""

    def __init__(self, table: ForecastTable, grid: Grid, margin: float) -> None:
        self.table, self.grid, self.margin = table, grid, margin
        self.resolved = table.outcome >= 0
        self.units = table.units.astype(np.int64)
        self.event = self._events()
        self.events = len(np.unique(self.event))
        clusters = table.cluster_index
        self.cluster = (table.question_index if clusters is None else clusters).astype(np.int64)
        order = np.argsort(table.forecaster_index, kind="stable")
        ends = np.searchsorted(table.forecaster_index[order], np.arange(len(table.forecasters) + 1))
        self.rows_of = [order[ends[k] : ends[k + 1]] for k in range(len(table.forecasters))]

    def _events(self) -> Rows:
        """One number for every question at one time: what a comparison is paired on."""
        question = self.table.question_index.astype(np.int64)
        if self.table.time is None:
            return question
        _, moment = np.unique(self.table.time, return_inverse=True)
        pairs = question * (int(moment.max(initial=0)) + 1) + moment
        return np.unique(pairs, return_inverse=True)[1].astype(np.int64)

    def content(self) -> dict[str, Any]:
        table = self.table
        names = table.forecasters
        cards = {name: self._card(k, self.rows_of[k]) for k, name in enumerate(names)}
        ranked = [k for k, name in enumerate(names) if _ranks(cards[name])]
        sharing = [k for k in ranked if cards[names[k]]["coverage"] >= LEAST_SHARE]
        shared_events = self._shared_events(sharing)
        self.shared = np.isin(self.event, shared_events)
        kept = {}
        for k in sharing:
            rows = self.rows_of[k][self.shared[self.rows_of[k]]]
            whole = rows.size == self.rows_of[k].size
            kept[names[k]] = dict(cards[names[k]]) if whole else self._card(k, rows)
        return {
            "format": SCORECARD_FORMAT,
            "source": table.source,
            "input": table.format,
            "grid": str(Fraction(1, table.steps)) if table.steps != 10_000 else "0.0001",
            "forecasters": cards,
            "shared": {
                "n": len(shared_events),
                "sha256": digest(seal_json(self._event_names(shared_events))),
                "forecasters": kept if len(shared_events) else {},
            },
            "standing": standings(self, ranked),
            "rounding": self._rounding(),
            "skipped": [_left_out(item) for item in table.skipped],
            "kept_out": [_left_out(item) for item in table.kept_out],
            "notes": list(table.notes),
        }

    def _shared_events(self, ranked: list[int]) -> Rows:
        """The resolved events that every ranked forecaster answered."""
        common: Rows | None = None
        for k in ranked:
            rows = self.rows_of[k]
            events = np.unique(self.event[rows[self.resolved[rows]]])
            if common is None or not np.array_equal(common, events):
                common = events if common is None else np.intersect1d(common, events)
        return np.empty(0, np.int64) if common is None else common

    def _event_names(self, events: Rows) -> list[str]:
        """What the hash of the shared set is over: question, and time where there is one."""
        first = np.unique(self.event, return_index=True)[1]
        at = first[np.searchsorted(self.event[first], events)]
        names = []
        for row in at.tolist():
            name = self.table.questions[self.table.question_index[row]]
            time = "" if self.table.time is None else f" {self.table.time[row]}"
            names.append(name + time)
        return sorted(names)

    def _card(self, k: int, rows: Rows) -> dict[str, Any]:
        table, grid = self.table, self.grid
        scored = rows[self.resolved[rows]]
        units, yes = self.units[scored], table.outcome[scored].astype(np.int64)
        name = table.forecasters[k]
        tally = Tally.of(units, yes, np.zeros(len(units), np.int64), (name,), grid)
        counts = tally.row(name)
        missing = dict(table.missing[k]) if len(rows) == len(self.rows_of[k]) else {}
        logs, sharp = log_loss(counts, grid), sharpness(counts, grid)
        stated, valid = len(rows), len(rows) + sum(missing.values())
        terms, iso = murphy(counts, grid), corp(counts, grid)
        fit = cox_clustered(units, yes, self.cluster[scored], grid)
        card = {
            "n": len(scored),
            "n_stated": stated,
            "n_open": int(np.count_nonzero(table.outcome[rows] == -2)),
            "n_void": int(np.count_nonzero(table.outcome[rows] == -1)),
            "n_missing": sum(missing.values()),
            "missing": missing,
            "reliability": stated / valid if valid else None,
            "coverage": len(np.unique(self.event[rows])) / self.events if self.events else None,
            "clusters": len(np.unique(self.cluster[scored])),
            "brier": _float(brier(counts, grid)),
            "brier_interval": self._interval(scored),
            "log_loss": logs.value,
            "log_loss_clamped": logs.clamped,
            "spherical": spherical(counts, grid),
            "ece": _float(ece(counts, grid)),
            "bins": [_bin(item, grid) for item in bins(counts, grid)],
            "murphy": None
            if terms is None
            else {key: _float(getattr(terms, key)) for key in ("unc", "rel", "res", "wbv", "wbc")},
            "corp": None
            if iso is None
            else {key: _float(getattr(iso, key)) for key in ("mcb", "dsc", "unc")},
            "cox": {
                "intercept": fit.intercept,
                "slope": fit.slope,
                "se_slope": fit.se_slope,
                "clusters": fit.clusters,
                "reason": fit.reason,
            },
            "sharpness": None if sharp is None else _float(sharp.mean),
            "skill_half": self._skill(scored, np.full(len(scored), grid.steps // 2)),
        }
        if table.crowd is not None:
            with_crowd = scored[table.crowd[scored] >= 0]
            card["skill"] = self._skill(with_crowd, table.crowd[with_crowd].astype(np.int64))
        return card

    def losses(self, units: Rows, rows: Rows) -> Rows:
        """Brier losses in squared grid steps."""
        return np.square(units - self.table.outcome[rows].astype(np.int64) * self.grid.steps)

    @cached_property
    def per_one(self) -> int:
        """How many squared grid steps make a loss of 1."""
        return self.grid.steps * self.grid.steps

    def _skill(self, rows: Rows, reference: Rows) -> dict[str, Any]:
        """The paired gain over a reference on the same rows, each cluster weighing once."""
        own, theirs = self.losses(self.units[rows], rows), self.losses(reference, rows)
        found = paired(own, theirs, self.cluster[rows], per_one=self.per_one)
        total, other = int(own.sum()), int(theirs.sum())
        score = skill_score(Fraction(total), Fraction(other)) if len(rows) else None
        return {**estimate(found), "skill_score": _float(score)}

    def _interval(self, rows: Rows) -> list[float] | None:
        """The interval of the mean loss, clusters as independent; None below ten of them."""
        own = self.losses(self.units[rows], rows)
        found = clustered_mean(own, self.cluster[rows], per_one=self.per_one)
        return None if found.low is None or found.high is None else [found.low, found.high]

    def _rounding(self) -> dict[str, Any]:
        table = self.table
        return {
            "stated": len(table),
            "moved": table.rounded,
            "most": table.largest_rounding,
            "crowd_moved": table.crowd_rounded,
            "crowd_most": table.largest_crowd_rounding,
        }


def estimate(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON values."""
    ci95 = None if found.low is None or found.high is None else [found.low, found.high]
    return {
        "mean": found.gain,
        "se": found.se,
        "ci95": ci95,
        "n": found.n,
        "clusters": found.clusters,
        "identical": found.identical,
        "reason": found.reason,
    }


def _ranks(card: Mapping[str, Any]) -> bool:
    """Who is compared: somebody with scored rows, four in five of whose answers are valid."""
    return bool(card["n"]) and card["reliability"] >= LEAST_RELIABILITY


def _bin(item: Bin, grid: Grid) -> dict[str, Any]:
    bar = wilson(item.yes, item.n)
    return {
        "low": item.low / grid.steps,
        "high": item.high / grid.steps,
        "n": item.n,
        "yes": item.yes,
        "mean_stated": item.sum_units / grid.steps / item.n if item.n else None,
        "share": item.yes / item.n if item.n else None,
        "wilson": list(bar) if bar else None,
    }


def _left_out(item: LeftOut) -> dict[str, Any]:
    return {
        "reason": item.reason,
        "count": item.count,
        "first": list(item.first),
        "example": item.example,
    }


def _float(value: Fraction | float | None) -> float | None:
    return None if value is None else float(value)
