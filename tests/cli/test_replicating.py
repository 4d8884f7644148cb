"""A second pipeline on a frozen release: a program of its own, its figures signed and compared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from .conftest import Demo, beforehand

# Nothing of the package: rows of the frozen table, exact fractions, the mean of cluster means.
PIPELINE = """
import csv, sys
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

losses = defaultdict(lambda: defaultdict(list))
with open(sys.argv[1], newline="", encoding="utf-8") as stream:
    for row in csv.DictReader(stream):
        if row["status"] == "counted":
            loss = (Fraction(row["p_scored"]) - (row["outcome"] == "yes")) ** 2
            losses[row["forecaster"]][row["cluster"]].append(loss)
print("forecaster,n_counted,brier")
for name, clusters in losses.items():
    mean = sum(sum(held) / len(held) for held in clusters.values()) / len(clusters)
    n = sum(len(held) for held in clusters.values())
    print(f"{name},{n},{Decimal(mean.numerator) / Decimal(mean.denominator)}")
"""


@pytest.fixture(scope="module")
def released(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo league with a frozen release, and what a second pipeline found on it."""
    folder = tmp_path_factory.mktemp("replicated") / "d"
    shutil.copytree(demo.folder, folder, ignore=shutil.ignore_patterns("tampered"))
    assert beforehand("release", "build", folder, "--name", "v1").returncode == 0
    second = folder.parent
    (second / "pipeline.py").write_text(PIPELINE)
    with zipfile.ZipFile(folder / "releases/v1/v1.zip") as frozen:
        (table,) = [name for name in frozen.namelist() if name.endswith("/forecasts.csv")]
        (second / "forecasts.csv").write_bytes(frozen.read(table))
    run = subprocess.run(
        [sys.executable, "-I", second / "pipeline.py", second / "forecasts.csv"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    (second / "figures.csv").write_text(run.stdout)
    assert beforehand("entrant", "key", "second", "--out", second / "second.pem").returncode == 0
    return folder


def replicate(released: Path, to: Path, **changed: Any) -> subprocess.CompletedProcess[str]:
    second = released.parent
    given = {
        "release": released / "releases/v1",
        "figures": second / "figures.csv",
        "code": second / "pipeline.py",
        "key": second / "second.pem",
        "by": "second.example",
        **changed,
    }
    return beforehand(
        *("release", "replicate", given["release"], given["figures"], "--code", given["code"]),
        *("--by", given["by"], "--key", given["key"], "--out", to),
    )


def sixth(released: Path, record: Path, place: Path) -> dict[str, Any]:
    """What the ladder says of its sixth rung once the league has published the record."""
    league = place / "league"
    shutil.copytree(released, league)
    shutil.copytree(record, league / "replications" / "second")
    run = beforehand("publish", league)
    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads(beforehand("conform", league / "public", "--json").stdout)
    rung: dict[str, Any] = told["claims"]["rungs"][5]
    return rung


def test_the_figures_of_a_second_pipeline_are_those_of_the_board(
    released: Path, tmp_path: Path
) -> None:
    run = replicate(released, tmp_path / "second")
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in (tmp_path / "second").iterdir()) == [
        "pipeline.py",
        "replication.json",
    ]
    again = replicate(released, tmp_path / "second")
    assert again.returncode == 2 and "not empty" in again.stderr
    rung = sixth(released, tmp_path / "second", tmp_path)
    assert rung["why"] == "a rung below is not reached", rung


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ("forecaster,brier\na,0.1\n", "lacks the columns n_counted"),
        ("forecaster,n_counted,brier\n", "holds no figure"),
        ("forecaster,n_counted,brier\n,1,0.1\n", "row 2: no forecaster"),
        ("forecaster,n_counted,brier\na,-1,0.1\n", "row 2: n_counted is '-1'"),
        ("forecaster,n_counted,brier\na,1,nan\n", "row 2: brier is 'nan'"),
        ("forecaster,n_counted,brier\na,1,1.5\n", "row 2: brier is '1.5'"),
        ("forecaster,n_counted,brier\na,1,0.1\na,1,0.1\n", "'a' stands twice"),
    ],
)
def test_figures_that_are_none_are_refused(
    released: Path, tmp_path: Path, figures: str, said: str
) -> None:
    table = tmp_path / "t.csv"
    table.write_text(figures)
    run = replicate(released, tmp_path / "second", figures=table)
    assert run.returncode == 2 and said in " ".join(run.stderr.split())
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"release": Path("/nowhere")}, "/nowhere is not a folder"),
        ({"code": Path("/nowhere.py")}, "is not a file"),
        ({"by": " "}, "--by says who you are"),
    ],
)
def test_what_is_not_there_is_refused(
    released: Path, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    run = replicate(released, tmp_path / "second", **changed)
    assert run.returncode == 2 and said in " ".join(run.stderr.split())
