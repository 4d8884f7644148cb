"""Student's t in closed form against scipy."""

from __future__ import annotations

import pytest
from scipy import stats

from beforehand.errors import FormatError
from beforehand.scoring.student import student_central, student_quantile


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 100, 577, 2000])
def test_quantile_equals_scipy(level: float, df: int) -> None:
    theirs = stats.t.ppf((1 + level) / 2, df)
    assert student_quantile(level, df) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("df", [1, 2, 7, 8, 50])
@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 2.5, 40.0])
def test_central_probability_equals_scipy(t: float, df: int) -> None:
    theirs = stats.t.cdf(t, df) - stats.t.cdf(-t, df)
    assert student_central(t, df) == pytest.approx(theirs, abs=1e-13)


def test_what_has_no_t_is_refused() -> None:
    with pytest.raises(FormatError):
        student_central(1.0, 0)
    with pytest.raises(FormatError):
        student_central(-1.0, 5)
    for level in (0.0, 1.0):
        with pytest.raises(FormatError):
            student_quantile(level, 5)
