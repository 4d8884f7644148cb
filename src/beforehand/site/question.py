"""A question's page: every forecast beside the crowd and the outcome, and the frozen text."""

from __future__ import annotations

from typing import Any

from beforehand.publish.gains import scored_units
from beforehand.publish.rows import IN
from beforehand.site.cards import PLACEHOLDERS, Card
from beforehand.site.catalogue import Catalogue, Shown
from beforehand.site.charts import STRIP, dot_strip
from beforehand.site.market import asked_question
from beforehand.site.profile import status_words
from beforehand.site.text import NOTHING, count, cut, https_url

# Derived forecasters that the picture shows beside the dots.
MARKED = ("crowd", "median")
# So many of the lines that a correction names are printed beside it.
MOST_NAMED = 8


def question_page(name: str, catalogue: Catalogue) -> dict[str, Any]:
    """What `question.html.j2` shows."""
    card = catalogue.cards[name]
    shown = catalogue.by_question[name]
    runs = [] if catalogue.asked else list(dict.fromkeys(held.row.run for held in shown))
    url = card.text.url if card.text else ""
    return {
        "card": card,
        "id": name,
        "filled": any(from_contract for _, from_contract in card.title),
        "placeholders": list(PLACEHOLDERS),
        "held": asked_question(card, shown, catalogue) if catalogue.asked else None,
        "runs": [_in_run(run, card, shown, catalogue) for run in runs],
        "words": status_words(shown),
        "text_body": catalogue.body(card.text.sha256, "text") if card.text else None,
        "url": url,
        "link": https_url(url),
        "contract": list(card.record.contract.items()),
        "outcome": _outcome(card, catalogue),
        "history": _history(card, catalogue),
        "corrections": _corrections(name, shown, catalogue),
        "siblings": [_sibling(other, catalogue) for other in _beside(card, catalogue)],
    }


def _corrections(name: str, shown: list[Shown], catalogue: Catalogue) -> list[dict[str, Any]]:
    """The words on this question's own line, its forecasts and its outcome."""
    fold = catalogue.fold
    found = {n for item in shown for n in item.row.corrections}
    found |= set(fold.corrected.get(fold.questions[name][0], ()))
    return [
        {
            "line": n,
            "on": ", ".join(map(str, fold.corrections[n].lines[:MOST_NAMED])),
            "reason": fold.corrections[n].reason,
            "source": fold.corrections[n].source,
            "moves": fold.corrections[n].outcome is not None,
        }
        for n in sorted(found)
    ]


def _in_run(run: str, card: Card, shown: list[Shown], catalogue: Catalogue) -> dict[str, Any]:
    held = [item for item in shown if item.row.run == run]
    stated = [item for item in held if item.row.kind != "derived"]
    derived = [item for item in held if item.row.kind == "derived"]
    given = [item for item in stated if item.row.units is not None]
    dots, tallest = dot_strip(
        [
            (
                float(catalogue.grid.probability(scored_units(item.row))),
                item.row.forecaster,
                item.stated,
                item.row.status not in (*IN, "missing"),
            )
            for item in given
        ]
    )
    outside = sum(dot.out for dot in dots)
    return {
        "run": run,
        "stated": [_forecast(item, catalogue) for item in stated],
        "derived": [_forecast(item, catalogue) for item in derived],
        "n": count(len(dots) - outside),
        "outside": count(outside) if outside else "",
        "strip": {
            "dots": dots,
            "levels": max(tallest, 1),
            "marks": _marks(derived, catalogue),
            "ticks": [(STRIP.at(tick), f"{tick:g}") for tick in STRIP.ticks],
            "end": {"yes": STRIP.right, "no": STRIP.left}.get(card.outcome),
            "outcome": card.outcome,
        },
    }


def _forecast(shown: Shown, catalogue: Catalogue) -> dict[str, Any]:
    name = shown.row.forecaster
    bodies = catalogue.ledger.evidence(shown.row.line) if shown.row.cell is not None else ()
    return {
        "shown": shown,
        "label": catalogue.label(name),
        "body": catalogue.body(bodies[0].sha256, bodies[0].role) if bodies else None,
    }


def _marks(derived: list[Shown], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Crowd and median with their words set on the side that has room."""
    marks = []
    for item in derived:
        rule = catalogue.rule(item.row.forecaster)
        if rule in MARKED and item.row.units is not None:
            place = STRIP.at(float(catalogue.grid.probability(item.row.units)))
            text = f"{catalogue.label(item.row.forecaster)} {item.stated}"
            marks.append({"rule": rule, "x": place, "text": text, "before": place > 50})
    return sorted(marks, key=lambda mark: MARKED.index(mark["rule"]))


def _outcome(card: Card, catalogue: Catalogue) -> dict[str, Any] | None:
    settled = card.settled
    if settled is None:
        return None
    fact = catalogue.ledger.facts[settled.line]
    return {
        "word": settled.outcome,
        "on": settled.instant,
        "line": settled.line,
        "kind": fact.kind,
        "source": str(fact.content.get("source", "")),
        "final": str(fact.content.get("final", "")),
        "reason": str(fact.content.get("reason", "")),
        "bodies": [catalogue.body(body.sha256, body.role) for body in fact.bodies],
    }


def _history(card: Card, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Every line on the outcome: the resolution and what corrected it, the first first."""
    if card.settled is None:
        return []
    lines = catalogue.ledger.outcome_lines(card.settled.first_line, card.settled.line)
    return [
        {
            "line": fact.n,
            "kind": fact.kind,
            "at": fact.at or NOTHING,
            "outcome": str(fact.content.get("outcome") or NOTHING),
            "words": cut(str(fact.content.get("reason") or fact.content.get("final") or ""), 300),
            "source": cut(str(fact.content.get("source") or ""), 200),
        }
        for fact in lines
    ]


def _beside(card: Card, catalogue: Catalogue) -> list[Card]:
    held = catalogue.siblings[card.record.cluster]
    return held if len(held) > 1 else []


def _sibling(card: Card, catalogue: Catalogue) -> dict[str, Any]:
    shown = catalogue.by_question[card.record.question]
    median = next((s.stated for s in shown if catalogue.rule(s.row.forecaster) == "median"), None)
    stated = [s for s in shown if s.row.kind != "derived" and s.row.units is not None]
    return {
        "card": card,
        "n": count(len(stated)),
        "median": NOTHING if median is None else median,
    }
