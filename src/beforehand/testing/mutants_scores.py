"""Mutants of pools, losses and missing answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from beforehand.testing.mutants_board import loss_of
from beforehand.testing.mutants_counted import change_row, hide_body, withheld_in_the_table
from beforehand.testing.mutants_events import AM, LAST, NEXT, declared, lose_body
from beforehand.testing.mutants_files import BASE, Files
from beforehand.testing.mutants_kinds import (
    SAID,
    ChangeTables,
    Mutant,
    said,
    told,
)
from beforehand.testing.mutants_league import AS_OF, Draft
from beforehand.testing.mutants_tables import Tables


def score_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_pools(), *_losses(), *_missing()]


def change_board(change: Callable[[dict[str, Any]], Any]) -> ChangeTables:
    """Change the board only."""

    def told(tables: Tables, numbers: dict[str, int]) -> None:
        change(tables.board)

    return told


def change_entry(forecaster: str, **fields: Any) -> ChangeTables:
    """Change a forecaster's entry; None takes a field away."""

    def change(tables: Tables, numbers: dict[str, int]) -> None:
        entry = tables.entry(forecaster)
        for name, value in fields.items():
            if value is None:
                entry.pop(name, None)
            else:
                entry[name] = value

    return change


def _pool_row(tables: Tables, row: dict[str, str]) -> dict[str, str]:
    return next(
        held
        for held in tables.rows
        if held["forecaster"] == "mean"
        and (held["run"], held["question"]) == (row["run"], row["question"])
    )


# ---- requirement 4: pools


def _members(by: int) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        row = tables.row(NEXT, "mean", 0)
        row["members"] = str(int(row["members"]) + by)

    return change


def _pools() -> list[Mutant]:
    attack = "statistics pooled across own-reference events"
    return [
        told(
            4,
            "pool-of-too-many",
            "a pool that holds a forecast of another event",
            _members(1),
            attack=attack,
        ),
        told(4, "pool-of-too-few", "a pool that leaves out a forecast of its event", _members(-1)),
        told(
            4,
            "pool-of-uncounted",
            "a pool that holds forecasts of a run that does not count",
            _members(4),
            attack=attack,
        ),
    ]


# ---- requirement 7


def _loss(make: Callable[[Decimal, Decimal], Decimal]) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        row = next(r for r in tables.rows if r["forecaster"] == "hum" and r["brier"])
        outcome = Decimal(row["outcome"] == "yes")
        row["brier"] = f"{make(Decimal(row['p_scored']), outcome):.8f}"

    return change


def _left_out(status: str) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        held = [r for r in tables.rows if r["forecaster"] == "hum" and r["status"] == "counted"]
        worst = max(held, key=loss_of)
        worst.update(status=status, brier="")
        tables.again()

    return change


def _no_loss(tables: Tables, numbers: dict[str, int]) -> None:
    next(r for r in tables.rows if r["forecaster"] == "hum" and r["brier"])["brier"] = ""


def _beyond_one(draft: Draft) -> None:
    draft.line(f"{NEXT}/hum/answer")["cells"][0]["p"] = "1.2"


def _losses() -> list[Mutant]:
    return [
        told(
            7,
            "absolute-loss",
            "|p - y| published as the Brier loss",
            _loss(lambda p, y: abs(p - y)),
        ),
        told(7, "halved-loss", "a loss of half its size", _loss(lambda p, y: (p - y) ** 2 / 2)),
        told(
            7,
            "doubled-loss",
            "the loss of both outcomes added",
            _loss(lambda p, y: 2 * (p - y) ** 2),
        ),
        told(
            7,
            "other-side",
            "a loss against the other outcome",
            _loss(lambda p, y: (1 - p - y) ** 2),
        ),
        told(
            7,
            "last-digit",
            "a loss with its last digit changed",
            _loss(lambda p, y: (p - y) ** 2 + Decimal("0.00000001")),
        ),
        told(7, "left-out-as-open", "the worst forecast left out as still open", _left_out("open")),
        told(7, "left-out-as-void", "the worst forecast left out as void", _left_out("void")),
        told(7, "left-out-as-stale", "the worst forecast left out as stale", _left_out("stale")),
        told(7, "no-loss", "a scored row without its loss", _no_loss),
        said(7, "beyond-one", "a probability above 1 is scored", _beyond_one),
        said(
            7,
            "improper-rule",
            "a primary score that is not proper",
            declared('primary = "brier"', 'primary = "absolute"'),
        ),
        said(7, "no-primary", "no primary score is declared", declared('primary = "brier"\n', "")),
    ]


