"""Writes a league's pages: one file after the other, from the view alone."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from beforehand.site.board import board_facts, board_page, level_text
from beforehand.site.bookpage import book_page
from beforehand.site.catalogue import Catalogue
from beforehand.site.costs import costs_page
from beforehand.site.ensemble import ensemble_page
from beforehand.site.methodology import methodology_page
from beforehand.site.profile import profile_page
from beforehand.site.proof import proof_index, proof_page
from beforehand.site.question import question_page
from beforehand.site.questionlist import questions_page
from beforehand.site.run import run_page
from beforehand.site.runs import runs_page
from beforehand.site.skillboard import skill_board_page, skill_facts, skill_leaders
from beforehand.site.slot import slot_page
from beforehand.site.text import count, cut, finalize
from beforehand.site.view import SiteView

Progress = Callable[[str, int, int], None]

LEADERS = 5
# Pages without a table that can be sorted.
UNSCRIPTED = ("home", "question", "methodology", "proofs")
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0a5f63" '
    'd="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2.2a4.8 4.8 0 1 1 0 9.6V3.2Z"/></svg>'
)


def _silent(step: str, done: int, total: int) -> None:
    """No progress is shown."""


def write_site(view: SiteView, public: Path, progress: Progress | None = None) -> list[Path]:
    """Write `public/index.html` and `public/LEAGUE/`; every path written, in order.

    Only what the view holds goes in: no clock, no network, no pen. The same
    view gives the same bytes.
    """
    progress = progress or _silent
    catalogue = Catalogue(view)
    written = []
    todo = list(_pages(catalogue))
    for done, (path, template, values) in enumerate(todo):
        if done % 32 == 0:
            progress("pages", done, len(todo))
        target = public / path
        target.parent.mkdir(parents=True, exist_ok=True)
        page = _template(template).render(_common(catalogue, path, template), **values())
        target.write_bytes(page.encode("utf-8"))
        written.append(target)
    progress("pages", len(todo), len(todo))
    return written


def _pages(catalogue: Catalogue) -> Iterator[tuple[str, str, Callable[[], dict[str, Any]]]]:
    """`(path below public, template, its values when asked for)` of every page."""
    league = catalogue.view.place
    if not catalogue.view.root:
        yield "index.html", "home", partial(_home_page, catalogue)
    if catalogue.skilled:
        yield f"{league}/index.html", "skillboard", partial(skill_board_page, catalogue)
    else:
        yield f"{league}/index.html", "board", partial(board_page, catalogue)
    for name, make in _league_pages(catalogue):
        yield f"{league}/{name}.html", name, partial(make, catalogue)
    template, make_run = ("slot", slot_page) if catalogue.asked else ("run", run_page)
    for name in catalogue.fold.runs:
        yield f"{league}/run/{name}.html", template, partial(make_run, name, catalogue)
    for name in catalogue.by_forecaster:
        path = f"{league}/f/{name}.html"
        yield path, "forecaster", partial(profile_page, name, catalogue)
    for name, card in catalogue.cards.items():
        path = f"{league}/q/{card.slug}.html"
        yield path, "question", partial(question_page, name, catalogue)
    yield f"{league}/proof/index.html", "proofs", partial(proof_index, catalogue)
    for day in catalogue.proof_days.values():
        for part, name in enumerate(day.names()):
            yield f"{league}/proof/{name}.html", "proof", partial(proof_page, day, part, catalogue)


def _league_pages(
    catalogue: Catalogue,
) -> Iterator[tuple[str, Callable[[Catalogue], dict[str, Any]]]]:
    """The pages of the whole league by name, which is their template's too."""
    yield "book", book_page
    yield "methodology", methodology_page
    if catalogue.asked:
        yield "runs", runs_page
        yield "questions", questions_page
        yield "costs", costs_page
    if catalogue.view.board["analysis"] is not None:
        yield "ensemble", ensemble_page


def _home_page(catalogue: Catalogue) -> dict[str, Any]:
    skilled = catalogue.skilled
    return {
        "checker": catalogue.view.checker_sha256,
        "facts": skill_facts(catalogue) if skilled else board_facts(catalogue),
        "skilled": skilled,
        "leaders": skill_leaders(catalogue)
        if skilled
        else board_page(catalogue)["ranked"][:LEADERS],
    }


