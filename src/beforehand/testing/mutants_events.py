"""Mutants of events and common events, and the small changes that mutants of lines are made of."""

from __future__ import annotations

from typing import Any

from beforehand.book.bodies import SealedBody
from beforehand.records.codec import digest, seal_json
from beforehand.records.question import question_id
from beforehand.testing.mutants_kinds import ChangeLines, Mutant, said
from beforehand.testing.mutants_league import ORIGIN, Draft

AM, PM, NEXT, LAST = "2026-01-05-am", "2026-01-05-pm", "2026-01-06-am", "2026-01-07-am"


def event_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_events(), *_common_events()]


# ---- small changes


def put(label: str, **fields: Any) -> ChangeLines:
    """Set fields of a line."""
    return lambda draft: draft.line(label).update(fields)


def drop(label: str, *fields: str) -> ChangeLines:
    """Take fields of a line away."""

    def change(draft: Draft) -> None:
        for name in fields:
            draft.line(label).pop(name, None)

    return change


def remove(*labels: str) -> ChangeLines:
    """Take lines away."""

    def change(draft: Draft) -> None:
        draft.lines = [line for line in draft.lines if line["_label"] not in labels]

    return change


def move(label: str, behind: str) -> ChangeLines:
    """Put a line behind another, at that one's time."""

    def change(draft: Draft) -> None:
        line = draft.line(label)
        draft.lines.remove(line)
        line["at"] = draft.line(behind)["at"]
        draft.insert_after(behind, line)

    return change


def declared(old: str, new: str) -> ChangeLines:
    """Change the declaration and seal it anew."""

    def change(draft: Draft) -> None:
        league = draft.line("league")
        text = draft.bodies.pop(league["declaration_sha256"])
        if old.encode() not in text:
            raise ValueError(f"the declaration holds no {old!r}")
        changed = text.replace(old.encode(), new.encode())
        league["declaration_sha256"] = league["bodies"][0]["sha256"] = digest(changed)
        draft.bodies[digest(changed)] = changed

    return change


def contract(label: str, *lost: str, **fields: str) -> ChangeLines:
    """Change a contract, and the id of its event wherever it stands."""

    def change(draft: Draft) -> None:
        line = draft.line(label)
        old, held = line["question"], line["contract"]
        line["contract"] = {k: v for k, v in {**held, **fields}.items() if k not in lost}
        rename(draft, old, question_id(line["contract"]))

    return change


def rename(draft: Draft, old: str, new: str) -> None:
    """Put one id in the place of another, in lines and in what sealed bodies hold."""
    names: dict[str, str] = {}
    for name, data in list(draft.bodies.items()):
        if old.encode() in data:
            changed = draft.bodies.pop(name).replace(old.encode(), new.encode())
            names[name] = digest(changed)
            draft.bodies[digest(changed)] = changed
    names[old] = new
    draft.lines = [_replaced(line, names) for line in draft.lines]
    draft.readers = [_replaced(row, names) for row in draft.readers]


def _replaced(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def seats(run: str, forecaster: str, *lost: str, **fields: str) -> ChangeLines:
    """Change a seat of a roster."""

    def change(draft: Draft) -> None:
        for seat in draft.line(f"{run}/roster")["seats"]:
            if seat["forecaster"] == forecaster:
                seat.update(fields)
                for name in lost:
                    seat.pop(name, None)

    return change


def together(*changes: ChangeLines) -> ChangeLines:
    """One fault that shows in more than one line."""

    def change(draft: Draft) -> None:
        for each in changes:
            each(draft)

    return change


def lose_body(label: str, place: int = 0) -> ChangeLines:
    """Never publish a body that a line names."""

    def change(draft: Draft) -> None:
        draft.bodies.pop(draft.line(label)["bodies"][place]["sha256"], None)

    return change


# ---- requirement 1


def _events() -> list[Mutant]:
    return [
        said(1, "contract-changed", "the contract was changed and kept its id",
              lambda d: d.line("q3")["contract"].update(rule="yes if the drawn number is odd")),
        said(1, "no-end", "a contract without its end", contract("q3", "closes")),
        said(1, "no-source", "a contract without its source", contract("q4", "source")),
        said(1, "no-rule", "a contract without its rule", contract("q9", "rule")),
        said(1, "empty-contract", "an event with an empty contract",
              contract("q6", "closes", "source", "rule", "market")),
        said(1, "unknown-id", "an id of no known form",
              lambda d: rename(d, d.line("q7")["question"], "evt:" + "0" * 64)),
        said(1, "contract-after-run", "a contract sealed after the run that asks it",
              move("q13", f"{LAST}/run")),
        said(1, "contract-missing", "a run asks an event that has no contract", remove("q14")),
        said(1, "asked-after-end", "an event that had ended before it was asked",
              contract("q10", closes="2026-01-06T09:45:00Z"), collateral=(4,)),
        said(1, "outcome-first", "an outcome that stands before the run that asks it",
              move("q10/outcome", f"{NEXT}/roster"), collateral=(4,)),
        said(1, "no-model", "an answer without its model",
              drop(f"{AM}/ant/answer", "requested_model", "served_model")),
        said(1, "no-version", "an answer whose version stands nowhere",
              together(drop(f"{NEXT}/cat/answer", "served_model"), seats(NEXT, "cat", "version"))),
        said(1, "no-mode", "an asked model whose mode stands nowhere", seats(AM, "ant", "mode")),
        said(1, "human-without-mode", "nothing says that an entrant is a person",
              seats(AM, "hum", "mode")),
        said(1, "identity-empty", "a blind answer whose opened identity names no version",
              _blind_without_version),
    ]  # fmt: skip


def _blind_without_version(draft: Draft) -> None:
    answer = draft.line(f"{PM}/ant/answer")
    for name in ("requested_model", "served_model"):
        answer.pop(name)
    hidden = seal_json({"model": "lab/ant-1", "mode": "no search"}) + b"\n"
    body = SealedBody(ORIGIN, PM, "ant", "identity", "ab" * 32, hidden)
    answer["bodies"] = [draft.body("identity", body.data(), answer["at"])]


# ---- requirement 4


def _second_reference(draft: Draft) -> None:
    first = draft.line("q8/reference")
    draft.insert_after("q8/reference", {**first, "_label": "again", "price": "7"})


def _common_events() -> list[Mutant]:
    return [
        said(4, "second-reference", "two references of one event", _second_reference),
        said(4, "reference-before-seal", "a reference taken before the answers were sealed",
              put("q8/reference", instant="2026-01-06T10:00:00Z")),
        said(4, "reference-line-first", "a reference line that stands before the answers",
              move("q9/reference", f"{NEXT}/run")),
        said(4, "decided-before-seal", "an event decided before the answers were sealed",
              put("q8/outcome", instant="2026-01-06T10:01:00Z")),
        said(4, "outcome-line-before-seal", "an outcome line that stands before the answers",
              move("q9/outcome", f"{NEXT}/run")),
        said(4, "ended-before-seal", "an event that ended between ask and answer",
              contract("q11", closes="2026-01-06T10:01:00Z")),
    ]  # fmt: skip
