"""Mutants of benchmarks, ranks, and open data."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from beforehand.testing.mutants_board import loss_of
from beforehand.testing.mutants_events import AM, NEXT, PM, declared, put
from beforehand.testing.mutants_files import BASE, Files
from beforehand.testing.mutants_kinds import (
    COMPUTED,
    SAID,
    ChangeLines,
    ChangeTables,
    Mutant,
    said,
    told,
)
from beforehand.testing.mutants_league import Draft, sealed_climatology
from beforehand.testing.mutants_scores import (
    change_board,
    change_entry,
)
from beforehand.testing.mutants_tables import Tables


def board_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_benchmarks(), *_ranks(), *_open_data()]


def drop_file(name: str) -> Callable[[Files], None]:
    """Publish all but one file."""

    def change(files: Files) -> None:
        del files[f"{BASE}/{name}"]

    return change


# ---- requirement 9


def _without(name: str) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        tables.rows = [row for row in tables.rows if row["forecaster"] != name]
        tables.again()

    return change


def _coin(tables: Tables, numbers: dict[str, int]) -> None:
    for row in tables.rows:
        if row["forecaster"] == "half":
            row.update(p="0.4", p_scored="0.4000")
            row["brier"] = f"{loss_of(row):.8f}" if row["brier"] else ""
    tables.again()


def _later_climatology(tables: Tables, numbers: dict[str, int]) -> None:
    table = [dict(item) for item in tables.climatology["table"]]
    table[14]["n"] = 121
    tables.climatology = {**tables.climatology, "table": table}


def _unsealed(draft: Draft) -> None:
    declared(f'sha256 = "{sealed_climatology(draft.climatology)}"\n', "")(draft)


def _window(end: str) -> ChangeLines:
    """A climatology over another window, sealed as such."""

    def change(draft: Draft) -> None:
        old = sealed_climatology(draft.climatology)
        table = [{**item, "window": ["2016-01-01", end]} for item in draft.climatology["table"]]
        draft.climatology = {**draft.climatology, "table": table}
        draft.climatology["sha256"] = sealed_climatology(draft.climatology)
        declared(old, draft.climatology["sha256"])(draft)

    return change


def _other_base(tables: Tables, numbers: dict[str, int]) -> None:
    row = next(r for r in tables.rows if r["forecaster"] == "climatology" and r["brier"])
    row.update(p="0.9", p_scored="0.9000")
    row["brier"] = f"{loss_of(row):.8f}"
    tables.again()


def _no_volume(draft: Draft) -> None:
    for quote in draft.line(f"{AM}/snapshot")["quotes"]:
        del quote["volume"]


def _benchmarks() -> list[Mutant]:
    return [
        told(9, "no-coin", "the uninformative 50 % is not published", _without("half")),
        told(9, "loaded-coin", "the uninformative benchmark says 40 %", _coin),
        told(9, "no-climatology", "no climatology stands on the board", _without("climatology")),
        Mutant(
            "r09-climatology-unpublished",
            9,
            COMPUTED,
            "the sealed table was not published",
            files=drop_file("climatology.json"),
        ),
        told(
            9,
            "climatology-changed",
            "the climatology was changed after it was sealed",
            _later_climatology,
        ),
        said(9, "climatology-unsealed", "the declaration does not seal the climatology", _unsealed),
        said(
            9, "window-in-season", "a climatology that looks into the season", _window("2026-01-31")
        ),
        said(9, "window-unsaid", "a climatology whose window has no end", _window("")),
        told(
            9, "other-base-rate", "a row of the climatology that is not the sealed one", _other_base
        ),
        told(
            9,
            "no-skill",
            "a forecaster without a skill score against the climatology",
            change_entry("bee", skill_climatology=None),
        ),
        said(
            9,
            "no-floor",
            "a crowd without a declared volume floor",
            declared('min_volume = "1000"\n', ""),
        ),
        said(9, "no-volume", "a crowd price sealed without its volume", _no_volume),
        said(
            9,
            "hindsight",
            "a base rate in hindsight in the climatology's place",
            declared('rule = "climatology"', 'rule = "base_rate"'),
        ),
    ]


# ---- requirement 10


def _minimum(value: int | None) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        if value is None:
            del tables.board["rules"]["min_events"]
        else:
            tables.board["rules"]["min_events"] = value

    return change


def _interval(forecaster: str, key: str, **fields: Any) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        tables.entry(forecaster)[key].update(fields)

    return change


def _swap_ranks(tables: Tables, numbers: dict[str, int]) -> None:
    for entry in tables.board["forecasters"]:
        if entry["rank"] in (1, 2):
            entry["rank"] = 3 - entry["rank"]


def _comparison(**fields: Any) -> ChangeTables:
    return change_board(lambda board: board["comparisons"][0].update(fields))


def _rank_few(tables: Tables, numbers: dict[str, int]) -> None:
    tables.board["rules"]["min_events"] = 20


def _ranks() -> list[Mutant]:
    no_margin = declared('margin = "0.05"\n', "")
    return [
        told(10, "no-minimum", "ranks without a minimum", _minimum(None)),
        told(10, "minimum-of-one", "a minimum of one forecast", _minimum(1)),
        told(10, "other-minimum", "another minimum than was declared", _minimum(5)),
        Mutant(
            "r10-ranked-too-soon",
            10,
            SAID,
            "ranks below the declared minimum",
            lines=declared("min_events = 6", "min_events = 20"),
            tables=_rank_few,
        ),
        told(
            10,
            "rank-without-interval",
            "a rank without an interval",
            _interval("ant", "gain", low=None, high=None),
        ),
        told(
            10,
            "interval-too-soon",
            "an interval over two clusters",
            _interval("crowd", "brier", clusters=2),
        ),
        told(
            10,
            "interval-beside",
            "an interval that does not enclose its estimate",
            _interval("ant", "brier", low="0.900000", high="0.950000"),
        ),
        told(10, "few-clusters", "a rank over two clusters", change_entry("ant", clusters=2)),
        told(10, "ranks-swapped", "the second is ranked first", _swap_ranks),
        told(
            10,
            "beyond-margin",
            "no difference claimed, and the interval leaves the margin",
            _comparison(high="0.060000"),
        ),
        told(
            10,
            "at-margin",
            "no difference claimed, and the interval touches the margin",
            _comparison(high="0.050000"),
        ),
        Mutant(
            "r10-no-margin",
            10,
            SAID,
            "no difference claimed without a margin",
            lines=no_margin,
            tables=_comparison(margin=""),
        ),
    ]


# ---- requirement 11


def _other_outcome(tables: Tables, numbers: dict[str, int]) -> None:
    question = tables.row(NEXT, "hum", 0)["question"]
    for row in tables.rows:
        if row["question"] == question and row["outcome"] in ("yes", "no"):
            row["outcome"] = "no" if row["outcome"] == "yes" else "yes"
            row["brier"] = f"{loss_of(row):.8f}" if row["brier"] else ""
    tables.again()


def _other_p(tables: Tables, numbers: dict[str, int]) -> None:
    row = next(r for r in tables.rows if r["forecaster"] == "hum" and r["brier"])
    row.update(p="0.77", p_scored="0.7700")
    row["brier"] = f"{loss_of(row):.8f}"
    tables.again()


def _no_answer_line(tables: Tables, numbers: dict[str, int]) -> None:
    tables.row(PM, "hum", 0)["line"] = str(numbers["q1"])


def _mean(tables: Tables, numbers: dict[str, int]) -> None:
    brier = tables.entry("hum")["brier"]
    brier["mean"] = str(Decimal(brier["mean"]) - Decimal("0.010000"))


def _two_releases(draft: Draft) -> None:
    draft.insert_after("release", {**draft.line("release"), "_label": "again"})


def _open_data() -> list[Mutant]:
    return [
        told(11, "other-outcome", "an outcome that is not the record's", _other_outcome),
        told(11, "other-probability", "a probability that is not the record's", _other_p),
        told(11, "row-of-no-answer", "a row whose line is no answer", _no_answer_line),
        told(11, "mean-wrong", "a mean loss that the rows do not give", _mean),
        told(
            11,
            "count-wrong",
            "a count of scored forecasts that the rows do not give",
            change_entry("hum", n_counted=7),
            collateral=(15,),
        ),
        Mutant(
            "r11-no-code",
            11,
            COMPUTED,
            "the code that computes the scores is not published",
            files=drop_file("recount.py"),
        ),
        said(
            11,
            "release-unhashed",
            "a release that names no manifest",
            put("release", manifest_sha256=""),
        ),
        said(
            11,
            "release-of-later-lines",
            "a release that covers lines not yet written",
            put("release", lines=100000),
        ),
        said(11, "release-changed", "a release made twice under one name", _two_releases),
    ]
