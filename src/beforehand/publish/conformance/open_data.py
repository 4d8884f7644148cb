"""Requirement 11: data, code and checksums, so that every score can be computed by anyone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from beforehand.book.manifest import MANIFEST_PATH
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import Row, number, text
from beforehand.publish.conformance.scores import board_place, decimal_of, entries, loss_of
from beforehand.records.codec import is_digest

MEAN_TOLERANCE = Decimal("0.0000015")


def check_open(exhibit: Exhibit) -> Check:
    """Requirement 11."""
    check = Check(11)
    if exhibit.form != "folder":
        check.gap(
            "no manifest with a checksum for every file is among these files",
            "publish a manifest and the code that scored, and cite a frozen release; this checker "
            "reads those of a folder as `beforehand publish` writes it, and none of another form",
        )
        if exhibit.form == "table":
            return check
    for name, message in exhibit.files:
        check.fault(message, Pointer(name))
    _check_recount(check, exhibit)
    _check_rows(check, exhibit, exhibit.rows or [])
    if exhibit.form == "folder":
        if not exhibit.has_code:
            check.fault(
                "no code that computes the scores is published beside them",
                Pointer("api/v1/recount.py"),
            )
        _check_releases(check, exhibit)
    if exhibit.rows is None and not check.faults:
        check.gap("no table of forecasts is published", "publish it as CSV")
    if exhibit.form == "folder" and not check.faults:
        check.saw(
            "every published file is listed with its checksum, and the signed manifest "
            "lists nothing else",
            Pointer(MANIFEST_PATH),
        )
        check.holds_since(exhibit.releases[0][1] if exhibit.releases else exhibit.last_at)
    return check


def _check_recount(check: Check, exhibit: Exhibit) -> None:
    if exhibit.recount is not None:
        same, different, places = exhibit.recount
        for place in places[:5]:
            check.fault(f"recounted otherwise: {place}", board_place(exhibit))
        if different > len(places[:5]):
            check.fault(
                f"{different} published values differ from the recount", board_place(exhibit)
            )
        elif not different:
            check.saw(
                f"{same} published values were computed again from the book, and are equal",
                board_place(exhibit),
            )
        return
    if exhibit.board is None:
        check.gap("no board is published", "publish the scores as JSON")
    elif text(exhibit.board, "format").startswith("beforehand-leaderboard/"):
        check.gap(f"the recount {exhibit.recount_why}", "see that the book can be folded")
    else:
        _check_means(check, exhibit)


def _check_means(check: Check, exhibit: Exhibit) -> None:
    """A board of another format: each forecaster's count and mean loss, from the rows."""
    grid = decimal_of(str(exhibit.declaration("scoring", "grid") or ""))
    by_name: dict[str, list[Decimal]] = {}
    for row in exhibit.board_rows():
        loss = loss_of(row, grid, Decimal(1)) if row.status == "counted" else None
        if loss is not None:
            by_name.setdefault(row.forecaster, []).append(loss)
    for entry in entries(exhibit):
        name = text(entry, "forecaster")
        held = by_name.get(name, [])
        if number(entry, "n_counted") != len(held):
            check.fault(
                f"{name[:60]!r}: {entry.get('n_counted')!r:.20} scored published, "
                f"{len(held)} in the rows",
                board_place(exhibit),
            )
        brier = entry.get("brier")
        said = decimal_of(str(brier.get("mean"))) if isinstance(brier, dict) else None
        own = sum(held, Decimal(0)) / len(held) if held else None
        if (said is None) != (own is None) or (
            said is not None and own is not None and abs(said - own) > MEAN_TOLERANCE
        ):
            check.fault(
                f"{name[:60]!r}: a mean loss of {said} published, {own} from the rows",
                board_place(exhibit),
            )
    if not check.faults:
        check.seen.append("each count and mean loss of the board follows from the rows")


def _check_rows(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> None:
    """Rows follow from the record: their line, their p and their outcome."""
    answers = {answer.n: answer for answer in exhibit.answers}
    asks = {ask.n for ask in exhibit.asks}
    for row in rows:
        settled = exhibit.outcome_of(row.question)
        own = settled[0] if settled else ""
        if exhibit.form == "folder" and row.outcome != own:
            check.fault(
                f"its outcome is {row.outcome[:20]!r}, the record's {own[:20]!r}", row.place
            )
        if row.kind == "derived" or row.line is None:
            continue
        answer = answers.get(row.line)
        if answer is not None:
            _check_stated(check, row, answer.run, answer.forecaster, answer.cells)
        elif exhibit.form == "folder" and row.line not in asks:
            check.fault(f"line {row.line} is no answer and no ask", row.place)


def _check_stated(
    check: Check, row: Row, run: str, forecaster: str, cells: Mapping[str, str | None] | None
) -> None:
    if (row.run, row.forecaster) != (run, forecaster):
        check.fault(f"line {row.line} is of another run or forecaster", row.place)
    said = (cells or {}).get(row.question)
    if said is not None and row.p and decimal_of(said) != decimal_of(row.p):
        check.fault(f"line {row.line} states {said[:20]}, the row says {row.p[:20]}", row.place)


def _check_releases(check: Check, exhibit: Exhibit) -> None:
    names = Counter(text(value, "release") for _, _, value in exhibit.releases)
    for n, _, value in exhibit.releases:
        place = exhibit.at_line(n)
        lines = number(value, "lines")
        if not is_digest(value.get("manifest_sha256")):
            check.fault("the release names no manifest by its hash", place)
        if lines is None or not 0 < lines < n:
            check.fault("the release does not cover earlier lines of this book", place)
        if names[text(value, "release")] > 1:
            check.fault("two releases have one name: a release never changes", place)
    if exhibit.releases:
        check.seen.append(f"{len(exhibit.releases)} frozen releases are sealed by their hash")
    else:
        check.seen.append("no frozen release is cited yet: one is due with a paper's revision")
