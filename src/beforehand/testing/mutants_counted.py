"""Mutants of which run counts, what is disclosed, and what is left out."""

from __future__ import annotations

from beforehand.book.bodies import SealedBody
from beforehand.testing.mutants_board import loss_of
from beforehand.testing.mutants_events import (
    AM,
    LAST,
    NEXT,
    PM,
    declared,
    drop,
    lose_body,
    move,
    put,
    together,
)
from beforehand.testing.mutants_files import BASE, Files
from beforehand.testing.mutants_kinds import (
    SAID,
    ChangeLines,
    ChangeTables,
    Mutant,
    said,
    told,
)
from beforehand.testing.mutants_league import ORIGIN, Draft, ref
from beforehand.testing.mutants_tables import Tables


def counted_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_runs(), *_withheld(), *_rule(), *_answers()]


# ---- requirement 5


def _drop_rows(run: str, forecaster: str = "", place: int | None = None) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        if place is not None:
            tables.rows.remove(tables.row(run, forecaster, place))
        else:
            tables.rows = [
                row
                for row in tables.rows
                if row["run"] != run or (forecaster and row["forecaster"] != forecaster)
            ]
        tables.again()

    return change


def change_row(of_run: str, forecaster: str, place: int, **fields: str) -> ChangeTables:
    """Change a row and compute the board anew."""

    def change(tables: Tables, numbers: dict[str, int]) -> None:
        tables.row(of_run, forecaster, place).update(fields)
        tables.again()

    return change


def _runs() -> list[Mutant]:
    return [
        said(5, "run-unlabelled", "a run without its label", drop(f"{PM}/run", "counted")),
        said(5, "uncounted-without-why", "a run that does not count, and nothing says why",
              drop(f"{PM}/run", "why")),
        told(5, "run-left-out", "a run that does not count was left out of the table",
              _drop_rows(PM)),
        told(5, "forecaster-left-out", "a forecaster's rows of one run were left out",
              _drop_rows(PM, "hum")),
        told(5, "answer-left-out", "one stated answer has no row", _drop_rows(PM, "ant", 0)),
        told(5, "failure-left-out", "a failed answer has no row", _drop_rows(AM, "ant", 4)),
        told(5, "invented-run", "rows of a run that the record does not have",
              change_row(PM, "hum", 0, run="2026-01-04-am"), collateral=(11,),),
        told(5, "own-word", "a row's status is in no published vocabulary",
              change_row(PM, "hum", 0, status="set_aside")),
    ]  # fmt: skip


def _sealed_reply(draft: Draft, role: str) -> None:
    """A withheld body that is due and never published."""
    line = draft.line(f"{AM}/ant/answer")
    hidden = SealedBody(ORIGIN, AM, "ant", role, "cd" * 32, b"the raw reply\n")
    reference = draft.body(role, hidden.data(), "2026-01-05T11:00:00Z")
    line["bodies"] = [*line.get("bodies", ()), reference]
    del draft.bodies[reference["sha256"]]


def _due(at: str | None) -> ChangeLines:
    """The answer of the withheld seat need not have been shown yet, by its own line."""

    def change(draft: Draft) -> None:
        (body,) = draft.line(f"{NEXT}/cat/answer")["bodies"]
        body["due"] = at

    return change


def _erased_answer(draft: Draft) -> None:
    """A model's bad answer is dropped, and a line says that somebody asked for it."""
    line = draft.line(f"{NEXT}/cat/answer")
    (body,) = line["bodies"]
    lose_body(f"{NEXT}/cat/answer")(draft)
    draft.add(
        "erased", draft.lines[-1]["at"], "erased", line=ref(f"{NEXT}/cat/answer"),
        body_sha256=body["sha256"], why="asked for",
    )  # fmt: skip


def _withheld() -> list[Mutant]:
    attack = "a body never disclosed"
    return [
        said(5, "answer-never-disclosed", "a sealed answer that was due and never disclosed",
              lose_body(f"{PM}/cat/answer"), attack=attack),
        said(5, "counted-answer-never-disclosed", "a counted answer that was never disclosed",
              lose_body(f"{NEXT}/cat/answer"), attack=attack),
        said(5, "answer-due-never", "a sealed answer that is due at no time", _due(None),
              attack=attack),
        said(5, "answer-due-late", "a sealed answer that is due years after its run",
              _due("2036-01-06T11:00:00Z"), attack=attack),
        said(5, "answer-erased", "a model's answer was erased, as only a person's may be",
              _erased_answer, attack=attack),
        said(5, "reply-never-disclosed", "a raw reply that was due and never disclosed",
              lambda d: _sealed_reply(d, "reply"), attack=attack),
        said(5, "reasoning-never-disclosed", "a reasoning that was due and never disclosed",
              lambda d: _sealed_reply(d, "reasoning"), attack=attack),
        said(5, "identity-never-disclosed", "an identity that was due and never disclosed",
              lambda d: _sealed_reply(d, "identity"), attack=attack),
    ]  # fmt: skip


# ---- requirement 6


