"""`beforehand release replicate`: a second pipeline's own figures, signed for the league."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.store import write_synced
from beforehand.cli.entrant import load_entrant_key
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError, RuleError
from beforehand.publish.conformance.replication import REPLICATION_NAME
from beforehand.publish.release import release_content
from beforehand.publish.replicated import read_figures, replication_record
from beforehand.stages.lone_seal import read_limited
from beforehand.stages.status import counted

MAX_CODE_BYTES = 16 << 20
EPILOG = (
    "Example: beforehand release replicate releases/2026-11 figures.csv --code pipeline.py "
    "--by second.example --key second.pem --out second. The table has the columns forecaster, "
    "n_counted and brier; beforehand entrant key makes a key. Exit codes: 0 written, 2 refused."
)


def replicate(
    release: Annotated[Path, typer.Argument(help="The folder of the release that was recomputed.")],
    figures: Annotated[Path, typer.Argument(help="What your own pipeline found, as CSV.")],
    code: Annotated[Path, typer.Option(help="Your pipeline's code, one file.")],
    by: Annotated[str, typer.Option(help="Who you are, as readers know you.")],
    key: Annotated[Path, typer.Option(help="Your private key, none of the league's.")],
    to: Annotated[Path, typer.Option("--out", help="The folder to make for the league.")],
) -> None:
    """Sign the figures that a pipeline of your own found on a release.

    They are written as you give them and compared with nothing here: the
    league's reader does that, with beforehand conform.
    """
    with errors_named():
        if to.exists() and any(to.iterdir()):
            raise RuleError(f"{to} is there already and not empty; choose another folder")
        if code.name == REPLICATION_NAME:
            raise RuleError(f"{code.name} is the record's own name: call your code otherwise")
        if not by.strip() or len(by) > 200:
            raise RuleError("--by says who you are, in 1 to 200 characters")
        held = load_entrant_key(key, by)
        if not code.is_file():
            raise FormatError(f"{code} is not a file: give your pipeline's code")
        program, found = read_limited(code, MAX_CODE_BYTES), read_figures(figures)
        content = release_content(release)
        record = replication_record(
            content, found, (code.name, program), by, (held.verifier, held.sign)
        )
        write_synced(to / code.name, program)
        text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_synced(to / REPLICATION_NAME, text.encode("utf-8"))
    out.print(
        f"{to}: {counted(len(found), 'figure')} of {record['release']['release']}, signed. Send "
        "the folder to the league, which puts it into its own as replications/NAME and publishes.",
        markup=False,
        soft_wrap=True,
    )
