"""The tables of a scorecard as pages print them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.site.listing import (
    CORP_TERMS,
    MURPHY_TERMS,
    Cell,
    Listing,
    figure,
    gap,
    span,
)
from beforehand.site.text import NOTHING, count, cut

MOST_PICTURES = 60
NAME_CHARS = 60
Held = dict[str, Any]


def ordered(content: Mapping[str, Any]) -> list[tuple[str, Held]]:
    """The forecasters with their scores, the most skill first; who has none comes last."""
    key = reference_of(content)[0]

    def order(item: tuple[str, Held]) -> tuple[bool, float, str]:
        mean = item[1][key]["mean"]
        return mean is None, -(mean or 0.0), item[0]

    return sorted(content["forecasters"].items(), key=order)


def reference_of(content: Mapping[str, Any]) -> tuple[str, str]:
    """What skill is measured against: its key in the content, and in words."""
    held = content["forecasters"].values()
    if any("skill" in card for card in held):
        return "skill", "the crowd"
    return "skill_half", "always saying one half"


def _named(cards: list[tuple[str, Held]]) -> list[tuple[str | Cell, Held]]:
    """Each with its name, which leads to its section where it has one."""
    return [
        (Cell(cut(name, NAME_CHARS), f"#f{k}") if k <= MOST_PICTURES else cut(name, NAME_CHARS), c)
        for k, (name, c) in enumerate(cards, 1)
    ]


def _why(found: Held) -> str:
    if found.get("identical"):
        return "the same throughout"
    return found["reason"] or ""


def skills_listing(cards: list[tuple[str, Held]], key: str, reference: str) -> Listing:
    heads = ("Forecaster", "Skill", "95 % interval", "Standard error", "n", "Clusters")
    rows = [
        (
            name,
            gap(card[key]["mean"]),
            span(card[key]["ci95"], signs=True),
            figure(card[key]["se"]),
            count(card[key]["n"]),
            count(card[key]["clusters"]),
            gap(card[key]["skill_score"], 3),
            _why(card[key]),
        )
        for name, card in _named(cards)
    ]
    caption = (
        f"Skill against {reference}: its Brier minus one’s own on the same rows, each cluster "
        "once; above 0 is better. Skill score: the share of its Brier that was saved, over rows."
    )
    return Listing(
        f"Skill against {reference}",
        caption,
        (*heads, "Skill score", "Note"),
        rows,
        frozenset({0, 7}),
        "sortable",
    )


def pairs_listing(content: Mapping[str, Any]) -> Listing:
    heads = (
        "A",
        "Verdict on A",
        "B",
        "Gain of A",
        "95 % interval",
        "p",
        "p, adjusted (Holm)",
        "Inside the margin",
        "Detectable",
        "More clusters needed",
        "n",
        "Clusters",
        "Note",
    )
    rows = [
        (
            cut(pair["a"], NAME_CHARS),
            pair["word"],
            cut(pair["b"], NAME_CHARS),
            gap(pair["gain"]),
            span(pair["ci95"], signs=True),
            _p(pair["p"]),
            _p(pair["p_holm"]),
            {True: "shown", False: "not shown", None: NOTHING}[pair["within_margin"]],
            figure(pair["detectable"]),
            _more(pair),
            count(pair["n"]),
            count(pair["clusters"]),
            pair["reason"] or "",
        )
        for pair in content["standing"]["pairs"]
    ]
    caption = (
        "Every pair on the rows that both answered. Gain of A: the Brier of B minus that of A."
    )
    return Listing("Every pair", caption, heads, rows, frozenset({0, 1, 2, 7, 12}), "sortable")


def _p(value: float | None) -> str:
    return "<0.0001" if value is not None and value < 0.0001 else figure(value)


def _more(pair: Held) -> str:
    """How many more clusters would decide an undecided pair."""
    more = pair["clusters_more"]
    return NOTHING if more is None or pair["word"] != "undecided" else count(more)


SCORE_HEADS = (
    "Forecaster",
    "n",
    "Clusters",
    "Missing",
    "Reliability",
    "Brier",
    "95 % interval",
    "Log loss",
    "Clamped",
    "Spherical",
    "ECE",
    "Cox slope",
    "its se",
    "Sharpness",
)


def _scores(card: Held) -> tuple[str, ...]:
    return (
        count(card["n"]),
        count(card["clusters"]),
        count(card["n_missing"]),
        NOTHING if card["reliability"] is None else f"{figure(100 * card['reliability'], 1)} %",
        figure(card["brier"]),
        span(card["brier_interval"]),
        figure(card["log_loss"]),
        count(card["log_loss_clamped"]),
        figure(card["spherical"]),
        figure(card["ece"]),
        figure(card["cox"]["slope"], 3),
        figure(card["cox"]["se_slope"], 3),
        figure(card["sharpness"]),
    )


def scores_listing(content: Mapping[str, Any], links: bool = True) -> Listing:
    """Every forecaster's scores, those with the most skill first."""
    cards = ordered(content)
    named = _named(cards) if links else [(cut(name, NAME_CHARS), card) for name, card in cards]
    caption = (
        "Each on the rows they answered, so that rows of this table stand on different questions. "
        "A dash: there is nothing to compute it from."
    )
    rows = [(name, *_scores(card)) for name, card in named]
    return Listing("Scores", caption, SCORE_HEADS, rows, kind="sortable")


