"""`beforehand conform`: how far a league keeps to the standard, from its public files alone."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.anchors import anchor as verdicts
from beforehand.anchors.anchor import Subject as OfFile
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.witness import CosignedRecord, check_cosigned
from beforehand.book.checkpoint import VerifierKey
from beforehand.book.cosignature import note_parts
from beforehand.cli.fetch import is_url
from beforehand.cli.fetch_foreign import fetch_league
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.screen import errors_named, out, progress_bars, show_line
from beforehand.clock import SystemClock
from beforehand.errors import FormatError
from beforehand.publish.conformance.conform import conform_path, exit_code
from beforehand.publish.conformance.evidence import WITNESS
from beforehand.publish.conformance.forms import junit, sarif, text_lines
from beforehand.publish.conformance.outside import (
    CHECKS,
    REFUSED,
    UNCHECKED,
    Judge,
    Judgement,
    Subject,
)
from beforehand.publish.conformance.page import page
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.said import Evidence

_WORDS = {verdicts.CHECKS: CHECKS, verdicts.REFUSED: REFUSED, verdicts.UNCHECKED: UNCHECKED}
EPILOG = (
    "Example: beforehand conform public/ --html conformance.html. "
    "Exit codes: 0 no MUST fails, 1 one does, 2 could not check. A SHOULD that fails is said."
)


def conform(
    path: Annotated[
        str,
        typer.Argument(help="A published folder, a book (.jsonl), a table (.csv), or its URL."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    as_junit: Annotated[bool, typer.Option("--junit", help="Print it as JUnit XML.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print it as SARIF 2.1.0.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write it as one HTML file.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML or JSON that names columns and contract keys."),
    ] = None,
    league: Annotated[str | None, typer.Option(help="Which league of the folder.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Judge due times at this instant.")] = None,
    trust: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Clocks and witnesses that you trust: opens the stamps."),
    ] = None,
) -> None:
    """Judge a league by the standard's 17 requirements and print the ladder of claims.

    Only what public files show is a PASS: what they do not show is UNVERIFIABLE,
    with what would show it. A bare table of forecasts is level 0.
    """
    with errors_named(as_json=as_json):
        if as_json + as_junit + as_sarif > 1:
            raise FormatError("choose one of --json, --junit, --sarif")
        now = as_of or SystemClock().now()
        report = _judged(
            path,
            now,
            Profile.read(profile) if profile is not None else None,
            league,
            None if trust is None else judge_with(ReaderTrust.read(trust), now),
        )
        if html is not None:
            html.write_text(page(report), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(report, indent=1))
    elif as_junit:
        typer.echo(junit(report), nl=False)
    elif as_sarif:
        typer.echo(sarif(report), nl=False)
    else:
        for line in text_lines(report):
            show_line(line)
        if html is not None:
            out.print(f"report: {html}", markup=False, soft_wrap=True)
    raise typer.Exit(exit_code(report))


def judge_with(reader: ReaderTrust, as_of: str) -> Judge:
    """The verifiers of outside evidence with a reader's trust, as the checks want them."""

    def judge(piece: Evidence, data: bytes, subject: Subject) -> Judgement:
        if piece.kind == WITNESS:
            return _cosigned(data, subject, reader, as_of)
        verdict = check_bytes(data, OfFile.of_bytes(subject.data), reader.trust, as_of)
        word = _WORDS[verdict.result]
        return Judgement(word, verdict.words, verdict.not_after, bound=verdict.bound)

    return judge


def _cosigned(data: bytes, subject: Subject, reader: ReaderTrust, as_of: str) -> Judgement:
    """What a witness's record is worth: its note is the published checkpoint, by a quorum."""
    try:
        own = {VerifierKey.parse(key).public for key in subject.keys}
        note = CosignedRecord.parse(data).note
        if note_parts(note)[0] != note_parts(subject.data)[0]:
            return Judgement(REFUSED, "the cosignatures are on another checkpoint")
    except FormatError as error:
        return Judgement(UNCHECKED, str(error))
    keys = [key for key in reader.witnesses if key.public not in own]
    if not keys or len(keys) < reader.quorum:
        return Judgement(UNCHECKED, "no quorum of witnesses is trusted, so nobody vouches for it")
    verdict = check_cosigned(data, OfFile.of_bytes(note), keys, reader.quorum, as_of)
    return Judgement(_WORDS[verdict.result], verdict.words, verdict.not_after)


def _judged(
    path: str, as_of: str, profile: Profile | None, league: str | None, judge: Judge | None
) -> dict[str, Any]:
    """The report on a path, or on what lies at a URL."""
    if not is_url(path):
        return conform_path(Path(path), as_of, profile=profile, league=league, judge=judge)
    with tempfile.TemporaryDirectory(prefix="beforehand-") as folder:
        with progress_bars() as progress:
            fetched = fetch_league(path, Path(folder), progress)
        report = conform_path(fetched, as_of, profile=profile, league=league, judge=judge)
    report["not_excluded"].append(
        "files beside the listed ones: a web host shows only what is asked for"
    )
    return report
