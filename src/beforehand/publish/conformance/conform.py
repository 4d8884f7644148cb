"""Judging a league by the standard: what is read, the 17 checks, the ladder, one report.

Standard library only: the same modules are published as `conform.pyz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beforehand.book.folder import DirectoryFolder, Folder, read_file
from beforehand.book.manifest import MANIFEST_PATH
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.conformance.arrival import check_arrival, check_asks
from beforehand.publish.conformance.benchmarks import check_benchmarks
from beforehand.publish.conformance.book_form import read_book
from beforehand.publish.conformance.change import check_segments
from beforehand.publish.conformance.claims import claims_of
from beforehand.publish.conformance.consensus import check_consensus, check_diagnostics
from beforehand.publish.conformance.events import check_contracts
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_form import read_folder
from beforehand.publish.conformance.open_data import check_open
from beforehand.publish.conformance.outside import (
    Judge,
    Weighed,
    check_anchors,
    checked_size,
    kept_size,
    weigh,
)
from beforehand.publish.conformance.pooling import check_common_events
from beforehand.publish.conformance.profile import MAX_PROFILE_BYTES, Profile
from beforehand.publish.conformance.ranking import check_ranking
from beforehand.publish.conformance.readers import check_readers
from beforehand.publish.conformance.record import check_record
from beforehand.publish.conformance.result import FAIL, MUST, SHOULD, STATUSES, Check
from beforehand.publish.conformance.runs import check_counted, check_runs
from beforehand.publish.conformance.scores import check_missing, check_scores
from beforehand.publish.conformance.standard_file import (
    STANDARD_NAME,
    StandardFile,
    compare_claims,
)
from beforehand.publish.conformance.table_form import read_csv

REPORT_FORMAT = "beforehand-conformance/1"
FORMS = {
    "folder": "a folder published by beforehand",
    "book": "a book in the seed's format",
    "table": "a bare table of forecasts (level 0: the operator's word)",
}


def conform_path(
    path: Path,
    as_of: str,
    *,
    profile: Profile | None = None,
    league: str | None = None,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """The report on a folder, a book or a CSV file; FormatError where none could be made."""
    held = profile or Profile()
    if path.is_dir():
        return conform_folder(
            DirectoryFolder(path), as_of, profile=profile, league=league, judge=judge
        )
    if not path.is_file():
        raise FormatError(f"{path} is neither a folder nor a file")
    folder = DirectoryFolder(path.parent)
    if path.suffix.lower() == ".csv":
        return report_on(read_csv(folder, path.name, held, as_of), judge)
    if path.suffix.lower() == ".jsonl":
        return report_on(read_book(folder, path.name, held, as_of, lone=True), judge)
    raise FormatError(f"{path}: give a published folder, a book (.jsonl) or a table (.csv)")


def conform_folder(
    folder: Folder,
    as_of: str,
    *,
    profile: Profile | None = None,
    league: str | None = None,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """The report on a folder, whichever form its files have."""
    standard = StandardFile.read(folder)
    exhibit = read_exhibit(folder, as_of, profile, league, standard)
    report = report_on(exhibit, judge)
    if standard is not None:
        claimed = compare_claims(standard, report["requirements"], folder)
        report["standard"] = {
            "origin": standard.origin,
            "keys": list(standard.keys),
            "claims": claimed,
            "shown": sum(each["shown"] for each in claimed),
        }
    return report


def read_exhibit(
    folder: Folder,
    as_of: str,
    profile: Profile | None = None,
    league: str | None = None,
    standard: StandardFile | None = None,
) -> Exhibit:
    """What a folder publishes, by the form that its files have."""
    held = profile or Profile()
    names = folder.names()
    ours = folder.has(MANIFEST_PATH) or any(
        name.startswith("api/v1/") and name.endswith("/book.jsonl") for name in names
    )
    if ours:
        return read_folder(folder, held, as_of, league)
    if standard is not None:
        return _mapped(folder, as_of, profile, standard)
    books = [name for name in names if name.endswith("book.jsonl")]
    if len(books) == 1:
        return read_book(folder, books[0], held, as_of, lone=False)
    tables = [name for name in names if name.lower().endswith(".csv")]
    if not books and len(tables) == 1:
        return read_csv(folder, tables[0], held, as_of)
    raise FormatError(
        f"the folder holds no {MANIFEST_PATH}, no {STANDARD_NAME}, and {len(books)} books and "
        f"{len(tables)} tables: give the folder that holds api/, or one file"
    )


def _mapped(folder: Folder, as_of: str, profile: Profile | None, standard: StandardFile) -> Exhibit:
    """A league that maps its files; the reader's own profile goes before the league's."""
    named = standard.one("profile")
    if profile is None and named is not None and folder.has(named):
        profile = Profile.parse(read_file(folder, named, MAX_PROFILE_BYTES), named)
    held = profile or Profile()
    if standard.title and not held.title:
        held = replace(held, title=standard.title)
    book, table = standard.one("book"), standard.one("forecasts")
    for name in (book, table if book is None else None):
        if name is not None and not folder.has(name):
            raise FormatError(f"{STANDARD_NAME} maps {name}, which is missing")
    if book is not None:
        return read_book(folder, book, held, as_of, lone=False, standard=standard)
    return read_csv(folder, str(table), held, as_of)


def report_on(exhibit: Exhibit, judge: Judge | None = None) -> dict[str, Any]:
    """The 17 requirements and the ladder of claims, as JSON values."""
    instant_key(exhibit.as_of)
    weighed = weigh(exhibit, judge)
    checks = run_checks(exhibit, weighed, judged=judge is not None)
    told = [check.content() for check in checks]
    if exhibit.simulated:  # a date of simulated time is no date from which anything holds
        told = [{**item, "since": None, "since_by": None} for item in told]
    counts = {status: sum(item["status"] == status for item in told) for status in STATUSES}
    failed = {
        level: sum(item["status"] == FAIL and item["level"] == level for item in told)
        for level in (MUST, SHOULD)
    }
    # A SHOULD within a MUST counts as one that fails, and leaves the MUST as it is.
    failed[SHOULD] += sum(bool(item["should"]) for item in told)
    return {
        "format": REPORT_FORMAT,
        "league": exhibit.title[:200],
        "form": exhibit.form,
        "form_words": FORMS[exhibit.form],
        "as_of": exhibit.as_of,
        "result": _result(failed),
        "counts": counts,
        "failed": failed,
        "read": {
            "lines": exhibit.lines,
            "rows": len(exhibit.rows or []),
            "simulated": exhibit.simulated,
        },
        "requirements": told,
        "claims": claims_of(exhibit, checks),
        "not_excluded": _not_excluded(exhibit, weighed),
    }


def run_checks(exhibit: Exhibit, weighed: Sequence[Weighed], *, judged: bool) -> list[Check]:
    """Every requirement's check, in their order."""
    return [
        check_contracts(exhibit),
        check_record(exhibit),
        check_anchors(exhibit, weighed, judged=judged),
        check_common_events(exhibit),
        check_runs(exhibit),
        check_counted(exhibit),
        check_scores(exhibit),
        check_missing(exhibit),
        check_benchmarks(exhibit),
        check_ranking(exhibit),
        check_open(exhibit),
        check_arrival(exhibit, weighed),
        check_asks(exhibit),
        check_consensus(exhibit),
        check_segments(exhibit),
        check_readers(exhibit),
        check_diagnostics(exhibit),
    ]


