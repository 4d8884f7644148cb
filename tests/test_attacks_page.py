"""The page of attacks names tests that are there, and prints what reports print."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/attacks.md"
# Where a league is published and read as a reader does it.
END_TO_END = ("tests/cli", "tests/publish")
# Where the report's words are.
PRINTED = ("book", "cli", "publish")


def rows() -> list[list[str]]:
    """The cells of each row of the table."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_each_attack_of_the_page_has_an_end_to_end_test_of_its_name() -> None:
    named = {
        node.name
        for folder in END_TO_END
        for path in (ROOT / folder).glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    attacks = [attack for attack, *_ in rows()]
    assert len(set(attacks)) == len(attacks) == 27
    for attack in attacks:
        name = "test_attack_" + re.sub(r"\W+", "_", attack.lower()).strip("_")
        assert name in named, attack


def test_what_the_page_quotes_stands_in_the_report() -> None:
    """Every quoted phrase of the last column is a phrase of the product."""
    said = {
        node.value
        for folder in PRINTED
        for path in (ROOT / "src/beforehand" / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    phrases = [
        part.strip()
        for *_, last in rows()
        for quoted in re.findall(r'"([^"]+)"', last)
        for part in quoted.split("…")
    ]
    assert len(phrases) > 10
    for phrase in phrases:
        assert any(phrase in text for text in said), phrase
