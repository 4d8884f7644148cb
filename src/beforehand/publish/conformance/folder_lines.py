"""What each kind of our lines says, in the checks' own words."""

from __future__ import annotations

import tomllib
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.said import (
    Answer,
    Ask,
    Body,
    Confirmation,
    Contract,
    Correction,
    Outcome,
    ProofSaid,
    Roster,
    Run,
    Seat,
    Segment,
    listed,
    number,
    text,
    texts,
)

MAX_DECLARATION_BYTES = 256 << 10
MAX_DOTS = 64


def take_line(
    exhibit: Exhibit, n: int, value: dict[str, Any], questions_at: dict[int, str]
) -> None:
    """Take what one line of our kinds says; the kinds of others are kept by name only."""
    kind, at = text(value, "kind"), text(value, "at")
    exhibit.first_at = exhibit.first_at or at
    exhibit.last_at = at or exhibit.last_at
    for body in listed(value, "bodies"):
        due = body.get("due") if isinstance(body, dict) else None
        exhibit.bodies.append(
            Body(
                n, at, kind, text(body, "role"), text(body, "sha256"),
                due if isinstance(due, str) else None,
                text(value, "run"), text(value, "forecaster"),
            )
        )  # fmt: skip
    if kind == "question":
        questions_at[n] = text(value, "question")
    if kind == "run":
        exhibit.runs.append(_run(n, at, value, questions_at))
    elif kind in _TAKERS:
        _TAKERS[kind](exhibit, n, at, value)


def _league(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    if n != 1:
        return
    exhibit.origin = text(value, "origin")
    exhibit.keys.append(text(value, "key"))
    _declare(exhibit, n, text(value, "declaration_sha256"))


def _declare(exhibit: Exhibit, n: int, sha256: str) -> None:
    """The declaration in force from line `n` on; None where it is not there or unreadable."""
    exhibit.declared = _declared(exhibit.read_body(sha256))
    exhibit.declarations.append((n, exhibit.declared))


def _declared(data: bytes | None) -> dict[str, Any] | None:
    if data is None or len(data) > MAX_DECLARATION_BYTES:
        return None
    if any(line.count(b".") > MAX_DOTS for line in data.split(b"\n")):
        return None
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _segment(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    counted = value.get("counted")
    exhibit.segments.append(
        Segment(
            n, at, text(value, "segment"), text(value, "methodology"), text(value, "time"),
            counted if isinstance(counted, bool) else None,
        )
    )  # fmt: skip
    if "declaration_sha256" in value:
        _declare(exhibit, n, text(value, "declaration_sha256"))
    exhibit.simulated = any(segment.time != "live" for segment in exhibit.segments)


def _question(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    fields = value.get("contract")
    exhibit.contracts.append(
        Contract(
            exhibit.at_line(n), n, at, text(value, "question"),
            fields if isinstance(fields, dict) else {},
            text(value, "cluster"), text(value, "type"), value,
        )
    )  # fmt: skip


def _roster(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    seats = tuple(
        Seat(
            text(seat, "forecaster"), text(seat, "entry"), text(seat, "model"),
            text(seat, "version"), text(seat, "mode"),
        )
        for seat in listed(value, "seats")
    )  # fmt: skip
    exhibit.rosters[n] = Roster(
        n, at, text(value, "run"), seats, text(value, "deadline"), text(value, "retry")
    )


def _run(n: int, at: str, value: dict[str, Any], questions_at: dict[int, str]) -> Run:
    counted = value.get("counted")
    questions = texts(value, "questions")
    ends = listed(value, "question_lines")
    if not questions and len(ends) == 2 and all(type(end) is int for end in ends):
        questions = tuple(name for k, name in questions_at.items() if ends[0] <= k <= ends[1])
    return Run(
        n, at, text(value, "run"), text(value, "segment"), text(value, "slot"),
        counted if isinstance(counted, bool) else None, text(value, "why"),
        number(value, "snapshot_line"), number(value, "roster_line"), questions,
        beacon=value.get("beacon"),
    )  # fmt: skip


def _ask(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    sent = next(
        (text(b, "sha256") for b in listed(value, "bodies") if text(b, "role") == "ask"), ""
    )
    exhibit.asks.append(
        Ask(
            n, at, text(value, "run"), text(value, "forecaster"), number(value, "attempt") or 0,
            texts(value, "questions"), text(value, "why"), sent, exhibit.book,
        )
    )  # fmt: skip


def _answer(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    cells = read_cells(value.get("cells")) if "cells" in value else None
    withheld = any(text(body, "role") == "answer" for body in listed(value, "bodies"))
    served = text(value, "served_model")
    exhibit.answers.append(
        Answer(
            n, at, text(value, "run"), text(value, "forecaster"), number(value, "ask_line"),
            text(value, "received_at"), text(value, "status"),
            text(value, "requested_model") or text(value, "model") or served,
            text(value, "version") or served, text(value, "mode"),
            cells if cells is not None else (None if withheld else {}),
        )
    )  # fmt: skip


def _outcome(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.outcomes.append(
        Outcome(
            n, at, text(value, "question"), text(value, "outcome"), text(value, "instant"),
            text(value, "source"),
        )
    )  # fmt: skip


def _confirmation(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.confirmations.append(
        Confirmation(
            n, text(value, "question"), text(value, "value"), text(value, "source"),
            number(value, "line") or 0,
        )
    )  # fmt: skip


def _reference(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.references.append(
        Outcome(n, at, text(value, "question"), text(value, "price"), text(value, "instant"))
    )


def _correction(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.corrections.append(
        Correction(
            n, at, tuple(listed(value, "lines")), text(value, "outcome"),
            text(value, "reason"), text(value, "source"),
        )
    )  # fmt: skip


def _proof(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    size = number(value, "checkpoint_size") or 0
    exhibit.proofs.append(ProofSaid(n, at, text(value, "anchor"), size, text(value, "state")))


def _key(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.keys.append(text(value, "key"))


def _snapshot(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.snapshots[n] = {**value, "at": at}


def _close(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.closes.setdefault(text(value, "run"), text(value, "status"))


def _release(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.releases.append((n, at, value))


def _erased(exhibit: Exhibit, n: int, at: str, value: dict[str, Any]) -> None:
    exhibit.erased.add(text(value, "body_sha256"))


_TAKERS = {
    "league": _league,
    "segment": _segment,
    "question": _question,
    "roster": _roster,
    "ask": _ask,
    "answer": _answer,
    "resolution": _outcome,
    "confirmation": _confirmation,
    "reference": _reference,
    "correction": _correction,
    "proof": _proof,
    "key": _key,
    "snapshot": _snapshot,
    "close": _close,
    "release": _release,
    "erased": _erased,
}


def read_cells(value: Any) -> dict[str, str | None] | None:
    """The stated text of every cell by its question; None where these are no cells."""
    if not isinstance(value, list):
        return None
    return {
        text(cell, "question"): (text(cell, "p") or None)
        for cell in value
        if isinstance(cell, dict)
    }