def _not_excluded(exhibit: Exhibit, weighed: Sequence[Weighed]) -> list[str]:
    """What no reader of these files can rule out, however the checks end."""
    found = [
        "a second record kept beside this one, of which the better is shown",
        "models asked outside the record, and their replies thrown away",
        "an answer that another model or a person wrote than the one that is named",
        "a source of outcomes that is wrong",
    ]
    if exhibit.form != "table":
        found.append(_rewriting(checked_size(weighed), kept_size(exhibit, weighed)))
    return found


def _rewriting(checked: int, kept: int) -> str:
    """How much of the record its key's holder could write anew: only evidence limits that."""
    if checked:
        said = (
            f"lines cut off or rewritten behind line {checked}, the last that evidence which "
            "checks covers, by whoever holds the league's key"
        )
        if kept > checked:
            said += f" (that which covers line {kept} is present, not checked)"
        return said
    if kept:
        return (
            f"lines cut off or rewritten behind line {kept}, the last that a stamped list with "
            "evidence covers, by whoever holds the league's key; that evidence is present, not "
            "checked, and if it does not check, the whole record can be"
        )
    return (
        "the whole record rewritten and signed anew: no stamped list with complete evidence is at "
        "hand, and no checkpoint that a reader kept is compared here (`beforehand verify --since`)"
    )


def exit_code(report: dict[str, Any]) -> int:
    """0 where no MUST fails, 1 where one does; a SHOULD that fails is said, and stops nobody."""
    return 1 if report["failed"][MUST] else 0


def _result(failed: dict[str, int]) -> str:
    if failed[MUST]:
        return "fails"
    return "no MUST fails, and a SHOULD does" if failed[SHOULD] else "no requirement fails"
