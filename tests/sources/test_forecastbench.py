"""ForecastBench's round: the shipped files as they are, and every fault named, none repaired."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from beforehand.cli.replay import shipped_file, shipped_round
from beforehand.errors import FormatError
from beforehand.sources.forecastbench import plain_probability, read_round

QUESTIONS = shipped_file("question_set_human.json")
FORECASTS = shipped_file("superforecaster_individual.csv")
RESOLUTIONS = shipped_file("resolution_set_human_subset.json")


def test_the_round_as_shipped() -> None:
    held = shipped_round()
    assert len(held.events) == 957
    assert len({event.cluster for event in held.events.values()}) == 189
    assert len(held.answers) == 40
    assert sum(len(answer.cells) for answer in held.answers) == 7693
    assert min(len(answer.cells) for answer in held.answers) == 4
    assert len(held.outcomes) == 578
    assert sum(event.crowd is not None for event in held.events.values()) == 79
    assert {event.type for event in held.events.values()} == {"market", "dataset"}


def test_each_answers_evidence_is_its_rows_of_the_file() -> None:
    rows = FORECASTS.decode().split("\n")
    for answer in shipped_round().answers:
        kept = answer.evidence.decode().split("\n")
        assert kept[0] == rows[0] and kept[-1] == ""
        assert kept[1:-1] == [row for row in rows if row.startswith(answer.forecaster + ",")]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("2e-05", "0.00002"), ("1e-06", "0.000001"), ("0.75", "0.75"), ("1.0", "1.0"), ("0", "0")],
)
def test_a_number_keeps_its_value_in_plain_notation(text: str, plain: str) -> None:
    assert plain_probability(text, "x") == plain


@pytest.mark.parametrize(
    "text", ["", "N/A", "70", "-0.1", "nan", "inf", "0,5", "0.5 0.6", "1.0001"]
)
def test_what_is_no_probability_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="line 7"):
        plain_probability(text, "line 7")


def with_csv(change: Callable[[list[str]], None]) -> bytes:
    rows = FORECASTS.decode().split("\n")
    change(rows)
    return "\n".join(rows).encode()


def exchange(rows: list[str], place: int, text: str) -> None:
    rows[place] = text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.__setitem__(0, "forecaster,p"), "header"),
        (lambda rows: rows.__setitem__(5, "sf01,manifold"), "line 6: 2 fields"),
        (lambda rows: rows.__setitem__(5, rows[4]), "line 6: a second forecast of sf04"),
        (lambda rows: rows.__setitem__(5, rows[5].replace("0.94", "94")), "line 6: '94'"),
        (lambda rows: rows.__setitem__(5, "sf01,manifold,nowhere,,0.5"), "nowhere is not in"),
        (lambda rows: rows.__setitem__(5, "sf01,fred,AMERIBOR,,0.5"), "fred"),
    ],
)
def test_a_faulty_row_is_named(change: Callable[[list[str]], Any], said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read_round(QUESTIONS, with_csv(change), RESOLUTIONS)


def test_line_separators_inside_a_field_do_not_shift_the_evidence() -> None:
    """U+2028 is no line end in CSV, whatever str.splitlines says."""
    rows = FORECASTS.decode().split("\n")
    rows.insert(1, f"sf\u2028x,{rows[1].split(',', 1)[1]}")
    held = read_round(QUESTIONS, "\n".join(rows).encode(), RESOLUTIONS)
    assert held.answers[0].forecaster == "sf\u2028x"
    assert held.answers[0].evidence.decode().split("\n")[1] == rows[1]
    assert held.answers[1].evidence.decode().split("\n")[1] == rows[2]


def resolutions(change: Callable[[dict[str, Any]], None]) -> bytes:
    value = json.loads(RESOLUTIONS)
    entry = next(item for item in value["resolutions"] if item["resolved"])
    change(entry)
    return json.dumps(value).encode()


@pytest.mark.parametrize("settled", [0.5, None, "1", True, 0.999, 2])
def test_any_settled_value_but_0_and_1_is_void_never_a_half(settled: Any) -> None:
    data = resolutions(lambda entry: entry.update(resolved_to=settled))
    held = read_round(QUESTIONS, FORECASTS, data)
    assert sum(outcome.outcome == "void" for outcome in held.outcomes) == 1


def test_an_open_question_has_no_outcome_whatever_its_price() -> None:
    data = resolutions(lambda entry: entry.update(resolved=False, resolved_to=1.0))
    assert len(read_round(QUESTIONS, FORECASTS, data).outcomes) == 577


@pytest.mark.parametrize("value", [None, "N/A", ""])
def test_a_missing_crowd_price_stays_missing(value: str | None) -> None:
    questions = json.loads(QUESTIONS)
    questions["questions"][0]["freeze_datetime_value"] = value
    held = read_round(json.dumps(questions).encode(), FORECASTS, RESOLUTIONS)
    assert sum(event.crowd is not None for event in held.events.values()) == 78


@pytest.mark.parametrize("value", ["70%", "1.5", "nan"])
def test_a_crowd_price_that_is_none_is_refused(value: str) -> None:
    questions = json.loads(QUESTIONS)
    questions["questions"][0]["freeze_datetime_value"] = value
    with pytest.raises(FormatError, match="freeze value"):
        read_round(json.dumps(questions).encode(), FORECASTS, RESOLUTIONS)


def test_a_combination_question_is_refused() -> None:
    questions = json.loads(QUESTIONS)
    questions["questions"][0]["combination_of"] = [{"id": "a"}, {"id": "b"}]
    with pytest.raises(FormatError, match="combination"):
        read_round(json.dumps(questions).encode(), FORECASTS, RESOLUTIONS)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"questions": 3}', b"NaN"])
def test_files_of_another_form_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_round(data, FORECASTS, RESOLUTIONS)
    with pytest.raises(FormatError):
        read_round(QUESTIONS, FORECASTS, data)
    with pytest.raises(FormatError):
        read_round(QUESTIONS, data, RESOLUTIONS)
