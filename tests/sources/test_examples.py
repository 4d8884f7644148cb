"""Every example in a docstring of `sources` is run, and no function is long."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

import beforehand.sources

ROOM = Path(beforehand.sources.__file__).parent
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"beforehand.sources.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_files_and_functions_are_short(name: str) -> None:
    text = (ROOM / f"{name}.py").read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name
