"""A run's page: what was asked of whom, by when, and who answered."""

from __future__ import annotations

from typing import Any

from beforehand.site.cards import SHORT_CHARS, Card
from beforehand.site.catalogue import Catalogue
from beforehand.site.text import NOTHING, count, cut
from beforehand.site.undisclosed import undisclosed


def run_page(name: str, catalogue: Catalogue) -> dict[str, Any]:
    """What `run.html.j2` shows."""
    fold = catalogue.fold
    line, record = fold.runs[name]
    roster = fold.roster_of(name)
    answers: dict[str, list[dict[str, Any]]] = {}
    for at_line, answer, cells in fold.answers:
        if answer.run == name:
            answers.setdefault(answer.forecaster, []).append(
                {
                    "line": at_line,
                    "at": answer.at,
                    "status": answer.status.replace("_", " "),
                    "cells": "withheld" if cells is None else count(len(cells)),
                }
            )
    seated = {seat.forecaster for seat in roster.seats}
    asked = fold.questions_of(name)
    return {
        "run": record,
        "line": line,
        "proof": catalogue.proof_href(line),
        "roster": roster,
        "segment": fold.segments.get(record.segment),
        "seats": [_seat(seat.forecaster, seat.entry, answers, catalogue) for seat in roster.seats],
        "others": [
            _seat(forecaster, "not on the roster", answers, catalogue)
            for forecaster in answers
            if forecaster not in seated
        ],
        "answered": count(sum(seat.forecaster in answers for seat in roster.seats)),
        "quotes": count(len(fold.snapshots[record.snapshot_line].quotes)),
        "asked": count(len(asked)),
        "undisclosed": undisclosed(catalogue, name),
        "clusters": _clusters(asked, catalogue),
    }


def _seat(
    forecaster: str, entry: str, answers: dict[str, list[dict[str, Any]]], catalogue: Catalogue
) -> dict[str, Any]:
    return {
        "forecaster": forecaster,
        "label": catalogue.label(forecaster),
        "entry": entry,
        "answers": answers.get(forecaster, []),
    }


def _clusters(asked: dict[str, Any], catalogue: Catalogue) -> list[dict[str, Any]]:
    """The questions of the run, one entry a source question, with its horizons as links."""
    grouped: dict[str, list[Card]] = {}
    for name in asked:
        card = catalogue.cards[name]
        grouped.setdefault(card.record.cluster, []).append(card)
    return [
        {
            "short": cards[0].short if len(cards) == 1 else _common_title(cards),
            "source": cards[0].record.source,
            "type": cards[0].record.type,
            "cards": cards,
            "n": _most_stated(cards, catalogue),
        }
        for cards in grouped.values()
    ]


def _common_title(cards: list[Card]) -> str:
    """The title of several horizons: what the contract fills in is left as an ellipsis."""
    pieces = []
    for position, (text, from_contract) in enumerate(cards[0].title):
        titles = [card.title for card in cards]
        same = all(len(t) > position and t[position][0] == text for t in titles)
        pieces.append("…" if from_contract and not same else text)
    return cut("".join(pieces), SHORT_CHARS)


def _most_stated(cards: list[Card], catalogue: Catalogue) -> str:
    """How many stated forecasts the events have together."""
    total = sum(
        shown.row.units is not None and shown.row.kind != "derived"
        for card in cards
        for shown in catalogue.by_question[card.record.question]
    )
    return count(total) if total else NOTHING
