"""`beforehand release build|verify`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.folder import DirectoryFolder
from beforehand.book.options import Options
from beforehand.book.verify import report_lines
from beforehand.cli.replicating import EPILOG as REPLICATE_EPILOG
from beforehand.cli.replicating import replicate
from beforehand.cli.screen import errors_named, out
from beforehand.cli.verification import verify_published
from beforehand.clock import SimulatedClock, SystemClock
from beforehand.errors import IntegrityError, RuleError
from beforehand.publish.release import build_release, check_prefix, open_release, other_code
from beforehand.stages.declare import reopen_league
from beforehand.stages.seal_release import seal_release
from beforehand.stages.status import counted

app = typer.Typer(help="Freeze a publication for good, and check one.", no_args_is_help=True)
app.command(epilog=REPLICATE_EPILOG)(replicate)


@app.command(epilog="Example: beforehand release build beforehand-demo --name 2026-11")
def build(
    folder: Annotated[Path, typer.Argument(help="The folder that holds league/ and public/.")],
    name: Annotated[str, typer.Option(help="The release's name, also its file name.")],
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Where releases go (default: FOLDER/releases).")
    ] = None,
) -> None:
    """Verify public/, freeze it as a release, and seal the release's hash in the book."""
    with errors_named():
        _check_name(name)
        public, releases = folder / "public", out_folder or folder / "releases"
        report = verify_published(public, Options(as_of=SystemClock().now()))
        if report.exit_code:
            for line in report_lines(report):
                out.print(line, markup=False, soft_wrap=True)
            raise RuleError(f"{public} does not verify, and only what verifies is released")
        target = releases / name
        if not target.exists():
            build_release(public, releases, name)
        content = json.loads((target / "release.json").read_bytes())
        clock = folder / "clock"
        league = content["leagues"][0]
        with reopen_league(
            folder / "league", SimulatedClock(clock) if clock.exists() else SystemClock()
        ) as pen:
            sealed = seal_release(pen, name, content["manifest_sha256"], league["lines"])
        out.print(
            f"{target}: {counted(league['lines'], 'line')}, zip {content['zip']['sha256']}",
            soft_wrap=True,
        )
        out.print("sealed in the book" if sealed else "was sealed in the book before")
        if sealed:
            out.print(f"The public folder gets that line with: beforehand publish {folder}")


@app.command(
    epilog="Example: beforehand release verify releases/2026-11 --against public/. "
    "Exit codes: 0 sound, 1 findings, 2 could not check."
)
def verify(
    release: Annotated[Path, typer.Argument(help="The release's folder.")],
    against: Annotated[
        Path | None, typer.Option(help="A later public folder that must begin with its book.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a release: its hashes, its book, its scores, and that a later book begins with it."""
    with errors_named(), _findings(), tempfile.TemporaryDirectory(prefix="beforehand-") as made:
        content = open_release(release, Path(made))
        report = verify_published(Path(made) / "public", Options(as_of=SystemClock().now()))
        if said := other_code(content):
            report.not_checked.append(f"the code that scored: {said}")
        if against is None:
            report.not_checked.append("a later book: give one with --against")
        else:
            for problem in check_prefix(content, DirectoryFolder(against)):
                report.find(8, str(against), problem)
    if as_json:
        out.print_json(json.dumps(report.content()))
    else:
        for line in report_lines(report):
            out.print(line, markup=False, soft_wrap=True)
    raise typer.Exit(report.exit_code)


@contextmanager
def _findings() -> Iterator[None]:
    """What differs from what was frozen is a finding: exit code 1."""
    try:
        yield
    except IntegrityError as error:
        out.print(f"FINDING {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _check_name(name: str) -> None:
    plain = name.replace("-", "").replace(".", "").replace("_", "")
    if not plain.isascii() or not plain.isalnum() or name[0] in ".-" or len(name) > 80:
        raise RuleError(f"{name!r:.80} cannot name a release: letters, digits, dots and dashes")
