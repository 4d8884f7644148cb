"""`beforehand entrant key`: the key that an entrant from outside signs submissions with."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.checkpoint import VerifierKey
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.records.shape import Name
from beforehand.stages.key import SigningKey

app = typer.Typer(help="Take part in somebody else's league.", no_args_is_help=True)


@app.callback()
def _entrant() -> None:
    """Take part in somebody else's league."""


@app.command(epilog="Example: beforehand entrant key ada --out ada.pem")
def key(
    name: Annotated[str, typer.Argument(help="Your name on the roster: letters, digits, .-_")],
    to: Annotated[Path, typer.Option("--out", help="The file of the private key; kept by you.")],
) -> None:
    """Make a signing key and print what the operator needs of it, which is no secret."""
    with errors_named():
        Name().check(name, "NAME")
        made = SigningKey.make(name, to)
        _write_public(public_path(to), made.verifier.text())
        out.print(f"{to} holds your private key: keep it, and show it to nobody.", soft_wrap=True)
        out.print("Send this to the operator, for the league's roster:\n", soft_wrap=True)
        # As plain text: brackets are markup on this console, and a line must not be broken.
        out.print(entrant_toml(made.verifier), markup=False, soft_wrap=True)


def entrant_toml(verifier: VerifierKey) -> str:
    """The entry of a roster for a key."""
    return f'[[entrants]]\nforecaster = "{verifier.name}"\nkey = "{verifier.text()}"'


def public_path(path: Path) -> Path:
    """Where the public half of a key file stands."""
    return path.with_name(path.name + ".pub")


def load_entrant_key(path: Path, name: str | None) -> SigningKey:
    """The key in `path`, under the name in the file beside it, or `name` where there is none."""
    public = public_path(path)
    if not public.is_file():
        if name is None:
            raise FormatError(f"{public} is missing: give your name on the roster, --forecaster")
        return SigningKey.load(name, path)
    verifier = VerifierKey.parse(re.sub(r"\s+\Z", "", public.read_text("utf-8")))
    held = SigningKey.load(verifier.name, path)
    if held.verifier != verifier:
        raise FormatError(f"{public} is not the public half of {path}")
    return held


def _write_public(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
