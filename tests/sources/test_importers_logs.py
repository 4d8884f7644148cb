"""inspect logs, Metaculus downloads, delib-ai-wisdom, and telling a format by what is in a file."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid, decimal_places, mean
from beforehand.sources.delib_ai_wisdom import STAGES, read_delib_ai_wisdom
from beforehand.sources.inspect_log import read_inspect_log
from beforehand.sources.metaculus import read_metaculus
from beforehand.sources.table import ForecastTable
from tests.sources.made_download import MADE_FORECASTS, MADE_QUESTIONS, download
from tests.sources.shared_data import SHIPPED as DATA

LOG = DATA / "inspect_log" / "small_league.json"
DELIB = DATA / "delib_ai_wisdom"
GRID = Grid(10_000)


def plain(table: ForecastTable) -> dict[str, tuple[int, int]]:
    """(units, outcome) by question."""
    return {
        table.questions[question]: (units, outcome)
        for question, units, outcome in zip(
            table.question_index.tolist(),
            table.units.tolist(),
            table.outcome.tolist(),
            strict=True,
        )
    }


@pytest.fixture
def log(tmp_path: Path) -> Callable[[Callable[[Any], object]], Path]:
    """The shipped log after `change` was made to it."""

    def changed(change: Callable[[Any], object]) -> Path:
        value = json.loads(LOG.read_bytes())
        change(value)
        path = tmp_path / "log.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return changed


def score(held: Any) -> Any:
    """The score with a forecast of the second sample."""
    return held["samples"][1]["scores"]["forecast"]


def test_a_log_as_inspect_wrote_it() -> None:
    """The probability is in the score's metadata; the mark beside it, a Brier loss, is not read."""
    table = read_inspect_log(LOG)
    assert table.forecasters == ("mockllm/model",)
    assert plain(table) == {"q1": (7000, 1), "q2": (2500, 0), "3": (5000, -1), "q4": (9300, -2)}
    assert dict(table.missing[0]) == {"refused": 1}
    assert table.clusters == ("e1", "e2", "e3") and table.time is not None
    assert table.crowd is not None and sorted(table.crowd.tolist()) == [2000, 5000, 5000, 6100]
    assert plain(read_inspect_log(LOG, scorer="bare")) == plain(table)


