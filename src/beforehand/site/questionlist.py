"""The listing of all questions: how often each was asked, what the crowd said, what came of it."""

from __future__ import annotations

from typing import Any

from beforehand.site.cards import Card
from beforehand.site.catalogue import Catalogue
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, instant


def questions_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `questions.html.j2` shows."""
    cards = list(catalogue.cards.values())
    asked = [card for card in cards if catalogue.by_question[card.record.question]]
    outcomes = {"yes": 0, "no": 0, "void": 0, "open": 0}
    for card in asked:
        outcomes[card.outcome] += 1
    return {
        "facts": [
            (count(len(asked)), "questions asked", f"{count(len(cards))} in the book"),
            *((count(n), word, "") for word, n in outcomes.items()),
        ],
        "table": _table(asked, catalogue),
    }


def _table(cards: list[Card], catalogue: Catalogue) -> Listing:
    return Listing(
        "Questions",
        "Every question that was asked, the newest first. Crowd: the price at the start of its "
        "first and its last run.",
        ("Question", "Source", "Event (cluster)", "Closes (UTC)", "Runs", "Crowd, first to last",
         "Stated", "Outcome"),
        [_row(card, catalogue) for card in reversed(cards)],
        left=frozenset({0, 1, 2, 3, 5, 7}),
        kind="sortable",
        choose=frozenset({1, 7}),
        whole=frozenset({3, 5, 7}),
    )  # fmt: skip


def _row(card: Card, catalogue: Catalogue) -> tuple[str | Cell, ...]:
    shown = catalogue.by_question[card.record.question]
    stated = sum(s.row.units is not None and s.row.kind != "derived" for s in shown)
    crowds = [s.crowd for s in shown if s.crowd != NOTHING]
    runs = {s.row.run for s in shown}
    moved = crowds[-1] if crowds else NOTHING
    if len(runs) > 1 and crowds:
        moved = f"{crowds[0]} to {crowds[-1]}"
    return (
        Cell(card.short, f"q/{card.slug}.html"),
        card.record.source,
        cut(card.record.cluster, 60),
        instant(card.record.horizon[:20]),
        count(len(runs)),
        moved,
        count(stated),
        card.outcome,
    )
