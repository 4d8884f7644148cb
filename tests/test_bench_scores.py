"""`beforehand bench tally|corp|all`: right and complete; how fast is not for a test to say."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from beforehand.cli import bench_inputs, bench_peers, bench_scores
from beforehand.cli.bench import app
from beforehand.cli.bench_inputs import GRID, Engine, Inputs, ingest, make_rows
from beforehand.scoring import fast
from beforehand.scoring.rounding import tally_of_probabilities

runner = CliRunner()
ENGINES = [Engine(1, False), Engine(2, False)]
if fast.available():
    ENGINES += [Engine(1, True), Engine(2, True), Engine(3, True)]
SMALL = ("--n", "4000", "--forecasters", "4", "--repeats", "1", "--no-fast")
FIGURES = (
    "product_s",
    "peers_s",
    "best_peer_s",
    "ratio_best_peer",
    "extra_mb",
    "goals",
    "met",
    "ingest_s",
    "product",
    "largest_difference",
)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return ingest(make_rows(20_000, 5))


def said(*arguments: str) -> dict[str, Any]:
    run = runner.invoke(app, [*arguments, "--json"])
    assert run.exit_code == 0, run.output
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def check_tally(found: dict[str, Any]) -> None:
    assert set(FIGURES) <= set(found)
    assert {"floor_s", "ratio_floor", "floor_median_s", "peers_median_s"} <= set(found)
    assert (found["n"], found["forecasters"], found["right"]) == (4000, 4, True)
    assert found["product"] == {"threads": 1, "numba": False}
    assert all(found["same_bits"].values()) and len(found["same_bits"]) == 5
    assert max(found["largest_difference"].values()) <= 1e-9
    assert found["goals"] == {"ratio_best_peer": 20, "ratio_floor": 3, "extra_mb": 200}
    assert found["raw"]["goals"]["ratio_best_peer"] == 3
    assert found["extra_mb"] >= 0 and found["raw"]["extra_mb"] >= 0
    for name in ("numpy", "polars"):
        assert set(found["peers_s"][name]) == {*bench_peers.MEASURES, "together"}
    assert found["best_peer_s"] == pytest.approx(
        sum(found["peers_s"][name][measure] for measure, name in found["best_peer"].items())
    )
    assert found["ratio_best_peer"] == found["best_peer_s"] / found["product_s"]
    assert found["ratio_floor"] == found["product_s"] / found["floor_s"]


def check_corp(found: dict[str, Any]) -> None:
    assert set(FIGURES) <= set(found)
    assert found["right"] and max(found["largest_difference"].values()) <= 1e-9
    assert found["goals"]["ratio_best_peer"] == 10
    assert set(found["peers_s"]) == {"model-diagnostics", "scikit-learn"}


def test_all_is_both_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = {"rows": 4000, "bytes": 1, "seconds": 0.5}
    monkeypatch.setattr(bench_scores, "timed_score", lambda rows: {**timed, "rows": rows})
    found = said("all", *SMALL)
    check_tally(found["tally"])
    check_corp(found["corp"])
    assert found["score"]["rows"] == 4000
    assert (found["score"]["goals"], found["score"]["met"]) == ({"seconds": 5}, {"seconds": True})


def test_the_command_is_timed_on_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bench_scores.bench_score(400)
    assert (found["rows"], found["right"]) == (400, True)
    assert found["seconds"] > 0 and found["bytes"] > 400 * 20

    def failing(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 2, "", "no such thing")

    monkeypatch.setattr(bench_inputs.subprocess, "run", failing)
    with pytest.raises(bench_inputs.FormatError, match="no such thing"):
        bench_scores.bench_score(400)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_and_order_gives_the_same_bits(inputs: Inputs, engine: Engine) -> None:
    plain = Engine(1, False)
    for task, way in bench_inputs.WAYS.items():
        assert bench_scores.same(way(inputs, plain), way(inputs, engine)), task
    order = np.random.default_rng(1).permutation(inputs.columns["p"].size)
    p, y, f = (inputs.columns[name][order] for name in "pyf")
    tally = tally_of_probabilities(
        p, y, f, inputs.names, GRID, threads=engine.threads, use_fast=engine.use_fast
    )[0]
    wanted = bench_inputs.WAYS["tally"](inputs, plain)
    assert bench_scores.same(wanted, bench_inputs.four_measures(tally))


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int64, np.dtype(">i4")])
def test_the_type_of_a_column_changes_nothing(inputs: Inputs, kind: Any) -> None:
    units, y, f = (inputs.columns["p"] * GRID.steps).round(), *(inputs.columns[k] for k in "yf")
    index = np.int16 if kind is np.bool_ else kind
    for engine in ENGINES:
        made = bench_inputs.Tally.of(
            units.astype(np.uint32),
            y.astype(kind),
            f.astype(index),
            inputs.names,
            GRID,
            threads=engine.threads,
            use_fast=engine.use_fast,
        )
        assert made == bench_inputs.packed_tally(inputs, Engine(1, False))


def test_a_wrong_product_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    right = bench_inputs.WAYS["corp"]
    off: Callable[..., Any] = lambda *given: {"corp": right(*given)["corp"] + 1e-6}  # noqa: E731
    monkeypatch.setitem(bench_inputs.WAYS, "corp", off)
    run = runner.invoke(app, ["corp", *SMALL])
    assert run.exit_code == 1
    assert "this is a fault" in run.output


def test_a_peer_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = bench_peers.module
    gone = ("duckdb", "model_diagnostics.scoring")
    monkeypatch.setattr(bench_peers, "module", lambda name: None if name in gone else real(name))
    found = said("tally", *SMALL)
    assert found["peers_s"]["duckdb"] == "not installed"
    assert "duckdb" not in found["best_peer"].values()
    found = said("corp", *SMALL)
    assert found["peers_s"]["model-diagnostics"] == "not installed"
    assert found["best_peer"] == "scikit-learn"
    monkeypatch.setattr(bench_peers, "module", lambda name: None)
    found = said("corp", *SMALL)
    assert found["ratio_best_peer"] is None and found["met"]["ratio_best_peer"] is None


def test_the_table_has_figures_and_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bench_scores, "timed_score", lambda rows: {"rows": rows, "bytes": 1, "seconds": 0.5}
    )
    run = runner.invoke(app, ["all", *SMALL], env={"COLUMNS": "120"})
    assert run.exit_code == 0, run.output
    words = ("best peer", "20 or more", "10 or more", "3 or less", "200 MB", "by convention")
    for word in (*words, "Numba off", "0.50 s", "under 5 s"):
        assert word in run.output


@pytest.mark.parametrize(
    "arguments",
    [("--n", "0"), ("--n", "7"), ("--n", "many"), ("--repeats", "0"), ("--threads", "0")],
)
@pytest.mark.parametrize("task", ["tally", "corp", "all"])
def test_bad_input_is_exit_code_2(task: str, arguments: tuple[str, str]) -> None:
    assert runner.invoke(app, [task, *arguments]).exit_code == 2


def test_numba_asked_for_and_not_there_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "available", lambda: False)
    run = runner.invoke(app, ["tally", "--n", "4000", "--fast"])
    assert run.exit_code == 2
    assert "[fast]" in run.output
