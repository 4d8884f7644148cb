"""The five terms and CORP: equal to their definitions in fractions, and closing exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp, isotonic
from beforehand.scoring.measures import brier, row_of
from tests.scoring import plain_measures as plain

GRID = Grid(10_000)
COARSE = st.integers(0, 20).map(lambda k: 500 * k)
ROWS = st.lists(
    st.tuples(st.one_of(COARSE, st.integers(0, GRID.steps)), st.integers(0, 1)),
    min_size=1,
    max_size=50,
)
BINS = st.one_of(st.integers(1, 25), st.just("distinct"))
Rows = list[tuple[int, int]]
HowMany = int | Literal["distinct"]


def fractions(rows: Rows) -> list[tuple[Fraction, int]]:
    return [(GRID.probability(units), y) for units, y in rows]


@given(ROWS, BINS)
def test_the_five_terms_are_those_of_the_definition(rows: Rows, bins: HowMany) -> None:
    found = murphy(row_of(rows, GRID), GRID, bins)
    assert found is not None
    terms = (found.unc, found.rel, found.res, found.wbv, found.wbc)
    assert terms == plain.murphy(fractions(rows), bins)
    assert found.brier == brier(row_of(rows, GRID), GRID)
    assert (found.uncertainty, found.miscalibration, found.discrimination) == terms[:3]
    assert (found.n, found.bins) == (len(rows), len(plain.grouped(fractions(rows), bins)))
    if bins == "distinct":
        assert found.wbv == found.wbc == 0


@given(ROWS, BINS)
def test_the_bias_correction_closes_too(rows: Rows, bins: HowMany) -> None:
    found = murphy(row_of(rows, GRID), GRID, bins, corrected=True)
    assert found is not None and found.brier == brier(row_of(rows, GRID), GRID)
    assert found.corrected == (len(rows) > 1)
    if len(rows) > 1:
        wanted = plain.ferro_fricker(fractions(rows), bins)
        assert (found.unc, found.rel, found.res) == wanted
    single = [held for held in plain.grouped(fractions(rows), bins) if len(held) == 1]
    assert found.single == len(single)


def test_the_correction_takes_off_what_chance_adds() -> None:
    """A calibrated forecaster with three levels: rel is 0 on average only when corrected."""
    rng = np.random.default_rng(20261129)
    plain_rel, corrected_rel = [], []
    for _ in range(400):
        units = rng.choice([2000, 5000, 8000], size=60)
        happened = (rng.random(60) < units / GRID.steps).astype(int)
        counts = row_of(list(zip(units.tolist(), happened.tolist(), strict=True)), GRID)
        for kept, corrected in ((plain_rel, False), (corrected_rel, True)):
            found = murphy(counts, GRID, corrected=corrected)
            assert found is not None
            kept.append(float(found.rel))
    assert np.mean(plain_rel) > 0.008
    assert abs(np.mean(corrected_rel)) < 3 * np.std(corrected_rel) / 20


@given(ROWS)
def test_corp_closes_and_its_terms_are_not_negative(rows: Rows) -> None:
    counts = row_of(rows, GRID)
    found = corp(counts, GRID)
    assert found is not None
    assert found.score == brier(counts, GRID) == found.mcb - found.dsc + found.unc
    assert found.mcb >= 0 and found.dsc >= 0
    assert (found.miscalibration, found.discrimination) == (found.mcb, found.dsc)
    assert found.score - found.mcb == plain.isotonic_score(fractions(rows))


@given(ROWS)
def test_the_curve_equals_scikit_learn(rows: Rows) -> None:
    steps = isotonic(row_of(rows, GRID), GRID)
    said, happened = (np.array([row[k] for row in rows], dtype=float) for k in range(2))
    theirs = IsotonicRegression(y_min=0, y_max=1).fit(said, happened).predict(said)
    for (units, _), value in zip(rows, theirs, strict=True):
        held = [step for step in steps if step.low <= units <= step.high]
        assert len(held) == 1
        assert float(held[0].share) == pytest.approx(value, abs=1e-9)
    shares = [step.share for step in steps]
    assert shares == sorted(set(shares))
    assert sum(step.n for step in steps) == len(rows)


@given(ROWS)
def test_turning_yes_and_no_around_changes_no_term(rows: Rows) -> None:
    turned = [(GRID.steps - units, 1 - y) for units, y in rows]
    ours, theirs = (corp(row_of(held, GRID), GRID) for held in (rows, turned))
    assert ours is not None and theirs is not None
    assert (ours.mcb, ours.dsc, ours.unc) == (theirs.mcb, theirs.dsc, theirs.unc)
    distinct = (murphy(row_of(held, GRID), GRID, "distinct") for held in (rows, turned))
    assert next(distinct) == next(distinct)


@given(ROWS, st.integers(2, 1 << 40))
def test_many_times_the_rows_give_the_same_terms(rows: Rows, factor: int) -> None:
    counts = row_of(rows, GRID)
    once, often = murphy(counts, GRID), murphy(counts * factor, GRID)
    assert once is not None and often is not None
    assert (once.unc, once.rel, once.res, once.wbv, once.wbc) == (
        often.unc,
        often.rel,
        often.res,
        often.wbv,
        often.wbc,
    )
    first, second = corp(counts, GRID), corp(counts * factor, GRID)
    assert first is not None and second is not None
    assert (first.mcb, first.dsc) == (second.mcb, second.dsc)


def test_a_perfect_forecaster_and_nothing() -> None:
    found = corp(row_of([(0, 0), (GRID.steps, 1)], GRID), GRID)
    assert found is not None and (found.mcb, found.dsc) == (0, Fraction(1, 4))
    assert murphy(row_of([], GRID), GRID) is None
    assert corp(row_of([], GRID), GRID) is None
    assert isotonic(row_of([], GRID), GRID) == ()
