"""The command `beforehand`."""

from __future__ import annotations

from typing import Annotated

import typer

import beforehand
from beforehand.cli import (
    bench,
    declaring,
    demo,
    publishing,
    releasing,
    scoring,
    serving,
    verification,
)

app = typer.Typer(
    name="beforehand",
    help="Forecasts by AI models, sealed before the outcome, scored after it, "
    "and checkable by anyone. Begin with: beforehand demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)

app.command(epilog=demo.EPILOG)(demo.demo)
app.command(epilog=verification.EPILOG)(verification.verify)
app.command(epilog=scoring.EPILOG)(scoring.score)
app.command(epilog=publishing.EPILOG)(publishing.publish)
app.command(epilog="Example: beforehand serve beforehand-demo/public")(serving.serve)
app.command("declare", epilog=declaring.EPILOG)(declaring.declare_league)
app.add_typer(releasing.app, name="release")
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(beforehand.__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


def run() -> None:
    """The console script; anything unexpected ends with exit code 2, never with 1."""
    try:
        app()
    except SystemExit:
        raise
    except BaseException:
        import traceback

        traceback.print_exc()
        raise SystemExit(2) from None
