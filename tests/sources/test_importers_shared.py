"""Sets that may not be shipped: counts and scores as published, from what the readers make of them.

Only aggregate numbers stand here. Every test is skipped where the data are absent.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid, decimal_places, mean, median
from beforehand.sources.table import ForecastTable, read_table
from tests.sources.shared_data import shared_file

GRID = Grid(10_000)


def unpacked(path: Path, folder: Path) -> Path:
    """The file without its gzip, in the test's own folder."""
    plain = folder / path.name.removesuffix(".gz")
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


def losses(table: ForecastTable) -> dict[str, list[Fraction]]:
    """The Brier losses of the settled rows, by forecaster."""
    found: dict[str, list[Fraction]] = defaultdict(list)
    for forecaster, units, outcome in zip(
        table.forecaster_index.tolist(), table.units.tolist(), table.outcome.tolist(), strict=True
    ):
        if outcome >= 0:
            loss = GRID.brier(GRID.brier_units(units, bool(outcome)))
            found[table.forecasters[forecaster]].append(loss)
    return found


def test_every_published_run_of_consistency_forecasting(tmp_path: Path) -> None:
    folder = ("local-only", "llm_forecasts", "consistency_forecasting")
    path = unpacked(shared_file(*folder, "forecasts.csv.gz"), tmp_path)
    with shared_file(*folder, "published_scores.csv").open(encoding="utf-8", newline="") as file:
        published = {row["run"]: row for row in csv.DictReader(file)}
    with pytest.raises(FormatError, match="no column for the forecaster"):
        read_table(path)
    table = read_table(path, columns={"forecaster": "run"})
    found = losses(table)
    assert len(found) >= 35 and sum(map(len, found.values())) == len(table)
    worst = Fraction(0)
    for run, held in found.items():
        assert len(held) == int(published[run]["total_questions"])
        value = mean(held)
        assert value is not None
        worst = max(worst, abs(value - Fraction(published[run]["avg_brier_score"])))
    # The manifest: equal in all runs within 0.00053, the published figures' own rounding.
    assert worst <= Fraction(53, 100_000)
    print(f"{len(found)} runs, {len(table)} forecasts, largest difference {float(worst):.5f}")


def test_the_crowd_of_halawi_2024() -> None:
    """Crowd Brier 0.1486 on 3,848 answers at five dates; the paper prints 0.149."""
    path = shared_file("local-only", "llm_forecasts", "halawi2024", "forecasts.csv.gz")
    frame = pl.read_csv(gzip.decompress(path.read_bytes()), infer_schema=False)
    at_each = frame.select(
        forecaster=pl.lit("crowd"),
        question=pl.col("q_index") + "@" + pl.col("retrieval_idx"),
        cluster="q_index",
        probability="crowd_prob",
        outcome="answer",
    )
    table = read_table(at_each)
    assert (len(table), len(table.clusters)) == (3848, 890)
    value = mean(losses(table)["crowd"])
    assert value is not None and decimal_places(value, 4) == "0.1486"
    assert Counter(
        table.questions[question].partition("@")[2] for question in table.question_index.tolist()
    ) == {"1": 890, "2": 856, "3": 809, "4": 748, "5": 545}
    again = at_each.with_columns(question="cluster")
    with pytest.raises(FormatError, match=r"row index 12, column 'outcome': .* repeated answer"):
        read_table(again)


# Median of five by tournament, configuration and model: questions, Brier.
MEDIANS = {
    ("aibq3", "base", "gpt"): (334, "0.1950"),
    ("aibq3", "base", "claude"): (334, "0.1897"),
    ("aibq3", "conf_4o", "gpt"): (334, "0.2100"),
    ("aibq3", "past_4osonnet", "gpt"): (334, "0.1968"),
    ("aibq3", "past_4osonnet", "claude"): (334, "0.1947"),
    ("aibq3", "past_claude_haiku", "claude"): (334, "0.2476"),
    ("aibq3", "past_claude_sonnet", "claude"): (334, "0.1810"),
    ("aibq3", "past_deepseekv3", "deepseekv"): (325, "0.2116"),
}


