"""`beforehand demo`: a real round as a league, from sealing to a tampered copy refused."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.verify import report_lines
from beforehand.cli.publication import publish_league
from beforehand.cli.replay import archive_licence, published_beside_ours, replay
from beforehand.cli.screen import errors_named, out, progress_bars
from beforehand.cli.serving import serve_until_stopped
from beforehand.cli.verification import verify_published
from beforehand.clock import SystemClock
from beforehand.errors import IntegrityError, RuleError
from beforehand.publish.public import Publication
from beforehand.scoring.exact import decimal_places
from beforehand.sources.forecastbench import PUBLISHED_ON
from beforehand.stages.declare import declaration_of
from beforehand.stages.status import counted

READING = """\
   Cover: the share of all questions asked that it answered in time, resolved
   or not.
   Others: the median of the others, on the same events as one's own Brier.
   Brier: lower is better. Each row stands on its own events: read it beside
   the others' average there, not beside another row.
   Gain: the Brier of the others' median minus one's own. A median of many
   beats most of its members: one no different from them is below 0.
   Intervals are one at a time, not adjusted for many comparisons.
"""
MARK = "beforehand-demo.txt"
MADE = ("league", "public", "tampered", "clock", MARK)

EPILOG = "Example: beforehand demo --no-serve --dir /tmp/demo"


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where to put the league.")] = Path(
        "beforehand-demo"
    ),
    serve: Annotated[bool, typer.Option(help="Serve the site on loopback at the end.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Start over in a used folder.")] = False,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Replay a real forecasting round: seal, resolve, score, publish, verify, and catch a tamper.

    40 people's forecasts from ForecastBench's human round of July 2024
    (CC BY-SA 4.0), in simulated time.
    """
    with errors_named():
        _prepare(folder, force)
        out.print("[bold]1. Seal[/] – a real round of forecasts, in simulated time")
        with progress_bars() as progress:
            pen = replay(folder / "league", folder / "clock", progress)
            pen.store.close()
            declaration = declaration_of(pen)
            published = published_beside_ours(declaration)
            data = publish_league(
                folder / "league",
                pen.key,
                folder / "public",
                pen.clock.now(),
                progress,
                licence=archive_licence(declaration),
                published=published,
            )
        out.print(
            f"   {counted(data.checkpoint.size, 'line')} sealed, published in {folder / 'public'}\n"
        )
        print_board(data)
        print_published(published(data))
        _verify(folder / "public")
        _tamper(folder)
        if serve:
            serve_until_stopped(folder / "public", port)
        else:
            out.print(f"\nLook at it: [bold]beforehand serve {folder / 'public'}[/]")


def _prepare(folder: Path, force: bool) -> None:
    """A fresh folder; with `force`, one in which only a demo's own files are removed."""
    if folder.exists() and not folder.is_dir():
        raise RuleError(f"{folder} is a file; choose another --dir")
    if folder.exists() and any(folder.iterdir()):
        if not force:
            raise RuleError(
                f"{folder} is used already; choose another --dir, or --force to redo it"
            )
        if not (folder / MARK).is_file():
            raise RuleError(f"{folder} holds something a demo did not make; choose another --dir")
        for name in MADE:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("made by beforehand demo; --force may remove what lies here\n")


