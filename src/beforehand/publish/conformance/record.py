"""Requirement 2: an append-only, hash-chained record, with question and snapshot in every run."""

from __future__ import annotations

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_form import is_due
from beforehand.publish.conformance.result import Check, counted
from beforehand.publish.conformance.said import Run
from beforehand.records.codec import digest


def check_record(exhibit: Exhibit) -> Check:
    """Requirement 2."""
    check = Check(2)
    if exhibit.form == "table":
        check.gap(
            "a lone table is no record: nothing shows that its rows were not written later",
            "publish the hash-chained book beside it",
        )
        return check
    for place, message in exhibit.chain:
        check.fault(message, place)
    for run in exhibit.runs:
        _check_run(check, exhibit, run)
    _check_questions(check, exhibit)
    _check_corrections(check, exhibit)
    _check_second_outcomes(check, exhibit)
    if not check.faults and exhibit.lines:
        check.saw(
            f"{counted(exhibit.lines, 'line')}: every number, link and seal fits its content",
            exhibit.at_line(exhibit.lines),
        )
        if exhibit.stamps:
            check.saw(
                f"{len(exhibit.stamps)} stamped lists are prefixes of the book of today",
                exhibit.stamps[-1].place,
            )
        else:
            check.seen.append(
                "not excluded: a book rewritten and signed anew as a whole, where no stamp and no "
                "kept checkpoint from before is at hand"
            )
        check.holds_since(exhibit.first_at or None)
    return check


def _check_run(check: Check, exhibit: Exhibit, run: Run) -> None:
    place = exhibit.at_line(run.n)
    if exhibit.form == "book":
        if exhibit.origin:
            check.gap(
                "a lone book does not hold the texts that its lines name",
                "give the whole published folder",
            )
        else:
            _check_hashes(check, exhibit, run)
        return
    snapshot = exhibit.snapshots.get(run.snapshot_line or 0)
    if snapshot is None or (run.snapshot_line or 0) >= run.n:
        check.fault("the run names no earlier snapshot line", place)
    elif not any(b.role == "snapshot" for b in exhibit.bodies_at(run.snapshot_line)):
        check.fault("the snapshot of the run carries no hash of what was shown", place)
    # A slot may have found no question: then nobody was asked anything.
    if not run.questions and _asked_anybody(exhibit, run):
        check.fault("the run names no question", place)


def _asked_anybody(exhibit: Exhibit, run: Run) -> bool:
    return any(ask.run == run.run for ask in exhibit.asks) or any(
        answer.run == run.run for answer in exhibit.answers
    )


def _check_hashes(check: Check, exhibit: Exhibit, run: Run) -> None:
    """The hashes of the seed's run line, and the published text of the question."""
    place = exhibit.at_line(run.n)
    for name, value in (("question", run.ask_sha256), ("snapshot", run.snapshot_sha256)):
        if not value:
            check.fault(f"the run line carries no hash of its {name}", place)
    if run.ask_sha256:
        data = exhibit.read_body(run.ask_sha256)
        if data is None:
            check.gap(
                "the text of a question is not among these files",
                "publish every question as asks/SHA256.md, and list it under texts of "
                "standard.json, where there is one",
            )
        elif digest(data) != run.ask_sha256:
            check.fault("the published question does not hash to the run line", place)


def _check_questions(check: Check, exhibit: Exhibit) -> None:
    """What is open and due is there: the texts of questions, asks and snapshots."""
    lost = 0
    if exhibit.form != "folder":
        return
    for body in exhibit.bodies:
        open_kind = body.kind in ("question", "ask", "snapshot", "league", "segment")
        if not open_kind or body.role in ("identity", "reader_seed"):
            continue
        withheld = body.sha256 in exhibit.erased or not is_due(body.due, exhibit.as_of)
        if withheld or exhibit.read_body(body.sha256) is not None:
            continue
        lost += 1
        check.fault(
            f"its {body.role[:40]} was due at {body.due} and is missing or does not hash "
            "to its name",
            exhibit.at_line(body.n),
        )
    texts = {body.n for body in exhibit.bodies if body.role == "text"}
    for contract in exhibit.contracts:
        if contract.n not in texts:
            check.fault("the question carries no hash of its text", contract.place)
    if not lost and exhibit.bodies and not check.faults:
        check.saw("every open text that is due is published under its hash")


def _check_corrections(check: Check, exhibit: Exhibit) -> None:
    for item in exhibit.corrections:
        place = exhibit.at_line(item.n)
        if not item.lines:
            check.fault("the correction names no line that it concerns", place)
        for n in item.lines:
            if type(n) is not int or not 0 < n < item.n:
                check.fault(f"the correction names {n!r:.40}, which is no earlier line", place)
        if exhibit.form == "folder" and not (item.reason and item.source):
            check.fault("the correction gives no reason or no source", place)
    if exhibit.corrections and not check.faults:
        check.saw(
            f"{len(exhibit.corrections)} corrections are lines of their own, each naming "
            "earlier lines",
            exhibit.at_line(exhibit.corrections[0].n),
        )


def _check_second_outcomes(check: Check, exhibit: Exhibit) -> None:
    first: dict[str, int] = {}
    for held in exhibit.outcomes:
        if exhibit.form == "folder" and held.question in first:
            check.fault(
                f"a second outcome of one question, after line {first[held.question]}: "
                "only a correction may change one",
                exhibit.at_line(held.n),
            )
        first.setdefault(held.question, held.n)
