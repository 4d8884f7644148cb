"""ForecastBench's files: what counts, what is kept out with its reason, and published figures."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beforehand.errors import FormatError
from beforehand.sources.forecastbench_answers import crowd_table, read_forecast_set
from beforehand.sources.forecastbench_rounds import read_rounds
from beforehand.sources.forecastbench_sets import read_question_set, read_resolution_set
from tests.sources.shared_data import SHIPPED as DATA

QUESTIONS = DATA / "forecastbench" / "2026-03-29-llm.json"
RESOLUTIONS = DATA / "forecastbench" / "2026-03-29_resolution_set.json"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A shipped JSON file after `change` was made to it."""

    def change_file(path: Path, change: Callable[[Any], object]) -> Path:
        value = json.loads(path.read_bytes())
        change(value)
        target = tmp_path / path.name
        target.write_text(json.dumps(value), encoding="utf-8")
        return target

    return change_file


def test_a_question_set() -> None:
    held = read_question_set(QUESTIONS)
    assert (held.due, held.name, held.kept_out) == ("2026-03-29", "2026-03-29-llm.json", ())
    markets = [asked for asked in held.questions.values() if not asked.dates]
    assert (len(held.questions), len(markets)) == (21, 15)
    asked = held.questions["fred", "DGS20"]
    assert (asked.frozen_value, asked.crowd, asked.closes) == ("4.8100000000000005", None, None)
    assert asked.events[0] == ("fred", "DGS20", "2026-04-05") and len(asked.events) == 8
    assert all(asked.crowd == asked.frozen_value for asked in markets)


def test_a_resolution_set() -> None:
    held = read_resolution_set(RESOLUTIONS)
    outcomes = [settled.outcome for settled in held.outcomes.values()]
    assert (outcomes.count(1), outcomes.count(0), outcomes.count(-2)) == (9, 9, 11)
    assert held.outcome(("fred", "DGS20", "2036-03-26")) == -2


def test_combination_questions_are_kept_out_and_counted(changed: Callable[..., Path]) -> None:
    """An id that is a list of two asks for four directions of no single event."""

    def pair(value: Any) -> None:
        value["questions"][0]["id"] = ["a", "b"]
        value["questions"][1]["combination_of"] = [{"id": "a"}, {"id": "b"}]
        value["questions"][2]["source"] = "oracle"

    held = read_question_set(changed(QUESTIONS, pair))
    assert len(held.questions) == 18
    assert [(left.reason, left.count, left.first) for left in held.kept_out] == [
        ("combination question", 2, ("questions[0]", "questions[1]")),
        ("unknown source", 1, ("questions[2]",)),
    ]
    assert "its id is a list" in held.kept_out[0].example

    def directions(value: Any) -> None:
        value["resolutions"][0].update(id=["a", "b"], direction=[1, -1])
        value["resolutions"][1]["direction"] = [1, 1]

    found = read_resolution_set(changed(RESOLUTIONS, directions))
    assert len(found.outcomes) == 27 and found.kept_out[0].count == 2


@pytest.mark.parametrize("value", [None, "N/A", ""])
def test_a_missing_freeze_value_is_a_missing_answer_of_the_crowd(
    value: str | None, changed: Callable[..., Path]
) -> None:
    """A market without a price has no crowd: not a half, and not a row with a number."""
    path = changed(QUESTIONS, lambda held: held["questions"][0].update(freeze_datetime_value=value))
    table = crowd_table(read_question_set(path))
    assert (len(table), table.n_missing) == (14, 1)
    assert dict(table.missing[0]) == {"no freeze value": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"freeze_datetime_value": "70%"}, r"questions\[0\], freeze value: '70%'"),
        ({"freeze_datetime_value": 1.5}, r"questions\[0\], freeze value: '1.5'"),
        ({"resolution_dates": ["2026-04-05"]}, "market question with resolution_dates"),
        ({"source": "fred"}, "dataset question with resolution_dates 'N/A'"),
        ({"question": None}, "question is None"),
        ({"id": 7}, "id is '7'"),
        ({"freeze_datetime": "N/A-"}, "no time"),
    ],
)
def test_a_faulty_question_is_named(
    change: dict[str, Any], said: str, changed: Callable[..., Path]
) -> None:
    path = changed(QUESTIONS, lambda held: held["questions"][0].update(change))
    with pytest.raises(FormatError, match=said):
        crowd_table(read_question_set(path))


def test_a_value_that_is_a_number_is_read_like_its_text(changed: Callable[..., Path]) -> None:
    path = changed(QUESTIONS, lambda held: held["questions"][0].update(freeze_datetime_value=0.25))
    table = crowd_table(read_question_set(path))
    assert 2500 in table.units.tolist()