def print_board(data: Publication) -> None:
    """The leaderboard as a table."""
    board = data.board
    out.print("[bold]2. Score[/] – gain over the median of the others, each on their own questions")
    table = Table(
        title=f"{board['title']} ({'/'.join(board['time'])} time)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("#", justify="right")
    table.add_column("forecaster", min_width=15)
    for name in ("events", "cover", "Brier", "others", "gain", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = [e for e in board["forecasters"] if e["rank"] or e["kind"] == "derived"]
    section = False
    for entry in shown:
        if entry["rank"] is None and not section:
            table.add_section()
            section = True
        gain = entry["gain"]
        table.add_row(
            str(entry["rank"] or ""),
            entry["label"],
            str(entry["n_counted"]),
            _percent(entry["coverage"]),
            _short(entry["brier"]["mean"]),
            _short(entry["others_brier"]),
            _short(gain["mean"], sign=True),
            _interval(gain),
        )
    out.print(table)
    rest = len(board["forecasters"]) - len(shown)
    least = board["rules"]["min_events"]
    out.print(f"   {rest} more with fewer than {least} resolved events are on the page, unranked.")
    shared = board["shared"]
    if shared["brier"] is None:
        events = counted(shared["n"], "resolved event") if shared["n"] else "no resolved event"
        out.print(
            f"   All ranked forecasters have {events} in common: a table on shared events "
            f"takes {shared['least']}."
        )
    out.print(READING)


def print_published(rows: list[dict[str, Any]]) -> None:
    """The reproduced numbers as a table."""
    table = Table(
        title=f"Median of all, each event once, resolved before {PUBLISHED_ON}: Brier",
        title_justify="left",
    )
    for name in ("type", "events", "ForecastBench", "ours"):
        table.add_column(name, justify="left" if name == "type" else "right")
    for row in rows:
        name = {"market": "market, resolved"}.get(row["title"], row["title"])
        table.add_row(name, str(row["n"]), row["theirs"], row["ours"])
    out.print(table)


def _verify(public: Path) -> None:
    out.print("\n[bold]3. Verify[/] – from the published files alone")
    report = verify_published(public, Options(as_of=SystemClock().now()))
    _print_report(report)
    if report.exit_code:
        raise IntegrityError("the demo's own publication does not verify")


def _tamper(folder: Path) -> None:
    """Flip one digit of one sealed probability in a copy, and let the verifier find it."""
    out.print("\n[bold]4. Tamper[/] – one digit of one probability changed in a copy")
    copy = folder / "tampered"
    shutil.copytree(folder / "public", copy)
    book = next(copy.glob("api/v1/*/book.jsonl"))
    data = bytearray(book.read_bytes())
    start = data.find(b'"kind": "answer"')
    place = data.find(b'"p": "0.', data.rfind(b"\n", 0, start)) + len(b'"p": "0.')
    before = chr(data[place])
    data[place] = ord("0") + (int(before) + 1) % 10
    book.write_bytes(bytes(data))
    line = data.count(b"\n", 0, place) + 1
    out.print(f"   line {line} of {book}: 0.{before}… became 0.{chr(data[place])}…")
    report = verify_published(copy, Options(as_of=SystemClock().now()))
    _print_report(report, most=6)
    if not any(finding.place.endswith(f"line {line}") for finding in report.findings):
        raise IntegrityError(f"the changed line {line} was not named")
    out.print(f"   [bold green]refused:[/] the verifier names line {line}.")


def _print_report(report: Report, most: int | None = None) -> None:
    """The report; of findings the first `most`, and how many more there are."""
    lines = list(report_lines(report))
    if most is not None:
        found = [line for line in lines if line.startswith("FINDING")]
        more = counted(len(found) - most, "finding")
        lines = found[:most] + [f"… and {more} more"] * (len(found) > most)
    for line in lines:
        out.print(f"   {line}", markup=False, soft_wrap=True)


def _interval(estimate: dict[str, Any]) -> str:
    if estimate["identical"]:
        return "identical"
    if estimate["low"] is None:
        return "–"
    return f"{_short(estimate['low'], sign=True)} to {_short(estimate['high'], sign=True)}"


def _short(text: str | None, *, sign: bool = False) -> str:
    if text is None:
        return "–"
    value = decimal_places(Fraction(text), 4)
    return f"+{value}" if sign and not value.startswith("-") else value


def _percent(text: str | None) -> str:
    return "–" if text is None else f"{decimal_places(Fraction(text) * 100, 0)}%"
