"""Calls as pages list them: what was asked, what came back, what it cost, where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from beforehand.publish.attempts import STANDINGS, Attempt, body_of
from beforehand.publish.spending import money_text
from beforehand.site.catalogue import Catalogue
from beforehand.site.text import NOTHING, count, cut, short_hash


@dataclass(frozen=True)
class Call:
    """One attempt in words. `marks` are the places that links to its lines lead to."""

    attempt: Attempt
    card: Any
    label: str
    marks: tuple[int, ...]
    status: str
    why: str
    served: str
    latency: str
    charged: str
    leaks: str
    text: dict[str, Any] | None
    bodies: list[dict[str, Any]]
    link: str


def calls_of(attempts: Sequence[Attempt], catalogue: Catalogue) -> list[Call]:
    """Every call of a run, in the order of the book."""
    taken: set[int] = set()
    return [_call(attempt, catalogue, taken) for attempt in attempts]


def _call(attempt: Attempt, catalogue: Catalogue, taken: set[int]) -> Call:
    answer, prompt = attempt.answer, body_of(attempt.ask, "ask")
    lines = [attempt.ask_line, *([attempt.answer_line] if attempt.answer_line else [])]
    marks = tuple(line for line in lines if line not in taken)
    taken.update(marks)
    fact = catalogue.ledger.facts.get(attempt.answer_line or attempt.ask_line)
    latency = answer.latency_ms if answer is not None else None
    return Call(
        attempt=attempt,
        card=catalogue.cards.get(attempt.ask.questions[0]) if attempt.ask.questions else None,
        label=cut(catalogue.label(attempt.forecaster), 40),
        marks=marks,
        status=attempt.status.replace("_", " ") or "no answer",
        why=attempt.ask.why or "",
        served=_served(attempt),
        latency=NOTHING if latency is None else count(latency),
        charged=_charged(attempt),
        leaks=" ".join(answer.leaks) if answer is not None else "",
        text=catalogue.body(prompt, "ask") if prompt else None,
        bodies=[catalogue.body(b.sha256, b.role) for b in answer.bodies] if answer else [],
        link=short_hash(fact.link) if fact else "",
    )


def _served(attempt: Attempt) -> str:
    """The model that answered; both names where they are not the same."""
    served = attempt.answer.served_model if attempt.answer is not None else None
    if served is None:
        return NOTHING
    asked = attempt.model or ""
    return served if served == asked or not asked else f"{served} (asked for {asked})"


def _charged(attempt: Attempt) -> str:
    if attempt.charged is None:
        return NOTHING
    text = money_text(attempt.charged)
    return f"{text} reserved" if attempt.stands else text


def accepted_of(run: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The answers that came from outside, unasked: each with its line and its bodies."""
    return [
        {
            "line": line,
            "forecaster": answer.forecaster,
            "label": cut(catalogue.label(answer.forecaster), 60),
            "received": answer.received_at or answer.at,
            "status": answer.status.replace("_", " "),
            "submission": answer.submission or NOTHING,
            "bodies": [catalogue.body(body.sha256, body.role) for body in answer.bodies],
        }
        for line, answer in catalogue.accepted_by_run.get(run, ())
    ]


def standings_used(calls: Sequence[Call]) -> list[tuple[str, str]]:
    """What the words of the standing column mean, of those that stand there."""
    present = {call.attempt.standing for call in calls}
    return [(word, meaning) for word, meaning in STANDINGS.items() if word in present]
