"""`beforehand score`: an analyst's table of forecasts, scored."""

from __future__ import annotations

import json
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
from beforehand.sources.formats import read_any

EPILOG = (
    "Example: beforehand score forecasts.csv --html report.html. "
    "Exit codes: 0 scored, 2 bad input (the message names row and column)."
)


def score(
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or JSONL, or a known benchmark's file.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report with pictures.")] = None,
    skip_bad: Annotated[bool, typer.Option(help="Leave bad rows out and count them.")] = False,
    grid: Annotated[
        str, typer.Option(help="The grid step probabilities are scored on.")
    ] = "0.0001",
    margin: Annotated[
        float, typer.Option(help="The Brier difference that counts as none.")
    ] = MARGIN,
) -> None:
    """Score a table: forecaster, question, probability, outcome; a crowd, cluster, time if there.

    Bad rows are named, never repaired. Prints every forecaster's scores with
    intervals, and says who is better.
    """
    with errors_named():
        _check_report(file, html)
        step = decimal_text(grid, "--grid")
        table = read_any(file, skip_bad=skip_bad, grid=_grid(step))
        card = build_scorecard(table, margin)
        if html is not None:
            write_report(card, html)
    if as_json:
        typer.echo(json.dumps(card.content, indent=1, ensure_ascii=False, allow_nan=False))
        return
    print_card(card)
    if html is not None:
        out.print(f"report: {html}", soft_wrap=True)


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
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("forecaster", overflow="fold", min_width=12)
    names = ("n", "cover", "Brier", "± 95 %", "log", "slope", "ECE")
    for name in (*names, *(("skill", "± 95 %") if crowd else ())):
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
        out.print("skill: the crowd's Brier minus one's own; above 0 beats the crowd.")
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
        cells += [_number(skill["mean"], 4, sign=True), _half(skill["ci95"])]
    return cells


def _number(value: float | None, places: int = 4, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:{'+' if sign else ''}.{places}f}"


def _half(ends: list[float] | None) -> str:
    """Half the width of an interval, which is symmetric."""
    return "–" if ends is None else f"±{(ends[1] - ends[0]) / 2:.3f}"
