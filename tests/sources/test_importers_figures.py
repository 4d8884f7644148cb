"""ForecastBench figures that were published or computed elsewhere, reproduced from its files."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from beforehand.scoring.calibration import calibration_bins, calibration_error
from beforehand.scoring.exact import Grid, decimal_places, mean, median
from beforehand.sources.forecastbench import PUBLISHED_MEDIAN, PUBLISHED_ON, read_round
from beforehand.sources.forecastbench_answers import crowd_table
from beforehand.sources.forecastbench_rounds import read_round_outcomes, read_rounds
from beforehand.sources.forecastbench_sets import read_question_set, read_resolution_set
from beforehand.sources.superforecasters import FILES, SHIPPED, shipped_superforecasters
from beforehand.sources.table import ForecastTable
from tests.sources.shared_data import CHECKOUT, shared_file
from tests.sources.shared_data import SHIPPED as DATA

FOLDER = DATA / "forecastbench"


QUESTIONS = FOLDER / "2026-03-29-llm.json"


RESOLUTIONS = FOLDER / "2026-03-29_resolution_set.json"


GRID, FINE = Grid(10_000), Grid(10**24)


def by_source(table: ForecastTable) -> dict[str, list[tuple[int, int]]]:
    """(units, outcome) of the settled rows, by the question's source and for all."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for question, units, outcome in zip(
        table.question_index.tolist(), table.units.tolist(), table.outcome.tolist(), strict=True
    ):
        if outcome >= 0:
            found[table.questions[question].partition(":")[0]].append((units, outcome))
            found["ALL"].append((units, outcome))
    return found


def log_loss(rows: list[tuple[float, int]], least: float) -> float:
    held = [(min(max(p, least), 1 - least), y) for p, y in rows]
    return math.fsum(-math.log(p if y else 1 - p) for p, y in held) / len(held)


