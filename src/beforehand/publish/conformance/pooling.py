"""Requirement 4: one reference an event, after the seal; only forecasts of one event are pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from beforehand.publish.conformance.contracts import declared_contracts
from beforehand.publish.conformance.events import END_KEYS, is_named
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check
from beforehand.publish.conformance.said import IN_TIME, POOL_RULES, Row, before
from beforehand.publish.conformance.scores import settled
from beforehand.records.event_contract import two_contracts


def check_common_events(exhibit: Exhibit) -> Check:
    """Requirement 4."""
    check = Check(4)
    _check_ids(check, exhibit)
    _check_references(check, exhibit)
    counted = _check_sealed_before(check, exhibit)
    _check_pools(check, exhibit)
    if exhibit.form == "table":
        for row, first in _contrary(exhibit.rows or ()):
            check.fault(
                f"it says {row.outcome[:20]!r} of {row.question[:80]!r}, and row "
                f"{first.place.line} says {first.outcome[:20]!r}: one event has one outcome",
                row.place,
            )
        check.gap(
            "the times in a lone table are its own word: nothing shows that a row was sealed then",
            "keep a record, and seal each answer in it before its reference",
        )
    if exhibit.rows is None:
        check.gap("no table of forecasts is published", "publish one row a forecast with its event")
    elif counted[0] and not check.faults:
        if counted[1] > counted[0]:
            check.gap(
                f"{counted[1] - counted[0]} scored rows say nothing of when they were sealed or "
                "decided",
                "publish the seal's and the reference's time on every row",
            )
        check.saw(
            f"{counted[0]} scored rows were sealed before their event's reference or outcome, and "
            "each pool holds the forecasts of one contract only",
            exhibit.rows[0].place,
        )
        check.holds_since(exhibit.first_at or None)
    elif not check.faults:
        check.gap(
            "no scored row says when it was sealed and when its event was decided",
            "publish the seal's time and the reference's time on every row",
        )
    return check


def _check_ids(check: Check, exhibit: Exhibit) -> None:
    """No id stands for two contracts; the short ones of 64 bits can be made to collide."""
    named = [(held.id, held.fields) for held in exhibit.contracts if is_named(held, exhibit)]
    older = exhibit.profile.contract
    cut = [
        (name, {k: v for k, v in fields.items() if k in older.keys[: older.first]})
        if name.startswith(older.first_prefix)
        else (name, dict(fields))
        for name, fields in named
    ]
    if exhibit.form == "folder":
        for at, fault in declared_contracts(exhibit).doubled:
            check.fault(fault, at)
    for name in two_contracts(cut):
        place = [held.place for held in exhibit.contracts if held.id == name][-1]
        check.fault(
            f"the id {name[:80]!r} stands for two contracts, and rows are pooled by it", place
        )


def _check_references(check: Check, exhibit: Exhibit) -> None:
    corrected = {n for item in exhibit.corrections for n in item.lines if type(n) is int}
    first: dict[str, int] = {}
    for held in exhibit.references:
        if held.question in first and first[held.question] not in corrected:
            check.fault(
                f"a second reference of {held.question[:80]!r}, after line {first[held.question]}",
                exhibit.at_line(held.n),
            )
        first.setdefault(held.question, held.n)


def _check_sealed_before(check: Check, exhibit: Exhibit) -> tuple[int, int]:
    """How many scored rows are shown to be sealed before what decides them, and of how many."""
    references = {held.question: held for held in exhibit.references}
    ends = {c.id: end for c in exhibit.contracts if (end := _end_of(c.fields))}
    seals = {answer.n: answer.at for answer in exhibit.answers}
    shown, scored = 0, 0
    for row in exhibit.rows or ():
        if row.status != "counted" or row.kind == "derived":
            continue
        scored += 1
        sealed = seals.get(row.line or 0, row.at)
        shown += _check_row(check, exhibit, row, sealed, references.get(row.question), ends)
    return shown, scored


def _check_row(
    check: Check,
    exhibit: Exhibit,
    row: Row,
    sealed: str,
    reference: Any,
    ends: Mapping[str, str],
) -> bool:
    limits = [("its event ended", ends.get(row.question) or row.other.get("end_at", ""))]
    if row.other.get("same_event", "").lower() not in ("false", "0"):
        limits.append(("its reference was taken", row.other.get("reference_at", "")))
    if reference is not None:
        limits.append(("its reference was taken", reference.instant))
        if row.line is not None and reference.n <= row.line:
            check.fault("it was sealed after its reference line, and counts", row.place)
    settled = exhibit.outcome_of(row.question)
    if settled is not None:
        limits.append(("it was decided", settled[1].instant))
        if row.line is not None and settled[1].n <= row.line:
            check.fault("it was sealed after its outcome's line, and counts", row.place)
    told = [
        (words, at, verdict)
        for words, at in limits
        if at and (verdict := before(sealed, at)) is not None
    ]
    for words, at, verdict in told:
        if not verdict:
            check.fault(
                f"sealed at {sealed[:40]}, and {words} at {at[:40]}: it counts all the same",
                row.place,
            )
    return bool(told)


def _end_of(fields: Mapping[str, Any]) -> str:
    return next((str(fields[key]) for key in END_KEYS if fields.get(key)), "")


def _check_pools(check: Check, exhibit: Exhibit) -> None:
    """A derived pool is of as many forecasts as its own run and event has, and no more."""
    rows = exhibit.rows or []
    own = Counter((row.run, row.question) for row in rows if _is_member(row))
    for row in rows:
        pooled = exhibit.rule_of(row.forecaster) in POOL_RULES and row.members is not None
        if not pooled or row.status not in IN_TIME:
            continue
        expected = own[(row.run, row.question)]
        if row.members != expected:
            check.fault(
                f"the pool is of {row.members} forecasts, and {expected} of this run and event "
                "may enter it",
                row.place,
            )
    for row in _apart(rows):
        check.fault(
            "scored from its own reference, it is a separate event, and stands in the pooled count",
            row.place,
        )


def _contrary(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows that give an event another outcome than its first one did, with that first row."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        outcome = settled(row.outcome)
        if outcome is None:
            continue
        # The same words asked again, with another end, are another event.
        held = first.setdefault((row.question, row.other.get("end_at", "")), row)
        if settled(held.outcome) != outcome:
            yield row, held


def _is_member(row: Row) -> bool:
    return row.kind != "derived" and row.status in IN_TIME and bool(row.p)


def _apart(rows: Iterable[Row]) -> Iterable[Row]:
    """Rows of another reference that say that they are pooled."""
    for row in rows:
        alone = row.other.get("same_event", "").lower() in ("false", "0")
        if alone and (row.members or 0) > 1:
            yield row
