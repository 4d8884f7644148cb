"""`beforehand init` and `beforehand doctor`: from nothing to a league that can be declared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.checkup import examine
from beforehand.cli.finding import BAD, GOOD, UNCHECKED, WARNING, Finding
from beforehand.cli.league_folder import DECLARATION_NAME, LeagueFolder
from beforehand.cli.screen import errors_named, out
from beforehand.errors import RuleError
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration

INIT_EPILOG = (
    "Example: beforehand init blind --template blind --origin forecasts.example.org/blind/book"
)
DOCTOR_EPILOG = (
    "Example: beforehand doctor blind. Exit codes: 0 ready (warnings included), 1 not ready, "
    "2 bad input."
)
TEMPLATES = ("blind",)


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make; its name is the league's.")],
    template: Annotated[str, typer.Option(help="A shipped declaration to begin from.")] = "blind",
    origin: Annotated[
        str, typer.Option(help="The name the book is signed under: a domain of yours, then a path.")
    ] = "",
) -> None:
    """Make a league's folder with its declaration, ready to be read and changed."""
    with errors_named():
        if template not in TEMPLATES:
            raise RuleError(
                f"no template {template!r:.40} can be run live; there is {', '.join(TEMPLATES)}"
            )
        if folder.exists() and any(folder.iterdir()):
            raise RuleError(f"{folder} is there already and not empty; choose another folder")
        name = folder.resolve().name
        text = _renamed(shipped()[template].decode("utf-8"), template, name, origin)
        Declaration.parse(text.encode("utf-8"), f"{name}'s declaration")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DECLARATION_NAME).write_text(text, encoding="utf-8")
    out.print(f"{folder / DECLARATION_NAME} is yours to change; read its comments first.")
    for step in (
        f"beforehand declare {folder} --dry-run   what it would ask, and what a week costs",
        f"beforehand doctor {folder}              keys, credit, clock, disk, venue",
        f"beforehand declare {folder}             seal it: line 1 of the book",
        f"beforehand run {folder}                 run it (or tick from cron)",
    ):
        out.print(f"  {step}", markup=False, highlight=False)


def _renamed(text: str, template: str, name: str, origin: str) -> str:
    """The template under the league's own name and origin; nothing else is changed."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", name):
        raise RuleError(f"{name!r:.60} cannot name a league: letters, digits, dots and dashes")
    text = text.replace(f'name = "{template}"', f'name = "{name}"', 1)
    given = origin or f"{name}.league.example/{name}/book"
    return re.sub(r'^origin = ".*"$', lambda _: f'origin = "{given}"', text, count=1, flags=re.M)


def doctor(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    offline: Annotated[
        bool, typer.Option("--offline", help="Look at nothing outside this machine.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Look at everything a live league needs: keys, credit, clock, disk, venue, anchors."""
    with errors_named():
        found = examine(LeagueFolder.at(folder), offline=offline)
    if as_json:
        out.print_json(json.dumps([finding.content() for finding in found]))
    else:
        for finding in found:
            _print(finding)
    if any(finding.state == BAD for finding in found):
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    colours = {GOOD: "green", BAD: "bold red", WARNING: "yellow", UNCHECKED: "yellow"}
    colour = colours[finding.state]
    out.print(f"[{colour}]{finding.state:<11}[/] {finding.what:<21} ", end="")
    out.print(finding.said, markup=False, soft_wrap=True)