@pytest.mark.parametrize("settled", [0.5, None, "1", True, 0.999, 2, math.nan])
def test_a_nullified_question_is_void_never_a_half(
    settled: Any, changed: Callable[..., Path]
) -> None:
    def nullify(value: Any) -> None:
        entry = next(item for item in value["resolutions"] if item["resolved"])
        entry["resolved_to"] = settled

    held = read_resolution_set(changed(RESOLUTIONS, nullify))
    outcomes = [found.outcome for found in held.outcomes.values()]
    assert outcomes.count(-1) == 1 and outcomes.count(-2) == 11


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resolved": None}, r"resolutions\[0\]: resolved is None"),
        ({"resolution_date": "N/A"}, "without a resolution date"),
        ({"source": 3}, "source is '3'"),
    ],
)
def test_a_faulty_resolution_is_named(
    change: dict[str, Any], said: str, changed: Callable[..., Path]
) -> None:
    def make(value: Any) -> None:
        value["resolutions"].sort(key=lambda entry: entry["source"] != "fred")
        value["resolutions"][0].update(change)

    with pytest.raises(FormatError, match=said):
        read_resolution_set(changed(RESOLUTIONS, make))
    with pytest.raises(FormatError, match="a second resolution of"):
        read_resolution_set(
            changed(RESOLUTIONS, lambda held: held["resolutions"].extend(held["resolutions"][-9:]))
        )


def test_the_crowd_of_a_question_set() -> None:
    """The price is that of the freeze, not one near the close, and has the time of the freeze."""
    table = crowd_table(read_question_set(QUESTIONS), read_resolution_set(RESOLUTIONS))
    assert (table.forecasters, len(table), table.n_missing) == (("crowd",), 12, 0)
    assert [(left.reason, left.count) for left in table.kept_out] == [
        ("not in the resolution set", 3)
    ]
    assert table.time is not None and set(table.time.tolist()) == {1_773_878_400_000_000}
    assert sorted(table.outcome.tolist()) == [-2] * 11 + [0]


def forecasts() -> dict[str, Any]:
    """A forecast set made up for the shipped question set."""
    asked = read_question_set(QUESTIONS)
    entries = []
    for place, event in enumerate(
        event for question in asked.questions.values() for event in question.events[:2]
    ):
        source, name, day = event
        entry = {"id": name, "source": source, "forecast": 0.05 + place / 100}
        entries.append(entry | {"resolution_date": day or None, "reasoning": None})
    return {
        "organization": "Lab",
        "model": "model-1",
        "model_organization": "Lab",
        "question_set": asked.name,
        "forecasts": entries,
    }


def forecast_file(tmp_path: Path, change: Callable[[Any], object] = lambda held: None) -> Path:
    held = forecasts()
    change(held)
    path = tmp_path / "set.json"
    path.write_text(json.dumps(held), encoding="utf-8")
    return path


def test_a_forecast_set(tmp_path: Path) -> None:
    questions, resolutions = read_question_set(QUESTIONS), read_resolution_set(RESOLUTIONS)
    table = read_forecast_set(forecast_file(tmp_path), questions=questions, resolutions=resolutions)
    assert table.forecasters == ("Lab: model-1",)
    assert (len(table), len(table.clusters)) == (12 + 2 * 6, 18)
    assert "fred:DGS20@2026-04-05" in table.questions
    assert table.crowd is not None and (table.crowd >= 0).sum() == 12
    assert [(left.reason, left.count) for left in table.kept_out] == [
        ("not in the resolution set", 3)
    ]
    alone = read_forecast_set(forecast_file(tmp_path))
    assert len(alone) == 27 and set(alone.outcome.tolist()) == {-2} and alone.crowd is None


def test_the_variant_is_part_of_the_name(tmp_path: Path) -> None:
    """One model with and without the price shown is two forecasters."""
    path = forecast_file(tmp_path, lambda held: held.update(variant="with freeze values"))
    assert read_forecast_set(path).forecasters == ("Lab: model-1 (with freeze values)",)


def test_imputed_and_null_forecasts_are_missing_answers(tmp_path: Path) -> None:
    """A filled-in half is nobody's forecast: it enters no row, no comparison, no rank."""

    def fill(held: Any) -> None:
        held["forecasts"][0].update(forecast=0.5, imputed=True)
        held["forecasts"][1].update(forecast=None)
        held["forecasts"][2].pop("forecast")
        held["forecasts"][3].update(id=["a", "b"], direction=[1, 1])

    table = read_forecast_set(forecast_file(tmp_path, fill))
    assert len(table) == 23
    assert dict(table.missing[0]) == {"imputed": 1, "no_forecast": 2}
    assert [(left.reason, left.count) for left in table.kept_out] == [("combination question", 1)]


