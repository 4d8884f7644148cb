"""The watch over a league: what follows each tick, so that its operator hears of what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beforehand.anchors.queue import Queue
from beforehand.records.declaration import Declaration
from beforehand.records.record import Record, Unknown
from beforehand.relay.alerts import ping_deadman, send_alerts
from beforehand.relay.metrics import league_families, write_metrics
from beforehand.stages.anchoring import QUEUE_NAME
from beforehand.stages.health import Condition, conditions, shown_in, write_health
from beforehand.stages.inbox import Inbox


@dataclass(frozen=True)
class Watched:
    """What is wrong now, and what kept it from being told."""

    conditions: tuple[Condition, ...]
    problems: tuple[str, ...]


def keep_watch(
    folder: Path,
    records: Sequence[tuple[int, Record | Unknown]],
    declaration: Declaration,
    now: str,
    *,
    public: Path | None = None,
    went_well: bool = True,
    told: int = 0,
    environ: Mapping[str, str] | None = None,
) -> Watched:
    """Judge the league, leave health and metrics for the intake, alert, and ping where all is well.

    `folder` is the league's, `public` the folder it is published in, where
    there is one. `went_well` is False after a tick that raised an error: then
    there is no ping, and whoever waits for it in vain raises the alarm. `told`
    is how many problems the tick told.
    """
    backlog = Inbox(folder).backlog()
    shown = None
    if public is not None and (public / "api" / "v1" / declaration.name).is_dir():
        shown = shown_in(public / "api" / "v1" / declaration.name)
    waiting = Queue(folder / QUEUE_NAME).items
    found = conditions(records, declaration, now, backlog=backlog, is_shown=shown, waiting=waiting)
    write_health(folder, found, now)
    write_metrics(folder, league_families(records, declaration, found, now, backlog, told))
    problems = [send_alerts(folder, found, league=declaration.name, environ=environ).problem]
    if went_well:
        problems.append(ping_deadman(environ=environ))
    return Watched(tuple(found), tuple(filter(None, problems)))
