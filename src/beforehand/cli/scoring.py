"""`beforehand score`: an analyst's table of forecasts, scored."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.publish.scorecard import MARGIN, Scorecard, build_scorecard
from beforehand.records.shape import decimal_text
from beforehand.scoring.exact import Grid
from beforehand.site.report import write_report
from beforehand.site.text import plain
from beforehand.sources.columns import NAMES, ColumnError
from beforehand.sources.faults import TableError
from beforehand.sources.formats import read_any
from beforehand.sources.sheet import LIMITS

EPILOG = (
    "Example: beforehand score forecasts.csv --html report.html. "
    "Exit codes: 0 scored, 2 bad input (the message names line and column)."
)


def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, Parquet or JSONL, or a known benchmark's file; - reads standard input."
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, an error too.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report with pictures.")] = None,
    skip_bad: Annotated[bool, typer.Option(help="Leave bad rows out and count them.")] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME",
            help="The column that plays a role, as in probability=myname; time= says that none "
            "does. Give it once a role.",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The score of an inspect log that holds the forecast."),
    ] = None,
    grid: Annotated[
        str, typer.Option(help="The grid step probabilities are scored on.")
    ] = "0.0001",
    margin: Annotated[
        float, typer.Option(help="The Brier difference that counts as none.")
    ] = MARGIN,
) -> None:
    """Score a table: forecaster, question, probability, outcome; a crowd, cluster, time if there.

    Bad rows are named, never repaired: the first with its line and column, the
    others counted. Prints every forecaster's scores with intervals, and says
    who is better.
    """
    with errors_named(as_json=as_json), _on_disk(file) as path:
        _check_report(path, html)
        step, chosen = decimal_text(grid, "--grid"), _columns(column or [])
        try:
            table = read_any(
                path, skip_bad=skip_bad, grid=_grid(step), columns=chosen, scorer=scorer
            )
        except ColumnError as error:
            choice = shlex.quote(f"{error.role}={error.column}")
            raise error.said(f"--column {choice}") from None
        card = build_scorecard(table, margin)
        if html is not None:
            write_report(card, html)
    if as_json:
        typer.echo(json.dumps(card.content, indent=1, ensure_ascii=False, allow_nan=False))
        return
    print_card(card)
    if html is not None:
        out.print(f"report: {html}", soft_wrap=True)


@contextlib.contextmanager
def _on_disk(file: Path) -> Iterator[Path]:
    """The file, or standard input as a file named stdin."""
    if str(file) != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="beforehand-score-") as folder:
        path, size = Path(folder) / "stdin", 0
        with path.open("wb") as held:
            while block := sys.stdin.buffer.read(1 << 20):
                size += held.write(block)
                if size > LIMITS.file_bytes:
                    told = f"over the limit of {LIMITS.file_bytes} bytes"
                    raise TableError("stdin", told, "split the table")
        yield path


def _columns(said: list[str]) -> dict[str, str | None]:
    """The choices of `--column ROLE=NAME`; no name says that no column plays the role."""
    chosen: dict[str, str | None] = {}
    for text in said:
        role, given, name = text.partition("=")
        where = f"--column {shlex.quote(text)}"
        if not given:
            raise TableError(where, "no = in it", "write ROLE=NAME, as in probability=myname")
        if role not in NAMES:
            raise TableError(where, f"{role!r} is no role", f"roles are {', '.join(NAMES)}")
        if role in chosen:
            raise TableError(where, f"a second column for the {role}", "give one a role")
        chosen[role] = name or None
    return chosen


def _check_report(file: Path, html: Path | None) -> None:
    """A report never takes the place of the table, or of what is no plain file."""
    if html is None or not html.exists():
        return
    if html.is_symlink() or not html.is_file():
        raise FormatError(f"--html {html} is no plain file; choose another name")
    if file.exists() and html.samefile(file):
        raise FormatError(f"--html {html} is the table itself; choose another name")


def _grid(step: Decimal) -> Grid:
    if step <= 0:
        raise FormatError(f"--grid {step}: a step above 0, such as 0.0001")
    return Grid.of(step)


def print_card(card: Scorecard) -> None:
    """The scorecard as a table, what was rounded or left out, and the sentence."""
    content = card.content
    for note in content["notes"]:
        out.print(f"note: {plain(note)}", markup=False, soft_wrap=True, style="dim")
    crowd = card.table.crowd is not None
    # With a crowd every column of a terminal of 80 is needed.
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if crowd else 1, 0, 0))
    table.add_column("forecaster", overflow="fold", min_width=10)
    names = ("n", "cover", "Brier", "± 95 %", "log", "slope", "ECE")
    for name in (*names, *(("skill", "± 95 %", "of n") if crowd else ())):
        table.add_column(name, justify="right", no_wrap=True)
    cards = sorted(content["forecasters"].items(), key=lambda item: _order(item[1]))
    for name, held in cards:
        table.add_row(Text(plain(name)), *_cells(held, crowd))
    out.print(table)
    shared, rounding = content["shared"], content["rounding"]
    out.print(
        f"Shared by the {len(shared['forecasters'])} who answered four in five of the questions: "
        f"n = {shared['n']}; --json has their scores on it."
    )
    out.print(
        f"Scored on a grid of {content['grid']}: {rounding['moved']} of {rounding['stated']} "
        f"probabilities moved, by {rounding['most']} at most.",
        soft_wrap=True,
    )
    for item in (*content["skipped"], *content["kept_out"]):
        out.print(
            plain(f"left out: {item['reason']}: {item['count']} ({item['example']})"),
            soft_wrap=True,
            markup=False,
        )
    out.print("cover: share of the table's questions answered.")
    out.print("log: mean log loss, nats. slope: Cox; 1 is calibrated, below 1 overconfident.")
    if crowd:
        out.print(
            "skill: the crowd's Brier minus one's own, on the n rows that have a crowd; above 0 "
            "beats the crowd.",
            soft_wrap=True,
        )
    sentence = plain(content["standing"]["sentence"])
    out.print(f"\n{sentence}", markup=False, soft_wrap=True, style="bold")


def _order(held: dict[str, Any]) -> tuple[bool, float]:
    return held["brier"] is None, held["brier"] or 0.0


def _cells(held: dict[str, Any], crowd: bool) -> list[str]:
    cells = [
        f"{held['n']:,}",
        "–" if held["coverage"] is None else f"{100 * held['coverage']:.0f}%",
        _number(held["brier"]),
        _half(held["brier_interval"]),
        _number(held["log_loss"], 3),
        _number(held["cox"]["slope"], 2),
        _number(held["ece"], 3),
    ]
    if crowd:
        skill = held["skill"]
        cells += [_number(skill["mean"], 4, sign=True), _half(skill["ci95"]), f"{skill['n']}"]
    return cells


def _number(value: float | None, places: int = 4, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:{'+' if sign else ''}.{places}f}"


def _half(ends: list[float] | None) -> str:
    """Half the width of an interval, which is symmetric."""
    return "–" if ends is None else f"±{(ends[1] - ends[0]) / 2:.3f}"
