"""A forecaster's page: facts, scores, calibration, every forecast."""

from __future__ import annotations

from typing import Any

from beforehand.publish.gains import scored_units
from beforehand.publish.rows import STATUSES
from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp
from beforehand.scoring.measures import row_of
from beforehand.site.board import RULE_WORDS
from beforehand.site.catalogue import Catalogue, Shown
from beforehand.site.charts import calibration_marks, interval_text
from beforehand.site.contestant import contestant
from beforehand.site.listing import (
    CORP_TERMS,
    MURPHY_TERMS,
    Listing,
    corp_listing,
    identity,
    murphy_listing,
)
from beforehand.site.text import NOTHING, count, number, percent, short_hash, signed

SEAT_FACTS = ("model", "version", "mode", "provider", "family", "side")
# Fewer counted forecasts than these are not taken apart.
PARTS_LEAST = 30
# A page of more forecasts than these would be too heavy; the table of the data has them all.
MOST_SHOWN = 2000


def profile_page(name: str, catalogue: Catalogue) -> dict[str, Any]:
    """What `forecaster.html.j2` shows. Somebody who stated nothing has no entry on the board."""
    entry = catalogue.entries.get(name)
    shown = catalogue.by_forecaster[name]
    return {
        "held": contestant(name, entry, catalogue) if catalogue.asked and entry else None,
        "name": name,
        "label": catalogue.label(name),
        "rule": RULE_WORDS.get(catalogue.rule(name) or "", ""),
        "entry": entry,
        "rank": _rank(entry),
        "facts": _facts(entry),
        "gain_words": "against the crowd" if catalogue.against_crowd else "over the others’ median",
        "scores": _scores(entry),
        "types": _types(entry),
        "calibration": _calibration(entry),
        "parts_held": _parts(shown, catalogue.grid),
        "parts_least": PARTS_LEAST,
        "seats": [] if catalogue.asked else _seats(name, catalogue),
        "answers": [] if catalogue.asked else _answers(name, catalogue),
        "shown": shown[-MOST_SHOWN:],
        "more": count(len(shown)) if len(shown) > MOST_SHOWN else "",
        "words": status_words(shown),
    }


def status_words(shown: list[Shown]) -> list[tuple[str, str]]:
    """What the words in the Brier column mean, of those that stand there."""
    present = {held.row.status for held in shown}
    return [
        (name.replace("_", " "), meaning.partition(";")[0])
        for name, meaning in STATUSES.items()
        if name in present and name != "counted"
    ]


