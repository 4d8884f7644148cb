"""Every fault of tests/known_faults.toml has its test, or says which coming part it belongs to."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
LIST = TESTS / "known_faults.toml"
COUNTS = {"B": 34, "S": 39, "V": 51}
PENDING = "pending in this issue"
PARTS = (
    *("scores table", "live league", "outside proofs", "inference"),
    *("council", "depth", "arena", "site"),
)


@pytest.fixture(scope="module")
def faults() -> dict[str, dict[str, Any]]:
    # TOML refuses a table that stands twice, so each id is there once.
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def names_in(path: Path) -> set[str]:
    """The tests of a file: `name` and `Class::name`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{inner.name}"
                for inner in node.body
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


def test_every_id_is_there(
    faults: dict[str, dict[str, Any]], record_property: Callable[[str, object], None]
) -> None:
    wanted = {f"{group}{n}" for group, count in COUNTS.items() for n in range(1, count + 1)}
    assert set(faults) == wanted
    counts = Counter(
        f"{fault[0]} {'tested' if 'test' in entry else 'later'}" for fault, entry in faults.items()
    )
    waiting = sorted(fault for fault, entry in faults.items() if entry.get("later") == PENDING)
    print(dict(sorted(counts.items())), f"pending: {' '.join(waiting) or 'none'}")
    for name, count in sorted(counts.items()):
        record_property(name, count)


def test_every_fault_has_a_title_and_a_test_or_a_reason(faults: dict[str, dict[str, Any]]) -> None:
    for fault, entry in faults.items():
        assert set(entry) in ({"title", "test"}, {"title", "later"}), fault
        assert len(entry["title"]) > 15, fault
        if "later" in entry and entry["later"] != PENDING:
            part, found, reason = entry["later"].partition(": ")
            assert found and part in PARTS and len(reason) > 10, f"{fault}: {entry['later']}"
    titles = Counter(entry["title"] for entry in faults.values())
    assert titles.most_common(1)[0][1] == 1


def test_every_named_test_exists(faults: dict[str, dict[str, Any]]) -> None:
    for fault, entry in faults.items():
        if "test" not in entry:
            continue
        match = re.fullmatch(r"tests/((?:\w+/)*test_\w+\.py)::((?:\w+::)?test_\w+)", entry["test"])
        assert match, f"{fault}: {entry['test']} is not tests/FILE.py::NAME"
        path = TESTS / match.group(1)
        assert path.is_file(), f"{fault}: {path.name} does not exist"
        assert match.group(2) in names_in(path), f"{fault}: {entry['test']} does not exist"
