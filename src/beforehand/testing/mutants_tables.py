"""The tables that a league publishes, computed plainly from its lines.

A second, short implementation on purpose: checkers are tried against tables
that the package's own scoring did not make.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from beforehand.book.bodies import is_sealed, open_sealed
from beforehand.records.codec import decode_json
from beforehand.testing.mutants_board import board_of, diagnostics_of, loss_of
from beforehand.testing.mutants_league import (
    ASKED,
    GRID,
    SEATS,
    Draft,
)

COLUMNS = (
    *("run", "forecaster", "kind", "question", "cluster", "line", "sealed_at", "p", "p_scored"),
    *("outcome", "status", "why", "brier", "members", "methodology"),
)
_UNSAID = "not_answered"


@dataclass
class Tables:
    """What is published beside the book; a mutant may change any of it."""

    rows: list[dict[str, str]]
    board: dict[str, Any]
    diagnostics: dict[str, Any]
    climatology: dict[str, Any]
    readers: list[dict[str, str]]
    other: dict[str, bytes] = field(default_factory=dict)
    build: Callable[[list[dict[str, str]], bool], dict[str, Any]] | None = None

    def again(self, *, pooled: bool = False) -> None:
        """Compute the board anew from the rows as they are; `pooled` over all segments."""
        if self.build is not None:
            self.board = self.build(self.rows, pooled)

    def row(self, run: str, forecaster: str, place: int) -> dict[str, str]:
        """A forecaster's row of a run, by its place among them."""
        held = [r for r in self.rows if (r["run"], r["forecaster"]) == (run, forecaster)]
        return held[place]

    def entry(self, forecaster: str) -> dict[str, Any]:
        """A forecaster's entry on the board."""
        held: dict[str, Any] = next(
            e for e in self.board["forecasters"] if e["forecaster"] == forecaster
        )
        return held


def tables_of(draft: Draft, numbers: dict[str, int]) -> Tables:
    """Every table of a league; `numbers` gives the line number of each label."""
    rows = [row for run in draft.of_kind("run") for row in _run_rows(draft, run, numbers)]
    segment_of = {run["run"]: run.get("segment", "") for run in draft.of_kind("run")}

    def build(held: list[dict[str, str]], pooled: bool) -> dict[str, Any]:
        board = board_of(draft, held, segment_of, pooled)
        corrections = [numbers[line["_label"]] for line in draft.of_kind("correction")]
        return {**board, "corrections": [{"line": n} for n in corrections]}

    return Tables(
        rows=rows,
        board=build(rows, False),
        diagnostics=diagnostics_of([row for row in rows if segment_of[row["run"]] == "s1"]),
        climatology=draft.climatology,
        readers=[dict(row) for row in draft.readers],
        build=build,
    )


