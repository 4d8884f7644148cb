"""The tables under a skill board: shared and own sets, leaks, sensitivity, paper money, cohorts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.estimates import counted, interval, mean_text, pool_text
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, number, percent, signed

Entry = Mapping[str, Any]
# More columns than these are cut: the last ones are shown.
MOST_COHORTS = 12
STATES = {
    "running": "the week is not over",
    "settling": "the week is over and some forecast still waits for an outcome",
    "complete": "every forecast is scored, void, failed or stale",
}


def named(entry: Entry, anchor: str = "") -> Cell:
    """A forecaster's name as a link, with what its pool is of."""
    return Cell(
        cut(entry["label"], 60), f"f/{entry['forecaster']}.html{anchor}", pool_text(entry["pool"])
    )


def stacked(estimate: Mapping[str, Any]) -> Cell:
    """A mean over its interval."""
    shown = interval(estimate)
    return Cell(mean_text(estimate), more="" if shown == NOTHING else shown)


def shared_listing(
    ranked: Sequence[Entry], board: Mapping[str, Any], catalogue: Catalogue
) -> Listing:
    """The Brier of everyone ranked, on the set that all share."""
    losses = board["shared"]["brier"] or {}
    held = sorted((e for e in ranked if e["forecaster"] in losses),
                  key=lambda e: (float(losses[e["forecaster"]]), e["forecaster"]))  # fmt: skip
    rows = [
        (named(e, "#scores"), number(losses[e["forecaster"]]), count(board["shared"]["n"]))
        for e in held
    ]
    return Listing(
        "Brier on the shared set",
        "Mean Brier on the shared set, each question once; lower is better.",
        ("Forecaster", "Brier", "n"),
        rows,
    )


def own_set_listing(entries: Sequence[Entry]) -> Listing:
    """Everybody against the crowd on what each answered."""
    rows = [
        (
            named(e, "#scores"),
            mean_text(e["gain_on_crowd"]),
            interval(e["gain_on_crowd"]),
            number(e["brier"]["mean"]),
            counted(e["gain_on_crowd"]),
            count(e["gain_on_crowd"]["questions"]),
            percent(e["coverage"]),
        )
        for e in entries
    ]
    return Listing(
        "Own set against the crowd",
        "Each forecaster paired with the crowd on its own answers. Rows are of different "
        "questions and are not to be compared with each other.",
        ("Forecaster", "Skill, own set", "95 % interval", "Brier, own set", "n", "Questions",
         "Coverage"),
        rows,
        kind="sortable",
    )  # fmt: skip


def leak_listing(entries: Sequence[Entry]) -> Listing:
    """Skill for all answers, for unflagged ones, and without what could be looked up."""
    rows = [
        (
            named(e),
            f"{count(e['views']['flagged'])} of {count(e['views']['examined'])}",
            stacked(e["gain_on_crowd"]),
            stacked(e["views"]["unflagged"]),
            stacked(e["views"]["flagged_only"]),
            f"{count(e['views']['moved'])}; {count(e['views']['lookup'])}",
            stacked(e["views"]["without_lookup"]),
        )
        for e in entries
        if e["views"] is not None and e["views"]["examined"]
    ]
    return Listing(
        "Leaks and lookups",
        "Skill against the crowd on each one’s own answers (own set), with 95 % intervals. Moved: "
        "the price moved by more than 0.10 during the run; lookup: it had left the declared band.",
        ("Forecaster", "Flagged of examined", "Skill, all", "Skill, unflagged",
         "Skill, flagged only", "Moved; lookup", "Skill, without lookups"),
        rows,
    )  # fmt: skip


def sensitivity_listing(entries: Sequence[Entry]) -> Listing:
    """What if failures had counted: a second view that ranks nobody."""
    rows = [
        (
            named(e),
            count(e["sensitivity"]["imputed"]),
            stacked(e["gain_on_crowd"]),
            stacked(e["sensitivity"]["failures_as_crowd"]),
            stacked(e["sensitivity"]["failures_as_half"]),
        )
        for e in entries
        if e["sensitivity"] is not None
    ]
    return Listing(
        "Sensitivity to failed answers",
        "Sensitivity only, nobody is ranked by it: the failed answers on resolved questions filled "
        "in, once as the crowd (which gains 0), once as 0.5. Own sets, 95 % intervals.",
        ("Forecaster", "Failures filled in", "Skill as it is", "Failures as the crowd",
         "Failures as 0.5"),
        rows,
    )  # fmt: skip


