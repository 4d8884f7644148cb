"""The page of a run that asked models: its end, prices, forecasts side by side, and every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from beforehand.records.snapshot import Quote
from beforehand.scoring.exact import decimal_places
from beforehand.site.calls import accepted_of, calls_of, standings_used
from beforehand.site.catalogue import Catalogue, Shown
from beforehand.site.estimates import pool_text
from beforehand.site.profile import status_words
from beforehand.site.runs import MEANINGS, STATUS_WORDS, share_text
from beforehand.site.text import (
    MINUS,
    NOTHING,
    count,
    cut,
    instant,
    short_hash,
    short_label,
    signed,
)
from beforehand.site.undisclosed import undisclosed

# Derived forecasters that stand beside the models; constants say nothing there.
SHOWN = ("crowd", "mean", "median")
FLAGS = {
    "moved": "the price moved by more than 0.10 during the run",
    "lookup": "the price had left the declared band by the run’s end",
}


def slot_page(name: str, catalogue: Catalogue) -> dict[str, Any]:
    """What `slot.html.j2` shows."""
    fold = catalogue.fold
    line, record = fold.runs[name]
    told = catalogue.run_told[name]
    roster, shown = fold.roster_of(name), catalogue.rows_by_run.get(name, [])
    calls = calls_of(catalogue.attempts_by_run.get(name, []), catalogue)
    prices = _prices(name, shown, catalogue)
    word = STATUS_WORDS[told["status"]]
    return {
        "run": record,
        "line": line,
        "proof": catalogue.proof_href(line),
        "told": told,
        "status": word,
        "meaning": MEANINGS[word],
        "slot": instant(record.slot),
        "roster": roster,
        "segment": fold.segments.get(record.segment),
        "facts": _facts(told),
        "share": share_text(told["valid"], told["failed"]),
        "silent": [(name, cut(catalogue.label(name), 60)) for name in told["silent"]],
        "around": _around(name, catalogue),
        "prices": prices,
        "volumes": any(row["volume"] != NOTHING for row in prices),
        "lines": _lines(name, catalogue),
        "grid": side_by_side(shown, catalogue),
        "calls": calls,
        "accepted": accepted_of(name, catalogue),
        "standings": standings_used(calls),
        "words": status_words(shown),
        "flags": FLAGS,
        "seats": [_seat(seat, catalogue) for seat in roster.seats],
        "undisclosed": undisclosed(catalogue, name),
    }


def _facts(told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    asked = f"{count(told['asked'])} of {count(told['questions'])} asked"
    waiting = f"{count(told['waiting'])} waiting or sealed" if told["waiting"] else ""
    return [
        (count(told["questions"]), "questions", asked),
        (count(told["valid"]), "valid forecasts", waiting),
        (count(told["failed"]), "failed", ""),
        (told["committed"], "committed", f"of it {told['standing']} standing"),
    ]


def _around(name: str, catalogue: Catalogue) -> dict[str, str]:
    """The runs before and after, as far as they took place."""
    names = list(catalogue.fold.runs)
    place = names.index(name)
    before = names[place - 1] if place else ""
    after = names[place + 1] if place + 1 < len(names) else ""
    return {"before": before, "after": after}


def _lines(name: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The lines of the run that are no calls, each with its link and its bodies."""
    fold, told = catalogue.fold, catalogue.run_told[name]
    line, record = fold.runs[name]
    words = {
        record.snapshot_line: "prices at the start",
        record.roster_line: "roster",
        line: "run",
        fold.ends.get(name): "prices at the end",
        told["close_line"]: "close",
    }
    facts = catalogue.ledger.facts
    return [
        {
            "line": n,
            "what": words[n],
            "at": facts[n].at or NOTHING,
            "link": short_hash(facts[n].link) or NOTHING,
            "bodies": [catalogue.body(body.sha256, body.role) for body in facts[n].bodies],
        }
        for n in sorted(n for n in words if n is not None)
    ]


def _seat(seat: Any, catalogue: Catalogue) -> dict[str, Any]:
    weights = {True: "open", False: "closed"}.get(seat.open_weights, NOTHING)
    told = [seat.company, seat.family, seat.model, seat.provider, seat.quantisation]
    return {
        "forecaster": seat.forecaster,
        "label": cut(catalogue.label(seat.forecaster), 60),
        "cells": [seat.entry, *(cut(text or NOTHING, 80) for text in told), weights],
    }


# ---- prices


def _prices(name: str, shown: Sequence[Shown], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Each question's two sides at the start and at the end, and how far the middle moved."""
    fold = catalogue.fold
    starts, ends = fold.quotes_of(name), fold.end_quotes_of(name)
    flags = {held.row.question: held.row for held in shown}
    rows = []
    for question in fold.questions_of(name):
        start, end, row = starts.get(question), ends.get(question), flags.get(question)
        marks = [
            word for word in ("moved", "lookup") if row is not None and getattr(row, word) is True
        ]
        rows.append(
            {
                "card": catalogue.cards[question],
                "start": _sides(start),
                "end": _sides(end),
                "change": _change(start, end),
                "flags": ", ".join(marks) or NOTHING,
                "volume": start.volume if start and start.volume else NOTHING,
            }
        )
    return rows


def _sides(quote: Quote | None) -> str:
    if quote is None or (quote.bid is None and quote.ask is None):
        return NOTHING
    return f"{quote.bid or NOTHING} / {quote.ask or NOTHING}"


def _change(start: Quote | None, end: Quote | None) -> str:
    """How far the middle moved; a dash where a side is missing."""
    sides = [side for quote in (start, end) if quote for side in (quote.bid, quote.ask)]
    if len(sides) < 4 or None in sides:
        return NOTHING
    bid, ask, last_bid, last_ask = (Fraction(side) for side in sides if side is not None)
    text = signed(decimal_places((last_bid + last_ask - bid - ask) / 2, 6), 4)
    return text.rstrip("0").rstrip(".") if text not in ("0.0000", MINUS) else "0"


# ---- forecasts side by side


def side_by_side(shown: Sequence[Shown], catalogue: Catalogue) -> dict[str, Any]:
    """Questions down, forecasters across: what each said, and what happened."""
    by_question: dict[str, dict[str, Shown]] = {}
    for held in shown:
        by_question.setdefault(held.row.question, {})[held.row.forecaster] = held
    names = across([held.row.forecaster for held in shown], catalogue)
    return {
        "heads": heads_of(names, catalogue),
        "rows": [
            {
                "card": catalogue.cards[question],
                "cells": [said.get(name) for name in names],
            }
            for question, said in by_question.items()
        ],
        "pools": pools_of(names, catalogue),
    }


def across(present: Sequence[str], catalogue: Catalogue) -> list[str]:
    """The columns: who was asked, then crowd and pools."""
    derived = [name for name, rule in catalogue.fold.declaration.derived.items() if rule in SHOWN]
    seen = dict.fromkeys(present)
    asked = [name for name in seen if catalogue.rule(name) is None]
    return [*sorted(asked), *(name for name in derived if name in seen)]


def heads_of(names: Sequence[str], catalogue: Catalogue) -> list[tuple[str, str]]:
    """`(forecaster, its short name)` of the columns."""
    return [(name, cut(short_label(catalogue.label(name)), 24)) for name in names]


def pools_of(names: Sequence[str], catalogue: Catalogue) -> list[tuple[str, str]]:
    """The pools among the columns, with what stands by them wherever they are shown."""
    return [
        (cut(catalogue.label(name), 80), pool_text(catalogue.entries[name]["pool"]))
        for name in names
        if name in catalogue.entries and catalogue.entries[name]["pool"] is not None
    ]
