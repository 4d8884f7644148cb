"""Who is better, who equivalent, who undecided: every pair on the events that both answered.

A pair's interval is Student's t on cluster means. p-values over all pairs are
adjusted by Holm (1979); "better" is said where the adjusted one is below 5 %,
"equivalent" where the 90 % interval lies inside the declared margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from beforehand.scoring.compare import paired
from beforehand.scoring.multiplicity import holm
from beforehand.scoring.verdict import verdict
from beforehand.sources.table import ForecastTable

MOST_COMPARED = 60
ALPHA = 0.05
_WORDS = ("better", "worse", "equivalent", "identical", "undecided")
_TURNED = {"better": "worse", "worse": "better"}


class Paired(Protocol):
    """What a comparison needs of scored rows."""

    table: ForecastTable
    margin: float
    units: NDArray[np.int64]
    event: NDArray[np.int64]
    cluster: NDArray[np.int64]
    resolved: NDArray[np.bool_]
    rows_of: list[NDArray[np.int64]]
    per_one: int

    def losses(self, units: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Brier losses in squared grid steps."""


def standings(scored: Any, ranked: Sequence[int]) -> dict[str, Any]:
    """Every pair of ranked forecasters, and one sentence that a person can act on."""
    names = scored.table.forecasters
    if len(ranked) > MOST_COMPARED:
        said = (
            f"{len(ranked)} forecasters are more than the {MOST_COMPARED} that are compared pair "
            "by pair; compare fewer, or read each one's skill."
        )
        return {"margin": scored.margin, "pairs": [], "sentence": said}
    pairs = [_pair(scored, a, b) for a, b in combinations(ranked, 2)]
    with_p = [pair for pair in pairs if pair["p"] is not None]
    for pair, adjusted in zip(with_p, holm([pair["p"] for pair in with_p]), strict=True):
        pair["p_holm"] = float(adjusted)
        if pair["word"] in ("better", "worse") and adjusted >= ALPHA:
            pair["word"] = "equivalent" if pair["within_margin"] else "undecided"
    return {
        "margin": scored.margin,
        "pairs": pairs,
        "sentence": _sentence(names, ranked, pairs, scored.margin),
    }


def _pair(scored: Paired, a: int, b: int) -> dict[str, Any]:
    first, second = _common(scored, a, b)
    own, other = (
        scored.losses(scored.units[first], first),
        scored.losses(scored.units[second], second),
    )
    found = paired(own, other, scored.cluster[first], per_one=scored.per_one)
    told = verdict(found, margin=scored.margin)
    names = scored.table.forecasters
    return {
        "a": names[a],
        "b": names[b],
        "n": found.n,
        "clusters": found.clusters,
        "gain": found.gain,
        "ci95": None if found.low is None else [found.low, found.high],
        "p": found.p,
        "p_holm": None,
        "word": told.word,
        "within_margin": told.within_margin,
        "detectable": told.detectable,
        "clusters_needed": told.needed,
        "clusters_more": told.more,
        "reason": found.reason,
    }


def _common(scored: Paired, a: int, b: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The resolved rows of both on the same events, in the same order.

    An event answered twice (the same question at one time) cannot be there:
    reading refuses it.
    """
    held = []
    for k in (a, b):
        rows = scored.rows_of[k]
        held.append(rows[scored.resolved[rows]])
    first, second = held
    if np.array_equal(scored.event[first], scored.event[second]):
        return first, second
    _, left, right = np.intersect1d(
        scored.event[first], scored.event[second], assume_unique=True, return_indices=True
    )
    return first[left], second[right]


def _sentence(
    names: Sequence[str], ranked: Sequence[int], pairs: list[dict[str, Any]], margin: float
) -> str:
    """Who is better, equivalent or undecided against the one that wins most, and what it takes."""
    if len(ranked) < 2:
        who = names[ranked[0]] if ranked else "nobody"
        return f"There is nothing to compare: {who} alone has scored forecasts and answers enough."
    leader = _leader([names[k] for k in ranked], pairs)
    told: dict[str, list[str]] = {word: [] for word in _WORDS}
    more = 0
    for pair in pairs:
        if leader not in (pair["a"], pair["b"]):
            continue
        first = pair["a"] == leader
        word = pair["word"] if first else _TURNED.get(pair["word"], pair["word"])
        told[word].append(pair["b"] if first else pair["a"])
        if word == "undecided":
            more = max(more, pair["clusters_more"] or 0)
    parts = []
    if told["better"]:
        parts.append(f"better than {_listed(told['better'])}")
    if told["worse"]:
        parts.append(f"worse than {_listed(told['worse'])}")
    if told["equivalent"]:
        parts.append(f"equivalent (within {margin:g} Brier) to {_listed(told['equivalent'])}")
    if told["identical"]:
        parts.append(f"identical on every common question to {_listed(told['identical'])}")
    if told["undecided"]:
        wait = (
            f": about {more:,} more questions would settle a difference of {margin:g}"
            if more
            else ""
        )
        parts.append(f"undecided against {_listed(told['undecided'])}{wait}")
    return f"{leader} is {'; '.join(parts)}."


def _leader(names: Sequence[str], pairs: list[dict[str, Any]]) -> str:
    """Who beats the most others beyond doubt; among equals, who gains most on average."""
    wins = dict.fromkeys(names, 0)
    gains: dict[str, list[float]] = {name: [] for name in names}
    for pair in pairs:
        if pair["gain"] is None:
            continue
        gains[pair["a"]].append(pair["gain"])
        gains[pair["b"]].append(-pair["gain"])
        if pair["word"] in ("better", "worse"):
            wins[pair["a"] if pair["word"] == "better" else pair["b"]] += 1

    def order(name: str) -> tuple[int, float, str]:
        held = gains[name]
        return (-wins[name], -(sum(held) / len(held)) if held else 0.0, name)

    return min(names, key=order)


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = list(names[:most])
    if len(names) > most:
        return ", ".join(shown) + f" and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
