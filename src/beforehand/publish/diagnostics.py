"""Diagnostics beside the scores: how alike forecasters are, and what a reader may ask for beside.

What a league does not have stands under `not_applicable` with the reason; a
number that is not there is never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import fsum, sqrt
from typing import Any

from beforehand.publish.fold import LeagueFold
from beforehand.publish.rows import Row
from beforehand.scoring.exact import Grid, decimal_places

DIAGNOSTICS_FORMAT = "beforehand-diagnostics/1"
LEAST_COMMON = 10
CONSTANT_SHARE = Fraction(4, 5)
PLACES = 6
POWER_STEPS = 2000
MOST_FORECASTERS = 200
Picture = dict[tuple[str, str], float]
# Rows with a probability, whatever became of the question.
_STATED = frozenset(("counted", "open", "void", "stale"))


def diagnostics(fold: LeagueFold, rows: Sequence[Row], board: Mapping[str, Any]) -> dict[str, Any]:
    """The diagnostics of a league as JSON values, numbers as decimal text of six places.

    The likeness of two forecasters is the Pearson correlation of their stated
    probabilities over the questions both answered, at least LEAST_COMMON.
    """
    names = [
        entry["forecaster"]
        for entry in board["forecasters"]
        if entry["rank"] is not None and entry["kind"] != "derived"
    ][:MOST_FORECASTERS]
    pictures = _pictures(rows, names)
    names = _comparable(names, pictures)
    likeness = {
        pair: likeness_of(pictures[pair[0]], pictures[pair[1]]) for pair in combinations(names, 2)
    }
    matrix = [[_cell(a, b, likeness) for b in names] for a in names]
    why, steps = _reasons(fold), Grid.of(fold.declaration.grid).steps
    content: dict[str, Any] = {
        "format": DIAGNOSTICS_FORMAT,
        "forecasters": names,
        "matrix": [[_text(value) for value in row] for row in matrix],
        "seats": [_seat(name, names, likeness, pictures, steps) for name in names],
        "answers": _answers(rows, board, steps),
        "crowd_rows": _crowd_rows(fold),
        "not_applicable": why,
    }
    if len(names) > 1:
        trace = fsum(matrix[i][i] for i in range(len(names)))
        squares = fsum(value * value for row in matrix for value in row)
        content["participation_ratio"] = _text(trace * trace / squares)
        content["largest_share"] = _text(_largest(matrix) / trace)
    else:
        said = "fewer than two ranked forecasters have enough questions in common"
        why |= dict.fromkeys(("participation_ratio", "largest_share", "seats"), said)
    if not content["crowd_rows"]:
        why["crowd_rows"] = "the source gives one price of the crowd, without its two sides"
    return content


def _answers(rows: Sequence[Row], board: Mapping[str, Any], steps: int) -> list[dict[str, Any]]:
    """How much each forecaster's answers vary, the ranked and the others.

    Who says nearly the same to every question answers the prompt and not the
    question: `constant` is a share of CONSTANT_SHARE or more on one value.
    """
    names = [e["forecaster"] for e in board["forecasters"] if e["kind"] != "derived"]
    held: dict[str, Counter[int]] = {name: Counter() for name in names[:MOST_FORECASTERS]}
    for row in rows:
        if row.forecaster in held and row.units is not None and row.status in _STATED:
            held[row.forecaster][row.units] += 1
    return [_varied(name, counts, steps) for name, counts in held.items() if counts]


def _varied(name: str, counts: Counter[int], steps: int) -> dict[str, Any]:
    n = counts.total()
    commonest, times = min(counts.items(), key=lambda item: (-item[1], item[0]))
    share = Fraction(times, n)
    return {
        "forecaster": name,
        "n": n,
        "distinct": len(counts),
        "commonest": decimal_places(Fraction(commonest, steps), PLACES),
        "share": decimal_places(share, PLACES),
        "constant": n >= LEAST_COMMON and share >= CONSTANT_SHARE,
    }


def likeness_of(one: Picture, other: Picture) -> float | None:
    """Pearson's r over the common questions; None for too few, or where one never varies."""
    common = sorted(one.keys() & other.keys())
    if len(common) < LEAST_COMMON:
        return None
    xs, ys = [one[key] for key in common], [other[key] for key in common]
    mean_x, mean_y = fsum(xs) / len(xs), fsum(ys) / len(ys)
    spread_x = fsum((x - mean_x) ** 2 for x in xs)
    spread_y = fsum((y - mean_y) ** 2 for y in ys)
    if spread_x <= 0 or spread_y <= 0:
        return None
    joint = fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return max(-1.0, min(1.0, joint / sqrt(spread_x * spread_y)))


