"""Requirement 16: people beside the models: assigned once at random, counted once, not stored."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import before, number

_ADDRESS = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}\b|@",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS_KEYS = ("ip", "ip_address", "addr", "address", "email", "user_agent", "ip_hash", "device")


def check_readers(exhibit: Exhibit) -> Check:
    """Requirement 16."""
    check = Check(16)
    groups = exhibit.declaration("readers", "groups")
    rows = exhibit.readers
    if rows is None:
        if exhibit.form == "table":
            check.gap("a lone table does not say whether readers forecast beside the models")
        elif groups is None:
            check.not_applicable("no reader forecasts beside the models")
        else:
            check.gap(
                "readers are declared, and no table of theirs is published", "publish readers.csv"
            )
        return check
    place = f"{exhibit.base}/readers.csv"
    _check_privacy(check, rows, place)
    _check_groups(check, rows, groups, place)
    _check_once(check, rows, place)
    _check_close(check, exhibit, rows, place)
    _check_resets(check, exhibit, rows, place)
    drawn = _check_draw(check, exhibit, rows, groups, place)
    if not check.faults:
        check.saw(
            f"{len({r.get('reader') for r in rows})} readers, each in one group, counted once "
            "an event and session, closed in time, without an address",
            Pointer(place),
        )
        if drawn:
            check.saw("every assignment follows from the seed that was committed before")
        check.holds_since(exhibit.first_at or None)
    return check


def _place(name: str, row: dict[str, str]) -> Pointer:
    return Pointer(name, int(row[""]))


def _check_privacy(check: Check, rows: list[dict[str, str]], name: str) -> None:
    for row in rows:
        for key, value in row.items():
            if key.lower() in _ADDRESS_KEYS or _ADDRESS.search(value[:500]):
                check.fault(
                    "an address of a reader, or a hash of one, is published", _place(name, row)
                )
                return


def _check_groups(check: Check, rows: list[dict[str, str]], groups: Any, name: str) -> None:
    known = set(groups) if isinstance(groups, list) else set()
    if not known:
        check.fault("no dictionary labels the groups before the first forecast", Pointer(name))
        return
    held: dict[str, str] = {}
    for row in rows:
        reader, group = row.get("reader", ""), row.get("group", "")
        if group not in known:
            check.fault(
                f"the group {group[:40]!r} is not in the data dictionary", _place(name, row)
            )
        if held.setdefault(reader, group) != group:
            check.fault("the reader was assigned anew", _place(name, row))


def _check_once(check: Check, rows: list[dict[str, str]], name: str) -> None:
    first: dict[tuple[str, ...], str] = {}
    for row in rows:
        key = tuple(row.get(part, "") for part in ("reader", "session", "question"))
        counts = row.get("counted") == "1"
        at = row.get("sealed_at", "")
        if counts and key in first:
            check.fault(
                "a second forecast of one reader on one event and session counts", _place(name, row)
            )
        elif not counts and key not in first and row.get("why", "") == "":
            check.fault("a first forecast does not count, and nothing says why", _place(name, row))
        if counts:
            first[key] = at


def _check_close(check: Check, exhibit: Exhibit, rows: list[dict[str, str]], name: str) -> None:
    references = {held.question: held.instant for held in exhibit.references}
    for row in rows:
        if row.get("counted") != "1":
            continue
        close = references.get(row.get("question", "")) or row.get("reference_at", "")
        if close and before(row.get("sealed_at", ""), close) is not True:
            check.fault(
                "a reader's forecast came after the reference, and counts", _place(name, row)
            )


def _check_resets(check: Check, exhibit: Exhibit, rows: list[dict[str, str]], name: str) -> None:
    """A reset identifier is a new reader; how many there are is on the board."""
    named = {row.get("reader", "") for row in rows}
    resets = {row.get("reader", "") for row in rows if row.get("reset_of")}
    for row in rows:
        if row.get("reset_of") and row["reset_of"] == row.get("reader"):
            check.fault("a reset identifier is counted as the reader it was", _place(name, row))
    told = exhibit.board.get("readers") if exhibit.board else None
    if number(told, "resets") != len(resets) or number(told, "readers") != len(named):
        check.fault(
            "the board does not report the readers and the resets among them",
            Pointer(f"{exhibit.base}/leaderboard.json"),
        )


def _check_draw(
    check: Check, exhibit: Exhibit, rows: list[dict[str, str]], groups: Any, name: str
) -> bool:
    """Each group is that which the committed seed draws: SHA-256(seed, reader) modulo groups."""
    bodies = [body for body in exhibit.bodies if body.role == "reader_seed"]
    data = exhibit.read_body(bodies[0].sha256) if bodies else None
    if data is None or not isinstance(groups, list):
        check.gap(
            "whether readers were assigned at random: no committed seed is open",
            "commit a seed as a body of role reader_seed, and open it at the season's end",
        )
        return False
    order = [str(group) for group in groups]
    for row in rows:
        drawn = sha256(data + row.get("reader", "").encode("utf-8")).digest()
        if order[int.from_bytes(drawn, "big") % len(order)] != row.get("group"):
            check.fault("the group is not the one that the committed seed draws", _place(name, row))
    return True
