"""Many comparisons at once: p-values adjusted so that the family keeps its error rate."""

from __future__ import annotations

from collections.abc import Sequence

from beforehand.errors import FormatError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: reject those at or below the level.

    Keeps the chance of any false rejection below the level, whatever the
    dependence (Holm 1979, Scandinavian Journal of Statistics 6).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = _ascending(p_values)
    adjusted, least = [0.0] * len(order), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, p_values[place] * (len(order) - rank)))
        adjusted[place] = least
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, in the order given.

    Keeps the expected share of false among the rejected below the level, for
    independent or positively dependent tests (1995, JRSS B 57).

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    order = _ascending(p_values)
    adjusted, least = [0.0] * len(order), 1.0
    for rank in range(len(order), 0, -1):
        place = order[rank - 1]
        least = min(least, p_values[place] * len(order) / rank)
        adjusted[place] = least
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    for place, value in enumerate(p_values):
        if not 0 <= value <= 1:
            raise FormatError(f"p-value {place} is {value}, not from 0 to 1")
    return sorted(range(len(p_values)), key=lambda place: p_values[place])
