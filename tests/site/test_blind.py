"""What the pages of a league that asks models must say, and what they must not give away."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from beforehand.publish.rows import IN
from beforehand.site.proofdays import LINES_A_PAGE
from tests.publish.blind_league import (
    asked_book,
    blind_declaration,
    book_of,
    drawn_table,
    later,
    slot_number,
)
from tests.site.blind import NAMES, missed, one_slot, view_of
from tests.site.conftest import Site, written_site
from tests.site.html_check import Page, check_links

SIGNED = re.compile(r"[+\u2212]0\.\d{4}")
POOL = re.compile(r"n = \d+, mean error correlation (?:0\.\d{3}|undefined), N_eff (?:\d|undefined)")


def page_of(site: Site, name: str) -> Page:
    return site.pages[f"{site.view.league}/{name}.html"]


def words_of(site: Site, name: str) -> str:
    return " ".join(page_of(site, name).text.split())


def whole(site: Site) -> bool:
    faults = {path: page.faults for path, page in site.pages.items() if page.faults}
    assert faults == {}
    assert check_links(site.pages, site.data) == []
    return True


@pytest.mark.parametrize("which", ["blind", "attacked"])
def test_every_page_is_whole_and_every_link_leads_somewhere(
    which: str, request: pytest.FixtureRequest
) -> None:
    assert whole(request.getfixturevalue(which))


def test_the_folder_holds_exactly_the_promised_pages(blind: Site) -> None:
    league, fold = blind.view.league, blind.view.fold
    pages = ("index", "book", "methodology", "runs", "questions", "costs", "ensemble")
    promised = {"index.html", *(f"{league}/{name}.html" for name in pages)}
    promised |= {f"{league}/run/{run}.html" for run in fold.runs}
    promised |= {f"{league}/f/{name}.html" for name in (*NAMES, "guest", *fold.declaration.derived)}
    promised |= {f"{league}/q/{name[5:21]}.html" for name in fold.questions}
    days = Counter(json.loads(raw)["at"][:10] for raw in blind.view.lines)
    assert max(days.values()) > LINES_A_PAGE  # one goes on over a second page
    names = [
        f"{day}-{n}" for day, held in days.items() for n in range(2, -(-held // LINES_A_PAGE) + 1)
    ]
    promised |= {f"{league}/proof/{name}.html" for name in ("index", *days, *names)}
    assert set(blind.pages) == promised


def test_every_page_says_that_time_is_simulated(blind: Site) -> None:
    for path, page in blind.pages.items():
        assert "Simulated time: a replay; its stamps prove nothing about when" in page.text, path


def test_the_board_prints_rank_skill_reliability_leaks_and_the_reason_for_no_rank(
    blind: Site,
) -> None:
    text, board = words_of(blind, "index"), blind.view.board
    ranked = [entry for entry in board["forecasters"] if entry["rank"] is not None]
    assert len(ranked) >= 4
    for entry in ranked:
        assert f"{abs(Decimal(entry['gain']['mean'])):.4f}" in text
    for entry in board["forecasters"]:
        held = entry["reliability"]
        if held:
            assert f"{held['valid']}/{held['attempted']}" in text
        if entry["why_unranked"] and entry["kind"] != "derived":
            assert f"no rank: {entry['why_unranked']}" in text
    assert board["shared"]["sha256"] in text
    assert "in hindsight" in text
    assert "Sensitivity only, nobody is ranked by it" in text
    assert text.index("Secondary: a paper account") > text.index("Pairwise, on own sets")
    dog = next(e for e in board["forecasters"] if e["forecaster"] == "dog")
    assert dog["rank"] is None
    assert "a rank needs 80 %" in dog["why_unranked"]


def test_an_ensemble_never_stands_without_its_size_correlation_and_number(blind: Site) -> None:
    name = blind.view.fold.declaration.labels["ensemble"]
    for path, page in blind.pages.items():
        if name in page.text and "/book" not in path:
            assert POOL.search(page.text), path


def test_an_ensemble_of_too_few_is_undefined_on_every_page(tmp_path: Path) -> None:
    alone = written_site(view_of(asked_book(drawn_table(12, 1, ("ant",)))), tmp_path)
    assert whole(alone)
    for name in ("index", "ensemble", "f/ensemble"):
        assert "N_eff undefined" in words_of(alone, name), name
    assert "too few members" in words_of(alone, "f/ensemble")


def test_the_ensemble_page_has_every_pair_every_size_and_hindsight(blind: Site) -> None:
    text, analysis = words_of(blind, "ensemble"), blind.view.board["analysis"]
    for point in analysis["curve"]:
        assert f"{Decimal(point['brier']):.6f}" in text
    for pair in analysis["correlations"]:
        assert f"{Decimal(pair['r']):.4f}" in text
        assert f"{Decimal(pair['r']):.2f}" in text
    assert text.count("hindsight") >= 3
    assert "dog" in text.partition("Not in the analysis:")[2][:200]


def test_the_board_tells_the_incidents_of_the_last_seven_days(blind: Site) -> None:
    words = words_of(blind, "index")
    told = words.partition("Incidents of the last seven days of asking:")[2]
    assert "missed (the machine was off)" in told
    assert "stopped budget" in told and "no valid answer from" in told


def test_missed_stopped_and_failed_slots_are_listed_with_their_reasons(blind: Site) -> None:
    text = words_of(blind, "runs")
    for words in ("missed", "the machine was off", "stopped: budget", "failed",
                  "the next call would pass the cap", "no model answered"):  # fmt: skip
        assert words in text
    tiles = words_of(blind, "index")
    assert "missed" in tiles
    stopped = words_of(blind, f"run/{slot_number(3)[:13]}")
    assert "stopped: budget" in stopped
    assert "“the next call would pass the cap”" in stopped
    assert "1 of 2 asked" in stopped
    assert "Incident: no valid answer in the whole run from" in words_of(
        blind, f"run/{slot_number(4)[:13]}"
    )


def test_a_run_shows_prices_flags_calls_and_the_text_that_was_sent(blind: Site) -> None:
    name = slot_number(3)[:13]
    page, text = page_of(blind, f"run/{name}"), words_of(blind, f"run/{name}")
    assert "0.40 / 0.44" in text
    assert "0.60 / 0.64" in text
    assert "+0.2" in text
    assert "moved" in text
    assert "leaks: odds venue" in text
    assert "0.01 reserved" in text
    assert "reask" in text
    assert "lab/ant-1-0105 (asked for lab/ant-1)" in text
    asks = [line for line, ask in blind.view.fold.asks.items() if ask.run == name]
    for line in asks:
        sha256 = blind.view.fold.asks[line].bodies[0].sha256
        assert any(held["href"].endswith(f"asks/{sha256}.md") for _, held in page.refs)
        assert f"n{line}" in page.ids


def test_every_forecast_has_a_place_and_a_way_to_its_call(blind: Site) -> None:
    for row in blind.view.rows:
        page = page_of(blind, f"q/{row.question[5:21]}")
        hrefs = [held["href"] for _, held in page.refs]
        if row.kind == "derived":
            assert {f"d-{row.forecaster}", f"d-{row.forecaster}~{row.run}"} & page.ids
            continue
        assert f"n{row.line}-{row.cell}" in page.ids or row.cell is None
        assert f"../run/{row.run}.html#n{row.line}" in hrefs
        assert f"n{row.line}" in page_of(blind, f"run/{row.run}").ids


def test_a_question_shows_its_runs_reasons_and_the_history_of_its_outcome(blind: Site) -> None:
    fold = blind.view.fold
    corrected = next(n for n, held in fold.settled.items() if held.line != held.first_line)
    text = words_of(blind, f"q/{corrected[5:21]}")
    assert "Every line on this outcome: nothing is rewritten" in text
    assert "This outcome is a correction" in text
    assert "a reason" in text.partition("What was written")[2]
    twice = next(iter(fold.questions))
    asked = [run for run in fold.runs if twice in fold.questions_of(run)]
    hrefs = [held["href"] for _, held in page_of(blind, f"q/{twice[5:21]}").refs]
    assert len(asked) == 2
    assert all(f"../run/{run}.html" in hrefs for run in asked)


def test_a_profile_says_who_it_is_what_failed_and_what_it_cost(blind: Site) -> None:
    text = words_of(blind, "f/dog")
    for words in ("dog company", "lab/dog-1", "Open weights", "timeout", "Reliability over time"):
        assert words in text or words in page_of(blind, "f/dog").names
    held = next(c for c in blind.view.board["costs"]["forecasters"] if c["forecaster"] == "dog")
    assert held["spent"] in text
    assert "2026-W02" in text


def test_the_sums_on_the_costs_page_agree(blind: Site) -> None:
    text, costs = words_of(blind, "costs"), blind.view.board["costs"]
    sums = text.partition("Do the sums agree?")[2].partition("Every attempt with")[0]
    assert sums.count(costs["committed"]) == 5
    assert sums.count(costs["standing"]) >= 5
    assert Decimal(costs["standing"]) > 0


def test_a_sealed_answer_shows_when_it_opens_and_never_a_value(tmp_path: Path) -> None:
    view = view_of(one_slot(), as_of=later(slot_number(0), minutes=10))
    assert [row.status for row in view.rows if row.kind == "asked"].count("sealed") == 3
    sealed = written_site(view, tmp_path)
    assert whole(sealed)
    for path in sealed.public.rglob("*.html"):
        assert "0.7321" not in path.read_text(encoding="utf-8"), path
    question = next(iter(view.fold.questions))
    for name in (f"q/{question[5:21]}", f"run/{slot_number(0)[:13]}", "f/ant"):
        assert "sealed until 11:00 (2026-01-05, UTC)" in words_of(sealed, name), name
    assert "waiting" in words_of(sealed, f"q/{question[5:21]}")


def test_before_anything_is_resolved_there_is_no_number(tmp_path: Path) -> None:
    held = written_site(view_of(asked_book(drawn_table(12, 1, NAMES))), tmp_path)
    assert whole(held)
    text = words_of(held, "index")
    assert "Awaiting: no question has been resolved yet" in text
    assert not SIGNED.search(text)
    assert not SIGNED.search(words_of(held, "f/ant"))
    assert "12/12" in text  # reliability is known


def test_a_league_that_only_missed_slots_has_pages(tmp_path: Path) -> None:
    held = written_site(view_of(missed(slot_number(0), "no credit")), tmp_path)
    assert whole(held)
    assert "no credit" in words_of(held, "runs")


def test_a_league_that_asks_and_ranks_by_something_else_has_pages_too(tmp_path: Path) -> None:
    own = blind_declaration(
        a='against = "crowd"=>against = "leave_one_out_median"',
        b='on = "shared_set"=>on = "own_questions"',
    )
    book = book_of(drawn_table(12, 1, NAMES), declaration=own)
    held = written_site(view_of(book), tmp_path)
    assert whole(held)
    assert "skill, shared set" not in words_of(held, "f/ant")
    assert f"{held.view.league}/ensemble.html" not in held.pages


def test_attempts_are_gathered_from_the_fold_where_none_are_given(
    blind: Site, tmp_path: Path
) -> None:
    bare = written_site(replace(blind.view, attempts=None), tmp_path)
    for path, page in bare.pages.items():
        assert page.text == blind.pages[path].text, path


def test_an_answer_from_outside_stands_beside_the_asked_ones(blind: Site) -> None:
    text = words_of(blind, f"run/{slot_number(3)[:13]}")
    assert "Answers from outside" in text
    assert "0.61" in text
    assert "5" * 64 in text
    assert "made at home" in words_of(blind, "f/guest")


def test_every_line_that_a_page_names_leads_to_its_place(blind: Site) -> None:
    league = blind.view.league
    for line, close in blind.view.fold.closes.values():
        name = f"run/{close.run}" if close.run in blind.view.fold.runs else "runs"
        assert f"n{line}" in page_of(blind, name).ids
    for run, (_, record) in blind.view.fold.runs.items():
        ids = blind.pages[f"{league}/run/{run}.html"].ids
        assert {f"n{record.snapshot_line}", f"n{record.roster_line}"} <= ids


def test_a_profile_of_very_many_forecasts_is_cut_and_says_so(
    blind: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beforehand.site.profile.MOST_SHOWN", 10)
    cut = written_site(blind.view, tmp_path)
    assert whole(cut)
    assert re.search(r"The last 10 of \d+ forecasts", words_of(cut, "f/ant"))


def test_hostile_texts_are_shown_and_do_nothing(attacked: Site) -> None:
    for path in attacked.public.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        body = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
        for never in ("<script", "<img", "<b>", "\u202e", "\x00", "\x1b"):
            assert never not in body, (path, never)
        assert 'evil.example/"' not in body
    runs = words_of(attacked, "runs")
    assert "<script>alert(1)</script>" in runs  # the reason for the missed slot, as text
    question = next(iter(attacked.view.fold.questions))
    page = words_of(attacked, f"q/{question[5:21]}")
    assert "<script>alert(1)</script>" in page.partition("What was written")[2]
    assert "not a plain https address, so not a link" in page
    assert "[U+202E]gnp" in page
    assert not [r for held in attacked.pages.values() for r in held.refs
                if r[1]["href"].startswith("http")]  # fmt: skip


def test_counts_of_valid_and_failed_on_a_run_page_are_those_of_the_rows(blind: Site) -> None:
    for run in blind.view.board["runs"]:
        if run["run"] not in blind.view.fold.runs:
            continue
        valid = sum(r.status in IN for r in blind.view.rows
                    if r.run == run["run"] and r.kind == "asked")  # fmt: skip
        assert run["valid"] == valid
        assert f"{valid} valid forecasts" in re.sub(
            r"valid forecasts ?(\d+)", r"\1 valid forecasts", words_of(blind, f"run/{run['run']}")
        )
