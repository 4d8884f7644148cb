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
from beforehand.publish.replicated import (
    MAX_FIGURES_BYTES,
    read_figures,
    release_named,
    replication_record,
)
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
        program = _bytes(code, MAX_CODE_BYTES)
        found = read_figures(_bytes(figures, MAX_FIGURES_BYTES), str(figures))
        record = replication_record(
            release_named(release), found, (code.name, program), by, (held.verifier, held.sign)
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


def _bytes(path: Path, limit: int) -> bytes:
    if not path.is_file():
        raise FormatError(f"{path} is not a file")
    with path.open("rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"{path} is over the limit of {limit} bytes")
    return data
