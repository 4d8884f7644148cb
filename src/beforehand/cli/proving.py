"""`beforehand prove`: one forecast as a file of a few kilobytes that anyone can check offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.folder import DirectoryFolder
from beforehand.book.reader import BookReader
from beforehand.book.store import write_synced
from beforehand.cli.screen import errors_named, out
from beforehand.publish.proving import Wanted, prove_line
from beforehand.stages.status import counted

EPILOG = (
    "Example: beforehand prove public --forecaster gpt --question 1a2b3c4d5e6f --out gpt.proof; "
    "then anyone: beforehand verify gpt.proof"
)


def prove(
    public: Annotated[Path, typer.Argument(help="The published folder (public/).")],
    target: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path(
        "forecast.proof"
    ),
    line: Annotated[int | None, typer.Option(help="The book line to prove.", min=1)] = None,
    forecaster: Annotated[str | None, typer.Option(help="Whose answer to prove.")] = None,
    question: Annotated[
        str | None, typer.Option(help="On which question: its id, or eight characters of it.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="In which run (default: the first).")] = None,
    league: Annotated[
        str | None, typer.Option(help="Which league, where there are several.")
    ] = None,
    cell: Annotated[
        bool, typer.Option("--cell", help="Show the cell on the question, and no other.")
    ] = False,
    private: Annotated[
        Path | None, typer.Option(help="The operator's book (league/): for a withheld answer.")
    ] = None,
) -> None:
    """Write the proof of one line: the line, its path in the tree, the signed checkpoint."""
    with errors_named():
        wanted = Wanted(line, forecaster, question, run, cell)
        reader = None if private is None else BookReader(private)
        proof = prove_line(DirectoryFolder(public), league, wanted, reader)
        data = proof.data()
        write_synced(target, data)
    out.print(
        f"{target}: {len(data)} bytes, {counted(len(proof.path), 'hash', 'hashes')}, "
        f"{counted(len(proof.bodies), 'body', 'bodies')}",
        soft_wrap=True,
    )
    out.print(
        f"Check it with: beforehand verify {target} --origin {proof.origin} --key KEY",
        soft_wrap=True,  # a command that is cut into lines cannot be copied
    )
