"""Each rule of the blind league has tests that bear its id: `test_U1_...` is of rule U1."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
# The rules of the blind league by their ids: market, blindness, crowd, asking, parsing,
# ensemble, time, cohorts, scores, profit, reliability, money, records, views.
RULES = (
    *("M1", "M2", "M3", "B1", "B2", "B3", "C1", "C2", "A1", "A2", "A3", "P1", "P2", "E1", "E2"),
    *("T1", "T2", "T3", "T4", "T5", "H1", "H2", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"),
    *("K1", "L1", "U1", "U2", "D1", "D2", "V1"),
)
FOLDERS = ("sources", "forecasters", "stages", "publish", "relay", "cli", "site", "scoring")
_ID = re.compile(r"[A-Za-z]\d{1,2}")


def ids_of(path: Path) -> set[str]:
    """The rules that the names of a file's tests bear."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            words = node.name.removeprefix("test_").split("_")
            found |= {word.upper() for word in takewhile(_ID.fullmatch, words)}
    return found


def test_every_rule_of_the_blind_league_has_a_test_with_its_id() -> None:
    held: set[str] = set()
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).rglob("test_*.py")):
            held |= ids_of(path)
    assert set(RULES) - held == set()
