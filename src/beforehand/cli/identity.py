"""`beforehand identity reveal`: say who stood behind a hidden seat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import errors_named, out
from beforehand.stages.declare import reopen_league
from beforehand.stages.identity import reveal_identity
from beforehand.stages.status import counted

app = typer.Typer(help="Who stands behind a hidden seat.", no_args_is_help=True)


@app.command(
    epilog='Example: beforehand identity reveal blind model-x --why "it is released". '
    "Exit codes: 0 revealed, now or before, 2 refused."
)
def reveal(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    seat: Annotated[str, typer.Argument(help="The seat's name on the roster.")],
    why: Annotated[str, typer.Option(help="Why, for the book.")] = "the model is released",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Seal that a seat's identity bodies are public, from every run it took part in."""
    with errors_named(as_json=as_json):
        league = LeagueFolder.at(folder)
        with reopen_league(league.book, league.clock()) as pen:
            found = reveal_identity(pen, seat, why)
    if as_json:
        typer.echo(json.dumps({"seat": seat, "revealed": found}, indent=1))
    elif found:
        bodies = counted(len(found), "body", "bodies")
        out.print(f"{bodies} of {seat} revealed; now: beforehand publish {folder}")
    else:
        out.print(f"{seat} was revealed before")
