"""The methodology page, the parts of the score on a profile, and the filters."""

from __future__ import annotations

import importlib
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from beforehand.leagues import methodology
from beforehand.publish.checkers import build_recount
from beforehand.records.record import BodyRef
from beforehand.site.formulas import FORMULAS, Formula
from beforehand.site.skillformulas import SKILL_FORMULAS
from tests.site.conftest import Site, written_site
from tests.site.html_check import check_links
from tests.site.leagues import LEAGUE, make_view
from tests.site.test_browser import browser

__all__ = ["browser"]  # the fixture


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Enough questions for the parts of the score, and the sealed text of version 1."""
    view = make_view(clusters=44)
    data = methodology("1") + b"\n<script>alert(5)</script>"
    sha256 = "f" * 64
    view.read_body.__self__[sha256] = data  # the dict whose `get` it is
    for name, segment in view.fold.segments.items():
        ref = BodyRef("methodology", sha256, "2026-01-01T00:00:00Z")
        changed = {**vars(segment), "bodies": (ref,), "methodology": "1"}
        view.fold.segments[name] = type(segment)(**changed)
    return written_site(view, tmp_path_factory.mktemp("large"))


def test_all_pages_are_whole(large: Site) -> None:
    assert {path: page.faults for path, page in large.pages.items() if page.faults} == {}
    assert check_links(large.pages, large.data) == []


EVERY = list(dict.fromkeys([*FORMULAS, *SKILL_FORMULAS]))


@pytest.mark.parametrize("held", EVERY, ids=lambda held: held.what)
def test_every_function_is_where_the_page_says(held: Formula) -> None:
    value: Any = importlib.import_module(held.module)
    for name in held.function.split("."):
        value = getattr(value, name)
    assert callable(value)
    assert value.__doc__
    assert Path(f"src/{held.path}").is_file() or Path(value.__code__.co_filename).is_file()
    defined = re.search(
        rf"^\s*def {held.function.split('.')[-1]}\(", build_recount().decode(), re.M
    )
    assert bool(defined) == held.recounted


def test_the_page_has_every_formula_and_the_sealed_text_escaped(large: Site) -> None:
    page = large.pages[f"{LEAGUE}/methodology.html"]
    for held in FORMULAS:
        for words in (held.what, held.formula, held.function, held.path, held.reference):
            assert words in page.text
    for line in methodology("1").decode().splitlines():
        assert line in page.text
    raw = (large.public / LEAGUE / "methodology.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(5)" in raw
    assert "<script" not in raw


def test_a_league_that_asks_has_the_formulas_of_version_2_and_its_sealed_text(blind: Site) -> None:
    page = blind.pages[f"{blind.view.league}/methodology.html"]
    for held in SKILL_FORMULAS:
        for words in (held.what, held.formula, held.function, held.path, held.reference):
            assert words in page.text
    assert "Formulas of version 2" in page.text
    assert "for it the sealed text below holds" not in page.text
    for line in methodology("2").decode().splitlines():
        assert line in page.text


def test_every_page_and_the_board_lead_to_it(large: Site) -> None:
    for path, page in large.pages.items():
        hrefs = [held["href"] for _, held in page.refs]
        assert any(href.endswith("methodology.html") for href in hrefs), path
    board = large.pages[f"{LEAGUE}/index.html"]
    assert "Every formula" in board.text


def test_a_segment_without_a_text_or_of_another_version_is_said(hostile: Site, site: Site) -> None:
    for held in (hostile, site):
        text = held.pages[f"{LEAGUE}/methodology.html"].text
        assert "names no methodology text" in text
        assert "for it the sealed text below holds, and not this table" in text


def test_a_profile_takes_the_score_apart_in_both_vocabularies(large: Site) -> None:
    page = large.pages[f"{LEAGUE}/f/ada.html"]
    rows = [row for row in large.view.rows if row.forecaster == "ada" and row.status == "counted"]
    assert len(rows) >= 30
    own = sum((Fraction(row.units or 0, 10_000) - row.happened) ** 2 for row in rows) / len(rows)
    text = " ".join(page.text.split())
    assert f"Brier {float(own):.6f} = unc" in text
    assert f"Brier {float(own):.6f} = mcb" in text
    assert f"n = {len(rows)}" in text
    assert all(float(gap) < 1e-12 for gap in re.findall(r"sides differ by (\S+)\.", text))
    for words in ("reliability, rel", "Miscalibration", "resolution, res", "Discrimination"):
        assert words in text


def test_a_small_profile_is_not_taken_apart(site: Site) -> None:
    text = site.pages[f"{LEAGUE}/f/ada.html"].text
    assert "Under 30 counted forecasts the score is not taken apart" in text
    assert "unc 0." not in text


def test_the_board_has_brier_by_type_and_source_with_n(large: Site) -> None:
    text = large.pages[f"{LEAGUE}/index.html"].text
    for entry in large.view.board["forecasters"]:
        if entry["rank"] is None:
            continue
        for held in entry["by_type"]["types"].values():
            assert f"{float(held['brier']):.4f} (n = {held['n']})" in text
    assert "Brier by source of the question" in text


@pytest.mark.browser
def test_a_profile_is_filtered_by_type_and_source(browser: Any, large: Site) -> None:
    page = browser.new_context().new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((large.public / LEAGUE / "f" / "ada.html").as_uri())
    rows = [row for row in large.view.rows if row.forecaster == "ada"]
    kinds = sorted({row.type for row in rows})
    sources = sorted({row.source for row in rows})
    visible = page.locator("#forecasts ~ .scroll tbody tr:visible")
    for label, names, of in (("Type", kinds, "type"), ("Source", sources, "source")):
        choice = page.locator(".filter label", has_text=label).locator("select")
        if len(names) < 2:
            assert choice.count() == 0
            continue
        choice.select_option(label=names[0])
        assert visible.count() == sum(getattr(row, of) == names[0] for row in rows)
        choice.select_option(label="all")
        assert visible.count() == len(rows)
    assert said == []
