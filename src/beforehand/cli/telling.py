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
from beforehand.cli.anchor_settings import anchor_names, anchor_settings
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.screen import aligned, errors_named, out
from beforehand.cli.trials import Trials, read_trials
from beforehand.errors import FormatError, RuleError
from beforehand.records.codec import BOOKKEEPING, decode_json
from beforehand.records.declaration import Declaration
from beforehand.records.kinds import decode
from beforehand.records.league import League
from beforehand.records.record import Record, Unknown
from beforehand.stages.coming import coming
from beforehand.stages.health import shown_in
from beforehand.stages.situation import Situation
from beforehand.stages.status import counted, status_of
from beforehand.stages.tick import next_due
from beforehand.stages.unanchored import unanchored

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
    declaration = Declaration.parse(data, "declaration")
    if "cron" not in declaration.content["schedule"]:
        raise RuleError(
            f"{league.path} is a league of one run and has no schedule, so nothing comes next and "
            f"no call is paid: look at what it published, beforehand serve {league.public}"
        )
    situation = Situation(declaration)
    situation.catch_up(records)
    return situation


def status(folder: Folder, as_json: Json = False) -> None:
    """Say what is due, what was asked and answered, what was spent, and what failed and why."""
    with errors_named():
        league = LeagueFolder.at(folder)
        situation = read_situation(league)
        now = league.clock().now()
        content = status_of(situation, now, next_due(situation, now, league.path))
        shown = league.public / "api" / "v1" / situation.declaration.name
        is_shown = shown_in(shown) if shown.is_dir() else None
        content["coming"] = coming(situation, now, league.path, is_shown)
        edited = league.edited(situation.declaration)
        content["problems"] = [] if edited is None else [edited]
        content["anchors"] = _anchors(league, situation.declaration, content["problems"])
        trials = read_trials(league.path)
        content["doctor"] = trials.content()
    if as_json:
        out.print_json(json.dumps(content))
        return
    print_status(content)
    _print_trials(trials, content["budget"]["currency"])
    for problem in content["problems"]:
        out.print(f"problem: {problem}", markup=False, soft_wrap=True)


def _anchors(
    league: LeagueFolder, declaration: Declaration, problems: list[str]
) -> list[dict[str, Any]]:
    """How each declared anchor stands; what is wrong with their settings joins the problems."""
    settings = anchor_settings(league, declaration)
    problems += [f"{each.word}: {fault}" for each in settings for fault in each.faults]
    try:
        return unanchored(league.path, anchor_names(settings))
    except FormatError as error:
        problems.append(str(error))
        return []


def print_status(content: dict[str, Any]) -> None:
    runs, questions = content["runs"], content["questions"]
    lines = counted(content["lines"], "line")
    out.print(f"[bold]{content['league']}[/] at {content['now']}, {lines}")
    out.print(f"next due: {content['next_due'] or 'nothing'}")
    if "coming" in content:
        _print_coming(content["coming"], content["now"])
    ended = ", ".join(f"{count} {status}" for status, count in runs["ended"].items())
    out.print(f"runs: {ended or 'none ended'}; {len(runs['open'])} open")
    out.print(
        f"questions: {questions['asked']} asked; {questions['yes']} yes, {questions['no']} no, "
        f"{questions['void']} void, {questions['open']} open, {questions['stale']} stale"
    )
    _print_seats(content)
    _print_periods(content["budget"])
    for anchor in content.get("anchors", ()):
        _print_anchor(anchor)
    for run in runs["not_complete"][-10:]:
        out.print(f"{run['run']}: {run['status']}: {run['why']}", markup=False, soft_wrap=True)