def paper_listing(entries: Sequence[Entry], catalogue: Catalogue) -> Listing | None:
    """Paper money: secondary. None where the league keeps no account."""
    held = [e for e in entries if e["paper"] is not None]
    if not held:
        return None
    return Listing(
        "Paper account",
        "Secondary: paper money in bankrolls of 1, capped Kelly stakes at the run’s ask and bid. "
        "Largest row: its part of all that was won and lost.",
        ("Forecaster", "Profit and loss", "A row", "Staked", "Won", "Largest row", "Its share",
         "Without it"),
        [_paper_row(e, catalogue) for e in held],
    )  # fmt: skip


def _paper_row(entry: Entry, catalogue: Catalogue) -> tuple[str | Cell, ...]:
    paper = entry["paper"]
    card = catalogue.cards.get(paper["largest_question"] or "")
    largest: str | Cell = signed(paper["largest"], 2)
    if card is not None:
        largest = Cell(signed(paper["largest"], 2), f"q/{card.slug}.html")
    return (
        named(entry),
        signed(paper["total"], 2),
        signed(paper["mean"]),
        f"{count(paper['staked'])} of {count(paper['n'])}",
        percent(paper["rows_won_share"]),
        largest,
        percent(paper["largest_share"]),
        signed(paper["total_without_largest"], 2),
    )


def cohort_listings(cohorts: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> list[Listing]:
    """The cohorts' accounts, and every forecaster's skill in each; none without cohorts."""
    if not cohorts:
        return []
    return [_cohort_accounts(cohorts), _cohort_skills(cohorts, catalogue)]


def _cohort_accounts(cohorts: Sequence[Mapping[str, Any]]) -> Listing:
    rows = [
        (
            Cell(held["cohort"], f"runs.html#{held['cohort']}"),
            held["state"],
            count(held["runs"]),
            count(held["missed"]),
            count(held["stopped_budget"]),
            count(held["questions"]),
            count(held["forecasts"]),
            count(held["scored"]),
            count(held["void"]),
            count(held["failed"]),
            count(held["stale"]),
            count(held["open"] + held["waiting"]),
            count(held["shared"]["n"]),
            held["committed"],
        )
        for held in cohorts
    ]
    states = "; ".join(f"{word}: {meaning}" for word, meaning in STATES.items())
    return Listing(
        "Cohorts",
        f"ISO weeks by slot time. Stopped: by the budget. {states}.",
        ("Cohort", "State", "Slots", "Missed", "Stopped", "Questions", "Forecasts", "Scored",
         "Void", "Failed", "Stale", "Open", "Shared set", "Committed"),
        rows,
        left=frozenset({0, 1}),
        whole=frozenset({0, 1}),
    )  # fmt: skip


def _cohort_skills(cohorts: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> Listing:
    """One row a forecaster, one column a cohort: skill on that cohort's own shared set."""
    skills = {
        (held["cohort"], found["forecaster"]): found
        for held in cohorts
        for found in held["forecasters"]
    }
    entries = catalogue.view.board["forecasters"]
    shown = cohorts[-MOST_COHORTS:]
    rows: list[Sequence[str | Cell]] = [
        (
            named(entry, "#cohorts"),
            *(
                _skill_in(skills.get((held["cohort"], entry["forecaster"])))
                for held in shown
            ),
        )
        for entry in entries
    ]  # fmt: skip
    more = f" The last {len(shown)} of {len(cohorts)}." if len(cohorts) > len(shown) else ""
    heads = ("Forecaster", *(held["cohort"] for held in shown))
    return Listing(
        "Skill by cohort",
        f"Skill on each cohort’s own shared set, with 95 % intervals; a dash: not on all of it."
        f"{more}",
        heads,
        rows,
    )


def _skill_in(found: Mapping[str, Any] | None) -> str | Cell:
    return NOTHING if found is None else stacked(found["gain_shared"])