def test_the_repeated_answers_of_jannalulu() -> None:
    """14,025 answers, 45 of them none; the medians of five lie between 0.181 and 0.248."""
    path = shared_file("local-only", "llm_forecasts", "jannalulu_aib", "forecasts_long.csv.gz")
    frame = pl.read_csv(gzip.decompress(path.read_bytes()), infer_schema=False)
    percent = pl.col("final_pct").cast(pl.Decimal(20, 10))
    rows = frame.select(
        forecaster=pl.concat_str("tournament", "config", "model", "run", separator="/"),
        question="question_id",
        probability=(percent / 100).cast(pl.String).fill_null("missing"),
        outcome="resolution",
    )
    table = read_table(rows)
    assert len(table) + table.n_missing == 14_025 and table.n_missing == 45
    answers: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    outcomes = {}
    for forecaster, question, units, outcome in zip(
        table.forecaster_index.tolist(),
        table.question_index.tolist(),
        table.units.tolist(),
        table.outcome.tolist(),
        strict=True,
    ):
        tournament, config, model, _ = table.forecasters[forecaster].split("/")
        answers[tournament, config, model][question].append(units)
        outcomes[question] = outcome
    briers = {}
    for key, held in answers.items():
        settled = []
        for question, units in held.items():
            middle = median([GRID.probability(value) for value in units])
            if middle is not None and outcomes[question] >= 0:
                settled.append((middle - outcomes[question]) ** 2)
        value = mean(settled)
        assert value is not None
        briers[key] = (len(settled), decimal_places(value, 4))
    assert {key: briers[key] for key in MEDIANS} == MEDIANS
    assert all("0.1810" <= value <= "0.2476" for _, value in briers.values())


def test_the_metaculus_questions_of_the_third_quarter(tmp_path: Path) -> None:
    """334 questions, five samples of each run; 45 cells are empty and nothing declares why."""
    path = shared_file("local-only", "forecastbench", "metaculus_aib_q3_2024.csv.gz")
    plain = unpacked(path, tmp_path)
    frame = pl.read_csv(plain, infer_schema=False).select(
        pl.concat_str("run", "sample", separator="/").alias("forecaster"),
        "question_id",
        "probability",
        "resolution",
    )
    with pytest.raises(FormatError, match="column 'probability': empty, and nothing declares"):
        read_table(frame)
    table = read_table(frame, skip_bad=True)
    assert (len(table), len(table.questions)) == (8305, 334)
    assert [(left.reason, left.count) for left in table.skipped] == [("no probability", 45)]
    told = read_table(frame.with_columns(pl.col("probability").fill_null("unparseable")))
    assert (len(told), told.n_missing) == (8305, 45)
    # The same answers stand in jannalulu_aib in percent: their floats, averaged here directly.
    stated = frame.drop_nulls("probability").with_columns(
        pl.col("probability", "resolution").cast(pl.Float64)
    )
    wanted = stated.select(((pl.col("probability") - pl.col("resolution")) ** 2).mean()).item()
    value = mean([loss for held in losses(table).values() for loss in held])
    assert value is not None and float(value) == pytest.approx(wanted, abs=5e-6)


def test_the_repeated_backtests_of_a_metaculus_bot(tmp_path: Path) -> None:
    """342 rows: 16 without a forecast, which are also unresolved, and 17 that repeat others."""
    path = shared_file("local-only", "forecastbench", "metaculus_backtest_2026-01.csv")
    frame = pl.read_csv(path, infer_schema=False).fill_null("")
    rows = frame.select(
        pl.concat_str("backtest", "config", "model", separator="/").alias("forecaster"),
        "question_id",
        "forecast",
        "resolution",
    )
    table = read_table(rows, skip_bad=True)
    assert {left.reason: left.count for left in table.skipped} == {
        "no probability": 16,
        "repeated answer": 17,
    }
    assert (len(table), len(table.questions)) == (309, 24)
    target = tmp_path / "backtest.csv"
    target.write_bytes(path.read_bytes())
    with pytest.raises(FormatError, match="line 2, column 'model': empty; every row needs"):
        read_table(target)
