"""Ensemble sizes, error correlations, effective number: against every subset, one by one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.scoring.voices import (
    ErrorRow,
    effective_number,
    error_correlation,
    error_products,
    size_curve,
)

MODELS = st.integers(1, 5)


@st.composite
def error_rows(draw: st.DrawFn) -> list[ErrorRow]:
    models = draw(MODELS)
    row = st.tuples(
        st.integers(0, 6), st.tuples(*[st.integers(-10_000, 10_000) for _ in range(models)])
    )
    return [ErrorRow(question, errors) for question, errors in draw(st.lists(row, max_size=25))]


def plain_loss(rows: list[ErrorRow], chosen: tuple[int, ...]) -> Fraction:
    """The loss of a plain average, each question weighing once."""
    by_question: dict[object, list[Fraction]] = {}
    for row in rows:
        error = Fraction(sum(row.errors[i] for i in chosen), len(chosen))
        by_question.setdefault(row.question, []).append(error**2)
    means = [sum(held, Fraction(0)) / len(held) for held in by_question.values()]
    return sum(means, Fraction(0)) / len(means)


@given(error_rows())
def test_the_curve_is_the_mean_over_every_subset(rows: list[ErrorRow]) -> None:
    curve = size_curve(error_products(rows))
    if not rows:
        assert curve == []
        return
    models = len(rows[0].errors)
    assert [point.size for point in curve] == list(range(1, models + 1))
    for point in curve:
        losses = [plain_loss(rows, chosen) for chosen in combinations(range(models), point.size)]
        assert point.subsets == len(losses)
        assert point.mean == sum(losses, Fraction(0)) / len(losses)
        assert (point.best, point.worst) == (min(losses), max(losses))
    # A plain average never loses more than its members do on average (Jensen).
    assert all(later.mean <= earlier.mean for earlier, later in pairwise(curve))


def test_many_models_have_a_curve_and_no_listing() -> None:
    rows = [ErrorRow(n, tuple((n * k) % 7 for k in range(20))) for n in range(9)]
    curve = size_curve(error_products(rows))
    assert len(curve) == 20 and curve[9].subsets == math.comb(20, 10)
    assert {(point.best, point.worst) for point in curve} == {(None, None)}
    assert curve[-1].mean == plain_loss(rows, tuple(range(20)))


@given(error_rows(), st.randoms())
def test_the_order_of_rows_changes_nothing(rows: list[ErrorRow], random: object) -> None:
    shuffled = rows[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert size_curve(error_products(shuffled)) == size_curve(error_products(rows))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=30))
def test_a_correlation_is_pearsons(pairs: list[tuple[int, int]]) -> None:
    found = error_correlation(error_products([ErrorRow(n, p) for n, p in enumerate(pairs)]))
    one, other = np.array(pairs).T
    if one.std() == 0 or other.std() == 0:
        assert found is None
        return
    assert found is not None and -1 <= found <= 1
    assert float(found) == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)


def test_a_model_and_its_copy_are_one_voice() -> None:
    rows = [ErrorRow(n, (n % 5, n % 5)) for n in range(12)]
    assert error_correlation(error_products(rows)) == 1
    assert effective_number(2, [Fraction(1)]).value == 1


@pytest.mark.parametrize(
    ("models", "correlations", "why"),
    [
        (0, [], "fewer than two"),
        (1, [], "fewer than two"),
        (3, [None, None, None], "no pair"),
        (3, [Fraction(-1, 2)] * 3, "at or below"),
        (3, [Fraction(-9, 10)] * 3, "at or below"),
    ],
)
def test_what_has_no_effective_number(
    models: int, correlations: list[Fraction | None], why: str
) -> None:
    found = effective_number(models, correlations)
    assert found.value is None and why in found.why


def test_a_pair_without_a_correlation_is_left_out() -> None:
    held = [Fraction(1, 2), None, Fraction(1, 2)]
    assert effective_number(3, held).value == Fraction(3, 2)
