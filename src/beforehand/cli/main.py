"""The command `beforehand`."""

from __future__ import annotations

from typing import Annotated

import typer

import beforehand
from beforehand.cli import (
    bench,
    blocks,
    confirming,
    conforming,
    contracting,
    correcting,
    declaring,
    demo,
    entrant,
    identity,
    intake,
    keeping,
    keys,
    operating,
    proving,
    publishing,
    rehearsal,
    releasing,
    reparsing,
    scoring,
    sealing,
    serving,
    starting,
    submitting,
    telling,
    verification,
    witness,
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
app.command(epilog=blocks.EPILOG)(blocks.blocks)
app.command(epilog=scoring.EPILOG)(scoring.score)
app.command(epilog=publishing.EPILOG)(publishing.publish)
app.command(epilog="Example: beforehand serve beforehand-demo/public")(serving.serve)
app.command(epilog=proving.EPILOG)(proving.prove)
app.command(epilog=conforming.EPILOG)(conforming.conform)
app.command(epilog=sealing.SEAL_EPILOG)(sealing.seal)
app.command("reveal", epilog=sealing.REVEAL_EPILOG)(sealing.reveal_seal)
app.command(epilog=rehearsal.EPILOG)(rehearsal.rehearse)
app.command(epilog=starting.INIT_EPILOG)(starting.init)
app.command(epilog=starting.DOCTOR_EPILOG)(starting.doctor)
app.command("declare", epilog=declaring.EPILOG)(declaring.declare_league)
app.command("correct", epilog=correcting.EPILOG)(correcting.correct)
app.command("tick", epilog=operating.TICK_EPILOG)(operating.tick_once)
app.command("run", epilog=operating.RUN_EPILOG)(operating.run_league)
app.command(epilog=telling.STATUS_EPILOG)(telling.status)
app.command(epilog=telling.COSTS_EPILOG)(telling.costs)
app.command("confirm", epilog=confirming.EPILOG)(confirming.confirm_outcomes)
app.command("reparse", epilog=reparsing.EPILOG)(reparsing.reparse)
app.command(epilog=keeping.EXPORT_EPILOG)(keeping.export)
app.command(epilog=keeping.BACKUP_EPILOG)(keeping.backup)
app.command(epilog=keeping.RESTORE_EPILOG)(keeping.restore)
app.command("submit", epilog=submitting.SUBMIT_EPILOG)(submitting.submit)
app.command("intake", epilog=intake.EPILOG)(intake.intake)
app.add_typer(entrant.app, name="entrant")
app.add_typer(submitting.receipt_app, name="receipt")
app.add_typer(witness.app, name="witness")
app.add_typer(keys.app, name="key")
app.add_typer(identity.app, name="identity")
app.add_typer(releasing.app, name="release")
app.add_typer(contracting.app, name="contract")
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
