"""`beforehand correct`: put a mistake right by a line of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import TURN_SECONDS, errors_named, out
from beforehand.errors import FormatError
from beforehand.stages.correct import correct_lines
from beforehand.stages.declare import reopen_league

EPILOG = (
    'Example: beforehand correct blind --lines 120,121 --why "The headline was of another market." '
    "Exit codes: 0 sealed, now or before, 2 refused."
)


def correct(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    lines: Annotated[str, typer.Option(help="The lines it concerns: N, or N,M,…")],
    why: Annotated[str, typer.Option(help="What is wrong with them, for the book.")],
    source: Annotated[str, typer.Option(help="Who says so, or where it stands.")] = "the operator",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Seal a later word on earlier lines. They stay as they are, and no number is moved by it.

    An outcome changes only where the declared source changes its own word:
    settling seals that correction itself.
    """
    with errors_named(as_json=as_json):
        league = LeagueFolder.at(folder)
        with reopen_league(league.book, league.clock(), wait=TURN_SECONDS) as pen:
            n, new = correct_lines(pen, _numbers(lines), why, source)
    if as_json:
        typer.echo(json.dumps({"line": n, "new": new}))
    elif new:
        out.print(f"corrected by line {n}; now: beforehand publish {folder}", soft_wrap=True)
    else:
        out.print(f"line {n} says so already", soft_wrap=True)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) <= 12 for part in parts):
        raise FormatError(f"--lines {text!r:.80}: give numbers of lines with commas between")
    return [int(part) for part in parts]
