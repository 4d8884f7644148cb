"""Diagnostics: the likeness matrix against numpy, and a reason for what is not there."""

from __future__ import annotations

import numpy as np
import pytest

from beforehand.publish.diagnostics import LEAST_COMMON, diagnostics, likeness_of
from beforehand.publish.leaderboard import build_board
from beforehand.publish.rows import build_rows
from tests.publish.made_fold import made_fold

NAMES = ("a", "b", "c")


def said(seed: int, n: int = 30) -> dict[int, str | None]:
    chance = np.random.default_rng(seed)
    return {k: f"{chance.integers(1, 9999) / 10000:.4f}" for k in range(1, n + 1)}


def test_the_likeness_is_pearsons_and_its_two_numbers_are_numpys() -> None:
    answers = [(name, said(place)) for place, name in enumerate(NAMES)]
    fold = made_fold(answers, dict.fromkeys(range(1, 31), "yes"), questions=30)
    rows = build_rows(fold)
    board = build_board(fold, rows)
    for place, entry in enumerate(board["forecasters"]):
        if entry["kind"] != "derived":
            entry["rank"] = place + 1
    told = diagnostics(fold, rows, board)
    order = told["forecasters"]
    values = np.array([[float(p or 0) for p in dict(answers)[name].values()] for name in order])
    wanted = np.corrcoef(values)
    assert np.allclose(np.array(told["matrix"], float), wanted, atol=1e-6)
    roots = np.linalg.eigvalsh(wanted)
    assert float(told["largest_share"]) == pytest.approx(roots[-1] / 3, abs=1e-4)
    ratio = roots.sum() ** 2 / (roots**2).sum()
    assert float(told["participation_ratio"]) == pytest.approx(ratio, abs=1e-4)
    for seat in told["seats"]:
        place = order.index(seat["forecaster"])
        others = [wanted[place][k] for k in range(3) if k != place]
        assert float(seat["mean_r"]) == pytest.approx(np.mean(others), abs=1e-5)
        sides = [
            (values[place][q] > 0.5)
            == (sum(values[k][q] > 0.5 for k in range(3) if k != place) > 1)
            for q in range(30)
            if sum(values[k][q] > 0.5 for k in range(3) if k != place) != 1
        ]
        assert seat["sided"] == len(sides)
        assert float(seat["majority_share"]) == pytest.approx(np.mean(sides), abs=1e-5)


def test_what_cannot_be_said_says_why() -> None:
    fold = made_fold([("a", {1: "0.5"})], {1: "yes"})
    rows = build_rows(fold)
    told = diagnostics(fold, rows, build_board(fold, rows))
    assert told["matrix"] == told["seats"] == []
    assert "largest_share" not in told and told["not_applicable"]["largest_share"]
    picture = {("r", str(k)): 0.5 for k in range(LEAST_COMMON)}
    assert likeness_of(picture, picture) is None, "what never varies is like nothing"
    assert likeness_of({}, picture) is None


def test_b34_a_forecaster_that_says_the_same_to_everything_is_named() -> None:
    same = {k: "0.1" if k > 4 else f"0.{k}5" for k in range(1, 31)}
    few = dict.fromkeys(range(1, LEAST_COMMON), "0.2")
    fold = made_fold(
        [("a", said(1)), ("b", same), ("c", few)], dict.fromkeys(range(1, 31), "yes"), questions=30
    )
    rows = build_rows(fold)
    told = {e["forecaster"]: e for e in diagnostics(fold, rows, build_board(fold, rows))["answers"]}
    assert told["b"] == {
        "forecaster": "b",
        "n": 30,
        "distinct": 5,
        "commonest": "0.100000",
        "share": "0.866667",
        "constant": True,
    }
    assert not told["a"]["constant"] and told["a"]["n"] == 30
    assert told["c"]["share"] == "1.000000" and not told["c"]["constant"], "too few to say"
