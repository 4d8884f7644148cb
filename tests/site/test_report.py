"""The report of a scored table: whole, honest, deaf to hostile names, and equal to the content."""

from __future__ import annotations

import html
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from beforehand.errors import FormatError
from beforehand.publish.scorecard import Scorecard, build_scorecard
from beforehand.site import listing
from beforehand.site.report import report_html, write_report
from beforehand.site.scoresheets import MOST_PICTURES, ordered
from beforehand.sources.table import read_table
from tests.site.html_check import Page
from tests.site.leagues import ATTACK, HOSTILE
from tests.site.test_browser import WIDTHS, browser

__all__ = ["browser"]  # the fixture

ESCAPE = "\x1b[31m"
LONG = "x" * 3000
NAMES = ("ada", "bob", *HOSTILE, ATTACK + ESCAPE, LONG)


def made_frame(names: tuple[str, ...] = NAMES, questions: int = 36, crowd: bool = True) -> Any:
    """Forecasters of differing noise on the same questions, a void one among them."""
    dice = random.Random(7)
    rows: dict[str, list[Any]] = {}
    for q in range(questions):
        truth = dice.random()
        said = "void" if q == 5 else str(int(dice.random() < truth))
        for k, name in enumerate(names):
            p = min(1.0, max(0.0, truth + dice.gauss(0, 0.03 * (k + 1))))
            row = {"forecaster": name, "question": f"q{q}", "probability": f"{p:.6f}",
                   "outcome": said, "cluster": f"c{q // 2}"}  # fmt: skip
            if crowd:
                row["crowd"] = f"{min(0.99, max(0.01, truth)):.3f}"
            for key, value in row.items():
                rows.setdefault(key, []).append(value)
    return pl.DataFrame(rows)


def card_of(frame: Any, **options: Any) -> Scorecard:
    return build_scorecard(read_table(frame, **options))


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return card_of(made_frame())


@pytest.fixture(scope="module")
def page(card: Scorecard) -> Page:
    return Page(report_html(card))


def words(page: Page) -> str:
    return " ".join(page.text.split())


def test_the_report_is_well_formed_and_links_only_within_itself(page: Page) -> None:
    assert page.faults == []
    for tag, held in page.refs:
        href = held["href"]
        if tag == "link":
            assert href.startswith("data:image/svg+xml;base64,")
        else:
            assert href[0] == "#"
            assert href[1:] in page.ids


def test_hostile_names_are_shown_and_never_act(card: Scorecard, page: Page) -> None:
    text = report_html(card)
    body = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)
    for markup in ("<script", "<img", "<b>", "</style></title>"):
        assert markup not in body.partition("</style>")[2]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f]", text)
    for shown in ("<script>alert(1)</script>", "[U+202E]gnp.exe", "{{ 7 * 7 }}"):
        assert shown in page.text
    assert LONG not in page.text


def test_the_sentence_comes_first(card: Scorecard, page: Page) -> None:
    sentence = card.content["standing"]["sentence"]
    assert words(page).index(" ".join(sentence.split())[:20]) < words(page).index("forecasters")


def test_every_number_is_the_contents(card: Scorecard, page: Page) -> None:
    text = words(page)
    for name, held in card.content["forecasters"].items():
        for value in (held["brier"], held["log_loss"], held["ece"], held["sharpness"]):
            assert f"{value:.4f}" in text, name
        low, high = held["brier_interval"]
        assert f"{low:.4f} to {high:.4f}" in text
        assert f"{held['skill']['mean']:+.4f}".replace("-", "−") in text
        for group in ("murphy", "corp"):
            for value in held[group].values():
                assert f"{value:.6f}".replace("-", "−") in text
        for item in held["bins"]:
            assert f"{item['wilson'][0]:.3f}" in text if item["n"] else True
        assert f"{held['cox']['slope']:.3f}".replace("-", "−") in text
    shared = card.content["shared"]
    assert shared["sha256"] in text
    assert f"The n = {shared['n']} resolved events" in text
    for pair in card.content["standing"]["pairs"]:
        assert f"{pair['gain']:+.4f}".replace("-", "−") in text
        assert pair["word"] in text
    rounding = card.content["rounding"]
    assert f"{rounding['moved']} of {rounding['stated']} stated probabilities moved" in text


def cells_of(text: str, name: str) -> list[list[str]]:
    """The cells of the table with this name, row by row, as words."""
    table = text.partition(f'aria-label="{name}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [
        [
            html.unescape(re.sub("<[^>]*>", "", cell))
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row)
        ]
        for row in rows
    ]