def _print_coming(coming: dict[str, Any], now: str) -> None:
    """What the league does next, a line a thing."""

    def when(instant: str | None) -> str:
        return "none" if instant is None else "now" if instant == now else instant

    disclosure, resolutions = coming["disclosure"], coming["resolutions"]
    out.print(f"   next slot: {when(coming['slot'])}")
    out.print(f"   next settlement: {when(coming['settlement'])}")
    told = counted(disclosure["bodies"], "body", "bodies")
    told += (
        f", {counted(disclosure['answers'], 'answer')} among them" if disclosure["bodies"] else ""
    )
    told += f"; the first at {disclosure['next']}" if disclosure["next"] else ""
    out.print(f"   to be disclosed: {told}")
    if disclosure["overdue"]:
        out.print(
            f"   due and not published yet: {counted(disclosure['overdue'], 'body', 'bodies')}"
        )
    told = f"{counted(resolutions['awaited'], 'resolution')}, {resolutions['ended']} past the end"
    told += f"; next end {resolutions['next_end']}" if resolutions["next_end"] else ""
    out.print(f"   awaited: {told}")


def _print_periods(budget: dict[str, Any]) -> None:
    periods = budget["periods"]
    spent = aligned([account["spent"] for account in periods.values()])
    standing = aligned([account["standing"] for account in periods.values()])
    for (name, account), gone, held in zip(periods.items(), spent, standing, strict=True):
        cap = f" of {budget['cap']} ({account['percent_of_cap']} %)" if budget["cap"] else ""
        out.print(
            f"money {name}: {gone} {budget['currency']} spent, {held} standing{cap}", markup=False
        )


def _print_anchor(anchor: dict[str, Any]) -> None:
    """How many checkpoints an anchor holds, promised, and did not take, and why not."""
    told = [f"{anchor['complete']} complete"]
    told += [f"{anchor[key]} {key}" for key in ("pending", "failed", "queued") if anchor[key]]
    out.print(f"anchor {anchor['anchor']}: {', '.join(told)}", markup=False)
    if anchor["since"]:
        tried = f", next try {anchor['next_try']}"
        out.print(f"   waiting since {anchor['since']}{tried}", markup=False)
    if anchor["last_error"]:
        out.print(f"   last error, at {anchor['last_error_at']}:", markup=False)
        out.print(f"   {anchor['last_error']}", markup=False)


def _print_seats(content: dict[str, Any]) -> None:
    """A row a forecaster, and under it how its attempts failed."""
    out.print(f"{counted(content['attempts'], 'attempt')}, all of them counted here:")
    if not content["seats"]:
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("forecaster")
    for name in ("asked", "valid", "attempts", "spent", "standing"):
        table.add_column(name, justify="right", no_wrap=True)
    seats = content["seats"]
    money = [aligned([seat[key] for seat in seats.values()]) for key in ("spent", "standing")]
    for (name, seat), spent, standing in zip(seats.items(), *money, strict=True):
        table.add_row(
            name,
            str(seat["asked"]),
            str(seat["valid"]),
            str(sum(seat["attempts"].values())),
            spent,
            standing,
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
        trials = read_trials(league.path)
    if as_csv:
        typer.echo(_attempts_csv(situation), nl=False)
        return
    told = {
        "budget": content["budget"],
        "seats": content["seats"],
        "doctor": trials.content(),
    }
    if as_json:
        out.print_json(json.dumps(told))
        return
    _print_seats(content)
    total = content["budget"]["total"]
    out.print(
        f"{counted(total['asks'], 'ask')}: {total['spent']} {content['budget']['currency']} spent, "
        f"{total['standing']} standing (of which {total['of_which_unknown_cost']} for calls that "
        "ended without a stated cost)"
    )
    _print_trials(trials, content["budget"]["currency"])


def _print_trials(trials: Trials, currency: str) -> None:
    """What `doctor` spent beside the book, where it asked at all."""
    if trials.asks:
        unknown = f", {trials.unknown} without a stated cost" if trials.unknown else ""
        out.print(
            f"beside the book: {counted(trials.asks, 'ask')} of doctor, "
            f"{format(trials.spent, 'f')} {currency} spent{unknown}",
            markup=False,
            soft_wrap=True,
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