def cells_of(draft: Draft, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of an answer, opened where they lie in a body."""
    if "cells" in answer:
        return list(answer["cells"])
    for body in answer.get("bodies", ()):
        data = draft.bodies.get(body["sha256"], b"")
        if body["role"] == "answer" and is_sealed(data):
            held: list[dict[str, Any]] = decode_json(open_sealed(data).content)["cells"]
            return held
    return []


def is_lost(draft: Draft, answer: dict[str, Any]) -> bool:
    """Whether an answer's body was never published; every one of the corpus is due."""
    held = [body["sha256"] for body in answer.get("bodies", ()) if body["role"] == "answer"]
    return any(sha256 not in draft.bodies for sha256 in held)


def _outcomes(draft: Draft) -> dict[str, str]:
    found: dict[str, str] = {}
    by_label = {}
    for line in draft.lines:
        if line["kind"] == "resolution":
            found.setdefault(line["question"], line["outcome"])
            by_label[line["_label"]] = line["question"]
        if line["kind"] == "correction" and "outcome" in line:
            for named in line["lines"]:
                question = by_label.get(named.get("$ref")) if isinstance(named, dict) else None
                if question is not None:
                    found[question] = line["outcome"]
    return found


def _run_rows(
    draft: Draft, run: dict[str, Any], numbers: dict[str, int]
) -> Iterable[dict[str, str]]:
    outcomes = _outcomes(draft)
    versions = {line["segment"]: line["methodology"] for line in draft.of_kind("segment")}
    base = {"run": run["run"], "methodology": versions.get(run.get("segment", ""), "")}
    clusters = {line["question"]: line["cluster"] for line in draft.of_kind("question")}
    own = []
    for question in run["questions"]:
        shared = {
            **base,
            "question": question,
            "cluster": clusters.get(question, ""),
            "outcome": outcomes.get(question, ""),
        }
        stated = [_seat_row(draft, run, seat, shared, numbers) for seat in SEATS]
        own += [row for row in stated if row is not None]
        own += _derived(draft, run, shared, [r for r in stated if r is not None], numbers)
    return [_scored(row, bool(run.get("counted"))) for row in own]


def _seat_row(
    draft: Draft,
    run: dict[str, Any],
    seat: str,
    shared: dict[str, str],
    numbers: dict[str, int],
) -> dict[str, str] | None:
    """The first well-formed answer of a seat on a question, else its last failure."""
    failed: dict[str, str] | None = None
    kind = "asked" if seat in ASKED else "accepted"
    for answer in draft.of_kind("answer"):
        if (answer["run"], answer["forecaster"]) != (run["run"], seat):
            continue
        row = {
            **shared,
            "forecaster": seat,
            "kind": kind,
            "line": str(numbers[answer["_label"]]),
            "sealed_at": answer["at"],
        }
        if is_lost(draft, answer):
            return {**row, "status": "not_revealed"}
        for cell in cells_of(draft, answer):
            if cell["question"] != shared["question"]:
                continue
            if "p" in cell:
                return {**row, "p": cell["p"]}
            failed = {**row, "why": cell["missing"]}
    return failed


def _derived(
    draft: Draft,
    run: dict[str, Any],
    shared: dict[str, str],
    stated: Sequence[dict[str, str]],
    numbers: dict[str, int],
) -> Iterable[dict[str, str]]:
    """Crowd, mean, coin and climatology on one question."""
    snapshot = next(line for line in draft.of_kind("snapshot") if line["run"] == run["run"])
    quote = next((q for q in snapshot["quotes"] if q["question"] == shared["question"]), None)
    line = str(numbers[run["_label"]])
    base = {**shared, "kind": "derived", "line": line}
    if quote is not None:
        mid = (Decimal(quote["bid"]) + Decimal(quote["ask"])) / 2
        yield {**base, "forecaster": "crowd", "p": f"{mid:.4f}"}
    values = [Decimal(row["p"]) for row in stated if row.get("p")]
    if len(values) >= 2:
        total = sum(values, Decimal(0))
        mean = (total / len(values)).quantize(Decimal(GRID), rounding=ROUND_HALF_EVEN)
        yield {**base, "forecaster": "mean", "p": str(mean), "members": str(len(values))}
    yield {**base, "forecaster": "half", "p": "0.5"}
    for item in draft.climatology["table"]:
        if item["event"] == shared["cluster"]:
            yield {**base, "forecaster": "climatology", "p": item["p"]}


def _scored(row: dict[str, str], counted: bool) -> dict[str, str]:
    held = {column: row.get(column, "") for column in COLUMNS}
    if held["p"]:
        held["p_scored"] = str(Decimal(held["p"]).quantize(Decimal(GRID)))
    if held["status"] == "not_revealed":
        held["status"] = "not_revealed" if counted else "uncounted_run"
    elif not held["p"]:
        held["status"], held["why"] = "missing", held["why"] or _UNSAID
    elif not counted:
        held["status"] = "uncounted_run"
    elif held["outcome"] == "void":
        held["status"] = "void"
    elif held["outcome"]:
        held["status"] = "counted"
        held["brier"] = f"{loss_of(held):.8f}"
    else:
        held["status"] = "open"
    return held


def table_bytes(columns: Sequence[str], rows: Iterable[dict[str, str]]) -> bytes:
    """A table as CSV with LF."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8")
