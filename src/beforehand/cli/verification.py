"""`beforehand verify`: the recipe of the one-file checker, and the recount as its step 9."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.checker import PROOF_SUFFIX, read_since, verify_path
from beforehand.book.folder import DirectoryFolder, printable
from beforehand.book.manifest import CHECKER_PATH
from beforehand.book.options import Options
from beforehand.book.proof_parts import read_proof
from beforehand.book.report import Report
from beforehand.book.verify import report_lines
from beforehand.cli.evidence import (
    add_levels,
    add_proof_evidence,
    level_lines,
)
from beforehand.cli.exclusivity import kept_fraud
from beforehand.cli.fetch import is_url
from beforehand.cli.fetch_foreign import fetch_league
from beforehand.cli.lone_evidence import lone_evidence
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.requirements import Requirements
from beforehand.cli.screen import err, errors_named, out, progress_bars
from beforehand.cli.seed_verification import seed_book_in, verify_seed
from beforehand.clock import SystemClock
from beforehand.errors import BeforehandError, IntegrityError, RuleError
from beforehand.publish.checkers import checker_sha256
from beforehand.publish.parquet import read_parquet
from beforehand.publish.public import API
from beforehand.publish.recount import Recount, recount_folder
from beforehand.publish.tables import COLUMNS
from beforehand.records.codec import digest
from beforehand.stages.lone_seal import OPENING_SUFFIX, SEAL_SUFFIX

EPILOG = (
    "Example: beforehand verify public/ --origin example.org/blind/book --key KEY. "
    "Exit codes: 0 sound, 1 findings, 2 could not check."
)

# What another command checks: read as a book it would only look broken.
ELSEWHERE = {
    SEAL_SUFFIX: ("the seal of one text and no league", "beforehand reveal {path}"),
    OPENING_SUFFIX: ("what opens a seal and no league", "beforehand reveal {stem}.seal"),
    ".csv": ("a table, and no chain", "beforehand conform {path}"),
    ".receipt": ("an intake's receipt and no league", "beforehand receipt check {path} PUBLIC"),
}


def verify(
    path: Annotated[
        str,
        typer.Argument(help="A published folder, its URL, a FILE.proof, a FILE.fraud, or a book."),
    ],
    evidence: Annotated[
        Path | None,
        typer.Argument(help="Over that file: .ots, .tsr, a Sigstore bundle, a stamped list."),
    ] = None,
    origin: Annotated[str | None, typer.Option(help="The origin you expect.")] = None,
    key: Annotated[str | None, typer.Option(help="The verifier key you expect.")] = None,
    since: Annotated[Path | None, typer.Option(help="A checkpoint you kept from before.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Judge due times at this instant.")] = None,
    require: Annotated[
        str,
        typer.Option(help="What must be reached: operator, since, live, P1b=2+ … by comma."),
    ] = "",
    processes: Annotated[int, typer.Option(help="Worker processes for the chain.")] = 1,
    trust: Annotated[
        Path | None, typer.Option(help="The folder of clocks and witnesses that you trust.")
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(help="Ask the Rekor v2 log at this URL, by its tiles, about the evidence."),
    ] = None,
    fraud: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Keep a fraud proof, where a second book is signed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Verify a published league from its files alone, and recount its scores.

    With a second file: check that one piece of evidence over the first.
    """
    with errors_named():
        reader = ReaderTrust.read(trust)
        if log is not None and evidence is None:
            raise RuleError("--log asks about one piece of evidence: name its file after the first")
        if evidence is not None:
            now = as_of or SystemClock().now()
            code, said = lone_evidence(Path(path), evidence, reader, now, log)
            out.print(said, markup=False, soft_wrap=True)
            raise typer.Exit(code)
        required = Requirements.parse(require)
        options = Options(
            as_of=as_of or SystemClock().now(),
            origin=origin,
            key=key,
            since=read_since(since),
            require=required.words,
        )
        if is_url(path):
            with tempfile.TemporaryDirectory(prefix="beforehand-") as folder:
                with progress_bars() as progress:
                    fetched = fetch_league(path, Path(folder), progress)
                report = verify_published(fetched, options, processes, reader)
            report.not_checked.append(
                "files beside the listed ones: a web host shows only what is asked for"
            )
        else:
            report = verify_published(Path(path), options, processes, reader)
        required.add_unmet(report)
        proof = kept_fraud(report)
        if fraud is not None and proof is not None:
            fraud.write_text(proof, encoding="utf-8")
    if as_json:
        out.print_json(json.dumps(report.content()))
    else:
        for line in printed_lines(report):
            out.print(line, markup=False, soft_wrap=True)
    raise typer.Exit(report.exit_code)


