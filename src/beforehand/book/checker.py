"""The command line of the one-file checker, `verify.py`; standard library only."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from beforehand.book.checkpoint import MAX_NOTE_BYTES
from beforehand.book.folder import DirectoryFolder
from beforehand.book.fraud import MAX_FRAUD_BYTES, check_fraud
from beforehand.book.options import REQUIREMENTS, Options
from beforehand.book.parallel import in_processes
from beforehand.book.proof_file import check_proof
from beforehand.book.proof_parts import read_proof
from beforehand.book.report import Report
from beforehand.book.verify import report_lines, verify_book, verify_folder
from beforehand.clock import SystemClock
from beforehand.errors import FormatError

PROOF_SUFFIX, FRAUD_SUFFIX = ".proof", ".fraud"

CHECKER_EPILOG = """\
Exit codes: 0 sound, 1 findings, 2 could not check (anything unexpected included).
Example:    python3 -I verify.py public/ --origin example.org/blind/book --key KEY
"""


def checker_main(arguments: Sequence[str]) -> int:
    """Verify what `arguments` name, print the report, give the exit code."""
    try:
        return _checked(arguments)
    except SystemExit as leaving:
        return 2 if leaving.code else 0
    except FormatError as error:
        print(f"could not check: {error}", file=sys.stderr)
        return 2
    except BaseException:  # "not checked" is never "passed", whatever went wrong
        traceback.print_exc()
        print("could not check: the checker itself failed", file=sys.stderr)
        return 2


def _checked(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verify a published league from its files alone. Nothing is trusted but the "
        "origin, key and old checkpoint that you give.",
        epilog=CHECKER_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "path", type=Path, help="the published folder (public/), a FILE.proof, or a book"
    )
    parser.add_argument("--origin", help="the origin you expect")
    parser.add_argument("--key", help="the verifier key you expect, NAME+ID+BASE64")
    parser.add_argument("--since", type=Path, help="a checkpoint that you kept from before")
    parser.add_argument("--as-of", help="judge due times at this instant (default: now)")
    parser.add_argument(
        "--require", default="", help=f"levels that must be reached: {','.join(REQUIREMENTS)}"
    )
    parser.add_argument("--processes", type=int, default=1, help="worker processes (default 1)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    options = Options(
        as_of=given.as_of or SystemClock().now(),
        origin=given.origin,
        key=given.key,
        since=read_since(given.since),
        require=tuple(word for word in given.require.split(",") if word),
    )
    report = verify_path(given.path, options, given.processes)
    if given.json:
        print(json.dumps(report.content(), indent=2))
    else:
        for line in report_lines(report):
            print(line)
    return report.exit_code


def read_since(path: Path | None) -> bytes | None:
    """The bytes of a kept checkpoint; FormatError where it cannot be read."""
    if path is None:
        return None
    if not path.is_file():
        raise FormatError(f"--since {path} is not a file")
    with path.open("rb") as stream:
        return stream.read(MAX_NOTE_BYTES + 1)


def verify_path(path: Path, options: Options, processes: int = 1) -> Report:
    """Verify a published folder, a FILE.proof of one line, a FILE.fraud, or a lone book."""
    if not 1 <= processes <= 64:
        raise FormatError(f"--processes {processes}: 1 to 64")
    walk = in_processes(processes) if processes > 1 else None
    if path.is_dir():
        return verify_folder(DirectoryFolder(path), options, walk)
    if path.is_file() and path.suffix == FRAUD_SUFFIX:
        with path.open("rb") as stream:
            return check_fraud(stream.read(MAX_FRAUD_BYTES + 1), options, path.name)
    if path.is_file() and path.suffix == PROOF_SUFFIX:
        proof = read_proof(path, options.as_of)
        return proof if isinstance(proof, Report) else check_proof(proof, options, path.name)
    if path.is_file():
        return verify_book(DirectoryFolder(path.parent), path.name, options, walk)
    raise FormatError(f"{path} is neither a folder nor a file")
