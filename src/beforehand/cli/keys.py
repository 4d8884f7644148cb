"""`beforehand key rotate|recover|show`: the key that signs a league's book."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.key_history import key_history
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import errors_named, out
from beforehand.errors import RuleError
from beforehand.stages.rotation import RECOVERY_NAME, Changed, recover_key, rotate_key

app = typer.Typer(help="Change the key that signs a league's book.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(help="The league's folder.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command(
    epilog='Example: beforehand key rotate blind --reason "the yearly change". '
    "Exit codes: 0 changed, 2 refused."
)
def rotate(
    folder: _Folder,
    reason: Annotated[str, typer.Option(help="Why, for the book.")] = "a planned change",
    as_json: _Json = False,
) -> None:
    """Put a fresh key in the place of the present one, which signs the change."""
    with errors_named("See docs/reference/keys.md.", as_json=as_json):
        league = _declared(folder)
        changed = rotate_key(league.book, league.clock(), reason)
    _tell(league, changed, as_json)


@app.command(
    epilog="Example: beforehand key recover blind --recovery /media/usb/recovery.pem. "
    "Exit codes: 0 changed, 2 refused."
)
def recover(
    folder: _Folder,
    recovery: Annotated[Path, typer.Option(help="The recovery key's file.")],
    reason: Annotated[str, typer.Option(help="Why, for the book.")] = "the key was lost",
    as_json: _Json = False,
) -> None:
    """Put a fresh key in the place of one that was lost or stolen, by the recovery key."""
    with errors_named("See docs/reference/keys.md.", as_json=as_json):
        league = _declared(folder)
        changed = recover_key(league.book, recovery, league.clock(), reason)
    _tell(league, changed, as_json)
    if not as_json:
        out.print(
            f"A fresh recovery key is at {league.book / RECOVERY_NAME}: move it to another place.",
            soft_wrap=True,
        )


@app.command(epilog="Example: beforehand key show blind. Exit codes: 0 shown, 2 no league.")
def show(folder: _Folder, as_json: _Json = False) -> None:
    """The keys of the book, each with the line from which it signs."""
    with errors_named(as_json=as_json):
        history = key_history(BookReader(_declared(folder).book).lines())
    keys = [{"from_line": n or 1, "key": key.text()} for n, key in history.changes]
    if as_json:
        typer.echo(json.dumps({"keys": keys, "recovery": history.recovery}, indent=1))
        return
    for each in keys:
        out.print(f"from line {each['from_line']}: {each['key']}", markup=False, soft_wrap=True)
    out.print(f"recovery key committed to: {history.recovery}", soft_wrap=True)


def _declared(folder: Path) -> LeagueFolder:
    league = LeagueFolder.at(folder)
    if not (league.book / BOOK_NAME).is_file():
        raise RuleError(f"{folder} holds no declared league")
    return league


def _tell(league: LeagueFolder, changed: Changed, as_json: bool) -> None:
    told = {"line": changed.line, "replaces": changed.old.text(), "key": changed.new.text()}
    if as_json:
        typer.echo(json.dumps(told, indent=1))
        return
    out.print(f"from line {changed.line} on signs: {told['key']}", markup=False, soft_wrap=True)
    out.print(f"it replaces: {told['replaces']}", markup=False, soft_wrap=True)
    out.print(
        f"Restart what holds the old key (an intake), then: beforehand publish {league.path}. "
        "Tell your readers the new key; destroy the retired one in "
        f"{league.book / 'keys'} once that is published.",
        soft_wrap=True,
    )
