"""What simulated markets ask: invented people and places, and a word that says so on every face."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from beforehand.testing.chance import integer, pick
from beforehand.testing.rows import words

MARK = "Simulated market"
_GAP = re.compile(r"\{(\w+)\}")
TOPICS = tuple(words()["topics"])

_RULES = """\
{mark} of a rehearsal: the people, places and firms in it are invented, and nothing is traded.

This market will resolve to "{first}" if, by {day}, the registry of the simulation records that \
the event named in the title has happened. Otherwise, this market will resolve to "{second}".

If the registry cannot say, this market will resolve to 50-50."""


@lru_cache(maxsize=1024)
def day_text(seconds: int) -> str:
    """A date as a question says it.

    >>> day_text(1767225600)
    'January 1, 2026'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%B} {moment.day}, {moment.year}"


def filled(form: str, *name: object, **given: object) -> str:
    """A form with its gaps filled with invented names; `given` decides a gap itself."""
    found = form
    for gap in _GAP.findall(form):
        found = found.replace("{" + gap + "}", str(given.get(gap) or _word(gap, *name)))
    return found


def _word(gap: str, *name: object) -> object:
    lists = words()
    if gap == "person":
        return f"{pick(lists['first'], 'first', *name)} {pick(lists['last'], 'last', *name)}"
    if gap == "place2":
        place = pick(lists["place"], "place", *name)
        return pick([each for each in lists["place"] if each != place], "place2", *name)
    if gap == "option":
        return integer(1, 4, "option", *name)
    return pick(lists[gap], gap, *name)


def question(market: str, asked: str, ends: int) -> str:
    """The title of one market; its id makes it the only one of that text."""
    return f"{MARK} {market}: {asked.removesuffix('?')} by {day_text(ends)}?"


def rules(outcomes: tuple[str, str], ends: int) -> str:
    """The description of one market."""
    return _RULES.format(mark=MARK, first=outcomes[0], second=outcomes[1], day=day_text(ends))
