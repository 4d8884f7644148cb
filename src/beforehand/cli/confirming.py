"""`beforehand confirm`: seal what a second source says of outcomes that are settled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.stages.confirming import MAX_CONFIRMING_BYTES, confirm, read_table
from beforehand.stages.declare import reopen_league
from beforehand.stages.status import counted

EPILOG = (
    'Example: beforehand confirm blind outcomes.csv --source "Agency B". The table has the '
    "columns question, value (yes, no, void) and instant. Exit codes: 0 sealed, now or before, "
    "2 refused."
)


def confirm_outcomes(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    table: Annotated[Path, typer.Argument(help="What the second source says, as CSV.")],
    source: Annotated[str, typer.Option(help="The second source, not the one that settled.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Seal a second source's word on settled outcomes, with its table as the evidence.

    No outcome is changed: where the two differ, the book shows both.
    """
    with errors_named(as_json=as_json):
        if not table.is_file():
            raise FormatError(f"{table} is not a file: give the second source's table as CSV")
        with table.open("rb") as stream:
            data = stream.read(MAX_CONFIRMING_BYTES + 1)
        league = LeagueFolder.at(folder)
        rows = read_table(data, str(table))
        with reopen_league(league.book, league.clock()) as pen:
            sealed = confirm(pen, rows, data, source)
            pen.checkpoint()
    if as_json:
        typer.echo(json.dumps({"source": source, "rows": len(rows), "sealed": sealed}))
    else:
        said = counted(sealed, "confirmation")
        out.print(f"{said} of {source} sealed; now: beforehand publish {folder}", markup=False)