def test_a_mark_is_not_taken_for_a_forecast(log: Callable[..., Path]) -> None:
    def no_metadata(value: Any) -> None:
        for sample in value["samples"]:
            sample["scores"]["forecast"].pop("metadata", None)

    path = log(no_metadata)
    with pytest.raises(FormatError, match=r"samples\[0\]: 0 scores have a probability; say which"):
        read_inspect_log(path)
    assert len(read_inspect_log(path, scorer="bare")) == 4
    with pytest.raises(FormatError, match="no score 'other'; there is forecast, bare"):
        read_inspect_log(path, scorer="other")
    both = log(lambda held: held["samples"][0]["scores"]["bare"].update(value={"probability": 1}))
    with pytest.raises(FormatError, match="2 scores have a probability"):
        read_inspect_log(both)
    words = log(lambda held: held["samples"][0]["scores"]["bare"].update(value="C"))
    with pytest.raises(FormatError, match=r"samples\[0\]: the value of bare is 'C', not a number"):
        read_inspect_log(words, scorer="bare")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"error": {"message": "x"}}, "error"),
        ({"limit": {"type": "token", "limit": 5}}, "limit: token"),
        ({"output": {"choices": [{"stop_reason": "max_tokens"}]}}, "truncated"),
        ({"output": {"choices": [{"stop_reason": "content_filter"}]}}, "refused"),
        ({"scores": {"forecast": {"value": float("nan")}}}, "no answer"),
        ({"scores": {"forecast": {"value": "N", "answer": ""}}}, "no answer"),
    ],
)
def test_a_sample_without_an_answer_is_missing(
    change: dict[str, Any], reason: str, log: Callable[..., Path]
) -> None:
    """A refusal or a reply cut short is counted with its reason, and scored by nobody."""
    table = read_inspect_log(log(lambda held: held["samples"][1].update(change)))
    assert len(table) == 3
    wanted = {"refused": 1}
    key = reason.replace(" ", "_") if reason == "no answer" else reason
    wanted[key] = wanted.get(key, 0) + 1
    assert dict(table.missing[0]) == wanted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.update(version=9), "log version '9'"),
        (lambda held: held.update(status="error"), "status 'error'; a run that did not end"),
        (lambda held: held.update(status="cancelled"), "status 'cancelled'"),
        (lambda held: held.update(invalidated=True), "the log was invalidated"),
        (lambda held: held.update(samples=None), "no samples"),
        (lambda held: held["eval"].update(model=None), "model is None"),
        (lambda held: held["samples"][1].update(id=None), r"samples\[1\]: id is None"),
        (lambda held: held["samples"][1].update(scores={}), r"samples\[1\]: no scores"),
        (lambda held: held["samples"][1].update(target=["a", "b"]), r"samples\[1\]: target is"),
        (lambda held: held["samples"][1].update(target="C"), r"samples\[1\], column 'target': 'C'"),
        (
            lambda held: held["samples"][1].update(id="q2", target="no", completed_at=None),
            "a second row of",
        ),
        (
            lambda held: held["samples"][1].update(id="q2"),
            r"samples\[1\], column 'target': question 'q2' has the outcome 'yes' in samples\[1\]",
        ),
        (
            lambda held: score(held).update(metadata={"probability": 62}),
            r"samples\[1\], column 'probability': percent\? found 62",
        ),
        (
            lambda held: score(held).update(metadata={"probability": [1]}),
            r"samples\[1\], column 'probability': a list",
        ),
    ],
)
def test_a_log_that_is_not_read_says_why(
    change: Callable[[Any], object], said: str, log: Callable[..., Path]
) -> None:
    with pytest.raises(FormatError, match=said):
        read_inspect_log(log(change))


def test_samples_invalidated_and_epochs(log: Callable[..., Path]) -> None:
    table = read_inspect_log(log(lambda held: held["samples"][0].update(invalidation={"a": 1})))
    assert [(left.reason, left.count) for left in table.kept_out] == [("invalidated", 1)]

    def twice(held: Any) -> None:
        again = json.loads(json.dumps(held["samples"][1]))
        held["samples"].append(again | {"epoch": 2, "completed_at": "2026-12-01T00:00:00+00:00"})

    assert len(read_inspect_log(log(twice))) == 5


def test_an_eval_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(FormatError, match="inspect log convert"):
        read_inspect_log(path)


def test_a_metaculus_download(tmp_path: Path) -> None:
    table = read_metaculus(download(tmp_path, MADE_FORECASTS, MADE_QUESTIONS))
    assert table.forecasters == ("78", "bot-a", "recency_weighted")
    assert len(table) == 6 and table.clusters == ("10", "40", "50")
    assert np.bincount(table.outcome + 2).tolist() == [1, 2, 0, 3]
    assert [(left.reason, left.first) for left in table.kept_out] == [
        ("numeric question", ("line 6",))
    ]
    assert table.time is not None and len(set(table.time.tolist())) == 3


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        (
            "9,77,bot-a,,2025-11-21 10:30:00+00:00,,0.1",
            "column 'Question ID': question '9' is not in question_data",
            "unknown question",
        ),
        ("1,77,bot-a,,2025-11-21 10:31:00,,0.1", "column 'Start Time': .* no zone", "time without"),
        (
            "1,77,bot-a,,2025-11-21 10:31:00Z,,10",
            r"column 'Probability Yes': percent\? found 10",
            "above 1",
        ),
        ("1,77,bot-a,,2025-11-21 10:31:00Z,,", "column 'Probability Yes': empty", "no probability"),
        (
            "1,77,bot-a,,2025-11-21 10:30:00Z,,0.1",
            "column 'Question ID': a second row of 'bot-a'",
            "repeated answer",
        ),
    ],
)
def test_a_faulty_row_of_a_download(row: str, said: str, reason: str, tmp_path: Path) -> None:
    path = download(tmp_path, MADE_FORECASTS + row + "\n", MADE_QUESTIONS)
    with pytest.raises(FormatError, match=rf"forecast_data\.csv, line 9, {said}"):
        read_metaculus(path)
    table = read_metaculus(path, skip_bad=True)
    assert len(table) == 6 and table.skipped[0].reason.startswith(reason)