def _common(catalogue: Catalogue, path: str, template: str) -> dict[str, Any]:
    """What every page says and links to. `to` leads to the league's folder."""
    view, fold = catalogue.view, catalogue.view.fold
    depth = path.count("/")
    to = f"{view.league}/" if depth == 0 else "../" * (depth - 1 - view.place.count("/"))
    home = "../" * depth + "index.html"
    size, _, root = view.checkpoints[-1] if view.checkpoints else (fold.lines, "", "")
    script = Markup("") if template in UNSCRIPTED else _script()
    return {
        "csp": _csp(script),
        "css": _css(),
        "icon": icon(),
        "script": script,
        "to": to,
        "home": home,
        "api": f"{'../' * depth}api/v1/{view.league}/",
        "href": catalogue.href_of,
        "nav": _nav(catalogue, to),
        "place": template,
        "league": view.league,
        "title": fold.declaration.title,
        "about": str(fold.declaration.content["league"].get("about", "")),
        "simulated": view.simulated,
        "segments": _segments(view, depth),
        "covered": count(size),
        "root": root,
        "origin": fold.league.origin,
        "licence": fold.declaration.licence,
        "attribution": fold.declaration.attribution,
        "level": level_text(view.board),
    }


def _segments(view: SiteView, depth: int) -> list[dict[str, Any]]:
    """Every segment with its pages, where there are several; the last one's are the league's."""
    told = view.board["segments"]
    if len(told) < 2:
        return []
    up = "../" * depth
    return [
        {
            **each,
            "here": each["segment"] == view.board["segment"],
            "href": f"{up}{view.league}/index.html"
            if each is told[-1]
            else f"{up}{segment_root(view.league, each['segment'])}/index.html",
        }
        for each in told
    ]


def segment_root(league: str, segment: str) -> str:
    """The folder of the pages of a segment that has ended."""
    return f"{league}/segment/{segment}"


def _nav(catalogue: Catalogue, to: str) -> list[tuple[str, str, str]]:
    """`(href, words, the page it is)`: the league's own pages."""
    nav = [(f"{to}index.html", "Leaderboard", "skillboard" if catalogue.skilled else "board")]
    if catalogue.view.board["analysis"] is not None:
        nav.append((f"{to}ensemble.html", "Ensemble", "ensemble"))
    last = next(reversed(catalogue.fold.runs), None)
    if catalogue.asked:
        nav.append((f"{to}runs.html", "Runs", "runs"))
        nav.append((f"{to}questions.html", "Questions", "questions"))
        nav.append((f"{to}costs.html", "Costs", "costs"))
    elif last is not None:
        nav.append((f"{to}run/{last}.html", "Questions", "run"))
    nav.append((f"{to}methodology.html", "Methodology", "methodology"))
    nav.append((f"{to}book.html", "The book", "book"))
    nav.append((f"{to}book.html#check", "Check it yourself", ""))
    return nav


# ---- the engine


def icon() -> str:
    """The mark as an address that holds it."""
    return "data:image/svg+xml;base64," + base64.b64encode(_ICON.encode()).decode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("beforehand.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["cut"] = cut
    return environment


@cache
def _template(name: str) -> Any:
    return _environment().get_template(f"{name}.html.j2")


def _asset(name: str) -> str:
    return files("beforehand.site").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _css() -> Markup:
    """Our own style sheet, on as few bytes as is easily had: it stands in every page."""
    text = re.sub(r"\s*([{}:;,>])\s+", r"\1", _asset("style.css").strip())
    return Markup(text.replace(";}", "}"))  # noqa: S704 - package data


@cache
def _script() -> Markup:
    """Our own script, which sorts and filters tables; pages are complete without it."""
    return Markup(_asset("table.js").strip())  # noqa: S704 - package data


@cache
def _csp(script: Markup) -> str:
    """Nothing from anywhere, but the style and the one script that stand in the page."""
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", "img-src data: 'self'"]
    if script:
        hashed = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
        rules.append(f"script-src 'sha256-{hashed}'")
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])
