"""`beforehand declare`: check a declaration, or begin a league under it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from beforehand.book.store import write_synced
from beforehand.cli.league_folder import DECLARATION_NAME, EXAMPLE_DOMAIN, LeagueFolder
from beforehand.cli.screen import TURN_SECONDS, aligned, errors_named, out
from beforehand.cli.world import forecasters_of
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RuleError
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.plugin import sealed_plugins
from beforehand.forecasters.search import HttpSearch, SearchTool
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration, missing_features
from beforehand.records.lineup import Lineup
from beforehand.stages.declare import declare, open_league
from beforehand.stages.outlook import Outlook, outlook
from beforehand.stages.seating import ROSTER_FILE
from beforehand.stages.segment import open_segment
from beforehand.stages.slots import next_slot
from beforehand.stages.status import counted, money

EPILOG = "Example: beforehand declare blind --dry-run. Exit codes: 0 valid or declared, 2 refused."


def declare_league(
    file: Annotated[
        str, typer.Argument(help="A league's folder, a TOML file, or the name of a shipped one.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Only check it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would ask, and what a week costs.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Begin the league in this folder.")
    ] = None,
    successor_of: Annotated[
        Path | None,
        typer.Option(help="The last checkpoint of a book that ended and that this one follows."),
    ] = None,
    segment: Annotated[
        bool, typer.Option("--segment", help="Seal it as a new segment of the running league.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a league's declaration; without --check or --dry-run, seal it as line 1 of a book.

    With --segment, seal the changed declaration.toml as a new segment: it is in
    force from the next run on, and no statistic crosses from one to the next.
    """
    with errors_named("See docs/reference/declaration.md for every key."):
        given = Path(file)
        if given.is_dir():
            folder = folder or given
            file = str(given / DECLARATION_NAME)
        declaration = Declaration.parse(_read(file), file)
        asked = declaration.content["answers"]["entry"] == "asked"
        if asked and "cron" in declaration.content["schedule"]:
            next_slot(declaration.content["schedule"], SystemClock().now())  # or says what is none
        missing = missing_features(declaration)
        coming = _outlook(declaration, folder) if dry_run and not missing else None
        if as_json:
            out.print_json(json.dumps(_told(declaration, missing, coming)))
        else:
            out.print(
                f"{file}: valid; {declaration.name}, SHA-256 {declaration.sha256}", soft_wrap=True
            )
            for sentence in missing:
                out.print(f"  not in this version: {sentence}", markup=False, soft_wrap=True)
            if coming is not None:
                _print_outlook(coming)
        if check or dry_run:
            return
        if folder is None:
            raise RuleError("give --check to check only, or --dir FOLDER to begin the league there")
        if segment:
            _open_segment(declaration, folder, successor_of)
            return
        if asked and not missing:
            _own_name(declaration, folder)
        _declare(declaration, folder, successor_of)


def _own_name(declaration: Declaration, folder: Path) -> None:
    """A league in real time needs a name that is its own: what is sealed can never change."""
    live = isinstance(LeagueFolder.at(folder).clock(), SystemClock)
    if live and EXAMPLE_DOMAIN in declaration.origin:
        raise RuleError(
            f"{declaration.name}: its origin is still the example {declaration.origin}, and what "
            "is sealed can never change: put a name of yours, as beforehand init --origin does"
        )


def _declare(declaration: Declaration, folder: Path, successor_of: Path | None) -> None:
    """Seal it; the folder keeps the very bytes as `declaration.toml`."""
    league = LeagueFolder.at(folder)
    kept = league.declaration_file
    if kept.is_file() and kept.read_bytes() != declaration.data:
        raise RuleError(f"{kept} is another declaration; declare the folder, or choose another")
    if successor_of is not None and not successor_of.is_file():
        raise FormatError(f"--successor-of {successor_of} is not a file: give a checkpoint")
    predecessor = None if successor_of is None else successor_of.read_bytes()
    plugins = sealed_plugins(Lineup.of(declaration.content).models)  # one that fails stops here
    with open_league(league.book, declaration, league.clock()) as pen:
        declare(pen, declaration, league.book, plugins, predecessor)
        pen.checkpoint()
        size, key = pen.store.size, pen.key.verifier.text()
    if not kept.is_file():
        write_synced(kept, declaration.data)
    out.print(f"declared in {folder}: {counted(size, 'line')}, key {key}", soft_wrap=True)
    out.print(
        f"Keep {league.book / 'keys'} safe, and the recovery key in it elsewhere; then: "
        f"beforehand run {folder}",
        soft_wrap=True,
    )


