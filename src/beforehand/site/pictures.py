"""The geometry of the pictures of a league that asks models: curves, heat maps, courses in time.

Horizontal places are percentages, vertical ones pixels, as in `charts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from beforehand.site.charts import Axis
from beforehand.site.text import cut, number

HEIGHT = 240.0
MOST_MAPPED = 16
CELL = 46
LABEL = 96


@dataclass(frozen=True)
class Point:
    """A place in a picture with what it says."""

    x: float
    y: float
    text: str = ""


def _down(axis: Axis, value: float, height: float) -> float:
    """The vertical place of a value: high values above."""
    share = (value - axis.low) / (axis.high - axis.low)
    return round(height * (1 - min(1.0, max(0.0, share))), 1)


def _span_axis(values: Sequence[float]) -> Axis:
    """A scale over values that need not hold 0, its ends on round numbers."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 2.5, 5, 10) if (high - low) / (step * m) <= 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(k * step, 10) for k in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, 0.0, 100.0)


def curve_picture(curve: Sequence[Mapping[str, Any]], crowd: str | None) -> dict[str, Any] | None:
    """The mean loss by size of the ensemble, with best and worst subset; None with one size."""
    held = [point for point in curve if point["brier"] is not None]
    if len(held) < 2:
        return None
    values = [float(p[key]) for p in held for key in ("brier", "best", "worst") if p[key]]
    if crowd is not None:
        values.append(float(crowd))
    axis = _span_axis(values)
    places = [round(12 + 82 * k / (len(held) - 1), 2) for k in range(len(held))]
    points = [
        Point(x, _down(axis, float(p["brier"]), HEIGHT), str(p["size"]))
        for x, p in zip(places, held, strict=True)
    ]
    spans = [
        (x, _down(axis, float(p["worst"]), HEIGHT), _down(axis, float(p["best"]), HEIGHT))
        for x, p in zip(places, held, strict=True)
        if p["best"] is not None and p["worst"] is not None
    ]
    return {
        "height": HEIGHT,
        "points": points,
        "spans": spans,
        "lines": list(pairwise(points)),
        "crowd": None if crowd is None else _down(axis, float(crowd), HEIGHT),
        "crowd_text": "" if crowd is None else f"crowd {number(crowd)}",
        "ticks": [(_down(axis, tick, HEIGHT), f"{tick:.4f}".rstrip("0")) for tick in axis.ticks],
    }


def heat_picture(
    models: Sequence[str], labels: Sequence[str], correlations: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The error correlation of every pair as a square with its number; None below two models."""
    shown = list(models[:MOST_MAPPED])
    if len(shown) < 2:
        return None
    value = {}
    for pair in correlations:
        value[pair["a"], pair["b"]] = value[pair["b"], pair["a"]] = pair["r"]
    cells = []
    for down, a in enumerate(shown):
        for across, b in enumerate(shown):
            r = "1" if a == b else value.get((a, b))
            cells.append(_heat(LABEL + CELL * across, CELL * down, r, own=a == b))
    return {
        "cells": cells,
        "side": CELL,
        "rows": [(CELL * k + CELL / 2, cut(labels[k], 13)) for k in range(len(shown))],
        "columns": [
            (LABEL + CELL * k + CELL / 2, CELL * len(shown) + 12, cut(labels[k], 13))
            for k in range(len(shown))
        ],
        "width": LABEL + CELL * len(shown),
        "height": CELL * len(shown) + 66,
        "left_out": len(models) - len(shown),
    }


def _heat(x: float, y: float, r: str | None, *, own: bool) -> dict[str, Any]:
    """A square: never so dark that the ink on it could not be read in either theme."""
    size = 0.0 if r is None or own else min(1.0, abs(float(r)))
    return {
        "x": x,
        "y": y,
        "text": "–" if r is None else ("1" if own else number(r, 2)),
        "tone": "own" if own else ("cold" if r is not None and float(r) < 0 else "hot"),
        "opacity": round(0.04 + 0.42 * size**3, 3),
    }


def course_picture(
    slots: Sequence[str], series: Mapping[str, Sequence[str | None]], tones: Mapping[str, str]
) -> dict[str, Any] | None:
    """Probabilities by slot: lines for crowd and pools, dots for models; None below two slots."""
    if len(slots) < 2:
        return None
    height = 180.0
    axis = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), 0.0, 100.0)
    places = [round(9 + 88 * k / (len(slots) - 1), 2) for k in range(len(slots))]
    lines, dots = [], []
    for name, values in series.items():
        points = [
            Point(x, _down(axis, float(value), height), value)
            for x, value in zip(places, values, strict=True)
            if value is not None
        ]
        tone = tones.get(name, "dot")
        if tone == "dot":
            dots += [(point, name) for point in points]
        else:
            lines.append({"tone": tone, "name": name, "points": points,
                          "pairs": list(pairwise(points))})  # fmt: skip
    return {
        "height": height,
        "lines": lines,
        "dots": dots,
        "ticks": [(_down(axis, tick, height), f"{tick:g}") for tick in axis.ticks],
        "first": slots[0],
        "last": slots[-1],
    }


def strip_picture(runs: Sequence[tuple[str, str, int, int]]) -> dict[str, Any] | None:
    """`(run, slot, valid, failed)` as one bar a run, the valid part below the failed one."""
    if not runs:
        return None
    height, width = 48.0, 100.0 / len(runs)
    bars = []
    for place, (name, slot, valid, failed) in enumerate(runs):
        tried = valid + failed
        high = round(height * valid / tried, 1) if tried else 0.0
        bars.append(
            {
                "x": round(place * width, 3),
                "width": round(max(width * 0.82, 0.2), 3),
                "valid": high,
                "failed": round(height - high, 1) if tried else 0.0,
                "text": f"{slot}: {valid} of {tried} valid" if tried else f"{slot}: not asked",
                "run": name,
            }
        )
    return {"bars": bars, "height": height, "first": runs[0][1], "last": runs[-1][1]}
