"""The command line of `conform.pyz`: the same judgement without the package, in plain Python."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from beforehand.clock import SystemClock
from beforehand.errors import BeforehandError
from beforehand.publish.conformance.conform import conform_path, exit_code
from beforehand.publish.conformance.forms import junit, sarif, text_lines
from beforehand.publish.conformance.page import page
from beforehand.publish.conformance.profile import Profile

EPILOG = """\
Exit codes: 0 no MUST fails, 1 one does, 2 could not check. A SHOULD that fails is said.
Example:    python3 -I conform.pyz public/ --json
"""


def conform_main(arguments: Sequence[str]) -> int:
    """Judge what `arguments` name, print the report, give the exit code."""
    try:
        return _judged(arguments)
    except SystemExit as leaving:
        return 2 if leaving.code else 0
    except (BeforehandError, OSError) as error:
        print(f"could not check: {error}", file=sys.stderr)
        return 2
    except BaseException:  # whatever went wrong, nothing was checked
        traceback.print_exc()
        print("could not check: the checker itself failed", file=sys.stderr)
        return 2


def _judged(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="conform.pyz",
        description="Judge a league by the 17 requirements, from its public files alone.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "path", type=Path, help="a published folder, a book (.jsonl), a table (.csv)"
    )
    parser.add_argument("--profile", type=Path, help="a TOML or JSON file that names columns")
    parser.add_argument("--league", help="which league of the folder")
    parser.add_argument("--as-of", help="judge due times at this instant (default: now)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--junit", action="store_true", help="print it as JUnit XML")
    form.add_argument("--sarif", action="store_true", help="print it as SARIF 2.1.0")
    parser.add_argument("--html", type=Path, help="write it as one HTML file")
    given = parser.parse_args(arguments)
    report = conform_path(
        given.path,
        given.as_of or SystemClock().now(),
        profile=Profile.read(given.profile) if given.profile else None,
        league=given.league,
    )
    if given.html is not None:
        given.html.write_text(page(report), encoding="utf-8")
    if given.json:
        print(json.dumps(report, indent=1))
    elif given.junit:
        print(junit(report), end="")
    elif given.sarif:
        print(sarif(report), end="")
    else:
        print("\n".join(text_lines(report)))
    return exit_code(report)
