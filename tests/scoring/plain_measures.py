"""The measures row by row in fractions, written from their definitions and not from the tally."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

Row = tuple[Fraction, int]


def brier(rows: Sequence[Row]) -> Fraction:
    return sum(((p - y) ** 2 for p, y in rows), Fraction(0)) / len(rows)


def place_of(bins: int | str) -> Callable[[Fraction], object]:
    if isinstance(bins, str):
        return lambda p: p
    return lambda p: min(int(p * bins), bins - 1)


def grouped(rows: Sequence[Row], bins: int | str) -> list[list[Row]]:
    found: dict[object, list[Row]] = defaultdict(list)
    for p, y in rows:
        found[place_of(bins)(p)].append((p, y))
    return list(found.values())


def murphy(rows: Sequence[Row], bins: int | str) -> tuple[Fraction, ...]:
    """unc, rel, res, wbv, wbc as the sums of their definitions."""
    n = len(rows)
    base = Fraction(sum(y for _, y in rows), n)
    rel = res = wbv = wbc = Fraction(0)
    for held in grouped(rows, bins):
        size = len(held)
        said = sum((p for p, _ in held), Fraction(0)) / size
        share = Fraction(sum(y for _, y in held), size)
        rel += size * (said - share) ** 2
        res += size * (share - base) ** 2
        wbv += sum(((p - said) ** 2 for p, _ in held), Fraction(0))
        wbc += 2 * sum(((p - said) * (y - share) for p, y in held), Fraction(0))
    return base * (1 - base), rel / n, res / n, wbv / n, wbc / n


def ferro_fricker(rows: Sequence[Row], bins: int | str) -> tuple[Fraction, ...]:
    """unc, rel, res after the correction, from the sample variances within bins and overall."""
    unc, rel, res, _, _ = murphy(rows, bins)
    n, base = len(rows), Fraction(sum(y for _, y in rows), len(rows))
    chance = Fraction(0)
    for held in grouped(rows, bins):
        size = len(held)
        if size > 1:
            share = Fraction(sum(y for _, y in held), size)
            chance += share * (1 - share) * size / (size - 1)
    whole = base * (1 - base) / (n - 1)
    return unc + whole, rel - chance / n, res - chance / n + whole


def ece(rows: Sequence[Row], bins: int) -> Fraction:
    gaps = Fraction(0)
    for held in grouped(rows, bins):
        said = sum((p for p, _ in held), Fraction(0)) / len(held)
        gaps += len(held) * abs(said - Fraction(sum(y for _, y in held), len(held)))
    return gaps / len(rows)


def isotonic_score(rows: Sequence[Row]) -> Fraction:
    """The least Brier score of any rising recalibration, by the max-min formula."""
    points = sorted({p for p, _ in rows})
    of = {point: [y for p, y in rows if p == point] for point in points}

    def share(first: int, last: int) -> Fraction:
        held = [y for point in points[first : last + 1] for y in of[point]]
        return Fraction(sum(held), len(held))

    fitted = {
        point: max(
            min(share(low, high) for high in range(place, len(points))) for low in range(place + 1)
        )
        for place, point in enumerate(points)
    }
    return brier([(fitted[p], y) for p, y in rows])
