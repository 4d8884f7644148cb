"""The shipped tables of the simulated venue: recorded quotes and sizes, invented words."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_SET = "simulated_venue"
TIGHT = 0.04


def _read(name: str) -> str:
    return resources.files("beforehand").joinpath("data", _SET, name).read_text(encoding="utf-8")


@cache
def quotes() -> tuple[tuple[float, float], ...]:
    """Recorded best bids and asks of settled markets."""
    lines = _read("quotes.csv").splitlines()[1:]
    return tuple((float(bid), float(ask)) for bid, ask in (line.split(",") for line in lines))


@cache
def tight_quotes() -> tuple[tuple[float, float], ...]:
    """Those of them that are at most TIGHT apart."""
    return tuple((bid, ask) for bid, ask in quotes() if ask - bid <= TIGHT + 1e-9)


@cache
def sizes() -> tuple[float, ...]:
    """Recorded sizes of the levels of one book, best level first."""
    return tuple(float(line) for line in _read("sizes.csv").splitlines()[1:])


@cache
def words() -> dict[str, Any]:
    """Topics with the forms of their questions, and invented names to fill them."""
    loaded: dict[str, Any] = json.loads(_read("words.json"))
    return loaded