@pytest.mark.parametrize(
    ("change", "said", "reason"),
    [
        ({"forecast": 62}, r"forecasts\[3\], .*percent\? found 62", "above 1"),
        ({"forecast": -0.1}, r"forecasts\[3\], .*below 0", "below 0"),
        ({"forecast": math.nan, "imputed": 1}, "", ""),
        ({"forecast": True}, r"forecasts\[3\], .*not a plain value|a list", "not a plain value"),
        ({"forecast": "about half"}, r"forecasts\[3\], .*is not a number", "not a number"),
        ({"id": "nowhere"}, r"forecasts\[3\]: \w+:nowhere is not in", "no event of the round"),
        ({"id": None}, r"forecasts\[3\]: id is None", "no event of the round"),
        (
            {"source": "fred", "id": "DGS20", "resolution_date": "2026-04-06"},
            "has no such resolution date",
            "no event of the round",
        ),
        (
            {"source": "fred", "id": "DGS20", "resolution_date": None},
            "without a resolution date",
            "no event of the round",
        ),
        (
            {"source": "fred", "id": "DGS20", "resolution_date": "2026-04-05"},
            "a second row of 'Lab: model-1'",
            "repeated answer",
        ),
    ],
)
def test_a_faulty_forecast_is_named_or_left_out(
    change: dict[str, Any], said: str, reason: str, tmp_path: Path
) -> None:
    path = forecast_file(tmp_path, lambda held: held["forecasts"][3].update(change))
    questions = read_question_set(QUESTIONS)
    if not said:
        assert dict(read_forecast_set(path).missing[0]) == {"no_forecast": 1}
        return
    with pytest.raises(FormatError, match=said):
        read_forecast_set(path, questions=questions)
    table = read_forecast_set(path, questions=questions, skip_bad=True)
    assert [(left.reason, left.count) for left in table.skipped] == [(reason, 1)]
    assert len(table) == 26


def test_a_forecast_set_for_another_round_is_refused(tmp_path: Path) -> None:
    path = forecast_file(tmp_path, lambda held: held.update(question_set="2026-04-12-llm.json"))
    with pytest.raises(FormatError, match=r"answers '2026-04-12-llm\.json', not"):
        read_forecast_set(path, questions=read_question_set(QUESTIONS))


@pytest.mark.parametrize("data", ["", "[]", "{}", "\xff", '{"questions": 3}', '{"a": 1, "a": 2}'])
def test_files_of_another_form_are_refused(data: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data.encode("latin-1"))
    for read in (read_question_set, read_resolution_set, read_forecast_set):
        with pytest.raises(FormatError, match=r"x\.json"):
            read(path)


ROUNDS = "source,id,freeze_datetime,freeze_value,resolved,resolved_to"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("fred,x,2025-10-16T00:00:00Z,4.1,1,1.0", "column 'source': 'fred' is no market"),
        ("infer,x,2025-10-16T00:00:00Z,0.5,yes,1.0", "column 'resolved': 'yes'"),
        ("infer,x,2025-10-16,0.5,1,1.0", "column 'freeze_datetime': .* without time and zone"),
        ("infer,x,2025-10-16T00:00:00Z,50,1,1.0", r"column 'freeze_value': percent\? found 50"),
    ],
)
def test_a_faulty_row_of_the_rounds_is_named(row: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rounds.csv"
    path.write_text(f"{ROUNDS}\ninfer,w,2025-10-16T00:00:00Z,N/A,1,0.5\n{row}\n")
    with pytest.raises(FormatError, match=rf"rounds\.csv, line 3, {said}"):
        read_rounds(path)
    path.write_text(f"{ROUNDS}\ninfer,w,2025-10-16T00:00:00Z,N/A,1,0.5\n")
    assert dict(read_rounds(path).missing[0]) == {"no freeze value": 1}
    path.write_text("source,id\ninfer,w\n")
    with pytest.raises(FormatError, match="no column freeze_datetime"):
        read_rounds(path)


def test_packed_files_have_their_own_limits(tmp_path: Path) -> None:
    path = tmp_path / "rounds.csv.gz"
    good = gzip.compress(b"README")
    for data, said in (
        (b"\x1f\x8bnot gzip", "damaged gzip"),
        (gzip.compress(b"x" * 5000)[:-9], "cut off"),
        (good + b"more", "after its end"),
    ):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=said):
            read_rounds(path)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
        for _ in range(520):
            file.write(b"\0" * (1 << 20))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(FormatError, match="unpacked over the limit of 536870912 bytes"):
        read_rounds(path)
