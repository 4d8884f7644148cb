"""Every case of `vectors/statistics.json` that these measures cover; where the others belong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from beforehand.scoring.compare import paired
from beforehand.scoring.cox import cox_clustered
from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp
from beforehand.scoring.measures import (
    brier,
    ece,
    folded,
    log_loss,
    row_of,
    sharpness,
)
from beforehand.scoring.multiplicity import benjamini_hochberg, holm
from beforehand.scoring.paper import kelly_edge
from beforehand.scoring.power import design_effect, detectable_by, rows_needed
from beforehand.scoring.rules import Counts
from beforehand.scoring.skill import brier_gains, expected_gain, gain_variance, skill_score
from beforehand.scoring.verdict import tost, verdict
from beforehand.scoring.voices import effective_number
from tests.conftest import VECTORS

GRID = Grid(10_000)
CASES = json.loads((VECTORS / "statistics.json").read_text(encoding="utf-8"))["cases"]
BY_ID = {case["id"]: case for case in CASES}

# The measures of a case that a coming part brings, and which part that is.
LATER = {
    "bootstrap": "inference",
    "clob_sweep": "depth",
    "consensus": "council",
    "cwr": "depth",
    "dm": "inference",
    "eprocess": "inference",
    "mcs": "inference",
    "n_eff_matrix": "council",
    "newey_west": "inference",
    "scorecard": "council",
}
COVERED: dict[str, Callable[[dict[str, Any], str], Any]] = {}

Inputs = dict[str, Any]


def covers(measure: str) -> Callable[[Callable[[Inputs, str], Any]], Callable[[Inputs, str], Any]]:
    def keep(function: Callable[[Inputs, str], Any]) -> Callable[[Inputs, str], Any]:
        COVERED[measure] = function
        return function

    return keep


def text(value: float) -> Decimal:
    return Decimal(repr(value))


def row(p: Sequence[float], y: Sequence[int]) -> Counts:
    return row_of([(GRID.units(text(q)), int(x)) for q, x in zip(p, y, strict=True)], GRID)


def floats(*values: Fraction | None) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]


@covers("brier")
def of_brier(inputs: Inputs, case: str) -> Any:
    if "p_bps" in inputs:
        pairs = list(zip(inputs["p_bps"], inputs["y"], strict=True))
        return floats(brier(row_of(pairs, GRID), GRID))
    if case == "momentum55_expected":  # q = 1/2: one row of each outcome is the expectation
        return floats(brier(row([inputs["p"]] * 2, [0, 1]), GRID))
    value = brier(row(inputs["p"], inputs["y"]), GRID)
    assert value is not None
    return floats(value, 2 * value) if case == "brier_two_class_convention" else floats(value)


@covers("bss")
def of_bss(inputs: Inputs, case: str) -> Any:
    ours, theirs = (brier(row(inputs[key], inputs["y"]), GRID) for key in ("p", "clim"))
    return floats(skill_score(ours, theirs))


@covers("logloss")
def of_log_loss(inputs: Inputs, case: str) -> Any:
    found = log_loss(row(inputs["p"], inputs["y"]), GRID, text(inputs["eps"]))
    eps = inputs["eps"]
    assert found.clamped == sum(p < eps or p > 1 - eps for p in inputs["p"])
    return [found.value]


@covers("ece")
def of_ece(inputs: Inputs, case: str) -> Any:
    counts = row(inputs["p"], inputs["y"])
    if inputs.get("convention") == "right_closed":
        # (lo, hi] for p is [lo, hi) for 1 - p: the same error of the question turned around.
        counts = np.ascontiguousarray(counts[::-1, ::-1])
    return floats(ece(counts, GRID, inputs["bins"]))


@covers("directional_calibration")
def of_folded(inputs: Inputs, case: str) -> Any:
    p = [percent / 100 for percent in inputs["p_percent"]]
    edges = [Fraction(edge, 100) for edge in inputs["bins"]]
    found = folded(row(p, inputs["y"]), GRID, edges)
    assert found.left_out == inputs["p_percent"].count(50)
    return [
        [place, item.n, item.sum_units / item.n / 100, item.yes / item.n]
        for place, item in enumerate(found.bins)
    ]


@covers("murphy")
def of_murphy(inputs: Inputs, case: str) -> Any:
    counts = row(inputs["p"], inputs["y"])
    found = murphy(counts, GRID, inputs["bins"])
    assert found is not None and found.brier == brier(counts, GRID)
    return floats(found.unc, found.rel, found.res, found.wbv, found.wbc, found.brier)


@covers("corp")
def of_corp(inputs: Inputs, case: str) -> Any:
    found = corp(row(inputs["p"], inputs["y"]), GRID)
    assert found is not None and found.score == found.mcb - found.dsc + found.unc
    return floats(found.mcb, found.dsc, found.unc, found.score)


@covers("alpha")
def of_alpha(inputs: Inputs, case: str) -> Any:
    p, b = ([GRID.units(text(q)) for q in inputs[key]] for key in ("p", "b"))
    gains = brier_gains(p, b, inputs["y"], GRID)
    return [float(GRID.brier(int(gains.sum())) / gains.size)]


@covers("alpha_var")
def of_alpha_variance(inputs: Inputs, case: str) -> Any:
    return floats(gain_variance(*(Fraction(text(inputs[key])) for key in ("p", "b", "q"))))


@covers("alpha_mean")
def of_alpha_mean(inputs: Inputs, case: str) -> Any:
    return floats(expected_gain(*(Fraction(text(inputs[key])) for key in ("p", "b", "q"))))


def foresight_rows() -> list[int]:
    """One-sided at 5 %, the variance of one row's gain at a distance d from the market."""
    inputs = BY_ID["power_foresight_n"]["inputs"]
    q, d = (Fraction(text(inputs[key])) for key in ("q", "d"))
    variance = float(gain_variance(q, q + d, q))
    level, power = 1 - inputs["kappa"], inputs["power"]
    return [
        math.ceil(rows_needed(gain, variance, level, power, sides=1))
        for gain in inputs["alpha_star"]
    ]