def _rule() -> list[Mutant]:
    rule = 'rule = "scheduled_run"'
    return [
        said(6, "no-rule", "no rule for the run that counts was declared", declared(rule, "")),
        said(6, "rule-by-result", "a rule that looks at results",
              declared(rule, 'rule = "best_run"')),
        said(6, "off-schedule", "a run off the schedule counts",
              together(put(f"{PM}/run", counted=True), drop(f"{PM}/run", "why"))),
        said(6, "scheduled-left-out", "the run of the schedule was labelled as not counted",
              put(f"{NEXT}/run", counted=False, why="we had an outage")),
        said(6, "rerun", "a rerun of the morning counts beside it",
              together(put(f"{PM}/run", counted=True, slot="2026-01-05T10:00:00Z"),
                       drop(f"{PM}/run", "why")), attack="a better rerun counted"),
        said(6, "rerun-other-spelling", "a rerun of the morning that writes its slot otherwise",
              together(put(f"{PM}/run", counted=True, slot="2026-01-05T10:00:00.0Z"),
                       drop(f"{PM}/run", "why")), attack="a better rerun counted"),
        said(6, "deadline-put-off", "a run waits longer than declared, for later news",
              put(f"{NEXT}/roster", deadline="2026-01-06T15:00:00Z"),
              attack="a late answer counted"),
        said(6, "backfilled", "a slot of the day before was filled afterwards, and counts",
              put(f"{NEXT}/run", slot="2026-01-04T10:00:00Z")),
        said(6, "only-run-twice", "only one run counts by the rule, and several are labelled so",
              declared(rule, 'rule = "only_run"')),
        said(6, "every-run-but-one", "every run counts by the rule, and one was left out",
              declared(rule, 'rule = "every_run"')),
        said(6, "label-after-answer", "a run labelled after its first answer",
              move(f"{AM}/run", f"{AM}/ant/answer"), collateral=(13,)),
        said(6, "late-answer", "an answer after the deadline counts",
              put(f"{NEXT}/roster", deadline="2026-01-06T10:15:00Z"),
              attack="a late answer counted"),
        said(6, "received-late", "an answer that came after the deadline counts",
              put(f"{AM}/roster", deadline="2026-01-05T10:20:02Z"),
              attack="a late answer counted"),
    ]  # fmt: skip


def _second_answer(draft: Draft) -> None:
    """A second ask of a seat that had answered, and its better answer."""
    ask, answer = draft.line(f"{NEXT}/ant/ask1"), draft.line(f"{NEXT}/ant/answer")
    at = "2026-01-06T10:03:10Z"
    second = {**ask, "_label": "again/ask", "at": at, "attempt": 2, "why": "retry"}
    cells = [{"question": cell["question"], "p": "0.50"} for cell in answer["cells"]]
    better = {**answer, "_label": "again/answer", "at": at, "received_at": at,
              "ask_line": ref("again/ask"), "cells": cells}  # fmt: skip
    draft.insert_after(f"{NEXT}/ant/answer", second)
    draft.insert_after("again/ask", better)


def _count_second(tables: Tables, numbers: dict[str, int]) -> None:
    """Count the second answer where the first one stated something."""
    for row in tables.rows:
        if (row["run"], row["forecaster"]) == (NEXT, "ant") and row["p"]:
            row.update(p="0.50", p_scored="0.5000", line=str(numbers["again/answer"]))
            if row["brier"]:
                row["brier"] = f"{loss_of(row):.8f}"
    tables.again()


def _twice(tables: Tables, numbers: dict[str, int]) -> None:
    row = tables.row(NEXT, "hum", 0)
    tables.rows.insert(tables.rows.index(row) + 1, dict(row))
    _pool_of(tables, row, 1)
    tables.again()


def _pool_of(tables: Tables, row: dict[str, str], more: int) -> None:
    for pool in tables.rows:
        if pool["forecaster"] == "mean" and (pool["run"], pool["question"]) == (
            row["run"],
            row["question"],
        ):
            pool["members"] = str(int(pool["members"]) + more)


def _count_uncounted(tables: Tables, numbers: dict[str, int]) -> None:
    for row in tables.rows:
        if row["run"] == PM and row["status"] == "uncounted_run" and row["outcome"] != "void":
            row.update(status="counted", brier=f"{loss_of(row):.8f}")
    tables.again()


def _answers() -> list[Mutant]:
    return [
        Mutant("r06-second-answer", 6, SAID, "a second, better answer counts",
               lines=_second_answer, tables=_count_second, attack="a better rerun counted"),
        told(6, "counted-twice", "one forecast counts twice", _twice),
        told(6, "uncounted-run-counts", "the rows of a run that does not count count",
              _count_uncounted),
    ]  # fmt: skip


def withheld_in_the_table(draft: Draft) -> None:
    """An answer that is not due yet; the table that is made of it tells what it says."""
    answer = draft.line(f"{LAST}/cat/answer")
    answer["bodies"][0]["due"] = "2027-01-01T00:00:00Z"


def hide_body(files: Files, sha256: str) -> None:
    """Take a body out of the published files."""
    files.pop(f"{BASE}/bodies/{sha256[:2]}/{sha256}", None)