def _rank(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "unranked: no forecast yet"
    if entry["rank"] is None:
        return f"unranked: {entry['why_unranked']}"
    return f"rank {entry['rank']}"


def _facts(entry: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    if entry is None:
        return []
    waiting = [
        f"{count(entry[key])} {word}"
        for key, word in (
            ("n_open", "open"),
            ("n_void", "void"),
            ("n_missing", "missing"),
            ("n_out", "out by a rule"),
        )
        if entry[key]
    ]
    return [
        (count(entry["n_counted"]), "counted forecasts", "; ".join(waiting)),
        (count(entry["clusters"]), "questions", f"covers {percent(entry['coverage'])} of events"),
        (number(entry["brier"]["mean"]), "Brier, lower is better", interval_text(entry["brier"])),
        (
            signed(entry["gain"]["mean"]),
            "gain over the others’ median",
            interval_text(entry["gain"], signs=True),
        ),
    ]


def _scores(entry: dict[str, Any] | None) -> list[dict[str, str]]:
    """The estimates in full, six places as published."""
    if entry is None:
        return []
    rows = (
        ("brier", "Brier, each question once", False),
        ("gain", "Gain over the others’ median", True),
        ("gain_on_average", "Gain over the others’ average", True),
        ("gain_on_crowd", "Gain over the crowd, market events", True),
    )
    table = []
    for key, label, signs in rows:
        held = entry[key]
        form = signed if signs else number
        table.append(
            {
                "label": label,
                "mean": form(held["mean"], 6),
                "se": number(held["se"], 6),
                "low": form(held["low"], 6),
                "high": form(held["high"], 6),
                "n": count(held["n"]),
                "clusters": count(held["clusters"]),
                "note": "the same forecasts throughout" if signs and held["identical"] else "",
            }
        )
    events = {
        "label": "Brier, each event once",
        "mean": number(entry["brier_events"], 6),
        **dict.fromkeys(("se", "low", "high"), NOTHING),
        "n": count(entry["n_counted"]),
        "clusters": count(entry["clusters"]),
        "note": "",
    }
    return [table[0], events, *table[1:]]


def _types(entry: dict[str, Any] | None) -> dict[str, Any]:
    if entry is None:
        return {"rows": [], "mean": NOTHING}
    types = entry["by_type"]["types"].items()
    return {
        "rows": [(name, count(held["n"]), number(held["brier"], 6)) for name, held in types],
        "mean": number(entry["by_type"]["mean_of_types"], 6),
    }


def _calibration(entry: dict[str, Any] | None) -> dict[str, Any]:
    bins = entry["calibration"]["bins"] if entry else []
    return {
        "marks": calibration_marks(bins),
        "bins": [
            {
                "range": f"{number(item['low'], 1)} to {number(item['high'], 1)}",
                "n": count(item["n"]),
                "yes": count(item["yes"]),
                "stated": number(item["mean_stated"], 3),
                "share": number(item["share"], 3),
                "bar": NOTHING
                if item["wilson_low"] is None
                else f"{number(item['wilson_low'], 3)} to {number(item['wilson_high'], 3)}",
            }
            for item in bins
        ],
        "ece": number(entry["calibration"]["ece"] if entry else None),
        "n": count(entry["n_counted"] if entry else 0),
    }


def _parts(shown: list[Shown], grid: Grid) -> list[tuple[Listing, str]]:
    """The Brier score, each event once, taken apart in two ways; nothing below the least n."""
    rows = [s.row for s in shown if s.row.status == "counted" and s.row.units is not None]
    if len(rows) < PARTS_LEAST:
        return []
    counts = row_of([(scored_units(row), row.happened) for row in rows], grid)
    terms, curve = murphy(counts, grid), corp(counts, grid)
    if terms is None or curve is None:
        return []
    score, n = float(curve.score), len(rows)
    five = {key: float(getattr(terms, key)) for key in MURPHY_TERMS}
    three = {key: float(getattr(curve, key)) for key in CORP_TERMS}
    return [
        (murphy_listing(five, 10, n, "Murphy"), identity(MURPHY_TERMS, five, score)),
        (corp_listing(three, n, "CORP"), identity(CORP_TERMS, three, score)),
    ]


def _seats(name: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Where the forecaster sat: run by run, what the roster says of the seat."""
    seats = []
    for run, (_, record) in catalogue.fold.runs.items():
        roster = catalogue.fold.rosters[record.roster_line]
        for seat in roster.seats:
            if seat.forecaster == name:
                told = [(key, getattr(seat, key)) for key in SEAT_FACTS if getattr(seat, key)]
                seats.append(
                    {"run": run, "line": record.roster_line, "entry": seat.entry, "told": told}
                )
    return seats


def _answers(name: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The forecaster's answer lines, each with its link and its bodies."""
    found = []
    for line, answer, cells in catalogue.fold.answers:
        if answer.forecaster == name:
            fact = catalogue.ledger.facts[line]
            found.append(
                {
                    "line": line,
                    "run": answer.run,
                    "at": answer.at,
                    "status": answer.status.replace("_", " "),
                    "cells": "withheld" if cells is None else count(len(cells)),
                    "link": short_hash(fact.link),
                    "bodies": [catalogue.body(b.sha256, b.role) for b in answer.bodies],
                }
            )
    return found
