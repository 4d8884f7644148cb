"""The scorecard of a table: its keys, its numbers against other routes, its sentence."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from beforehand.publish.scorecard import build_scorecard
from beforehand.publish.standing import _sentence
from beforehand.sources.table import read_table


def written(path: Path, rows: list[tuple[object, ...]], header: str) -> Path:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header.split(","))
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def made(path: Path, questions: int = 150, seed: int = 7) -> Path:
    """Three forecasters of rising noise, a crowd, two dates for every third question."""
    rng = random.Random(seed)
    rows: list[tuple[object, ...]] = []
    for q in range(questions):
        truth = rng.random()
        happened = int(rng.random() < truth)
        crowd = min(max(truth + rng.gauss(0, 0.1), 0.01), 0.99)
        for name, noise in (("sharp", 0.02), ("vague", 0.15), ("wild", 0.5)):
            p = min(max(truth + rng.gauss(0, noise), 0), 1)
            rows.append((name, f"q{q}", f"{p:.5f}", happened, f"{crowd:.3f}"))
    return written(path, rows, "forecaster,question,probability,outcome,crowd")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = made(tmp_path_factory.mktemp("score") / "t.csv")
    return build_scorecard(read_table(path)).content


def test_the_keys_are_those_that_are_promised(content: Any) -> None:
    assert {"forecasters", "shared"} <= set(content)
    for card in (*content["forecasters"].values(), *content["shared"]["forecasters"].values()):
        assert {
            *("n", "n_missing", "reliability", "brier", "log_loss", "log_loss_clamped", "ece"),
            *("murphy", "corp", "cox", "sharpness", "skill"),
        } <= set(card)
        assert set(card["murphy"]) == {"unc", "rel", "res", "wbv", "wbc"}
        assert set(card["corp"]) == {"mcb", "dsc", "unc"}
        assert {"intercept", "slope", "se_slope"} <= set(card["cox"])
        assert {"mean", "se", "ci95", "n", "clusters"} <= set(card["skill"])
    assert {"n", "sha256"} <= set(content["shared"])
    json.dumps(content, allow_nan=False)


def test_numbers_equal_an_independent_library(content: Any, tmp_path: Path) -> None:
    rows = list(csv.DictReader(made(tmp_path / "t.csv").open(encoding="utf-8")))
    for name, card in content["forecasters"].items():
        own = [row for row in rows if row["forecaster"] == name]
        y = np.array([int(row["outcome"]) for row in own])
        p = np.round(np.array([float(row["probability"]) for row in own]), 4)
        assert card["n"] == len(own)
        assert card["brier"] == pytest.approx(brier_score_loss(y, p), abs=2e-6)
        clamped = np.clip(p, 1e-4, 1 - 1e-4)
        assert card["log_loss"] == pytest.approx(log_loss(y, clamped), abs=2e-5)
        terms = card["murphy"]
        closed = terms["unc"] + terms["rel"] - terms["res"] + terms["wbv"] - terms["wbc"]
        assert closed == pytest.approx(card["brier"], abs=1e-12)
        assert card["corp"]["mcb"] - card["corp"]["dsc"] + card["corp"]["unc"] == pytest.approx(
            card["brier"], abs=1e-12
        )
        low, high = card["brier_interval"]
        assert low < card["brier"] < high


def test_the_sharp_one_wins_and_the_sentence_says_so(content: Any) -> None:
    sentence = content["standing"]["sentence"]
    assert sentence.startswith("sharp is better than")
    assert "wild" in sentence
    words = {(p["a"], p["b"]): p["word"] for p in content["standing"]["pairs"]}
    assert words["sharp", "wild"] == "better"


def pair(a: str, b: str, word: str, gain: float) -> dict[str, Any]:
    return {"a": a, "b": b, "word": word, "gain": gain, "clusters_more": 40, "within_margin": False}


def test_the_sentence_keeps_sides_apart() -> None:
    """The leader beats two and loses to one: it is not said to beat all three."""
    pairs = [
        pair("A", "B", "worse", -0.02),
        pair("A", "C", "better", 0.03),
        pair("A", "D", "better", 0.03),
        pair("B", "C", "undecided", 0.0),
        pair("B", "D", "undecided", 0.0),
        pair("C", "D", "undecided", 0.0),
    ]
    assert _sentence("ABCD", [0, 1, 2, 3], pairs, 0.01) == (
        "A is better than C and D; worse than B."
    )


def test_repeated_forecasters_are_identical(tmp_path: Path) -> None:
    rows = [
        (name, f"q{k}", p, y)
        for k, (p, y) in enumerate([(0.2, 0), (0.9, 1), (0.5, 0)] * 20)
        for name in ("one", "two")
    ]
    path = written(tmp_path / "t.csv", rows, "forecaster,question,probability,outcome")
    content = build_scorecard(read_table(path)).content
    (only,) = content["standing"]["pairs"]
    assert only["word"] == "identical" and only["gain"] == 0
    assert "identical on every common question" in content["standing"]["sentence"]


def test_a_void_row_changes_no_score(tmp_path: Path) -> None:
    header = "forecaster,question,probability,outcome"
    rows: list[tuple[object, ...]] = [("a", f"q{k}", 0.3, k % 2) for k in range(40)]
    plain = build_scorecard(read_table(written(tmp_path / "a.csv", rows, header))).content
    more = [*rows, ("a", "qv", 0.99, "void"), ("a", "qo", 0.01, "")]
    other = build_scorecard(read_table(written(tmp_path / "b.csv", more, header))).content
    first, second = plain["forecasters"]["a"], other["forecasters"]["a"]
    for key in ("n", "brier", "log_loss", "ece", "murphy", "corp", "cox", "sharpness"):
        assert first[key] == second[key], key
    assert (second["n_void"], second["n_open"]) == (1, 1)


def test_a_flaky_forecaster_does_not_shrink_the_shared_set(tmp_path: Path) -> None:
    header = "forecaster,question,probability,outcome,status"
    rows: list[tuple[object, ...]] = []
    for k in range(50):
        rows.append(("steady", f"q{k}", 0.4, k % 2, "ok"))
        flaky = k % 2 == 0
        rows.append(("flaky", f"q{k}", "" if flaky else 0.6, k % 2, "timeout" if flaky else "ok"))
    content = build_scorecard(read_table(written(tmp_path / "t.csv", rows, header))).content
    assert content["forecasters"]["flaky"]["reliability"] == 0.5
    assert content["forecasters"]["flaky"]["missing"] == {"timeout": 25}
    assert content["shared"]["n"] == 50 and set(content["shared"]["forecasters"]) == {"steady"}


def test_repeated_askings_are_paired_at_their_own_time_and_weigh_once(tmp_path: Path) -> None:
    header = "forecaster,question,probability,outcome,crowd,time"
    rows: list[tuple[object, ...]] = []
    for k in range(12):
        askings = 14 if k == 0 else 1
        for day in range(askings):
            time = f"2026-01-{day + 1:02d}T10:00:00Z"
            rows.append(("m", f"q{k}", 0.9 if k == 0 else 0.5, 1, 0.5, time))
    content = build_scorecard(read_table(written(tmp_path / "t.csv", rows, header))).content
    skill = content["forecasters"]["m"]["skill"]
    assert (skill["n"], skill["clusters"]) == (25, 12)
    assert skill["mean"] == pytest.approx(0.24 / 12)


def test_nothing_scored_is_none(tmp_path: Path) -> None:
    header = "forecaster,question,probability,outcome"
    path = written(tmp_path / "t.csv", [("a", "q", 0.5, "")], header)
    content = build_scorecard(read_table(path)).content
    card = content["forecasters"]["a"]
    for key in ("brier", "log_loss", "ece", "murphy", "corp", "sharpness", "brier_interval"):
        assert card[key] is None, key
    assert content["shared"]["n"] == 0
