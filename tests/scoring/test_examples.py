"""Every example in a docstring of `scoring` is run, and every public function has one."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

import beforehand.scoring

ROOM = Path(beforehand.scoring.__file__).parent
ROOM_FILE = {"__init__"}
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem not in ROOM_FILE)

# Shorter than an example would be, or shown by the example of its neighbour.
OBVIOUS = {
    "calibration_error",
    "checked",
    "widened",
    "rows_of",
    "unit_column",
    "outcome_column",
    "index_column",
    "same_length",
    "within",
    "first_improbable",
    "improbable",
    "add_rows",
    "checked_names",
    "cluster_column",
    "available",
}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"beforehand.scoring.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example_and_a_short_body(name: str) -> None:
    for node in ast.walk(ast.parse((ROOM / f"{name}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name
    for node in ast.parse((ROOM / f"{name}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_" and node.name not in OBVIOUS:
            assert ">>>" in (ast.get_docstring(node) or ""), node.name