def shared_set(content: Mapping[str, Any], key: str) -> Held:
    shared = content["shared"]
    held = ordered({"forecasters": shared["forecasters"]}) if shared["forecasters"] else []
    rows = [
        (
            cut(name, NAME_CHARS),
            *_scores(card),
            gap(card[key]["mean"]),
            span(card[key]["ci95"], signs=True),
        )
        for name, card in held
    ]
    heads = (*SCORE_HEADS, "Skill", "95 % interval of the skill")
    caption = f"The same n = {count(shared['n'])} resolved events for everybody."
    listing = Listing("Shared set", caption, heads, rows, kind="sortable")
    return {"n": count(shared["n"]), "sha256": shared["sha256"], "listing": listing}


def parts_listing(cards: list[tuple[str, Held]]) -> Listing:
    """All decompositions side by side."""
    groups = (("murphy", MURPHY_TERMS), ("corp", CORP_TERMS))
    heads = ["Forecaster", "n", "Brier"]
    for group, words in groups:
        heads += [f"{'CORP ' if group == 'corp' else ''}{key}: {words[key][1]}" for key in words]
    rows = []
    for name, card in _named(cards):
        held = [
            figure(card[group][key] if card[group] else None, 6)
            for group, words in groups
            for key in words
        ]
        cox = card["cox"]
        rows.append(
            (name, count(card["n"]), figure(card["brier"], 6), *held, gap(cox["intercept"], 3))
        )
    caption = "Brier = unc + rel − res + wbv − wbc, and Brier = mcb − dsc + unc (CORP)."
    return Listing(
        "Parts of the Brier score", caption, (*heads, "Cox intercept"), rows, kind="sortable"
    )


BIN_HEADS = ("Stated", "n", "Happened", "Mean stated", "Share that happened", "Wilson interval")


def bin_cells(item: Held) -> tuple[str, ...]:
    bar = item["wilson"]
    return (
        f"{figure(item['low'], 2)} to {figure(item['high'], 2)}",
        count(item["n"]),
        count(item["yes"]),
        figure(item["mean_stated"], 3),
        figure(item["share"], 3),
        NOTHING if bar is None else f"{figure(bar[0], 3)} to {figure(bar[1], 3)}",
    )


def more_bins(cards: list[tuple[str, Held]]) -> Listing:
    """The bins of those without a section."""
    rows = [
        (cut(name, NAME_CHARS), *bin_cells(item))
        for name, card in cards[MOST_PICTURES:]
        for item in card["bins"]
        if item["n"]
    ]
    caption = "Calibration bins of the forecasters without a picture; empty bins are left out."
    return Listing("Bins of the others", caption, ("Forecaster", *BIN_HEADS), rows, frozenset({0}))


def left_out_listing(content: Mapping[str, Any]) -> Listing:
    rows = [
        (cut(item["reason"], 300), how, count(item["count"]), cut(item["example"], 300))
        for how, items in (
            ("on request (skip bad)", content["skipped"]),
            ("by the format’s own rules", content["kept_out"]),
        )
        for item in items
    ]
    heads = ("Reason", "Left out", "Rows", "Example")
    return Listing("Left out", "Rows that are in no score.", heads, rows, frozenset({0, 1, 3}))
