"""The board of a blind league on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from beforehand.cli import boardtable
from beforehand.site.view import SiteView
from tests.publish.blind_league import asked_book, drawn_table
from tests.site.blind import NAMES, attacked_book, full_book, view_of


def printed(view: SiteView, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    path = tmp_path / "screen"
    with path.open("w", encoding="utf-8") as file:
        monkeypatch.setattr(boardtable, "out", Console(file=file, width=100, highlight=False))
        boardtable.print_skill_board(view.board)
    return path.read_text(encoding="utf-8").splitlines()


def test_it_fits_100_columns_and_says_what_it_must(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = printed(view_of(full_book()), monkeypatch, tmp_path)
    text = "\n".join(lines)
    table = [line for line in lines if line and not line.startswith("   ")]
    assert max(map(len, table)) <= 100
    assert "…" not in text
    for words in ("ant", "the crowd", "always 0.5", "base rate, in hindsight", "reliable", "leaks"):
        assert words in text
    assert "dog: no rank, valid answers to" in text
    assert "mean error correlation" in text
    assert "known only in hindsight" in text
    # Derived ones stand in a section of their own, below who was asked.
    assert text.index(" the crowd  ") > text.index(" dog  ")


def test_it_says_awaiting_and_prints_no_number_of_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    view = view_of(asked_book(drawn_table(12, 1, NAMES)))
    text = "\n".join(printed(view, monkeypatch, tmp_path))
    assert "awaiting" in text
    assert "0.0000" not in text
    assert "100.0 %" in text
    assert "N_eff undefined" in text


def test_hostile_labels_are_no_markup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    view = view_of(attacked_book())
    view.board["forecasters"][0]["label"] = "[red]who[/red]"
    text = "\n".join(printed(view, monkeypatch, tmp_path))
    assert "[red]who[/red]" in text
