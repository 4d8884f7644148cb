"""`beforehand publish`: write a league's public folder anew from its book."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.publication import not_revealed_told, publish_league
from beforehand.cli.replay import archive_licence, published_beside_ours
from beforehand.cli.screen import TURN_SECONDS, errors_named, out, progress_bars
from beforehand.clock import SimulatedClock, SystemClock
from beforehand.stages.declare import declaration_of, reopen_league
from beforehand.stages.status import counted

EPILOG = "Example: beforehand publish beforehand-demo"


def publish(
    folder: Annotated[Path, typer.Argument(help="The folder that holds league/ (and public/).")],
) -> None:
    """Sign a checkpoint over the book and publish it: data, tables, pages, manifest."""
    clock_file = folder / "clock"
    clock = SimulatedClock(clock_file) if clock_file.exists() else SystemClock()
    with (
        errors_named(),
        reopen_league(folder / "league", clock, wait=TURN_SECONDS) as pen,
        progress_bars() as bars,
    ):
        pen.checkpoint()
        declaration = declaration_of(pen)
        data = publish_league(
            folder / "league",
            pen.key,
            folder / "public",
            pen.now()[0],
            bars,
            licence=archive_licence(declaration),
            published=published_beside_ours(declaration),
        )
    for said in not_revealed_told(data):
        out.print(said, markup=False, soft_wrap=True)
    out.print(
        f"{counted(data.checkpoint.size, 'line')} published in {folder / 'public'}", soft_wrap=True
    )
