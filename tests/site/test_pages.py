"""What every page must be: whole, linked, honest about what it does not know."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.errors import IntegrityError
from beforehand.site.cards import slugs
from beforehand.site.pages import write_site
from tests.site.conftest import Site, written_site
from tests.site.html_check import Page, check_links
from tests.site.leagues import CHECKER, LEAGUE, ROOT, make_view

SIMULATED = "Simulated time: a replay; its stamps prove nothing about when"


def question_pages(site: Site) -> dict[str, Page]:
    return {path: page for path, page in site.pages.items() if f"{LEAGUE}/q/" in path}


def profile(site: Site, name: str) -> Page:
    return site.pages[f"{LEAGUE}/f/{name}.html"]


def days_of(site: Site) -> set[str]:
    return {json.loads(raw)["at"][:10] for raw in site.view.lines}


def test_the_folder_holds_exactly_the_promised_pages(site: Site) -> None:
    derived = ("crowd", "median", "mean", "always_half", "base_rate")
    people = ("ada", "bob", "cyd", "dan", "eve", "mallory")
    promised = {
        "index.html",
        f"{LEAGUE}/index.html",
        f"{LEAGUE}/book.html",
        f"{LEAGUE}/methodology.html",
        f"{LEAGUE}/run/r1.html",
    }
    promised |= {f"{LEAGUE}/f/{name}.html" for name in (*people, *derived)}
    promised |= {f"{LEAGUE}/q/{name[5:21]}.html" for name in site.view.fold.questions}
    promised |= {f"{LEAGUE}/proof/{name}.html" for name in ("index", *days_of(site))}
    assert set(site.pages) == promised


@pytest.mark.parametrize("which", ["site", "hostile"])
def test_every_page_is_well_formed_and_every_link_leads_somewhere(
    which: str, request: pytest.FixtureRequest
) -> None:
    held: Site = request.getfixturevalue(which)
    assert {path: page.faults for path, page in held.pages.items() if page.faults} == {}
    assert check_links(held.pages, held.data) == []


def test_every_page_says_that_time_is_simulated_and_whose_the_data_are(site: Site) -> None:
    for path, page in site.pages.items():
        assert SIMULATED in page.text, path
        assert "CC-BY-4.0 · A made-up league" in page.text, path
        assert ROOT in page.text, path
        assert "Check it yourself" in page.text, path


def test_a_live_league_has_no_banner(tmp_path: Path) -> None:
    live = written_site(make_view(time="live", clusters=3), tmp_path)
    assert not [path for path, page in live.pages.items() if "Simulated" in page.text]


def test_void_open_missing_and_late_are_words(site: Site) -> None:
    ada, bob = profile(site, "ada").text, profile(site, "bob").text
    assert re.search(r"void, the question was resolved to neither", ada)
    assert re.search(r"open, the book holds no outcome of the question", ada)
    assert re.search(r"late, the answer was sealed after", ada)
    assert "missing (timeout)" in bob
    assert "not on roster" in profile(site, "mallory").text
    late = list(site.view.fold.questions)[1]
    assert "one that does not count (n = 1)" in site.pages[f"{LEAGUE}/q/{late[5:21]}.html"].text


def test_a_statistic_of_nothing_is_a_dash_with_n_0(site: Site) -> None:
    for name in ("dan", "eve"):
        page = profile(site, name)
        assert "n = 0" in page.text
        assert not re.search(r"\b0\.0+\b", page.text)
    assert "withheld" in profile(site, "eve").text
    assert "no answer line" in site.pages[f"{LEAGUE}/run/r1.html"].text


def test_a_league_without_answers_has_pages(tmp_path: Path) -> None:
    empty = written_site(make_view(answers=False), tmp_path)
    assert not [page.faults for page in empty.pages.values() if page.faults]
    assert check_links(empty.pages, empty.data) == []
    assert "Nobody is ranked yet (n = 0)" in empty.pages[f"{LEAGUE}/index.html"].text


def test_every_counted_forecast_leads_to_question_line_and_body(site: Site) -> None:
    book = site.pages[f"{LEAGUE}/book.html"]
    for row in site.view.rows:
        page = site.pages[f"{LEAGUE}/q/{row.question[5:21]}.html"]
        anchor = f"n{row.line}-{row.cell}" if row.cell is not None else f"d-{row.forecaster}"
        assert anchor in page.ids
        assert f"n{row.line}" in book.ids
        hrefs = [held["href"] for _, held in page.refs]
        assert f"../book.html#n{row.line}" in hrefs
        linked = {held["href"].partition("#")[2] for _, held in profile(site, row.forecaster).refs}
        assert anchor in linked
    answer = site.view.fold.answers[0][1]
    path = f"../../api/v1/{LEAGUE}/bodies/{answer.bodies[0].sha256[:2]}/{answer.bodies[0].sha256}"
    assert path in [held["href"] for page in question_pages(site).values() for _, held in page.refs]


def test_the_board_prints_the_numbers_of_the_board(site: Site) -> None:
    text = site.pages[f"{LEAGUE}/index.html"].text
    for entry in site.view.board["forecasters"]:
        assert entry["label"] in text
        assert f"{float(entry['brier']['mean'] or 0):.4f}" in text or entry["n_counted"] == 0
    assert "unadjusted for many comparisons" in text
    assert "Under 30 no score on a shared set is printed" in text
    assert "0.1223" in text
    assert "0.122" in text
    assert CHECKER in site.pages["index.html"].text


def test_a_shared_set_that_is_large_enough_is_printed(site: Site, tmp_path: Path) -> None:
    shared = {**site.view.board["shared"], "n": 31, "brier": {"bob": "0.2", "ada": "0.1"}}
    board = {**site.view.board, "shared": shared}
    held = written_site(replace(site.view, board=board), tmp_path)
    page = held.pages[f"{LEAGUE}/index.html"]
    assert page.faults == []
    assert "Mean Brier on the 31 events that every ranked forecaster answered" in page.text
    assert page.text.index("0.1000") < page.text.index("0.2000")


def test_dates_in_a_title_are_the_contracts_and_the_text_keeps_its_placeholders(site: Site) -> None:
    first = next(iter(site.view.fold.questions))
    page = site.pages[f"{LEAGUE}/q/{first[5:21]}.html"]
    assert "Will it be drawn by 2026-02-01, due 2026-01-10?" in page.text
    assert "Will it be drawn by {resolution_date}, due {forecast_due_date}?" in page.text
    assert "Underlined dates are filled in from the event contract" in page.text
    assert "2026-03-01" in page.text  # a sibling


def test_an_outcome_shows_its_line_its_evidence_and_a_correction(site: Site) -> None:
    fold = site.view.fold
    settled = list(fold.settled.items())
    question, first = settled[0]
    page = site.pages[f"{LEAGUE}/q/{question[5:21]}.html"]
    assert f"Resolved yes, dated 2026-05-31, in line {first.line}" in page.text
    assert any("/bodies/" in held["href"] for _, held in page.refs)
    corrected = site.pages[f"{LEAGUE}/q/{settled[1][0][5:21]}.html"]
    assert f"Resolved yes, dated 2026-05-31, in line {fold.lines - 1}" in corrected.text
    assert "This outcome is a correction" in corrected.text


def test_without_raw_lines_the_pages_are_whole_too(tmp_path: Path) -> None:
    bare = written_site(make_view(with_lines=False), tmp_path)
    assert not [page.faults for page in bare.pages.values() if page.faults]
    assert check_links(bare.pages, bare.data) == []


def test_the_same_view_gives_the_same_bytes_and_progress_ends(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    paths = write_site(site.view, tmp_path, lambda *step: seen.append(step))
    for path in paths:
        assert path.read_bytes() == (site.public / path.relative_to(tmp_path)).read_bytes()
    assert seen[0][1] == 0
    assert seen[-1] == ("pages", len(paths), len(paths))


def test_a_question_asked_in_two_runs_has_both(site: Site, tmp_path: Path) -> None:
    view = site.view
    line, run = view.fold.runs["r1"]
    fold = replace(view.fold, runs={"r1": (line, run), "r2": (line, replace(run, run="r2"))})
    again = [replace(row, run="r2") for row in view.rows if row.kind == "derived"]
    both = written_site(replace(view, fold=fold, rows=[*view.rows, *again]), tmp_path)
    assert not [page.faults for page in both.pages.values() if page.faults]
    first = next(iter(fold.questions))
    page = both.pages[f"{LEAGUE}/q/{first[5:21]}.html"]
    assert {"d-median", "d-median~r2"} <= page.ids
    assert "Forecasts in run r2" in page.text


def test_two_questions_that_would_share_a_page_are_refused() -> None:
    one, two = "evc1:" + "a" * 64, "evc1:" + "a" * 63 + "b"
    assert slugs([one]) == {one: "a" * 16}
    with pytest.raises(IntegrityError, match="share the page name"):
        slugs([one, two])