def printed_lines(report: Report) -> Iterator[str]:
    """The report for a person, the levels of each league before its last line."""
    lines = list(report_lines(report))
    yield from lines[:-1]
    for name, league in report.leagues.items():
        told = level_lines(league)
        if told:
            yield f"{printable(name)}: {told[0]}"
            yield from map(printable, told[1:])
    yield from lines[-1:]


def verify_published(
    path: Path, options: Options, processes: int = 1, reader: ReaderTrust | None = None
) -> Report:
    """The recipe's eight steps, step 9: the recount and Parquet, and step 10: what others saw."""
    steps = replace(options, progress=lambda step: err.print(f"… {step}", style="dim"))
    lone = path.is_file()
    if lone and path.suffix in ELSEWHERE:
        what, command = ELSEWHERE[path.suffix]
        instead = command.format(path=path, stem=path.with_suffix(""))
        raise RuleError(f"{path} is {what}: check it with {instead}")
    seed = seed_book_in(path) if path.is_dir() else None
    if seed is not None:
        return verify_seed(path, seed, steps, reader or ReaderTrust(), processes)
    proof = read_proof(path, options.as_of) if lone and path.suffix == PROOF_SUFFIX else None
    if isinstance(proof, Report):
        return proof
    report = verify_path(path, steps, processes)
    if proof is not None:
        add_proof_evidence(report, path, reader or ReaderTrust(), options.as_of)
    if not path.is_dir():
        return report
    steps.progress("recount")
    try:
        for league, result in recount_folder(DirectoryFolder(path)).items():
            _take(report, league, result)
            _compare_parquet(report, path, league)
    except IntegrityError as error:
        report.find(9, API, f"the recount ended: {error}")
    except (BeforehandError, UnicodeDecodeError) as error:
        report.unmet.append(f"recount: could not be done: {error}")
    add_levels(report, path, reader or ReaderTrust(), options.as_of)
    _note_checker(report, path)
    pages = sum(1 for _ in path.rglob("*.html"))
    report.not_checked.append(f"pages ({pages}): hashed and signed, and not computed again")
    return report


def _take(report: Report, league: str, result: Recount) -> None:
    for place in result.places:
        report.find(9, place, "the recount differs")
    report.more_findings += result.different - len(result.places)
    if league in report.leagues:
        report.leagues[league]["recounted"] = (
            f"{result.exact} exact, {result.within} within rounding, {result.different} different"
        )


def _compare_parquet(report: Report, path: Path, league: str) -> None:
    """Parquet holds what the CSV holds, cell by cell; the CSV was recounted."""
    base = path / "api" / "v1" / league
    place = f"api/v1/{league}/forecasts.parquet"
    try:
        cells = read_parquet(base / "forecasts.parquet")
    except Exception as error:
        report.find(9, place, f"cannot be read: {error!s:.200}")
        return
    rows = _csv_rows(base / "forecasts.csv")
    own = [tuple("" if value is None else str(value) for value in row) for row in cells]
    if len(own) != len(rows):
        report.find(9, place, f"has {len(own)} rows, the CSV {len(rows)}")
    for number, (first, second) in enumerate(zip(own, rows, strict=False), 1):
        if first != second:
            column = next(c.name for c, a, b in zip(COLUMNS, first, second, strict=True) if a != b)
            report.find(9, f"{place} row {number}, {column}", "differs from the CSV")


def _csv_rows(path: Path) -> list[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [tuple(row) for row in csv.reader(stream)][1:]


def _note_checker(report: Report, path: Path) -> None:
    """Whether the published checker is the one this version builds; it is in no manifest."""
    checker = path / CHECKER_PATH
    if not checker.is_file():
        report.not_checked.append("verify.py: none is published beside the data")
    elif digest(checker.read_bytes()) != checker_sha256():
        report.not_checked.append(
            "the published verify.py, in no manifest by design, is not this version's "
            f"({checker_sha256()}): compare its SHA-256 with the one the league prints elsewhere"
        )
