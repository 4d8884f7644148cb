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
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
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

FORM = "the format is in docs/reference/submission.md"

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
    with errors_named():
        target = _target(folder, url)
        signer = None if key is None else load_entrant_key(key, forecaster)
        league = target.open_runs()
        submission = _read(file, league, signer, run, forecaster)
        if submission.signature is None:
            if signer is None:
                raise RuleError(
                    f"{file} is not signed: give your key, --key FILE; beforehand entrant key "
                    "makes one, and the operator registers it"
                )
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
        except RemoteError as error:
            raise RemoteError(
                f"{error}. It may have arrived: {signed} is what was sent, and sending that very "
                "file again gives its receipt",
                retryable=error.retryable,
            ) from None
        receipt = Receipt.open(note.encode("utf-8"), league.key)
        if receipt.submission != submission.sha256:
            raise IntegrityError(
                f"the receipt is of another submission than {signed}: send that file again, and "
                "tell the operator"
            )
        write_synced(kept, note.encode("utf-8"))
        out.print(note, markup=False, soft_wrap=True, end="")
        out.print(f"\nsubmission {signed}\nreceipt    {kept}", markup=False, soft_wrap=True)
        out.print(
            f"signed by {league.key.text()}: compare it with the league's published key.",
            markup=False,
            soft_wrap=True,
        )
        late = _late(submission, receipt, league)
        if late is not None:
            out.print(late, markup=False, soft_wrap=True)


def _target(folder: Path | None, url: str | None) -> Target:
    if (folder is None) == (url is None):
        raise RuleError(
            "give one of --dir and --to: --to is the address of the league's intake, --dir the "
            "operator's own folder"
        )
    if folder is not None:
        return LocalTarget(folder)
    return RemoteTarget(url or "")


def _late(submission: Submission, receipt: Receipt, league: OpenRuns) -> str | None:
    """What an entrant must know whose answer is, or may be, too late to count."""
    deadline = league.deadlines.get(submission.run)
    if deadline is None:
        return (
            f"LATE: the run {submission.run} is over. This is kept as late and does not count; "
            "the next run takes answers until its own deadline."
        )
    if instant_key(receipt.promised_by) > instant_key(deadline):
        return (
            f"NEARLY LATE: a line is promised by {receipt.promised_by}, and the deadline is "
            f"{deadline}. Sealed after that it does not count; send the next one earlier."
        )
    return None


def _read(
    file: Path,
    league: OpenRuns,
    signer: SigningKey | None,
    run: str | None,
    forecaster: str | None,
) -> Submission:
    """The submission in a file, or made of a sheet for the run that is open."""
    if not file.is_file():
        raise FormatError(f"{file} is not a file: give a submission (JSON) or a sheet (question,p)")
    with file.open("rb") as stream:
        data = stream.read(MAX_SUBMISSION_BYTES + 1)
    if data.lstrip()[:1] == b"{":
        try:
            submission = Submission.parse(data)
        except FormatError as error:
            raise FormatError(f"{file}: {error}; {FORM}") from None
        if run is not None and run != submission.run:
            raise FormatError(f"{file} is for the run {submission.run}, not {run}")
        return submission
    name = forecaster or (None if signer is None else signer.verifier.name)
    if name is None:
        raise RuleError(
            f"{file} is a sheet and is signed here: give your key, --key FILE; beforehand entrant "
            "key makes one, and the operator registers it"
        )
    chosen = _only_run(league, run)
    try:
        cells = read_sheet(data, league.runs[chosen])
    except FormatError as error:
        raise FormatError(f"{file}: {error}; {FORM}") from None
    return Submission(league.origin, chosen, name, cells)


def _only_run(league: OpenRuns, run: str | None) -> str:
    open_now = [f"{name} until {league.deadlines[name]}" for name in list(league.runs)[:10]]
    listed = ", ".join(open_now)
    if not listed:
        over = "" if run is None else f"the run {run!r:.80} is over or has not begun: "
        raise RuleError(
            f"{over}{league.origin} takes no answers now, because no run is open; try again when "
            "its next one has begun"
        )
    if run is not None:
        if run not in league.runs:
            raise FormatError(
                f"the run {run!r:.80} is over or has not begun; give --run one of: {listed}"
            )
        return run
    if len(league.runs) != 1:
        raise FormatError(f"several runs are open: say which, --run; open are: {listed}")
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
