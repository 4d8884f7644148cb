"""Runs and cohorts as tables: how each ended, what was asked, what became of the forecasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.clock import instant_key
from beforehand.publish.attempts import Attempt
from beforehand.publish.cohorts import cohort_end, cohort_of
from beforehand.publish.counting import JudgedRun
from beforehand.publish.entries import BoardView
from beforehand.publish.gains import board_estimate, board_text, mean_crowd_gain, mean_loss
from beforehand.publish.ranking import SharedSet, shared_set
from beforehand.publish.rows import Row
from beforehand.publish.spending import spending_by, spending_of

# What a forecast can still become: a cohort is not over before there is none.
_UNSETTLED = ("open", "pending", "sealed")
# What is no forecast of a cohort and so fails nobody.
_NO_FORECAST = ("uncounted_run", "not_counted", "not_asked", "not_on_roster")


def runs_told(
    runs: Sequence[JudgedRun], attempts: Sequence[Attempt], view: BoardView
) -> list[dict[str, Any]]:
    """Every occasion, missed ones too, in the order of the book, as JSON."""
    by_run = spending_by(attempts, lambda attempt: attempt.run)
    judged = {run.run: run for run in runs}
    counts = _counts_by_run(view)
    told = {
        name: _run_told(run, by_run.get(name, []), counts, view) for name, run in judged.items()
    }
    for name, (line, close) in view.fold.closes.items():
        if name not in told:
            told[name] = {
                **_run_head(name, close.slot, view.rules.weekly),
                "status": close.status,
                "why": close.why,
                "counted": False,
                "questions": 0,
                "asked": 0,
                "valid": 0,
                "failed": 0,
                "waiting": 0,
                "silent": [],
                **spending_of([]).told(),
                "line": line,
                "close_line": line,
                "opened_at": None,
                "closed_at": close.at,
            }
    return sorted(told.values(), key=lambda held: (instant_key(held["slot"]), held["line"]))


def _run_head(name: str, slot: str, weekly: bool) -> dict[str, Any]:
    return {"run": name, "slot": slot, "cohort": cohort_of(slot) if weekly else ""}


def _counts_by_run(view: BoardView) -> Counter[tuple[str, str, bool]]:
    """How many attempts were valid, and how many failed, by run and forecaster."""
    counts = Counter[tuple[str, str, bool]]()
    for name, attended in view.attended.items():
        counts.update((run, name, True) for run, _ in attended.valid)
        counts.update((run, name, False) for run, _ in attended.failed)
    return counts


def _run_told(
    run: JudgedRun,
    held: Sequence[Attempt],
    counts: Counter[tuple[str, str, bool]],
    view: BoardView,
) -> dict[str, Any]:
    line, close = view.fold.closes.get(run.run, (None, None))
    asked = [name for name, entry in run.entry.items() if entry == "asked"]
    valid = {name: counts[run.run, name, True] for name in asked}
    failed = {name: counts[run.run, name, False] for name in asked}
    waiting = {(s.question, s.forecaster) for s in run.said if s.status in ("pending", "sealed")}
    return {
        **_run_head(run.run, run.record.slot, run.rules.weekly),
        "status": close.status if close else "open",
        "why": (close.why if close else None) or run.record.why,
        "counted": run.counted,
        "questions": len(run.questions),
        "asked": len(run.first_asked),
        "valid": sum(valid.values()),
        "failed": sum(failed.values()),
        "waiting": len(waiting),
        "silent": sorted(name for name in asked if failed[name] and not valid[name]),
        **spending_of(held).told(),
        "line": run.line,
        "close_line": line,
        "opened_at": run.record.at,
        "closed_at": close.at if close else None,
    }


def cohorts_told(
    runs: Sequence[Mapping[str, Any]],
    rows: Sequence[Row],
    attempts: Sequence[Attempt],
    view: BoardView,
) -> list[dict[str, Any]]:
    """Every cohort in order of time, as JSON; none where the league has no cohorts."""
    by_cohort: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["cohort"]:
            by_cohort.setdefault(run["cohort"], []).append(run)
    spent = spending_by(attempts, lambda attempt: attempt.cohort)
    return [
        _cohort_told(name, by_cohort[name], rows, spent.get(name, []), view)
        for name in sorted(by_cohort)
    ]


def _cohort_told(
    name: str,
    runs: Sequence[Mapping[str, Any]],
    rows: Sequence[Row],
    attempts: Sequence[Attempt],
    view: BoardView,
) -> dict[str, Any]:
    """A cohort's account and its own comparison: on the set its reliable models share.

    It is complete when its week is over and every forecast of those asked or
    accepted is scored, void, failed or stale.
    """
    own = [row for row in rows if row.cohort == name]
    said = [row for row in own if row.kind != "derived" and row.status not in _NO_FORECAST]
    statuses = Counter(row.status for row in said)
    over = instant_key(view.fold.last_at) >= cohort_end(name)
    unsettled = sum(statuses[status] for status in _UNSETTLED)
    state = "running" if not over else ("settling" if unsettled else "complete")
    kinds = {row.forecaster: row.kind for row in own}
    keys = {(row.run, row.question) for row in own}
    shared = shared_set(view.scored, kinds, view.attended, view.rules, within=keys)
    return {
        "cohort": name,
        "state": state,
        "first_slot": min((run["slot"] for run in runs), key=instant_key),
        "runs": len(runs),
        "missed": sum(run["status"] == "missed" for run in runs),
        "stopped_budget": sum(run["status"] == "stopped_budget" for run in runs),
        "lineups": _lineups(runs, view),
        "questions": len({row.weighed_as for row in own if row.status != "uncounted_run"}),
        "forecasts": len(said),
        "scored": statuses["counted"],
        "void": statuses["void"],
        "stale": statuses["stale"],
        "open": statuses["open"],
        "waiting": statuses["pending"] + statuses["sealed"],
        "failed": len(said) - unsettled - sum(statuses[s] for s in ("counted", "void", "stale")),
        **spending_of(attempts).told(),
        "shared": shared.told(),
        "forecasters": [
            _in_cohort(forecaster, kind, shared, keys, view) for forecaster, kind in kinds.items()
        ],
    }


def _lineups(runs: Sequence[Mapping[str, Any]], view: BoardView) -> int:
    """How many different lineups the cohort's runs had: 1 where it was frozen, as declared."""
    held = {view.fold.roster_of(run["run"]).seats for run in runs if run["run"] in view.fold.runs}
    return len(held)


def _in_cohort(
    forecaster: str, kind: str, shared: SharedSet, keys: set[tuple[str, str]], view: BoardView
) -> dict[str, Any]:
    """One forecaster in one cohort: on its own questions, and on the cohort's shared set."""
    own = [row for key, row in view.scored[forecaster].items() if key in keys]
    compared = shared.rows(view.scored[forecaster])
    whole = len(compared) == len(shared.keys)
    attended = view.attended.get(forecaster)
    return {
        "forecaster": forecaster,
        "kind": kind,
        "n_counted": len(own),
        "valid": sum(key in keys for key in attended.valid) if attended else 0,
        "failed": sum(key in keys for key in attended.failed) if attended else 0,
        "brier": board_text(mean_loss(own, view.rules).mean),
        "gain_on_crowd": board_estimate(mean_crowd_gain(own, view.rules)),
        "brier_shared": board_text(mean_loss(compared, view.rules).mean) if whole else None,
        "gain_shared": board_estimate(mean_crowd_gain(compared if whole else (), view.rules)),
    }
