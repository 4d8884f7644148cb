"""What a question's page shows where models were asked: run by run, and in their own words."""

from __future__ import annotations

from typing import Any

from beforehand.book.bodies import open_sealed
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json
from beforehand.site.cards import Card
from beforehand.site.catalogue import Catalogue, Shown
from beforehand.site.pictures import course_picture
from beforehand.site.slot import across, heads_of, pools_of
from beforehand.site.text import cut, instant

RATIONALE_CHARS = 700
TONES = {"crowd": "crowd", "mean": "median", "median": "median"}


def asked_question(card: Card, shown: list[Shown], catalogue: Catalogue) -> dict[str, Any]:
    """Every run the question was asked in, as a table, a picture and the models' reasons."""
    by_run: dict[str, dict[str, Shown]] = {}
    for held in shown:
        by_run.setdefault(held.row.run, {})[held.row.forecaster] = held
    names = across([held.row.forecaster for held in shown], catalogue)
    return {
        "heads": heads_of(names, catalogue),
        "rows": [_row(run, said, names, catalogue) for run, said in by_run.items()],
        "constants": _constants(by_run, names, catalogue),
        "losses": card.outcome in ("yes", "no"),
        "pools": pools_of(names, catalogue),
        "course": _course(by_run, names, catalogue),
        "reasons": [
            (run, _slot(run, catalogue), told)
            for run, said in by_run.items()
            if (told := _reasons(said, catalogue))
        ],
    }


def _slot(run: str, catalogue: Catalogue) -> str:
    return instant(catalogue.fold.runs[run][1].slot)


def _row(
    run: str, said: dict[str, Shown], names: list[str], catalogue: Catalogue
) -> dict[str, Any]:
    cells = [said.get(name) for name in names]
    flags = {word for held in cells if held for word in ("moved", "lookup")
             if getattr(held.row, word) is True}  # fmt: skip
    return {
        "run": run,
        "slot": _slot(run, catalogue),
        "cells": [(held, _place(held, catalogue), _loss(held)) for held in cells],
        "flags": ", ".join(sorted(flags)),
    }


def _loss(held: Shown | None) -> str:
    """The loss, or the word in its place, of a forecast that has a number."""
    return held.brier if held and held.row.units is not None else ""


def _place(held: Shown | None, catalogue: Catalogue) -> str:
    """Where a forecast leads: its call on the run's page, or its line."""
    if held is None:
        return ""
    return f"../{catalogue.href_of(held.row.line)}"


def _constants(
    by_run: dict[str, dict[str, Shown]], names: list[str], catalogue: Catalogue
) -> list[dict[str, Any]]:
    """Baselines, which say the same in every run: one line each, with all their places."""
    found: dict[str, list[Shown]] = {}
    for said in by_run.values():
        for name, held in said.items():
            if name not in names and held.row.kind == "derived":
                found.setdefault(name, []).append(held)
    return [
        {
            "name": name,
            "label": cut(catalogue.label(name), 60),
            "stated": held[0].stated,
            "brier": held[0].brier,
            "anchors": [item.anchor for item in held],
        }
        for name, held in found.items()
    ]


def _course(
    by_run: dict[str, dict[str, Shown]], names: list[str], catalogue: Catalogue
) -> dict[str, Any] | None:
    grid = catalogue.grid
    series = {
        name: [
            None
            if (held := said.get(name)) is None or held.row.units is None
            else f"{float(grid.probability(held.row.units)):.4f}"
            for said in by_run.values()
        ]
        for name in names
    }
    tones = {name: TONES.get(catalogue.rule(name) or "", "dot") for name in names}
    return course_picture([_slot(run, catalogue) for run in by_run], series, tones)


def _reasons(said: dict[str, Shown], catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """`(forecaster, label, what it wrote)` of the answers that are public."""
    told = []
    for name, held in sorted(said.items()):
        words = rationale_of(held, catalogue)
        if words:
            told.append((name, cut(catalogue.label(name), 40), words))
    return told


def rationale_of(held: Shown, catalogue: Catalogue) -> str:
    """The words that came with a forecast, cut; "" where there are none or they are sealed."""
    answer = catalogue.answers.get(held.row.line)
    ref = next((b for b in answer.bodies if b.role == "answer"), None) if answer else None
    data = catalogue.view.read_body(ref.sha256) if ref else None
    if data is None:
        return ""
    try:
        value = decode_json(open_sealed(data).content)
    except FormatError:
        return ""
    words = value.get("rationale") if isinstance(value, dict) else None
    return cut(words, RATIONALE_CHARS) if isinstance(words, str) else ""
