"""The event contracts that a league of ours declares: the ids on its rows, and files by hash.

Read are the sealed question lines and the declaration; nothing is assumed of
either. An older folder without the columns or files is not at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from beforehand.book.folder import read_file
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer, counted
from beforehand.publish.conformance.said import Row
from beforehand.publish.contracts import CONTRACTS, ContractRegister
from beforehand.records.codec import BOOKKEEPING, digest
from beforehand.records.event_contract import MAX_CONTRACT_FILE, EventIds, contract_profile
from beforehand.records.question import Question

_MOST_FAULTS = 3
# The columns of a row, by the id that each must hold.
_COLUMNS = (
    ("full_contract_id", "contract_id"),
    ("first_contract_id", "event_id"),
    ("contract_id", "event_id_v2"),
)


@dataclass
class DeclaredContracts:
    """The ids that follow from a league's own lines, and what stands in the way of one."""

    ids: dict[str, EventIds] = field(default_factory=dict)
    short: bool = False
    faults: list[tuple[Pointer, str]] = field(default_factory=list)
    doubled: list[tuple[Pointer, str]] = field(default_factory=list)


def declared_contracts(exhibit: Exhibit) -> DeclaredContracts:
    """The ids of every question under the profile of the declaration, or under none."""
    found = DeclaredContracts()
    table = exhibit.declaration("contract")
    try:
        profile = None if table is None else contract_profile(table)
    except FormatError as error:
        found.faults.append((exhibit.at_line(1), f"the declared contract profile: {error}"))
        return found
    found.short = profile is not None
    register = ContractRegister(profile)
    for contract in exhibit.contracts:
        content = {key: item for key, item in contract.line.items() if key not in BOOKKEEPING}
        try:
            register.take(contract.n, Question.of(content))
        except FormatError as error:
            if profile is not None:  # what is wrong with the line itself, its own check says
                found.faults.append((contract.place, str(error)))
        except IntegrityError as error:
            found.doubled.append((contract.place, str(error)))
    found.ids = register.ids
    return found


def check_declared_contracts(check: Check, exhibit: Exhibit) -> None:
    """The part of requirement 1 that only a folder of ours can be asked."""
    if exhibit.form != "folder":
        return
    held = declared_contracts(exhibit)
    for place, fault in held.faults[:_MOST_FAULTS]:
        check.fault(fault, place)
    wrong = list(_wrong_rows(held, exhibit.rows or ()))
    for place, fault in wrong[:_MOST_FAULTS]:
        check.fault(fault, place)
    if len(wrong) > _MOST_FAULTS:
        check.fault(f"{len(wrong) - _MOST_FAULTS} rows more bear an id that is not their event's")
    _check_files(check, exhibit, held)
    if held.short and exhibit.rows and not _has_columns(exhibit.rows[0]):
        check.gap(
            "the declaration names short ids of events, and the table has no column of them",
            "publish contract_id, event_id and event_id_v2 on every row",
        )


def _has_columns(row: Row) -> bool:
    return all(role in row.other for role, _ in _COLUMNS)


def _wrong_rows(
    held: DeclaredContracts, rows: list[Row] | tuple[()]
) -> Iterator[tuple[Pointer, str]]:
    for row in rows:
        ids = held.ids.get(row.question)
        if ids is None:
            continue  # a row of no known question is found elsewhere
        for role, name in _COLUMNS:
            said, wanted = row.other.get(role), getattr(ids, name)
            if said is not None and said != wanted:
                yield row.place, f"{name} is {said[:80]!r}, and its contract's is {wanted!r}"
                break


def _check_files(check: Check, exhibit: Exhibit, held: DeclaredContracts) -> None:
    """Each published contract is the bytes that its name is the hash of, and none is lacking."""
    folder, base = exhibit.folder, f"{exhibit.base}/{CONTRACTS}/"
    if folder is None or not any(name.startswith(base) for name in folder.names()):
        if held.short:  # without a profile the question line is the contract itself
            check.gap(
                "the contracts behind the declared short ids are not published",
                f"publish each as {base}HEX.json, named by its SHA-256",
            )
        return
    lacking = 0
    for sha256 in {ids.contract_id.partition(":")[2] for ids in held.ids.values()}:
        name = f"{base}{sha256}.json"
        if not folder.has(name):
            lacking += 1
        elif digest(read_file(folder, name, MAX_CONTRACT_FILE)) != sha256:
            check.fault("the contract is not the bytes that its name is the hash of", Pointer(name))
    if lacking:
        check.fault(f"{counted(lacking, 'contract')} of questions are not published", Pointer(base))
    elif not check.faults and held.ids:
        check.saw(f"each contract lies under its hash in {base}")
