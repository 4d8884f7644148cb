"""`beforehand backup`, `restore` and `export`: a league that outlives its machine."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.reader import BookReader
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import TURN_SECONDS, errors_named, out, progress_bars
from beforehand.errors import RuleError
from beforehand.publish.public import API, write_data
from beforehand.stages.backup import Copied, back_up
from beforehand.stages.backup import restore as restore_backup
from beforehand.stages.status import counted

BACKUP_EPILOG = "Example: beforehand backup blind --to /mnt/other/blind"
RESTORE_EPILOG = "Example: beforehand restore /mnt/other/blind blind --public blind-public"
EXPORT_EPILOG = "Example: beforehand export blind --to tables"
TABLES = (".csv", ".parquet", ".sqlite", ".json", ".txt")


def backup(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    to: Annotated[Path, typer.Option("--to", help="Where the copy goes; later ones add to it.")],
) -> None:
    """Copy the league: book, bodies, keys, rules, inbox. It may be running meanwhile.

    The copy holds the signing keys: keep it where you would keep those.
    """
    with errors_named():
        copied = back_up(folder, to)
    out.print(
        f"{to}: {_held(copied)}; every line and body of the copy was read again",
        soft_wrap=True,
    )


def restore(
    copy: Annotated[Path, typer.Argument(help="A folder that `beforehand backup` made.")],
    folder: Annotated[Path, typer.Argument(help="The league's folder to make.")],
    public: Annotated[
        Path | None,
        typer.Option(help="What is published: a backup that lacks lines of it is refused."),
    ] = None,
) -> None:
    """Put a backup back into a fresh folder, checked line by line before it is in place."""
    with errors_named():
        copied = restore_backup(copy, folder, public=public)
    out.print(f"{folder}: {_held(copied)}", soft_wrap=True)
    if public is None:
        out.print(
            "not checked: whether more was published than the backup holds; give --public DIR. "
            "Appending to an older book would make a second one under the same name.",
            soft_wrap=True,
        )


def _held(copied: Copied) -> str:
    lines, bodies = counted(copied.lines, "line"), counted(copied.bodies, "body", "bodies")
    return f"{lines}, {bodies}, root {copied.root}"


def export(
    folder: Annotated[Path, typer.Argument(help="The league's folder.")],
    to: Annotated[Path, typer.Option("--to", help="The folder for the tables.")],
) -> None:
    """Write the league's open tables (CSV, Parquet, SQLite, JSON) without its pages."""
    with errors_named(), progress_bars() as bars:
        league = LeagueFolder.at(folder)
        pen, situation = league.open(wait=TURN_SECONDS)
        with pen:
            pen.checkpoint()
            name = situation.declaration.name
            with tempfile.TemporaryDirectory(prefix="beforehand-") as made:
                write_data(
                    BookReader(league.book),
                    pen.key.verifier,
                    Path(made),
                    pen.now()[0],
                    progress=bars,
                )
                written = _take_tables(Path(made) / API / name, to)
    for path in written:
        out.print(f"{path}", soft_wrap=True)


def _take_tables(made: Path, to: Path) -> list[Path]:
    if to.exists() and not to.is_dir():
        raise RuleError(f"{to} is a file; give a folder with --to")
    to.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted(made.iterdir()):
        if path.suffix in TABLES:
            shutil.copyfile(path, to / path.name)
            written.append(to / path.name)
    return written
