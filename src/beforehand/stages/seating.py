"""Who is asked in a run: the lineup in force, sealed with the roster and read back from it."""

from __future__ import annotations

from pathlib import Path

from beforehand.errors import RuleError
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.lineup import Lineup, is_hidden
from beforehand.stages.identity import check_hidden, hidden_models
from beforehand.stages.pen import Pen
from beforehand.stages.situation import OpenRun, Situation
from beforehand.stages.slots import Slot, cohort

ROSTER_FILE = "roster.toml"


def lineup_for(pen: Pen, situation: Situation, slot: Slot, folder: Path) -> Lineup:
    """The lineup of the slot's cohort: sealed with its first run, and frozen for the rest of it.

    A new segment begins with its own lineup, also in the middle of a cohort.
    """
    if situation.declaration.content.get("roster", {}).get("frozen") == "cohort":
        for run in situation.runs.values():
            same = run.run.segment == situation.segment
            if same and cohort(run.run.slot) == cohort(slot.at):
                return lineup_of(pen, run)
    return current_lineup(situation, folder)


def current_lineup(situation: Situation, folder: Path) -> Lineup:
    """The roster file beside the league where there is one, else the declaration's own lineup."""
    path = folder / ROSTER_FILE
    if path.is_file():
        lineup = Lineup.parse(path.read_bytes(), str(path))
        check_hidden(situation.declaration, lineup)
    else:
        lineup = Lineup.of(situation.declaration.content, "the declaration")
    _check_names(situation, lineup)
    return lineup


def _check_names(situation: Situation, lineup: Lineup) -> None:
    """RuleError where a name would stand for another model than it did: scores go by names."""
    seats = {seat.forecaster: seat for seat in lineup.seats()}
    for run in situation.runs.values():
        for held in run.roster.seats:
            seat = seats.get(held.forecaster)
            if seat is None:
                continue
            was, now = (held.model, held.version), (seat.model, seat.version)
            swapped = held.entry == "asked" and was != now and held.model and seat.model
            if held.entry != seat.entry or swapped:
                raise RuleError(
                    f"{held.forecaster!r} was {held.model or held.entry} in run {run.run.run}; "
                    f"give {seat.model or seat.entry} a name of its own, or two would share a score"
                )


def lineup_body(lineup: Lineup) -> bytes:
    """The lineup as it is shown with a roster: settings and prices, and never a key.

    A hidden model is left out: it has a body of its own.
    """
    models = [dict(model) for model in lineup.models if not is_hidden(model)]
    entrants = [dict(entrant) for entrant in lineup.entrants]
    return seal_json({"models": models, "entrants": entrants}) + b"\n"


def lineup_of(pen: Pen, run: OpenRun) -> Lineup:
    """The lineup that was sealed with a run's roster."""
    for body in run.roster.bodies:
        if body.role == "lineup":
            shown = decode_json(pen.store.read_body(body.sha256))
            models = [*shown["models"], *hidden_models(pen, run.roster)]
            return Lineup.of({**shown, "models": models}, run.run.run)
    raise RuleError(f"the roster of {run.run.run} was sealed without its lineup")