def test_a_download_without_its_questions(tmp_path: Path) -> None:
    path = download(tmp_path, MADE_FORECASTS, MADE_QUESTIONS + "1,A,10,binary,yes\n")
    with pytest.raises(FormatError, match="line 7, column 'Question ID': '1' again"):
        read_metaculus(path)
    download(tmp_path, MADE_FORECASTS, "1,A,10,binary,0.5\n")
    with pytest.raises(FormatError, match=r"'0\.5' is no resolution of a binary question"):
        read_metaculus(path)
    download(tmp_path, MADE_FORECASTS[-60:], "3,C,30,numeric,17.5\n")
    (tmp_path / "question_data.csv").unlink()
    with pytest.raises(FormatError, match=r"outcomes stand in question_data\.csv"):
        read_metaculus(path)


# Brier by model and stage, as the data's manifest gives them.
PUBLISHED = {
    "independent": {"gpt5": "0.169", "pro": "0.201", "sonnet": "0.160"},
    "deliberative": {"gpt5": "0.163", "pro": "0.189", "sonnet": "0.150"},
}


def test_delib_ai_wisdom_reproduces_the_figures_by_model_and_stage() -> None:
    table = read_delib_ai_wisdom(DELIB / "forecasts.csv.gz")
    assert (len(table), len(table.questions), table.rounded) == (7272, 202, 0)
    assert "the file's percents were divided by 100" in table.notes
    losses: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for forecaster, units, outcome in zip(
        table.forecaster_index.tolist(), table.units.tolist(), table.outcome.tolist(), strict=True
    ):
        model, stage = table.forecasters[forecaster].split()[:2]
        losses[stage, model].append(GRID.brier(GRID.brier_units(units, bool(outcome))))
    assert {stage for stage, _ in losses} == set(STAGES)
    for (stage, model), held in losses.items():
        value = mean(held)
        assert value is not None
        assert decimal_places(value, 3) == PUBLISHED[stage][model], (stage, model)
        assert len(held) == (1218 if model == "pro" else 1209)


def test_the_pairs_of_delib_ai_wisdom_are_its_forecasts() -> None:
    """Each pair names two forecasts of the file, with the same percents and outcome."""
    forecasts, pairs, questions = (
        pl.read_csv(gzip.decompress((DELIB / name).read_bytes()), infer_schema=False)
        for name in ("forecasts.csv.gz", "condition_pairs.csv.gz", "questions.csv.gz")
    )
    known = dict(zip(forecasts["forecast_id"], forecasts["probability"], strict=True))
    for stage in STAGES:
        told = zip(pairs[f"{stage}_forecast_id"], pairs[f"{stage}_prob"], strict=True)
        assert all(known[name] == percent for name, percent in told)
    assert set(questions["question_id"]) == set(forecasts["question_id"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,1,1-gpt5-full,afterwards,gpt5,50", "line 2: stage 'afterwards'"),
        ("1,1,2-gpt5-full,independent,gpt5,50", "line 2: stage 'independent' and forecast id"),
        ("1,1,1-gpt5-full,independent,gpt5,half", "line 2, column 'probability': 'half' is not a"),
        (
            "1,1,1-gpt5-full,independent,gpt5,101",
            r"line 2, column 'probability': percent\? found 1.01",
        ),
        ("1,2,1-gpt5-full,independent,gpt5,50", "line 2, column 'resolution': '2' is no outcome"),
    ],
)
def test_a_faulty_row_of_delib_ai_wisdom(row: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "forecasts.csv"
    path.write_text(f"question_id,resolution,forecast_id,stage,model,probability\n{row}\n")
    with pytest.raises(FormatError, match=said):
        read_delib_ai_wisdom(path)
