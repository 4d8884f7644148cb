"""Reading a bare table of forecasts: level 0, the operator's word and nothing else."""

from __future__ import annotations

from beforehand.book.folder import Folder
from beforehand.errors import FormatError
from beforehand.publish.conformance.book_form import with_outcome
from beforehand.publish.conformance.events import table_contracts
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.profile import COLUMN_NAMES, Profile
from beforehand.publish.conformance.said import Row
from beforehand.publish.conformance.tables import read_rows, read_table

_NEEDED = {"forecaster": "forecaster", "question": "question", "p": "probability"}
_RESOLVED = ("yes", "no", "1", "0", "1.0", "0.0", "true", "false")
_UNCOUNTED = ("earlier_run",)


def read_csv(folder: Folder, name: str, profile: Profile, as_of: str) -> Exhibit:
    """The exhibit of one CSV file; FormatError names the columns that it lacks."""
    header, _ = read_table(folder, name)
    column = profile.columns_in(header)
    for role, words in _NEEDED.items():
        if role not in column:
            usual = ", ".join(COLUMN_NAMES[role])
            raise FormatError(
                f"{name}: no column says the {words}; it is looked for as {usual}, or as the "
                f"profile's [columns] {role} names it (the header is {', '.join(header)[:300]})"
            )
    exhibit = Exhibit(
        form="table", title=profile.title or name, folder=folder, base=name, profile=profile,
        as_of=as_of,
    )  # fmt: skip
    exhibit.rows = [
        _labelled(with_outcome(row), profile) for row in read_rows(folder, name, profile)
    ]
    exhibit.contracts = table_contracts(exhibit, exhibit.rows)
    return exhibit


def _labelled(row: Row, profile: Profile) -> Row:
    """A row of a run that does not count is none that counts."""
    role = row.other.get("run_role", "")
    if "status" not in row.other and row.p and row.outcome.lower() in _RESOLVED:
        return Row(**{**vars(row), "status": "counted"})
    if role in _UNCOUNTED and row.status == "counted":
        return Row(**{**vars(row), "status": "not_counted"})
    if row.status in profile.uncounted:
        return Row(**{**vars(row), "status": "not_counted"})
    return row