# ---- requirement 8


def _filled(tables: Tables, numbers: dict[str, int]) -> None:
    """A missing answer filled with one half, scored and pooled."""
    row = tables.row(NEXT, "ant", 4)
    row.update(p="0.5", p_scored="0.5000", status="void", why="")
    pool = _pool_row(tables, row)
    pool["members"] = str(int(pool["members"]) + 1)
    tables.again()


def _filled_score(tables: Tables, numbers: dict[str, int]) -> None:
    row = tables.row(LAST, "ant", 2)
    row.update(p="0.5", p_scored="0.5000", status="counted", why="")
    row["brier"] = f"{loss_of(row):.8f}"
    pool = _pool_row(tables, row)
    pool["members"] = str(int(pool["members"]) + 1)


def _said_missing(tables: Tables, numbers: dict[str, int]) -> None:
    """A bad answer published as missing."""
    held = [r for r in tables.rows if r["forecaster"] == "hum" and r["status"] == "counted"]
    worst = max(held, key=loss_of)
    worst.update(p="", p_scored="", status="missing", why="timeout", brier="")
    pool = _pool_row(tables, worst)
    pool["members"] = str(int(pool["members"]) - 1)
    tables.again()


def _said_hidden(tables: Tables, numbers: dict[str, int]) -> None:
    held = [r for r in tables.rows if r["forecaster"] == "hum" and r["status"] == "counted"]
    worst = max(held, key=loss_of)
    worst.update(p="", p_scored="", status="not_revealed", why="", brier="")
    pool = _pool_row(tables, worst)
    pool["members"] = str(int(pool["members"]) - 1)
    tables.again()


def _hidden_said(status: str) -> ChangeTables:
    """Say something else of what was never disclosed."""

    def change(tables: Tables, numbers: dict[str, int]) -> None:
        for row in tables.rows:
            if row["status"] == "not_revealed":
                row.update(status=status, why="timeout")
        tables.again()

    return change


def _hide_withheld(files: Files) -> None:
    """Keep back the one body that is not due yet."""
    for raw in files[f"{BASE}/book.jsonl"].splitlines():
        for body in json.loads(raw).get("bodies", ()):
            if (body["due"] or "") > AS_OF:
                hide_body(files, body["sha256"])


def _missing() -> list[Mutant]:
    return [
        told(
            8,
            "filled-quietly",
            "a missing answer carries a probability",
            change_row(AM, "ant", 4, p="0.5"),
        ),
        told(8, "filled-and-pooled", "a missing answer filled with one half and pooled", _filled),
        told(
            8,
            "filled-and-scored",
            "a missing answer filled with one half and scored",
            _filled_score,
        ),
        told(
            8, "no-reason", "a missing answer without its reason", change_row(AM, "ant", 4, why="")
        ),
        told(8, "said-missing", "a bad answer published as missing", _said_missing),
        told(
            8,
            "missing-miscounted",
            "the board's count of missing answers is wrong",
            change_entry("ant", n_missing=0),
        ),
        told(
            8,
            "missing-uncounted",
            "the board does not count missing answers",
            change_entry("ant", n_missing=None),
        ),
        told(
            8,
            "coverage-wrong",
            "a coverage that the rows do not give",
            change_entry("ant", coverage="1.000000"),
        ),
        told(
            8, "coverage-unsaid", "a score without its coverage", change_entry("ant", coverage=None)
        ),
        Mutant(
            "r08-hidden-said-missing",
            8,
            SAID,
            "an answer that was due and never disclosed stands as missing",
            lines=lose_body(f"{NEXT}/cat/answer"),
            tables=_hidden_said("missing"),
            attack="a body never disclosed",
            collateral=(5,),
        ),
        Mutant(
            "r08-hidden-uncounted",
            8,
            SAID,
            "the board does not count the answers that were never disclosed",
            lines=lose_body(f"{NEXT}/cat/answer"),
            tables=change_entry("cat", n_not_revealed=0),
            attack="a body never disclosed",
            collateral=(5,),
        ),
        told(
            8,
            "said-not-revealed",
            "a bad answer that stands in the open is published as not revealed",
            _said_hidden,
        ),
        Mutant(
            "r08-told-while-withheld",
            8,
            SAID,
            "a withheld answer's number stands in the table",
            lines=withheld_in_the_table,
            files=_hide_withheld,
            collateral=(5,),
        ),
    ]