def _open_segment(declaration: Declaration, folder: Path, successor_of: Path | None) -> None:
    """Seal the folder's declaration as a new segment of its book."""
    if successor_of is not None:
        raise RuleError("--segment goes on in the same book, --successor-of begins another: one")
    league = LeagueFolder.at(folder)
    if league.declaration_file.read_bytes() != declaration.data:
        raise RuleError(f"write the new rules to {league.declaration_file}, and declare the folder")
    plugins = sealed_plugins(Lineup.of(declaration.content).models)  # one that fails stops here
    pen, situation = league.open(wait=TURN_SECONDS)
    with pen:
        n, new = open_segment(pen, situation, declaration, plugins)
    said = f"line {n}" if new else f"line {n}, sealed before"
    out.print(
        f"segment {declaration.segment} of {declaration.name}, methodology "
        f"{declaration.methodology}: {said}",
        markup=False,
        soft_wrap=True,
    )


def _outlook(declaration: Declaration, folder: Path | None) -> Outlook | None:
    """The coming week of a league that asks; None for one that does not."""
    if declaration.content["answers"]["entry"] != "asked":
        return None
    league = LeagueFolder.at(folder) if folder is not None else None
    lineup = Lineup.of(declaration.content)
    if league is not None and (league.path / ROSTER_FILE).is_file():
        lineup = Lineup.parse((league.path / ROSTER_FILE).read_bytes(), ROSTER_FILE)
    clock = league.clock() if league is not None else SystemClock()
    # Nothing is sent, so no key is needed.
    idle = Connections()
    tool = SearchTool(HttpSearch("http://127.0.0.1/", None, idle), clock, clock.now())
    made = forecasters_of(lineup, declaration, idle, keys=lambda model: None, tool=tool)
    models = {model["forecaster"]: model["model"] for model in lineup.models}
    return outlook(declaration, made, models, clock.now())


def _told(
    declaration: Declaration, missing: list[str], coming: Outlook | None
) -> dict[str, object]:
    content: dict[str, object] = {
        "valid": True,
        "name": declaration.name,
        "sha256": declaration.sha256,
        "cannot_run_yet": missing,
    }
    if coming is not None:
        content["week"] = {
            "slots": list(coming.slots),
            "questions_a_slot_at_most": coming.questions_a_slot,
            "asks_at_most": coming.asks,
            "currency": coming.currency,
            "reserved_at_list_price": money(coming.a_week),
            "with_every_retry": money(coming.a_week_at_most),
            "cap": None if coming.cap is None else money(coming.cap),
            "per": coming.per,
            "seats": {seat.forecaster: money(seat.a_week) for seat in coming.seats},
        }
    return content


def _print_outlook(coming: Outlook) -> None:
    out.print(
        f"the coming 7 days: {counted(len(coming.slots), 'slot')}, at most "
        f"{counted(coming.questions_a_slot, 'question')} each, {counted(coming.asks, 'ask')}"
    )
    table = Table(title="At list price, upper bounds", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("forecaster", "model", "an ask", "a week", "with every retry"):
        table.add_column(name, justify="left" if name in ("forecaster", "model") else "right")
    costs = [(seat.an_ask, seat.a_week, seat.a_week_at_most) for seat in coming.seats]
    columns = [aligned([money(each) for each in column]) for column in zip(*costs, strict=True)]
    for seat, *amounts in zip(coming.seats, *columns, strict=True):
        table.add_row(seat.forecaster, seat.model, *amounts)
    out.print(table)
    out.print(
        f"in all {money(coming.a_week)} {coming.currency}, with every retry "
        f"{money(coming.a_week_at_most)};"
    )
    out.print("real costs are usually far below")
    if coming.cap is not None:
        out.print(f"the hard cap: {money(coming.cap)} {coming.currency} a {coming.per}")


def _read(file: str) -> bytes:
    path = Path(file)
    if path.is_file():
        return path.read_bytes()
    held = shipped()
    if file.removesuffix(".toml") in held:
        return held[file.removesuffix(".toml")]
    known = ", ".join(sorted(held))
    raise FormatError(f"{file} is neither a file nor a shipped declaration ({known})")
