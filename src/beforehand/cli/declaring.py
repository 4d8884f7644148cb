"""`beforehand declare`: check a declaration, or begin a league under it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.cli.screen import errors_named, out
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RuleError
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration, missing_features
from beforehand.stages.declare import declare, open_league

EPILOG = "Example: beforehand declare blind.toml --check. Exit codes: 0 valid, 2 refused."


def declare_league(
    file: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped one.")],
    check: Annotated[bool, typer.Option("--check", help="Only check it.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Begin the league's book in this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a league's declaration; without --check, seal it as the first line of a book."""
    with errors_named("See docs/reference/declaration.md for every key."):
        declaration = Declaration.parse(_read(file), file)
        missing = missing_features(declaration)
        if as_json:
            out.print_json(
                json.dumps(
                    {
                        "valid": True,
                        "name": declaration.name,
                        "sha256": declaration.sha256,
                        "cannot_run_yet": missing,
                    }
                )
            )
        else:
            out.print(
                f"{file}: valid; {declaration.name}, SHA-256 {declaration.sha256}", soft_wrap=True
            )
            for sentence in missing:
                out.print(f"  not in this version: {sentence}", markup=False, soft_wrap=True)
        if check:
            return
        if folder is None:
            raise RuleError(
                "give --check to check only, or --dir FOLDER to begin the league's book"
            )
        with open_league(folder, declaration, SystemClock()) as pen:
            declare(pen, declaration, folder)
            pen.checkpoint()
            out.print(
                f"declared in {folder}: {pen.store.size} lines, key {pen.key.verifier.text()}"
            )


def _read(file: str) -> bytes:
    path = Path(file)
    if path.is_file():
        return path.read_bytes()
    held = shipped()
    if file.removesuffix(".toml") in held:
        return held[file.removesuffix(".toml")]
    known = ", ".join(sorted(held))
    raise FormatError(f"{file} is neither a file nor a shipped declaration ({known})")