def prices(path: Path) -> dict[str, list[tuple[str, int]]]:
    """The settled prices as the file states them, without the grid."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["resolved"] == "1":
                for key in (row["source"], "ALL"):
                    found[key].append((row["freeze_value"], int(float(row["resolved_to"]))))
    return found


def check_crowd_scores(path: Path) -> None:
    table = read_rounds(path)
    expected = json.loads((FOLDER / "expected_crowd_scores.json").read_bytes())
    held, stated = by_source(table), prices(path)
    for source in ("polymarket", "manifold", "metaculus", "infer", "ALL"):
        want, rows, texts = expected[source], held[source], stated[source]
        floats = [(float(text), y) for text, y in texts]
        assert len(rows) == len(floats) == want["n"]
        brier = math.fsum((p - y) ** 2 for p, y in floats) / len(floats)
        assert round(brier, 6) == want["brier"]
        assert round(log_loss(floats, 1e-6), 6) == want["logloss_eps1e6"]
        assert round(log_loss(floats, 0.01), 6) == want["logloss_eps001"]
        assert round(sum(y for _, y in floats) / len(floats), 4) == want["base_rate"]
        fine = ((FINE.units(Decimal(text)), bool(y)) for text, y in texts)
        error = calibration_error(calibration_bins(fine, FINE), FINE)
        assert error is not None and decimal_places(error, 6) == f"{want['ece10']:.6f}"
        # On the grid each price has moved by half a step at most; an error by bins may move
        # by more, where a price crosses the edge of its bin.
        exact = mean(GRID.brier(GRID.brier_units(units, bool(y))) for units, y in rows)
        assert exact is not None and float(exact) == pytest.approx(want["brier"], abs=5e-6)
        near = calibration_error(
            calibration_bins(((units, bool(y)) for units, y in rows), GRID), GRID
        )
        assert near is not None and float(near) == pytest.approx(want["ece10"], abs=1e-3)
    assert len(table.questions) <= expected["unique_market_ids"]


def test_the_crowd_of_22_rounds_reproduces_its_scores() -> None:
    check_crowd_scores(FOLDER / "market_questions.csv.gz")
    table = read_rounds(FOLDER / "market_questions.csv.gz")
    assert (len(table), table.n_missing, table.forecasters) == (4600, 0, ("crowd",))
    assert [(left.reason, left.count) for left in table.kept_out] == [
        ("not in the resolution set", 900)
    ]
    assert np.bincount(table.outcome[table.outcome >= 0]).tolist() == [1399, 559]


def test_the_crowd_of_the_shared_rounds_reproduces_its_scores() -> None:
    check_crowd_scores(shared_file("forecastbench", "rounds", "market_questions.csv.gz"))


def test_the_outcomes_of_the_financial_rounds() -> None:
    expected = json.loads((FOLDER / "expected_crowd_scores.json").read_bytes())["financial"]
    found: dict[str, list[int]] = defaultdict(list)
    for row in read_round_outcomes(FOLDER / "financial_dataset_questions.csv.gz"):
        found[row.source].append(row.outcome)
    assert set(found) == set(expected)
    for source, outcomes in found.items():
        assert len(outcomes) == expected[source]["n"] and set(outcomes) == {0, 1}
        assert round(sum(outcomes) / len(outcomes), 4) == expected[source]["base_rate_yes"]


def test_the_superforecasters_reproduce_the_published_median() -> None:
    """The median of each event, Brier against its outcome, mean within each type."""
    folder = CHECKOUT / "src" / "beforehand" / "data" / SHIPPED
    round_ = read_round(*((folder / name).read_bytes() for name in FILES))
    known = {
        (f"{key[0]}:{key[1]}@{key[2]}" if key[2] else f"{key[0]}:{key[1]}"): outcome.day
        for outcome in round_.outcomes
        for key in [outcome.key]
    }
    table = shipped_superforecasters()
    assert (len(table), len(table.forecasters), table.rounded) == (7693, 40, 26)
    assert len(table.questions) == 957 and len(table.clusters) == 189
    stated: dict[int, list[Fraction]] = defaultdict(list)
    outcomes = {}
    for question, units, outcome in zip(
        table.question_index.tolist(), table.units.tolist(), table.outcome.tolist(), strict=True
    ):
        stated[question].append(GRID.probability(units))
        outcomes[question] = outcome
    losses: dict[str, list[Fraction]] = {"dataset": [], "market": []}
    late = 0
    for question, values in stated.items():
        name, middle = table.questions[question], median(values)
        if outcomes[question] < 0 or middle is None:
            continue
        if "@" not in name and known[name] >= PUBLISHED_ON:
            late += 1
            continue
        losses["dataset" if "@" in name else "market"].append((middle - outcomes[question]) ** 2)
    found = {kind: mean(held) for kind, held in losses.items()}
    assert {kind: len(held) for kind, held in losses.items()} == {"dataset": 521, "market": 54}
    assert late == 3
    for kind, value in found.items():
        assert value is not None and decimal_places(value, 3) == PUBLISHED_MEDIAN[kind][0]
    overall = mean([value for value in found.values() if value is not None])
    assert overall is not None and decimal_places(overall, 3) == PUBLISHED_MEDIAN["overall"][0]
    assert [decimal_places(value, 4) for value in (*found.values(), overall) if value] == [
        "0.1223",
        "0.0819",
        "0.1021",
    ]


def test_the_raw_files_as_published() -> None:
    questions = read_question_set(shared_file("forecastbench", "raw_examples", QUESTIONS.name))
    resolutions = read_resolution_set(
        shared_file("forecastbench", "raw_examples", RESOLUTIONS.name)
    )
    assert (len(questions.questions), len(resolutions.outcomes)) == (500, 955)
    table = crowd_table(questions, resolutions)
    assert (len(table), sum(left.count for left in table.kept_out)) == (218, 32)
    assert np.unique(table.outcome, return_counts=True)[1].tolist() == [90, 75, 53]
