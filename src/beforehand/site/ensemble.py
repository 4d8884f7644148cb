"""The ensemble and its parts: what averaging brought, how alike the errors are, and hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.estimates import (
    UNDEFINED,
    counted,
    interval,
    mean_text,
    pool_text,
    with_interval,
)
from beforehand.site.listing import Cell, Listing
from beforehand.site.pictures import curve_picture, heat_picture
from beforehand.site.text import NOTHING, count, cut, number

OVER = {
    "over_mean_model": "the mean of its models",
    "over_best_model": "the best single model, known only in hindsight",
    "over_crowd": "the crowd",
}


def ensemble_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `ensemble.html.j2` shows."""
    analysis = catalogue.view.board["analysis"]
    crowd = _crowd_brier(catalogue)
    labels = [catalogue.label(name) for name in analysis["models"]]
    return {
        "n": count(analysis["n"]),
        "questions": count(analysis["questions"]),
        "pools": _pools(catalogue),
        "facts": _facts(analysis),
        "curve": curve_picture(analysis["curve"], crowd),
        "curve_table": _curve_table(analysis),
        "curve_why": analysis["curve_why"],
        "crowd": number(crowd),
        "heat": heat_picture(analysis["models"], labels, analysis["correlations"]),
        "pairs": _pairs(analysis, catalogue),
        "versus": [_versus(name, held, catalogue) for name, held in analysis["ensembles"].items()],
        "parts_table": _parts(analysis, catalogue),
        "best": _best(analysis, catalogue),
        "left_out": [(cut(catalogue.label(n), 60), why) for n, why in analysis["left_out"].items()],
    }


def _crowd_brier(catalogue: Catalogue) -> str | None:
    """The crowd's Brier on the shared set."""
    found = next((n for n in catalogue.entries if catalogue.rule(n) == "crowd"), None)
    value: str | None = catalogue.entries[found]["brier_shared"] if found else None
    return value


def _pools(catalogue: Catalogue) -> list[dict[str, str]]:
    return [
        {
            "label": cut(entry["label"], 80),
            "href": f"f/{entry['forecaster']}.html",
            "words": pool_text(entry["pool"]),
            "members": number(entry["pool"]["mean_members"], 2),
        }
        for entry in catalogue.view.board["forecasters"]
        if entry["pool"] is not None
    ]


def _facts(analysis: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    r, effective = analysis["mean_correlation"], analysis["n_eff"]
    pairs = f"over {count(analysis['pairs'] - analysis['pairs_undefined'])} pairs"
    return [
        (count(len(analysis["models"])), "models, n", ""),
        (UNDEFINED if r is None else number(r, 3), "mean error correlation", pairs),
        (
            UNDEFINED if effective is None else number(effective, 2),
            "N_eff, independent voices",
            analysis["n_eff_why"],
        ),
        (
            count(analysis["n"]),
            "forecasts all models share",
            f"of {count(analysis['questions'])} questions, {count(analysis['clusters'])} events",
        ),
    ]


def _curve_table(analysis: Mapping[str, Any]) -> Listing:
    rows = [
        (
            str(point["size"]),
            count(point["subsets"]),
            number(point["brier"], 6),
            number(point["best"], 6),
            number(point["worst"], 6),
        )
        for point in analysis["curve"]
    ]
    return Listing(
        "Size curve",
        f"Mean Brier of plain averages over every subset of k models, n = "
        f"{count(analysis['n'])}. The best and the worst subset are known only in hindsight.",
        ("Models, k", "Subsets", "Mean Brier", "Best subset (hindsight)", "Worst subset"),
        rows,
    )


def _pairs(analysis: Mapping[str, Any], catalogue: Catalogue) -> Listing:
    rows = [
        (
            cut(catalogue.label(pair["a"]), 40),
            cut(catalogue.label(pair["b"]), 40),
            UNDEFINED if pair["r"] is None else number(pair["r"], 4),
            count(pair["n"]),
            count(pair["questions"]),
            pair["why"] or NOTHING,
        )
        for pair in analysis["correlations"]
    ]
    return Listing(
        "Error correlations",
        "Pearson’s r of p − y between two models, on what both answered; each question once.",
        ("Model", "Model", "r", "n", "Questions", "Why none"),
        rows,
        left=frozenset({0, 1, 5}),
        kind="sortable",
    )


def _versus(name: str, held: Mapping[str, Any], catalogue: Catalogue) -> Listing:
    pool = pool_text(catalogue.entries[name]["pool"]) if name in catalogue.entries else ""
    rows = [
        (
            words,
            mean_text(held[key]),
            interval(held[key]),
            counted(held[key]),
            count(held[key]["questions"]),
        )
        for key, words in OVER.items()
    ]
    label = cut(catalogue.label(name), 60)
    return Listing(
        f"Gain of {label}",
        f"What {label} gains in Brier over its parts and the crowd; above 0 it is better. {pool}.",
        ("Over", "Gain", "95 % interval", "n", "Questions"),
        rows,
    )


def _parts(analysis: Mapping[str, Any], catalogue: Catalogue) -> Listing:
    """Ensembles, models and crowd on the shared set, the best first."""
    wanted = (*analysis["ensembles"], *analysis["models"])
    crowd = [n for n in catalogue.entries if catalogue.rule(n) == "crowd"]
    held = [catalogue.entries[n] for n in (*wanted, *crowd) if n in catalogue.entries]
    held.sort(key=lambda e: (float(e["brier_shared"] or 9), e["forecaster"]))
    rows = [
        (
            Cell(cut(e["label"], 60), f"f/{e['forecaster']}.html", pool_text(e["pool"])),
            number(e["brier_shared"], 6),
            with_interval(e["gain"]),
            counted(e["gain"]),
        )
        for e in held
    ]
    return Listing(
        "Ensemble and parts",
        "Brier and skill on the shared set, lowest Brier first.",
        ("Forecaster", "Brier, shared set", "Skill against the crowd", "n"),
        rows,
    )


def _best(analysis: Mapping[str, Any], catalogue: Catalogue) -> dict[str, str] | None:
    best = analysis["best"]
    if best is None:
        return None
    return {
        "href": f"f/{best['forecaster']}.html",
        "label": cut(catalogue.label(best["forecaster"]), 60),
        "brier": number(best["brier"], 6),
        "words": best["label"],
    }
