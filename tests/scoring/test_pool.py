"""Pools against numpy column by column, with answers missing; skill and its closed forms."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.scoring.exact import Grid, mean, median
from beforehand.scoring.pool import (
    Pooled,
    pool_log_odds,
    pool_mean,
    pool_median,
    pool_trimmed,
)
from beforehand.scoring.skill import brier_gains, expected_gain, gain_variance, skill_score

GRID = Grid(10_000)
ANSWER = st.one_of(st.none(), st.integers(0, GRID.steps))
TABLES = st.tuples(st.integers(0, 8), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(ANSWER, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(lambda table: (table, shape[1]))
)
Table = tuple[list[list[int | None]], int]
UNIT = st.fractions(0, 1, max_denominator=1000)


def arrays(table: Table) -> tuple[np.ndarray, np.ndarray]:
    rows, width = table
    units = np.array([[-7 if u is None else u for u in row] for row in rows], dtype=np.int64)
    shape = (len(rows), width)
    return units.reshape(shape), units.reshape(shape) != -7


def answers(table: Table, question: int) -> list[int]:
    return [row[question] for row in table[0] if row[question] is not None]  # type: ignore[misc]


def check(found: Pooled, table: Table, question: int, wanted: Fraction | None) -> None:
    held = answers(table, question)
    assert found.used[question] == len(held)
    assert bool(found.stated[question]) == bool(held)
    assert found.probability(question) == wanted
    if wanted is not None:
        assert found.units()[question] == GRID.units(wanted)


@given(TABLES)
def test_mean_and_median_are_exact(table: Table) -> None:
    units, stated = arrays(table)
    means, medians = pool_mean(units, stated, GRID), pool_median(units, stated, GRID)
    for question in range(table[1]):
        held = [GRID.probability(u) for u in answers(table, question)]
        check(means, table, question, mean(held))
        check(medians, table, question, median(held))


@given(TABLES, st.integers(0, 2), st.integers(5, 6))
def test_trimmed_mean(table: Table, drop: int, least: int) -> None:
    found = pool_trimmed(*arrays(table), GRID, drop=drop, least=least)
    for question in range(table[1]):
        held = sorted(GRID.probability(u) for u in answers(table, question))
        kept = held[drop : len(held) - drop] if len(held) >= least else held
        check(found, table, question, mean(kept))


@given(TABLES, st.randoms())
def test_log_odds_mean(table: Table, rng: random.Random) -> None:
    units, stated = arrays(table)
    found = pool_log_odds(units, stated, GRID)
    for question in range(table[1]):
        held = answers(table, question)
        assert found.used[question] == len(held)
        assert found.clamped[question] == sum(u in (0, GRID.steps) for u in held)
        if held:
            p = [min(max(u / GRID.steps, 1e-4), 1 - 1e-4) for u in held]
            odds = math.fsum(math.log(q / (1 - q)) for q in p) / len(p)
            ours = found.probability(question)
            assert float(ours) == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-8)  # type: ignore[arg-type]
    order = list(range(len(units)))
    rng.shuffle(order)
    shuffled = pool_log_odds(units[order], stated[order], GRID)
    assert (shuffled.top == found.top).all()


@given(TABLES)
def test_turning_yes_and_no_around_turns_every_pool(table: Table) -> None:
    units, stated = arrays(table)
    for pool in (pool_mean, pool_median, pool_trimmed):
        ours, theirs = pool(units, stated, GRID), pool(GRID.steps - units, stated, GRID)
        for question in range(table[1]):
            p, q = ours.probability(question), theirs.probability(question)
            assert (p is None and q is None) or p == 1 - q  # type: ignore[operator]
    log = pool_log_odds(units, stated, GRID), pool_log_odds(GRID.steps - units, stated, GRID)
    total = (log[0].top + log[1].top)[log[0].stated] / (2.0**36 * GRID.steps)
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)


def test_what_is_no_table_of_answers_is_refused() -> None:
    stated = [[True, True]]
    with pytest.raises(FormatError, match="whole numbers"):
        pool_mean([[0.5, 0.6]], stated, GRID)
    with pytest.raises(FormatError, match="one shape"):
        pool_mean([[1, 2, 3]], stated, GRID)
    with pytest.raises(FormatError, match="forecaster 0, question 1: 10001"):
        pool_median([[1, 10_001]], stated, GRID)
    with pytest.raises(FormatError, match="leaves none"):
        pool_trimmed([[1, 2]], stated, GRID, drop=2, least=4)
    assert pool_mean([[1, 10_001]], [[True, False]], GRID).units().tolist() == [1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000), st.booleans()), max_size=40)
)
def test_gains_are_the_difference_of_the_losses(rows: list[tuple[int, int, bool]]) -> None:
    p, b, y = ([row[k] for row in rows] for k in range(3))
    wanted = [GRID.brier_units(u, h) - GRID.brier_units(v, h) for v, u, h in rows]
    assert brier_gains(p, b, y, GRID).tolist() == wanted
    turned = [[GRID.steps - u for u in held] for held in (p, b)]
    assert brier_gains(*turned, [not h for h in y], GRID).tolist() == wanted


@given(UNIT, UNIT, UNIT)
def test_expectation_and_variance_of_a_gain_by_enumeration(
    p: Fraction, b: Fraction, q: Fraction
) -> None:
    gains = {y: (b - y) ** 2 - (p - y) ** 2 for y in (0, 1)}
    wanted = q * gains[1] + (1 - q) * gains[0]
    assert expected_gain(p, b, q) == wanted
    assert gain_variance(p, b, q) == q * gains[1] ** 2 + (1 - q) * gains[0] ** 2 - wanted**2
    assert expected_gain(q, b, q) == (b - q) ** 2 >= expected_gain(p, b, q)


def test_skill_of_nothing_and_against_a_perfect_reference() -> None:
    assert skill_score(None, Fraction(1)) is None
    assert skill_score(Fraction(1), None) is None
    assert skill_score(Fraction(1), Fraction(0)) is None
    assert skill_score(Fraction(1), Fraction(1)) == 0
    with pytest.raises(FormatError, match="reference is 101"):
        brier_gains([1], [101], [1], Grid(100))
    with pytest.raises(FormatError, match="not a probability"):
        expected_gain(Fraction(2), Fraction(0), Fraction(0))