def test_each_row_has_its_own_numbers(card: Scorecard) -> None:
    text = report_html(card)
    scores, skills = cells_of(text, "Scores"), cells_of(text, "Skill against the crowd")
    parts = cells_of(text, "Parts of the Brier score")
    held = ordered(card.content)
    assert len(scores) == len(skills) == len(parts) == len(held) == len(NAMES)
    for (_, own), score, skill, part in zip(held, scores, skills, parts, strict=True):
        low, high = own["brier_interval"]
        assert score[1] == skill[4] == part[1] == str(own["n"])
        assert score[5:7] == [f"{own['brier']:.4f}", f"{low:.4f} to {high:.4f}"]
        assert score[7:9] == [f"{own['log_loss']:.4f}", str(own["log_loss_clamped"])]
        assert score[10] == f"{own['ece']:.4f}"
        assert score[12] == f"{own['cox']['se_slope']:.3f}"
        assert skill[1] == f"{own['skill']['mean']:+.4f}".replace("-", "−")
        told = [*own["murphy"].values(), *own["corp"].values()]
        assert part[3:11] == [f"{value:.6f}".replace("-", "−") for value in told]
    pairs = cells_of(text, "Every pair")
    for row, pair in zip(pairs, card.content["standing"]["pairs"], strict=True):
        assert [row[1], row[10], row[11]] == [pair["word"], str(pair["n"]), str(pair["clusters"])]
        assert row[3] == f"{pair['gain']:+.4f}".replace("-", "−")


def test_both_vocabularies_and_the_identity_are_printed(page: Page) -> None:
    text = words(page)
    for ours, theirs in (("Miscalibration", "reliability, rel"),
                         ("Discrimination", "resolution, res"),
                         ("Spread within bins", "within-bin variance, wbv"),
                         ("Covariance within bins", "within-bin covariance, wbc")):  # fmt: skip
        assert ours in text
        assert theirs in text
    sides = re.findall(r"the sides differ by (\S+)\.", text)
    assert len(sides) == 2 * len(NAMES)
    assert all(float(gap) < 1e-12 for gap in sides)
    assert "take rows as independent" in text


def test_without_a_crowd_skill_is_against_one_half() -> None:
    page = Page(report_html(card_of(made_frame(("ada", "bob"), crowd=False))))
    assert page.faults == []
    assert "Skill against always saying one half" in page.text
    assert "the crowd: its Brier" not in page.text


@pytest.mark.parametrize("outcome", ["", "void"])
def test_nothing_resolved_is_a_dash_with_n_0(outcome: str) -> None:
    rows = {"forecaster": ["a"], "question": ["q"], "probability": ["0.5"], "outcome": [outcome]}
    page = Page(report_html(card_of(pl.DataFrame(rows))))
    assert page.faults == []
    assert "Nothing to compare on: n = 0" in page.text
    assert "Nothing resolved: n = 0" in page.text
    assert "0.0000" not in page.text


def test_bad_rows_that_were_left_out_are_counted() -> None:
    frame = made_frame(("ada", "bob"))
    bad = frame.with_columns(
        probability=pl.when(pl.int_range(pl.len()) == 3)
        .then(pl.lit("<b>nan"))
        .otherwise("probability")
    )
    page = Page(report_html(card_of(bad, skip_bad=True)))
    assert page.faults == []
    assert "on request (skip bad)" in page.text
    assert "1 left out" in words(page)


def test_many_forecasters_have_sixty_pictures_and_all_in_tables() -> None:
    names = tuple(f"model-{k:03d}" for k in range(MOST_PICTURES + 5))
    held = card_of(made_frame(names, questions=12))
    text = report_html(held)
    page = Page(text)
    assert page.faults == []
    assert text.count('viewBox="-40 -8 332 384"') == MOST_PICTURES
    assert f"5{' '}more are in the table only" in words(page)
    for name, _ in ordered(held.content)[MOST_PICTURES:]:
        assert page.text.count(name) >= 4  # skill, scores, parts, bins
    assert "No pair is compared" in page.text


def test_it_is_written_whole_or_not_at_all(card: Scorecard, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    write_report(card, target)
    assert target.read_text(encoding="utf-8") == report_html(card)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FormatError, match="is a folder"):
        write_report(card, tmp_path)
    with pytest.raises(FormatError, match="cannot be written"):
        write_report(card, tmp_path / "nowhere" / "report.html")
    with pytest.raises(FormatError, match="cannot be written"):
        write_report(card, target / "report.html")


def test_examples_in_the_docstrings() -> None:
    import doctest

    assert doctest.testmod(listing).failed == 0


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_no_report_is_wider_than_its_window_and_nothing_is_asked(
    browser: Any, width: int, card: Scorecard, tmp_path: Path
) -> None:
    write_report(card, tmp_path / "report.html")
    window = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    said: list[str] = []
    asked: list[str] = []
    window.on("console", lambda message: said.append(message.text))
    window.on("pageerror", lambda error: said.append(str(error)))
    window.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
    window.on("request", lambda request: asked.append(request.url))
    window.goto((tmp_path / "report.html").as_uri())
    assert window.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