@covers("power")
def of_power(inputs: Inputs, case: str) -> Any:
    if case == "power_foresight_n":
        return foresight_rows()
    if case == "power_foresight_rounds":
        return [math.ceil(n / inputs["k"]) for n in foresight_rows()]
    if case == "power_sealed_mde126":
        effect = design_effect(inputs["k"], inputs["rho"])
        return [detectable_by(inputs["sd"] ** 2 * effect, inputs["k"] * inputs["S"])]
    if case == "power_sealed_n_005":
        pilot = BY_ID["power_sealed_mde126"]["inputs"]
        session = pilot["sd"] ** 2 * design_effect(pilot["k"], pilot["rho"]) / pilot["k"]
        return [rows_needed(inputs["delta"], session)]
    p0, p1 = inputs["p0"], inputs["p1"]
    rows = rows_needed(p1 - p0, p0 * (1 - p0), variance_there=p1 * (1 - p1))
    return [math.ceil(rows * design_effect(inputs["k"], inputs["rho"]) / inputs["k"])]


@covers("sharpness")
def of_sharpness(inputs: Inputs, case: str) -> Any:
    p = [percent / 100 for percent in inputs["p_percent"]]
    found = sharpness(row(p, [0] * len(p)), GRID)
    assert found is not None and found.k == 100 * found.mean
    return floats(found.k)


@covers("cox")
def of_cox(inputs: Inputs, case: str) -> Any:
    units = [GRID.units(text(p)) for p in inputs["p"]]
    found = cox_clustered(units, inputs["y"], inputs["session"], GRID)
    sessions, n = len(set(inputs["session"])), len(units)
    assert found.factor == Fraction(sessions, sessions - 1) * Fraction(n - 1, n - 2)
    return [found.intercept, found.slope, found.se_intercept, found.se_slope]


@covers("tost")
def of_tost(inputs: Inputs, case: str) -> Any:
    units = [round(Decimal(d).scaleb(6)) for d in inputs["d"]]
    found = paired([0] * len(units), units, range(len(units)), per_one=10**6)
    assert found.gain is not None and found.se is not None and found.df is not None
    told = verdict(found, margin=inputs["margin"])
    assert told.tost_p == tost(found.gain, found.se, found.df, inputs["margin"])
    return [told.tost_p]


@covers("multiplicity")
def of_multiplicity(inputs: Inputs, case: str) -> Any:
    return (holm if case == "holm" else benjamini_hochberg)(inputs["p"])


@covers("n_eff")
def of_n_eff(inputs: Inputs, case: str) -> Any:
    models, rho = inputs["n"], Fraction(str(inputs["rho"]))
    return [effective_number(models, [rho] * (models * (models - 1) // 2)).value]


@covers("kelly")
def of_kelly(inputs: Inputs, case: str) -> Any:
    price = Fraction(str(inputs["price"]))
    return [kelly_edge(Fraction(str(inputs["p"])), price, price).share]


@covers("kelly_pnl")
def of_kelly_pnl(inputs: Inputs, case: str) -> Any:
    """A bankroll that grows, from the stakes of one that does not."""
    wealth, path = Fraction(1), []
    for p, price, y in zip(inputs["p"], inputs["price"], inputs["y"], strict=True):
        at = Fraction(str(price))
        stake = kelly_edge(Fraction(str(p)), at, at)
        wealth *= 1 + Fraction(str(inputs["fraction"])) * stake.profit(bool(y))
        path.append(wealth)
    return path


@pytest.mark.parametrize("case", [c["id"] for c in CASES if c["measure"] not in LATER])
def test_case(case: str) -> None:
    held = BY_ID[case]
    ours = COVERED[held["measure"]](held["inputs"], case)
    expected = np.atleast_1d(np.array(held["expected"], dtype=float))
    assert np.array(ours, dtype=float).shape == expected.shape
    np.testing.assert_allclose(np.array(ours, dtype=float), expected, rtol=0, atol=held["tol"])


def test_every_measure_is_covered_or_has_its_part() -> None:
    measures = {case["measure"] for case in CASES}
    assert set(COVERED) | set(LATER) == measures
    assert not set(COVERED) & set(LATER)
    assert len(CASES) == len(BY_ID) == 78
    assert set(LATER.values()) <= {"council", "depth", "inference", "live league"}
