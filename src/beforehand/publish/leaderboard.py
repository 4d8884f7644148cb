"""The board: every forecaster's score with n, coverage and interval, and who is ranked.

Standard library only: `recount.py` is made of this very file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beforehand.publish.attempts import Attempt, build_attempts
from beforehand.publish.corrections import corrections_told
from beforehand.publish.counting import JudgedRun
from beforehand.publish.derived import POOLS
from beforehand.publish.entries import BoardView, board_entry
from beforehand.publish.fold import LeagueFold
from beforehand.publish.gains import board_text
from beforehand.publish.occasions import cohorts_told, runs_told
from beforehand.publish.pools import pool_analysis, pool_told, voices_told
from beforehand.publish.ranking import (
    give_ranks,
    own_shared,
    scored_by_key,
    shared_set,
    shared_told,
)
from beforehand.publish.reliability import Key, attended_by_all
from beforehand.publish.rows import IN, Row, build_rows, judge_runs
from beforehand.publish.rules import Rules
from beforehand.publish.service_score import served_by_all
from beforehand.publish.spending import costs_told
from beforehand.records.run import Seat
from beforehand.scoring.exact import decimal_places
from beforehand.scoring.paired import LEVEL

BOARD_FORMAT = "beforehand-leaderboard/2"


@dataclass(frozen=True)
class LeagueScores:
    """Everything that is computed from a fold: rows, attempts, and the board as JSON."""

    rows: list[Row]
    attempts: list[Attempt]
    board: dict[str, Any]


def score_league(fold: LeagueFold) -> LeagueScores:
    """Rows, attempts and board of a league."""
    runs = judge_runs(fold)
    rows = build_rows(fold, runs)
    attempts = build_attempts(runs, rows)
    return LeagueScores(rows, attempts, _board(fold, runs, rows, attempts))


def build_board(fold: LeagueFold, rows: list[Row]) -> dict[str, Any]:
    """The leaderboard as JSON values; numbers are decimal text of six places.

    A statistic of nothing is null. `gain` ranks: over the crowd on the set
    that all ranked share, or over the median of everybody else's forecasts on
    the forecaster's own events, as the league declares. `gain_on_average` is
    the mean loss of everybody else minus the forecaster's own, which is 0 on
    average for one who is no different from the others (a median of many
    beats most of its members, so a gain over it is below 0 for such a one).
    `others_brier` is that mean loss.
    """
    runs = judge_runs(fold)
    return _board(fold, runs, rows, build_attempts(runs, rows))


def _board(
    fold: LeagueFold, runs: Sequence[JudgedRun], rows: Sequence[Row], attempts: Sequence[Attempt]
) -> dict[str, Any]:
    by_forecaster: dict[str, list[Row]] = {}
    for row in rows:
        by_forecaster.setdefault(row.forecaster, []).append(row)
    view = _view(fold, runs, rows, by_forecaster)
    entries, gains = _entries(by_forecaster, view)
    give_ranks(entries, gains)
    counted = [row for row in rows if row.status == "counted"]
    runs_table = runs_told(runs, attempts, view) if view.rules.asked else None
    return {
        **_head(fold, view),
        "state": "scored" if counted else "awaiting",
        "events": view.offered,
        "events_resolved": len({(row.run, row.question) for row in counted}),
        "questions": len({fold.questions[name][1].cluster for _, name in view.offered_keys}),
        "rounding": _rounding(rows, view.rules),
        "forecasters": entries,
        "shared": _shared(entries, view),
        "analysis": _add_analysis(entries, by_forecaster, view),
        "runs": runs_table,
        "cohorts": None if runs_table is None else cohorts_told(runs_table, rows, attempts, view),
        "costs": costs_told(attempts, fold.declaration) if view.rules.asked else None,
        "not_revealed": [held.told() for held in fold.not_revealed],
        "corrections": corrections_told(fold),
    }


def _view(
    fold: LeagueFold,
    runs: Sequence[JudgedRun],
    rows: Sequence[Row],
    by_forecaster: Mapping[str, Sequence[Row]],
) -> BoardView:
    rules, scored = Rules.of(fold.declaration), scored_by_key(by_forecaster)
    attended = attended_by_all(runs if rules.asked else (), rows)
    kinds = {name: held[0].kind for name, held in by_forecaster.items()}
    seats: dict[str, Seat] = {}
    for name in fold.runs:
        seats.update({seat.forecaster: seat for seat in fold.roster_of(name).seats})
    return BoardView(
        fold=fold,
        rules=rules,
        offered_keys=_offered(fold, rows, rules),
        scored=scored,
        attended=attended,
        shared=shared_set(scored, kinds, attended, rules) if rules.on == "shared_set" else None,
        seats=seats,
        served=served_by_all(runs, rows, rules),
    )


def _offered(fold: LeagueFold, rows: Sequence[Row], rules: Rules) -> set[Key]:
    """The runs and questions that count as offered: what coverage is a share of.

    Those of a trial, and those that the budget kept from being asked, were
    offered to nobody, unless somebody answered them all the same.
    """
    asking = {
        name
        for name in fold.runs
        if rules.asked and any(seat.entry == "asked" for seat in fold.roster_of(name).seats)
    }
    offered = {
        (name, question)
        for name in fold.runs
        if fold.counts(name)
        for question in fold.questions_of(name)
        if name not in asking or (name, question) in fold.asked
    }
    return offered | {(row.run, row.question) for row in rows if row.status in IN}


def _entries(
    by_forecaster: Mapping[str, Sequence[Row]], view: BoardView
) -> tuple[list[dict[str, Any]], dict[str, Fraction | None]]:
    gains: dict[str, Fraction | None] = {}
    entries = []
    for name, held in by_forecaster.items():
        entry, gains[name] = board_entry(name, held, view)
        entries.append(entry)
    return entries, gains


def _head(fold: LeagueFold, view: BoardView) -> dict[str, Any]:
    """What the board is of, and the rules it follows. `segments` are for who has the whole book."""
    rules = view.rules
    least = rules.min_reliability
    return {
        "format": BOARD_FORMAT,
        "league": fold.league.league,
        "title": fold.declaration.title,
        "origin": fold.league.origin,
        "lines": fold.lines,
        "as_of": fold.last_at,
        "time": [segment.time for segment in fold.segments.values()],
        "segment": next(reversed(fold.segments), ""),
        "segments": [],
        "grid": str(fold.declaration.grid),
        "level": str(LEVEL),
        "rules": {
            "rank_by": fold.declaration.rank_by,
            "against": rules.against,
            "on": rules.on,
            "weigh": rules.weigh,
            "min_events": rules.min_events,
            "min_reliability": None if least is None else str(
                fold.declaration.content["board"]["min_reliability"]
            ),
            "min_clusters_interval": rules.min_clusters_interval,
            "shared_min": rules.shared_min,
            "service_fill": board_text(rules.service_fill),
            "not_revealed": rules.not_revealed,
        },
    }  # fmt: skip


def _shared(entries: Sequence[Mapping[str, Any]], view: BoardView) -> dict[str, Any]:
    ranked = [entry["forecaster"] for entry in entries if entry["rank"] is not None]
    if view.shared is None:
        return own_shared(ranked, view.scored, view.rules)
    return shared_told(view.shared, ranked, view.scored, view.rules)


def _add_analysis(
    entries: Sequence[dict[str, Any]],
    by_forecaster: Mapping[str, Sequence[Row]],
    view: BoardView,
) -> dict[str, Any] | None:
    """The analysis of the models; every pool's entry is given its size, r and N_eff.

    A league that accepts answers has no analysis; its pools stand beside how
    alike the ranked are.
    """
    analysis = None
    if view.shared is not None and view.rules.asked:
        kinds = {entry["forecaster"]: entry["kind"] for entry in entries}
        analysis = pool_analysis(view.scored, kinds, view.shared, view.rules)
    ranked = [entry["forecaster"] for entry in entries if entry["rank"] is not None]
    voices = analysis or voices_told(ranked, view.scored, view.rules)
    for entry in entries:
        if view.rules.derived.get(entry["forecaster"]) in POOLS:
            rows = by_forecaster[entry["forecaster"]]
            entry["pool"] = pool_told(voices, [row for row in rows if row.status == "counted"])
    return analysis


def _rounding(rows: Sequence[Row], rules: Rules) -> dict[str, Any]:
    """How many stated probabilities the grid moved, and by how much at most."""
    moved = [
        abs(Fraction(row.p) - rules.grid.probability(row.units))
        for row in rows
        if row.kind != "derived" and row.units is not None
    ]
    return {
        "stated": len(moved),
        "moved": sum(value > 0 for value in moved),
        "most": decimal_places(max(moved, default=Fraction(0)), 8),
    }
