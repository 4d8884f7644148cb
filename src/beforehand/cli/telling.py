"""`beforehand status` and `beforehand costs`: what a league did and will do, from its book."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from beforehand.book.reader import BookReader
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import errors_named, out
from beforehand.errors import RuleError
from beforehand.records.codec import BOOKKEEPING, decode_json
from beforehand.records.declaration import Declaration
from beforehand.records.kinds import decode
from beforehand.records.league import League
from beforehand.records.record import Record, Unknown
from beforehand.stages.situation import Situation
from beforehand.stages.status import status_of
from beforehand.stages.tick import next_due

STATUS_EPILOG = "Example: beforehand status blind --json"
COSTS_EPILOG = "Example: beforehand costs blind --csv > costs.csv"

Folder = Annotated[Path, typer.Argument(help="The league's folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def read_situation(league: LeagueFolder) -> Situation:
    """Where a league stands, read without the pen: also while a tick is at work."""
    if not league.declared:
        raise RuleError(f"{league.path} is not declared yet: beforehand declare {league.path}")
    reader = BookReader(league.book)
    records: list[tuple[int, Record | Unknown]] = []
    for n, raw in enumerate(reader.lines(), 1):
        value = decode_json(raw)
        content = {key: item for key, item in value.items() if key not in BOOKKEEPING}
        records.append((n, decode(content)))
    first = records[0][1] if records else None
    if not isinstance(first, League):
        raise RuleError(f"{league.book} does not begin with a league line")
    data = reader.read_body(first.declaration_sha256)
    situation = Situation(Declaration.parse(data, "declaration"))
    situation.catch_up(records)
    return situation


def status(folder: Folder, as_json: Json = False) -> None:
    """Say what is due, what was asked and answered, what was spent, and what failed and why."""
    with errors_named():
        league = LeagueFolder.at(folder)
        situation = read_situation(league)
        now = league.clock().now()
        content = status_of(situation, now, next_due(situation, now, league.path))
        edited = league.edited(situation.declaration)
        content["problems"] = [] if edited is None else [edited]
    if as_json:
        out.print_json(json.dumps(content))
        return
    print_status(content)
    for problem in content["problems"]:
        out.print(f"problem: {problem}", markup=False, soft_wrap=True)


def print_status(content: dict[str, Any]) -> None:
    runs, questions = content["runs"], content["questions"]
    out.print(f"[bold]{content['league']}[/] at {content['now']}, {content['lines']} lines")
    out.print(f"next due: {content['next_due'] or 'nothing'}")
    ended = ", ".join(f"{count} {status}" for status, count in runs["ended"].items())
    out.print(f"runs: {ended or 'none ended'}; {len(runs['open'])} open")
    out.print(
        f"questions: {questions['asked']} asked; {questions['yes']} yes, {questions['no']} no, "
        f"{questions['void']} void, {questions['open']} open, {questions['stale']} stale"
    )
    _print_seats(content)
    budget = content["budget"]
    for name, account in budget["periods"].items():
        cap = f" of {budget['cap']} ({account['percent_of_cap']} %)" if budget["cap"] else ""
        out.print(
            f"money {name}: {account['spent']} {budget['currency']} spent, "
            f"{account['standing']} standing{cap}",
            markup=False,
        )
    for run in runs["not_complete"][-10:]:
        out.print(f"{run['run']}: {run['status']}: {run['why']}", markup=False, soft_wrap=True)


def _print_seats(content: dict[str, Any]) -> None:
    """A row a forecaster, and under it how its attempts failed."""
    out.print(f"{content['attempts']} attempts, all of them counted here:")
    if not content["seats"]:
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("forecaster")
    for name in ("asked", "valid", "attempts", "spent", "standing"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, seat in content["seats"].items():
        table.add_row(
            name,
            str(seat["asked"]),
            str(seat["valid"]),
            str(sum(seat["attempts"].values())),
            seat["spent"],
            seat["standing"],
        )
    out.print(table)
    for name, seat in content["seats"].items():
        failed = [f"{n} {code}" for code, n in seat["attempts"].items() if code != "answered"]
        if failed:
            out.print(f"   {name} failed: {', '.join(failed)}", markup=False, soft_wrap=True)


def costs(
    folder: Folder,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="A row an attempt, as CSV.")] = False,
) -> None:
    """Say what was spent, by period and forecaster; with --csv, every attempt with its money."""
    with errors_named():
        league = LeagueFolder.at(folder)
        situation = read_situation(league)
        content = status_of(situation, league.clock().now(), None)
    if as_csv:
        typer.echo(_attempts_csv(situation), nl=False)
        return
    told = {"budget": content["budget"], "seats": content["seats"]}
    if as_json:
        out.print_json(json.dumps(told))
        return
    _print_seats(content)
    total = content["budget"]["total"]
    out.print(
        f"{total['asks']} asks: {total['spent']} {content['budget']['currency']} spent, "
        f"{total['standing']} standing (of which {total['of_which_unknown_cost']} for calls that "
        "ended without a stated cost)"
    )


def _attempts_csv(situation: Situation) -> str:
    held = io.StringIO(newline="")
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(
        ("run", "question", "forecaster", "line", "attempt", "why", "status", "reserved", "cost")
    )
    for run in situation.runs.values():
        for (question, name), attempts in run.attempts.items():
            for each in attempts:
                answer = each.answer
                writer.writerow(
                    (
                        run.run.run,
                        question,
                        name,
                        each.line,
                        each.ask.attempt,
                        each.ask.why,
                        "in flight or lost" if answer is None else answer.status,
                        each.ask.reserved,
                        "" if answer is None else answer.cost or "",
                    )
                )
    return held.getvalue()
