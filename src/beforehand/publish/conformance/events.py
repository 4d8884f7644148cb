"""Requirement 1: the event is fixed before it is asked, and the answer carries who gave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beforehand.book.bodies import open_sealed
from beforehand.errors import FormatError
from beforehand.publish.conformance.contracts import check_declared_contracts
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer, counted
from beforehand.publish.conformance.said import (
    Answer,
    Contract,
    Roster,
    Row,
    Run,
    before,
    text,
)
from beforehand.records.codec import decode_json
from beforehand.records.question import question_id

# A contract says what is asked, who settles it, and when that is over. One of the
# usual keys of each must stand in it; a key whose text is empty says "open".
_RULE_KEYS = ("rule", "question", "description_sha256", "title", "criteria")
_SOURCE_KEYS = ("source", "price_provider", "provider", "benchmark", "venue")
END_KEYS = ("closes", "end_at", "event_end_at", "resolution_date", "end", "close_time")
IDENTITY = "identity"
_PRICE_KEYS = ("asset", "price_symbol", "symbol")


def check_contracts(exhibit: Exhibit) -> Check:
    """Requirement 1."""
    check = Check(1)
    _check_each_contract(check, exhibit)
    if exhibit.form == "table":
        _table_contracts(check, exhibit)
        return check
    check_declared_contracts(check, exhibit)
    asked = _check_asked(check, exhibit)
    _check_identity(check, exhibit)
    if exhibit.contracts and not check.faults:
        place = exhibit.contracts[0].place
        check.saw(f"{len(exhibit.contracts)} event contracts hash to their ids", place)
        if asked:
            check.saw("each stands in the record before the run that asks it, and ends after it")
        check.holds_since(exhibit.first_at or None)
    if exhibit.contracts and not asked:
        check.gap(
            "no run line names the events that it asks, so that a contract could have been written "
            "after it",
            "name the ids of the events in the run line",
        )
    if not exhibit.contracts and not check.faults:
        check.gap("no event contract is published", "publish each contract with its id")
    return check


def _check_each_contract(check: Check, exhibit: Exhibit) -> None:
    for contract in exhibit.contracts:
        if not contract.fields:
            check.fault("the event has no contract", contract.place)
        elif not is_named(contract, exhibit):
            check.fault(
                f"the id {contract.id[:80]!r} is not the hash of the contract", contract.place
            )
        else:
            lacking = _lacking(contract.fields)
            if lacking:
                check.fault(f"the contract says nothing of {', '.join(lacking)}", contract.place)


def is_named(contract: Contract, exhibit: Exhibit) -> bool:
    """Whether an id is that of its contract, in one of the forms that are known."""
    fields, profile = contract.fields, exhibit.profile.contract
    try:
        if contract.id.startswith("evc1:"):
            return contract.id == question_id({key: str(fields[key]) for key in fields})
        if contract.id.startswith(profile.prefix):
            return contract.id == profile.event_id(fields)
        if contract.id.startswith(profile.first_prefix):
            return contract.id == profile.first_event_id(fields)
    except KeyError:
        return False
    return False


def _lacking(fields: Mapping[str, Any]) -> list[str]:
    """Which of the minimum a contract does not speak of."""
    wanted = [
        ("the rule of its outcome", _RULE_KEYS),
        ("its source", _SOURCE_KEYS),
        ("its end", END_KEYS),
    ]
    if any(fields.get(key) for key in _PRICE_KEYS):
        wanted.append(("how its reference price is taken", ("reference_rule", "reference")))
    return [words for words, keys in wanted if not any(key in fields for key in keys)]


def _table_contracts(check: Check, exhibit: Exhibit) -> None:
    if not exhibit.contracts:
        check.gap(
            "the table has no event contract",
            "give every row the columns of a contract and its id (see the profile)",
        )
    elif not check.faults:
        check.saw(
            f"{len(exhibit.contracts)} contracts in the table hash to their ids",
            exhibit.contracts[0].place,
        )
    check.gap(
        "a table cannot show that the contract was fixed before the question went out",
        "keep a record: seal each contract as a line before it is asked",
    )
    blank = [row for row in exhibit.rows or () if not (row.other.get("model") or row.forecaster)]
    for row in blank[:3]:
        check.fault("the row names no model or forecaster", row.place)


def _check_asked(check: Check, exhibit: Exhibit) -> bool:
    """Every run asks what stands before it and is not over yet."""
    guessed = exhibit.form != "folder" and not exhibit.profile.has_contract
    if guessed and not exhibit.contracts and any(run.questions for run in exhibit.runs):
        check.gap(
            "no contract of what the runs ask is read: no profile names the keys of a contract",
            "name them under [contract] of a profile, and give it with --profile or standard.json",
        )
        return False
    seen = False
    for run in exhibit.runs:
        for name in run.questions:
            seen = True
            contract = exhibit.contract_named(name)
            if contract is None:
                check.fault(
                    f"the run asks {name[:80]!r}, of which there is no contract",
                    exhibit.at_line(run.n),
                )
                continue
            if contract.n >= run.n:
                check.fault("the contract was sealed after the run that asks it", contract.place)
            _check_future(check, exhibit, run, contract)
    for ask in exhibit.asks:
        for name in ask.questions:
            contract = exhibit.contract_named(name)
            if contract is not None and ask.file == exhibit.book and contract.n >= ask.n:
                check.fault("the contract was sealed after it was asked", contract.place)
    return seen


def _check_future(check: Check, exhibit: Exhibit, run: Run, contract: Contract) -> None:
    for key in END_KEYS:
        end = contract.fields.get(key)
        if isinstance(end, str) and "T" in end and before(run.at, end) is False:
            check.fault(
                f"the event ended at {end[:40]}, before it was asked at {run.at[:40]}",
                contract.place,
            )
    settled = exhibit.outcome_of(contract.id)
    if settled is not None and settled[1].n < run.n:
        check.fault(
            "the outcome stands in the record before the run that asks it",
            exhibit.at_line(settled[1].n),
        )


def _check_identity(check: Check, exhibit: Exhibit) -> None:
    """Model, version and mode of whoever is asked, in the answer line or the roster it hangs on."""
    asked = hidden = 0
    behind: dict[int, Identities] = {}
    for answer in exhibit.answers:
        seat = exhibit.seat_of(answer.run, answer.forecaster)
        if exhibit.form == "book" or (seat is not None and seat.entry == "asked"):
            asked += 1
            lacking = _unnamed(answer, exhibit)
            if not lacking or _is_committed(check, answer, exhibit):
                continue
            if _stands_behind(answer, exhibit, behind):
                hidden += 1
                continue
            check.fault(
                f"the answer does not carry its {', '.join(lacking)}", exhibit.at_line(answer.n)
            )
        elif seat is not None and not (seat.mode or answer.mode):
            check.fault(
                f"nothing says what {answer.forecaster[:60]!r} is: no mode",
                exhibit.at_line(answer.n),
            )
    for n, identities in behind.items():
        for fault in identities.faults:
            check.fault(fault, exhibit.at_line(n))
    if asked and not check.faults:
        first = exhibit.answers[0].n
        check.saw(
            f"{counted(asked - hidden, 'answer')} carry the model; version and mode stand in the "
            "line, or in the roster or lineup that its run named before it",
            exhibit.at_line(first),
        )
        _tell_hidden(check, exhibit, behind, hidden)


def _tell_hidden(
    check: Check, exhibit: Exhibit, behind: Mapping[int, Identities], hidden: int
) -> None:
    if not hidden:
        return
    closed = sum(held.closed for held in behind.values())
    told = f"not opened yet: {closed}" if closed else "all are opened"
    check.saw(
        f"{counted(hidden, 'answer')} of hidden seats: who they are is a salted commitment on the "
        f"roster line of their run; {told}",
        exhibit.at_line(min(behind)),
    )


@dataclass
class Identities:
    """The identity bodies of a roster: seats that are open, how many are not, what is wrong."""

    opened: set[str] = field(default_factory=set)
    closed: int = 0
    faults: list[str] = field(default_factory=list)


def _stands_behind(answer: Answer, exhibit: Exhibit, behind: dict[int, Identities]) -> bool:
    """Whether the roster seals who a hidden seat is: a body a seat, which fits it once it is open.

    A body that is not open does not say whose it is: there must be one for
    each hidden seat, which is a seat that names no model.
    """
    run = exhibit.run_named(answer.run)
    roster = exhibit.roster_of(run) if run is not None else None
    if roster is None:
        return False
    hidden = {seat.forecaster for seat in roster.seats if seat.entry == "asked" and not seat.model}
    if roster.n not in behind:
        behind[roster.n] = _identities(exhibit, roster, hidden)
    held = behind[roster.n]
    waiting = hidden - held.opened
    return answer.forecaster in held.opened or (
        answer.forecaster in waiting and held.closed >= len(waiting)
    )


def _identities(exhibit: Exhibit, roster: Roster, hidden: set[str]) -> Identities:
    found = Identities()
    for named in exhibit.bodies_at(roster.n):
        if named.role != IDENTITY:
            continue
        data = exhibit.read_body(named.sha256)
        if data is None:
            found.closed += 1
            continue
        try:
            body = open_sealed(data)
            content = decode_json(body.content)
        except FormatError as error:
            found.faults.append(f"an opened identity of its roster: {error}")
            continue
        of = (body.origin, body.run, body.role) == (exhibit.origin, roster.run, IDENTITY)
        if not of or body.forecaster not in hidden:
            found.faults.append("an opened identity is of no hidden seat of this roster")
        elif not text(content, "model"):
            found.faults.append(f"the opened identity of {body.forecaster[:60]!r} names no model")
        else:
            found.opened.add(body.forecaster)
    return found


def _unnamed(answer: Answer, exhibit: Exhibit) -> list[str]:
    seat = exhibit.seat_of(answer.run, answer.forecaster)
    run = exhibit.run_named(answer.run)
    lineup = run is not None and any(
        body.role == "lineup" for body in exhibit.bodies_at(run.roster_line)
    )
    failed = answer.status not in ("", "answered")
    held = {
        "model": answer.model,
        # A call that failed before a model replied has no version that was served.
        "version": answer.version or (seat.version if seat else "") or failed,
        "mode": answer.mode or (seat.mode if seat else "") or lineup,
    }
    return [name for name, value in held.items() if not value]


def _is_committed(check: Check, answer: Answer, exhibit: Exhibit) -> bool:
    """Whether the identity stands behind a salted body, and fits it once that is open."""
    named = [body for body in exhibit.bodies_at(answer.n) if body.role == IDENTITY]
    for body in named:
        data = exhibit.read_body(body.sha256)
        if data is None:
            continue
        try:
            opened = decode_json(data.split(b"\n", 2)[-1])
        except Exception:  # whatever it holds, it is no identity
            opened = None
        if not all(text(opened, key) for key in ("model", "version", "mode")):
            check.fault(
                "the opened identity names no model, version and mode", exhibit.at_line(answer.n)
            )
    return bool(named)


def table_contracts(exhibit: Exhibit, rows: Iterable[Row]) -> list[Contract]:
    """The contracts that stand in the columns of a table, under each id that a row gives."""
    profile = exhibit.profile.contract
    found: dict[tuple[str, str], Contract] = {}
    for row in rows:
        if len(row.contract) < len(profile.keys):
            continue
        for role, prefix in (
            ("contract_id", profile.prefix),
            ("first_contract_id", profile.first_prefix),
        ):
            name = row.other.get(role, "")
            if name.startswith(prefix):
                fields = dict(row.contract)
                found.setdefault(
                    (name, repr(sorted(fields.items()))),
                    Contract(Pointer(row.place.file, row.place.line), 0, "", name, fields),
                )
    return list(found.values())