def _pictures(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Picture]:
    held: dict[str, Picture] = {name: {} for name in names}
    for row in rows:
        if row.forecaster in held and row.units is not None and row.status in _STATED:
            held[row.forecaster][row.run, row.question] = float(row.units)
    return held


def _comparable(names: Sequence[str], pictures: Mapping[str, Picture]) -> list[str]:
    """The forecasters each pair of whom can be compared; who lacks most pairs is left out first."""
    left = list(names)
    while len(left) > 1:
        lacking = {
            name: sum(
                likeness_of(pictures[name], pictures[other]) is None
                for other in left
                if other != name
            )
            for name in left
        }
        worst = max(left, key=lambda name: (lacking[name], name))
        if not lacking[worst]:
            return left
        left.remove(worst)
    return []


def _cell(a: str, b: str, likeness: Mapping[tuple[str, str], float | None]) -> float:
    if a == b:
        return 1.0
    value = likeness.get((a, b), likeness.get((b, a)))
    return 0.0 if value is None else value


def _seat(
    name: str,
    names: Sequence[str],
    likeness: Mapping[tuple[str, str], float | None],
    pictures: Mapping[str, Picture],
    steps: int,
) -> dict[str, Any]:
    """A forecaster's mean likeness to the others, and how often it is on their side."""
    values = [_cell(name, other, likeness) for other in names if other != name]
    sided, with_most, half = 0, 0, steps / 2
    for key, own in pictures[name].items():
        others = [
            pictures[other][key] for other in names if other != name and key in pictures[other]
        ]
        above = sum(value > half for value in others)
        below = sum(value < half for value in others)
        if own == half or above == below:
            continue
        sided += 1
        with_most += (own > half) == (above > below)
    return {
        "forecaster": name,
        "mean_r": _text(fsum(values) / len(values)) if values else None,
        "sided": sided,
        "majority_share": _text(with_most / sided) if sided else None,
    }


def _crowd_rows(fold: LeagueFold) -> list[dict[str, Any]]:
    """Both sides of the crowd's price in every run, with the time of reading."""
    rows = []
    for run in fold.runs:
        for name, quote in sorted(fold.quotes_of(run).items()):
            if quote.bid is not None or quote.ask is not None:
                rows.append(
                    {
                        "run": run,
                        "question": name,
                        "bid": quote.bid,
                        "ask": quote.ask,
                        "volume": quote.volume,
                        "read_at": quote.read_at,
                        "last_trade_at": None,
                    }
                )
    return rows


def _reasons(fold: LeagueFold) -> dict[str, str]:
    """Why a part is not here, by part."""
    content = fold.declaration.content
    reasons = {
        "sides_test": "no sides are declared",
        "fetch_records": "the league fetches no cited page; the replies that cite are its bodies",
        "prices_only": "no such arm is declared",
        "repeats": "no repeats are declared",
        "accounts": "no portfolio is kept; the paper account of the board has no turnover",
        "last_trade_at": "the venue's order book does not tell it",
    }
    if content["answers"]["entry"] == "accepted":
        reasons["fetch_records"] = "answers are accepted as they came, without citations"
    return reasons


def _largest(matrix: Sequence[Sequence[float]]) -> float:
    """The largest eigenvalue, by power iteration from a fixed start."""
    vector, value = [1.0 + i / 1000 for i in range(len(matrix))], 0.0
    for _ in range(POWER_STEPS):
        image = [fsum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
        length = sqrt(fsum(item * item for item in image))
        if length == 0.0:
            return 0.0
        vector = [item / length for item in image]
        if abs(length - value) < 1e-12:
            break
        value = length
    return value


def _text(value: float) -> str:
    return f"{value:.{PLACES}f}"
