"""`beforehand submit` and `beforehand receipt check`: handing in forecasts, holding the promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.folder import DirectoryFolder
from beforehand.book.store import write_synced
from beforehand.cli.entrant import load_entrant_key
from beforehand.cli.intake_target import LocalTarget, OpenRuns, RemoteTarget, Target
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.stages.key import SigningKey
from beforehand.stages.receipt import Receipt, check_receipt
from beforehand.stages.sheet import read_sheet
from beforehand.stages.submission import MAX_SUBMISSION_BYTES, Submission

SUBMIT_EPILOG = (
    "Example: beforehand submit forecasts.csv --to https://league.example --key ada.pem. "
    "Exit codes: 0 taken, 2 refused; then nothing was taken."
)
CHECK_EPILOG = (
    "Example: beforehand receipt check forecasts.3f2a….receipt public. "
    "Exit codes: 0 kept, 1 broken (with the evidence), 2 could not check, or too early."
)

receipt_app = typer.Typer(help="What a receipt is worth.", no_args_is_help=True)


@receipt_app.callback()
def _receipt() -> None:
    """What a receipt is worth."""


def submit(
    file: Annotated[Path, typer.Argument(help="A submission (JSON), or a CSV: question,p.")],
    folder: Annotated[
        Path | None, typer.Option("--dir", help="The league's own folder (operator).")
    ] = None,
    url: Annotated[str | None, typer.Option("--to", help="The address of an intake.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Your private key.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The run, where several are open.")
    ] = None,
    forecaster: Annotated[
        str | None, typer.Option("--forecaster", help="Your name on the roster, if not the key's.")
    ] = None,
) -> None:
    """Sign forecasts, hand them in, and keep the operator's signed receipt beside the file."""
    with errors_named("See docs/reference/submission.md for the format."):
        target = _target(folder, url)
        signer = None if key is None else load_entrant_key(key, forecaster)
        league = target.open_runs()
        submission = _read(file, league, signer, run, forecaster)
        if submission.signature is None:
            if signer is None:
                raise RuleError(f"{file} is not signed: give your key, --key")
            submission = submission.signed(signer)
        base = file.with_name(f"{file.stem}.{submission.sha256[:12]}")
        signed, kept = (base.with_name(base.name + end) for end in (".json", ".receipt"))
        # What is sent is kept first: without it a receipt would prove nothing to its holder.
        fresh = not signed.exists()
        write_synced(signed, submission.data())
        try:
            note = target.send(submission)
        except RuleError:  # refused for certain; after any other error it may have arrived
            if fresh:
                signed.unlink()
            raise
        receipt = Receipt.open(note.encode("utf-8"), league.key)
        if receipt.submission != submission.sha256:
            raise IntegrityError("the receipt is of another submission")
        write_synced(kept, note.encode("utf-8"))
        out.print(note, markup=False, soft_wrap=True, end="")
        out.print(f"\nsubmission {signed}\nreceipt    {kept}", markup=False, soft_wrap=True)
        out.print(
            f"signed by {league.key.text()}: compare it with the league's published key.",
            markup=False,
            soft_wrap=True,
        )


def _target(folder: Path | None, url: str | None) -> Target:
    if (folder is None) == (url is None):
        raise RuleError("give one of --dir and --to")
    if folder is not None:
        return LocalTarget(folder)
    return RemoteTarget(url or "")


def _read(
    file: Path,
    league: OpenRuns,
    signer: SigningKey | None,
    run: str | None,
    forecaster: str | None,
) -> Submission:
    """The submission in a file, or made of a sheet for the run that is open."""
    with file.open("rb") as stream:
        data = stream.read(MAX_SUBMISSION_BYTES + 1)
    if data.lstrip()[:1] == b"{":
        submission = Submission.parse(data)
        if run is not None and run != submission.run:
            raise FormatError(f"{file} is for the run {submission.run}, not {run}")
        return submission
    name = forecaster or (None if signer is None else signer.verifier.name)
    if name is None:
        raise RuleError("a sheet is signed here: give your key, --key")
    chosen = _only_run(league, run)
    try:
        cells = read_sheet(data, league.runs[chosen])
    except FormatError as error:
        raise FormatError(f"{file}: {error}") from None
    return Submission(league.origin, chosen, name, cells)


def _only_run(league: OpenRuns, run: str | None) -> str:
    listed = ", ".join(list(league.runs)[:10]) or "none"
    if run is not None:
        if run not in league.runs:
            raise FormatError(f"the run {run!r:.80} is not open; open are: {listed}")
        return run
    if len(league.runs) != 1:
        raise FormatError(f"say which run, --run; open are: {listed}")
    return next(iter(league.runs))


@receipt_app.command(epilog=CHECK_EPILOG)
def check(
    receipt: Annotated[Path, typer.Argument(help="A receipt.")],
    public: Annotated[Path, typer.Argument(help="The league's public folder.")],
    key: Annotated[
        str | None, typer.Option(help="The league's key as you know it, NAME+ID+BASE64.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Whether the promise in a receipt was kept, from public files alone."""
    with errors_named():
        try:
            found = check_receipt(receipt.read_bytes(), DirectoryFolder(public), key)
        except IntegrityError as error:
            raise FormatError(f"nothing is shown by these files: {error}") from None
    if as_json:
        value = {"state": found.state, "evidence": list(found.evidence), "key": found.key}
        out.print_json(json.dumps({**value, "operator_checked": key is not None}))
    else:
        words = {"kept": "KEPT", "broken": "BROKEN PROMISE", "early": "TOO EARLY"}
        out.print(words[found.state], markup=False)
        for sentence in found.evidence:
            out.print(f"  {sentence}", markup=False, soft_wrap=True)
        if key is None:
            out.print(
                f"operator: NOT CHECKED (no --key); the folder names {found.key}",
                markup=False,
                soft_wrap=True,
            )
    raise typer.Exit({"kept": 0, "broken": 1, "early": 2}[found.state])
