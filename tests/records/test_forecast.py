"""A forecast is a stated probability or a reason why there is none; never a filled value."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from beforehand.records.forecast import FAILURES, Answer, Cell, Missing, Stated
from beforehand.records.kinds import decode

from .contents import EXAMPLES, QUESTION, probabilities


def answer(*cells: dict[str, Any], **more: Any) -> Answer:
    said = [{"question": QUESTION, **cell} for cell in cells]
    record = decode({**EXAMPLES["answer"], "cells": said, **more})
    assert isinstance(record, Answer)
    return record


@given(probabilities)
def test_a_stated_probability_is_exactly_what_was_given(text: str) -> None:
    cells = answer({"p": text}).cells
    assert cells is not None
    forecast = cells[0].forecast()
    assert forecast == Stated(Decimal(text))
    assert isinstance(forecast, Stated)
    assert str(forecast.probability) == text, "to the last digit, trailing zeros too"


@pytest.mark.parametrize("text", ["0.1", "0.3333333333333333333333333333333333333333", "1", "0"])
def test_no_binary_float_comes_between(text: str) -> None:
    cells = answer({"p": text}).cells
    assert cells is not None
    forecast = cells[0].forecast()
    assert isinstance(forecast, Stated)
    assert type(forecast.probability) is Decimal
    assert format(forecast.probability, "f") == text


@pytest.mark.parametrize("reason", FAILURES)
def test_missing_has_a_reason_and_no_number(reason: str) -> None:
    cells = answer({"missing": reason}).cells
    assert cells is not None
    forecast = cells[0].forecast()
    assert forecast == Missing(reason)
    assert [field.name for field in dataclasses.fields(Missing)] == ["reason"]
    assert not hasattr(forecast, "probability")
    with pytest.raises(TypeError):
        float(forecast)  # type: ignore[arg-type]


def test_explicit_fifty_is_stated_and_silence_is_not() -> None:
    cells = answer({"p": "0.5"}, {"missing": "not_answered"}).cells
    assert cells is not None
    assert [type(cell.forecast()) for cell in cells] == [Stated, Missing]


def test_a_cell_that_says_nothing_has_no_default() -> None:
    # built past the decoder: it must not turn into a reason that nobody gave
    with pytest.raises(Exception):  # noqa: B017
        Cell(QUESTION).forecast()


def test_a_cell_that_says_both_is_not_taken_for_stated() -> None:
    with pytest.raises(Exception):  # noqa: B017
        Cell(QUESTION, p="0.5", missing="refused").forecast()


def test_an_answer_without_cells_has_none() -> None:
    record = decode({**EXAMPLES["answer"], "status": "timeout"})
    assert isinstance(record, Answer)
    assert record.cells is None
    assert answer().cells == ()


def test_cells_keep_their_order_and_their_number() -> None:
    texts = [f"0.{n:04d}" for n in range(200)]
    cells = answer(*({"p": text} for text in texts)).cells
    assert cells is not None
    assert [cell.p for cell in cells] == texts
