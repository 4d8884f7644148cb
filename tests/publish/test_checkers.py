"""The one-file checkers: joins of the very modules, the standard library and nothing else."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from beforehand.errors import IntegrityError
from beforehand.publish.checkers import _Module, build_recount, build_verify


@pytest.mark.parametrize("build", [build_verify, build_recount])
def test_a_checker_imports_only_the_standard_library(build: object) -> None:
    tree = ast.parse(build())  # type: ignore[operator]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            assert name.split(".")[0] in {*sys.stdlib_module_names, "__future__"}, name
            assert name.split(".")[0] not in ("urllib", "http", "socket", "subprocess"), name


def test_the_join_is_the_modules_own_text() -> None:
    joined = build_verify().decode()
    for name in ("line", "chain", "tree", "ed25519", "checkpoint", "tiles", "bodies", "verify"):
        source = (Path(__file__).parents[2] / "src/beforehand/book" / f"{name}.py").read_text()
        for node in ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert ast.get_source_segment(source, node) in joined, (name, node.name)


def test_no_name_is_defined_twice() -> None:
    for build in (build_verify, build_recount):
        seen: set[str] = set()
        for node in ast.parse(build()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert node.name not in seen
                seen.add(node.name)


def test_what_cannot_be_joined_stops_the_build() -> None:
    with pytest.raises(IntegrityError, match="needs polars"):
        _Module("beforehand.publish.parquet")
    with pytest.raises(IntegrityError, match="no source"):
        _Module("sys")
