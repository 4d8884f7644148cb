"""The book's page: what lies in it, its checkpoints, and how to check it yourself."""

from __future__ import annotations

from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.ledger import LineFact
from beforehand.site.text import count, cut, short_hash

KIND_WORDS = {
    "league": "who signs the book, and the declaration it keeps to",
    "segment": "a span under one methodology",
    "question": "an event fixed in advance",
    "roster": "who is expected to answer, and by when",
    "snapshot": "what the world showed: the crowd's prices",
    "run": "an occasion of asking",
    "ask": "the exact text sent to one forecaster",
    "answer": "a forecaster's probabilities, or why there are none",
    "close": "how an occasion ended, or that it was missed",
    "reference": "a price read after the seal",
    "resolution": "an outcome",
    "confirmation": "a second source's word on an outcome",
    "correction": "a later word on earlier lines; nothing is rewritten",
    "fill": "a simulated execution",
    "mark": "the value of positions",
    "proof": "evidence from outside that a checkpoint existed",
    "release": "the hash of a frozen publication",
    "erased": "a body dropped on request; its line stays",
    "other": "not named here: see the file itself",
}


def book_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `book.html.j2` shows."""
    ledger, view = catalogue.ledger, catalogue.view
    facts = [ledger.facts[n] for n in sorted(ledger.listed)]
    return {
        "kinds": [
            (kind, count(n), KIND_WORDS.get(kind, "a kind of a later version: kept and chained"))
            for kind, n in ledger.kinds.items()
        ],
        "stretches": [
            {
                "kind": held.kind,
                "first": held.first.n,
                "last": held.last.n,
                "count": count(held.count),
                "from": held.first.at,
                "to": held.last.at,
            }
            for held in ledger.stretches
        ],
        "checkpoints": [
            {"size": size, "at": at, "root": root} for size, at, root in view.checkpoints
        ],
        "calls": catalogue.asked,
        "listed": [_listed(fact, catalogue) for fact in facts],
        "linked": any(fact.link for fact in facts),
        "example": _example(catalogue),
        "last_link": ledger.facts[view.fold.lines].link,
        "checker": view.checker_sha256,
        "key": view.fold.key,
        "total": count(view.fold.lines),
    }


def _example(catalogue: Catalogue) -> int:
    """A line worth reading by hand: the first answer, else the first line."""
    return next(iter(catalogue.answers), 1)


def _listed(fact: LineFact, catalogue: Catalogue) -> dict[str, Any]:
    href, what = _what(fact, catalogue)
    return {
        "n": fact.n,
        "kind": fact.kind,
        "at": fact.at,
        "link": short_hash(fact.link),
        "what": cut(what, 160),
        "href": href,
        "bodies": [catalogue.body(body.sha256, body.role) for body in fact.bodies],
    }


def _what(fact: LineFact, catalogue: Catalogue) -> tuple[str, str]:
    """`(page below the league, words)` of one line."""
    content, fold = fact.content, catalogue.fold
    match fact.kind:
        case "league":
            return "index.html", f"{fold.declaration.title}, signed as {fold.league.origin}"
        case "segment":
            words = f"{content.get('segment')}: {content.get('time')} time"
            return "", f"{words}, methodology {content.get('methodology')}"
        case "answer":
            answer = catalogue.answers.get(fact.n)
            if answer is None:  # of another segment: its own pages tell it
                return "", f"{content.get('forecaster')}: {content.get('status')}"
            cells = f", {count(len(answer.cells))} cells" if answer.cells is not None else ""
            href = f"f/{answer.forecaster}.html"
            return href, f"{catalogue.label(answer.forecaster)}: {answer.status}{cells}"
        case "question" | "resolution" | "reference":
            card = catalogue.cards.get(str(content.get("question")))
            outcome = f"{content.get('outcome')}: " if fact.kind == "resolution" else ""
            return (f"q/{card.slug}.html", outcome + card.short) if card else ("", outcome)
        case "ask":
            name = str(content.get("forecaster"))
            page = f"f/{name}.html" if name in catalogue.by_forecaster else ""
            return page, f"to {name}"
        case "close":
            run = str(content.get("run"))
            page = f"run/{run}.html" if run in fold.runs else "runs.html"
            why = f": {content['why']}" if content.get("why") else ""
            return page, f"{run} {str(content.get('status')).replace('_', ' ')}{why}"
        case "run" | "roster" | "snapshot":
            run = str(content.get("run"))
            seats, quotes = content.get("seats"), content.get("quotes")
            more = f", {count(len(seats))} seats" if seats is not None else ""
            more += f", {count(len(quotes))} prices" if quotes is not None else ""
            return (f"run/{run}.html" if run in fold.runs else ""), run + more
        case _:
            said = [str(content[key]) for key in _SAID if isinstance(content.get(key), (str, int))]
            return "", " · ".join(said)


_SAID = ("release", "anchor", "state", "what", "why", "reason", "lines", "line", "checkpoint_size")
