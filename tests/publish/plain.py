"""The blind league's measures written down plainly from a table of answers, with no code of ours.

`Table` is what was said, quoted and what happened. Each function is the rule of
the description in Fractions; tests compare the board with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from scipy import stats

Key = tuple[str, int]
HALF = Fraction(1, 2)


@dataclass
class Table:
    """`said[name][slot, question]` is a probability or None for a failure."""

    said: dict[str, dict[Key, Fraction | None]]
    quotes: dict[Key, tuple[Fraction, Fraction]]
    outcomes: dict[int, bool | None]
    events: dict[int, str] = field(default_factory=dict)

    def event(self, question: int) -> str:
        return self.events.get(question, f"e{question}")

    def crowd(self, key: Key) -> Fraction:
        """C1: the middle of bid and ask, on the grid like every other forecast."""
        bid, ask = self.quotes[key]
        return on_grid((bid + ask) / 2)

    def resolved(self, key: Key) -> bool:
        return self.outcomes.get(key[1]) is not None

    def loss(self, p: Fraction, key: Key) -> Fraction:
        return (p - int(bool(self.outcomes[key[1]]))) ** 2

    def gain(self, p: Fraction, key: Key) -> Fraction:
        return self.loss(self.crowd(key), key) - self.loss(p, key)

    def valid(self, name: str) -> dict[Key, Fraction]:
        return {
            key: p for key, p in self.said[name].items() if p is not None and self.resolved(key)
        }

    def ensemble(self, names: Iterable[str], least: int = 3) -> dict[Key, Fraction]:
        """E1: the plain mean of the valid answers, from three up, on the grid."""
        found = {}
        for key in self.quotes:
            held = [p for name in names if (p := self.said[name].get(key)) is not None]
            if len(held) >= least and self.resolved(key):
                found[key] = on_grid(Fraction(sum(held), len(held)))
        return found


def on_grid(p: Fraction) -> Fraction:
    return Fraction(round(p * 10_000), 10_000)


def question_mean(values: Mapping[Key, Fraction]) -> Fraction | None:
    """S4: the mean within each question first, then over the questions."""
    by_question: dict[int, list[Fraction]] = {}
    for (_, question), value in values.items():
        by_question.setdefault(question, []).append(value)
    means = [sum(held, Fraction(0)) / len(held) for held in by_question.values()]
    return sum(means, Fraction(0)) / len(means) if means else None


def event_interval(values: Mapping[Key, Fraction], table: Table) -> tuple[float, float, float]:
    """Error and t interval of the question mean: each event is left out in turn."""
    by_question: dict[int, list[Fraction]] = {}
    for (_, question), value in values.items():
        by_question.setdefault(question, []).append(value)
    centre = question_mean(values)
    assert centre is not None
    sizes: dict[str, int] = {}
    for question in by_question:
        sizes[table.event(question)] = sizes.get(table.event(question), 0) + 1
    groups, changes = len(sizes), []
    for event in sizes:
        rest = {key: v for key, v in values.items() if table.event(key[1]) != event}
        without = question_mean(rest)
        assert without is not None
        changes.append(float(without - centre))
    se = math.sqrt((groups - 1) / groups * math.fsum(change * change for change in changes))
    effective = len(by_question) ** 2 // sum(size * size for size in sizes.values())
    half = float(stats.t.ppf(0.975, max(1, effective - 1))) * se
    return se, float(centre) - half, float(centre) + half


def shared_keys(table: Table, names: Iterable[str]) -> list[Key]:
    """S5: the rows on which every one of them is valid and resolved."""
    return sorted(set.intersection(*(set(table.valid(name)) for name in names)))


def kelly(p: Fraction, bid: Fraction, ask: Fraction, happened: bool, cap: Fraction) -> Fraction:
    """K1 at the prices on offer."""
    crowd = (bid + ask) / 2
    if crowd <= Fraction(2, 100) or crowd >= Fraction(98, 100):
        return Fraction(0)
    if p > ask:
        f = min(cap, (p - ask) / (1 - ask))
        return f * (1 - ask) / ask if happened else -f
    if p < bid:
        f = min(cap, (bid - p) / bid)
        return -f if happened else f * bid / (1 - bid)
    return Fraction(0)


def mean_of_subsets(table: Table, names: tuple[str, ...], k: int) -> Fraction:
    """The mean, over every subset of k, of the subset's mean Brier loss; one by one."""
    keys = shared_keys(table, names)
    means = []
    for chosen in combinations(names, k):
        losses = {
            key: table.loss(sum((table.valid(n)[key] for n in chosen), Fraction(0)) / k, key)
            for key in keys
        }
        value = question_mean(losses)
        assert value is not None
        means.append(value)
    return sum(means, Fraction(0)) / len(means)


def correlation(table: Table, a: str, b: str) -> float:
    """Pearson's r of p - y, each question weighing once."""
    keys = shared_keys(table, (a, b))
    counts: dict[int, int] = {}
    for _, question in keys:
        counts[question] = counts.get(question, 0) + 1
    weights = [1 / counts[question] for _, question in keys]
    errors = [
        [float(table.valid(name)[key]) - int(bool(table.outcomes[key[1]])) for key in keys]
        for name in (a, b)
    ]
    total = math.fsum(weights)
    means = [math.fsum(w * x for w, x in zip(weights, e, strict=True)) / total for e in errors]
    off = [[x - m for x in e] for e, m in zip(errors, means, strict=True)]

    def product(one: list[float], other: list[float]) -> float:
        return math.fsum(w * x * y for w, x, y in zip(weights, one, other, strict=True))

    return product(off[0], off[1]) / math.sqrt(product(off[0], off[0]) * product(off[1], off[1]))
