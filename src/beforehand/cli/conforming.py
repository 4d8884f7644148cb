"""`beforehand conform`: how far a league keeps to the standard, from its public files alone."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.cli.fetch import fetch_public, is_url
from beforehand.cli.screen import errors_named, out, progress_bars
from beforehand.clock import SystemClock
from beforehand.errors import FormatError
from beforehand.publish.conformance.conform import conform_path, exit_code
from beforehand.publish.conformance.forms import junit, sarif, text_lines
from beforehand.publish.conformance.page import page
from beforehand.publish.conformance.profile import Profile

EPILOG = (
    "Example: beforehand conform public/ --html conformance.html. "
    "Exit codes: 0 no MUST fails, 1 one does, 2 could not check. A SHOULD that fails is said."
)


def conform(
    path: Annotated[
        str,
        typer.Argument(help="A published folder or its URL, a book (.jsonl), or a table (.csv)."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    as_junit: Annotated[bool, typer.Option("--junit", help="Print it as JUnit XML.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print it as SARIF 2.1.0.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write it as one HTML file.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML or JSON that names columns and contract keys."),
    ] = None,
    league: Annotated[str | None, typer.Option(help="Which league of the folder.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Judge due times at this instant.")] = None,
) -> None:
    """Judge a league by the standard's 17 requirements and print the ladder of claims.

    Only what public files show is a PASS: what they do not show is UNVERIFIABLE,
    with what would show it. A bare table of forecasts is level 0.
    """
    with errors_named(as_json=as_json):
        if as_json + as_junit + as_sarif > 1:
            raise FormatError("choose one of --json, --junit, --sarif")
        report = _judged(
            path,
            as_of or SystemClock().now(),
            Profile.read(profile) if profile is not None else Profile(),
            league,
        )
        if html is not None:
            html.write_text(page(report), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(report, indent=1))
    elif as_junit:
        typer.echo(junit(report), nl=False)
    elif as_sarif:
        typer.echo(sarif(report), nl=False)
    else:
        for line in text_lines(report):
            out.print(line, markup=False, soft_wrap=True)
        if html is not None:
            out.print(f"report: {html}", markup=False, soft_wrap=True)
    raise typer.Exit(exit_code(report))


def _judged(path: str, as_of: str, profile: Profile, league: str | None) -> dict[str, Any]:
    """The report on a path, or on what lies at a URL."""
    if not is_url(path):
        return conform_path(Path(path), as_of, profile=profile, league=league)
    with tempfile.TemporaryDirectory(prefix="beforehand-") as folder:
        with progress_bars() as progress:
            fetch_public(path, Path(folder), progress)
        report = conform_path(Path(folder), as_of, profile=profile, league=league)
    report["not_excluded"].append(
        "files beside the listed ones: a web host shows only what is asked for"
    )
    return report
