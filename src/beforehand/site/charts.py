"""The geometry of the pages' pictures: where things stand, in percent or pixels.

Drawing is in `templates/charts.svg.j2`. Horizontal places are percentages of
the picture's width, so one picture fits a phone and a desk and its words keep
their size. Floats are for drawing only; no number is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beforehand.site.text import MINUS, NOTHING, cut, number, signed

LABEL_CHARS = 16


@dataclass(frozen=True)
class Axis:
    """A linear scale from `low` to `high`, drawn between `left` and `right` percent."""

    low: float
    high: float
    ticks: tuple[float, ...]
    left: float
    right: float

    def at(self, value: float) -> float:
        """The place of a value, kept inside the drawing."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.left + (self.right - self.left) * min(1.0, max(0.0, share)), 2)

    def outside(self, value: float) -> int:
        """-1 left of the drawing, 1 right of it, else 0."""
        return (value > self.high) - (value < self.low)


def axis_over(values: Iterable[float], left: float, right: float, wanted: int = 5) -> Axis:
    """A scale over the values and 0, its ends on round numbers."""
    held = [0.0, *values]
    low, high = min(held), max(held)
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    step = 10.0 ** math.floor(math.log10((high - low) / wanted))
    step *= next(m for m in (1, 2, 2.5, 5, 10) if (high - low) / (step * m) <= wanted)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(k * step, 10) for k in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, left, right)


def tick_text(value: float) -> str:
    """A tick's label: signed, as short as it is exact.

    >>> tick_text(0.05), tick_text(0.0)
    ('+0.05', '0')
    """
    if value == 0:
        return "0"
    return f"{value:+.4f}".rstrip("0").rstrip(".").replace("-", MINUS)


def label_percent(labels: Iterable[str]) -> float:
    """How much of a picture's width its row labels take: enough on the narrowest phone."""
    longest = max((min(len(label), LABEL_CHARS) for label in labels), default=0)
    return 4.0 + 2.1 * longest


@dataclass(frozen=True)
class GainBar:
    """One interval against zero. `tone` is good, bad or even: which side of 0 it lies on."""

    label: str
    text: str
    at: float
    low: float
    high: float
    outside: int
    tone: str
    usual: float


def gain_axis(entries: Iterable[dict[str, Any]], left: float, right: float) -> Axis:
    """One scale for all intervals of these board entries."""
    values = [
        float(entry["gain"][end])
        for entry in entries
        for end in ("low", "high", "mean")
        if entry["gain"][end] is not None
    ]
    return axis_over(values, left, right)


def gain_bar(entry: dict[str, Any], axis: Axis) -> GainBar | None:
    """The entry's interval on the scale; None where there is none."""
    gain = entry["gain"]
    if gain["mean"] is None or gain["low"] is None:
        return None
    low, high, mean = float(gain["low"]), float(gain["high"]), float(gain["mean"])
    return GainBar(
        label=cut(entry["label"], LABEL_CHARS),
        text=signed(gain["mean"]),
        at=axis.at(mean),
        low=axis.at(low),
        high=axis.at(high),
        outside=axis.outside(mean),
        tone=_tone(entry["gain_on_average"]),
        usual=axis.at(mean - float(entry["gain_on_average"]["mean"])),
    )


def gain_mark(label: str, estimate: Mapping[str, Any], axis: Axis) -> GainBar | None:
    """An estimate's interval on a scale, coloured by its side of 0; None without a mean.

    Without an interval the bar is its dot.
    """
    if estimate["mean"] is None:
        return None
    mean = float(estimate["mean"])
    ends = [mean if estimate[end] is None else float(estimate[end]) for end in ("low", "high")]
    sided = estimate["low"] is not None
    return GainBar(
        label=cut(label, LABEL_CHARS),
        text=signed(estimate["mean"]),
        at=axis.at(mean),
        low=axis.at(ends[0]),
        high=axis.at(ends[1]),
        outside=axis.outside(mean),
        tone=("even", "good", "bad")[sided * ((ends[0] > 0) - (ends[1] < 0))],
        usual=axis.at(0.0),
    )


def _tone(estimate: dict[str, Any]) -> str:
    """Good or bad only against the average of the others, whose gain is 0 in expectation.

    A median of many beats most of its members, so a gain over it is below 0
    for one who is no different from the others.
    """
    if estimate["low"] is None:
        return "even"
    if float(estimate["low"]) > 0:
        return "good"
    return "bad" if float(estimate["high"]) < 0 else "even"


def skill_picture(held: Sequence[tuple[str, dict[str, Any]]], most: int) -> dict[str, Any]:
    """Skill against a reference, `(name, estimate)` each, the first `most` that have one.

    An estimate is that of a scorecard. Without an interval the bar is its dot.
    """
    known = [(name, found) for name, found in held if found["mean"] is not None]
    drawn = [(name, found, found["ci95"] or [found["mean"]] * 2) for name, found in known[:most]]
    left = label_percent(name for name, _, _ in drawn)
    axis = axis_over(
        [end for _, found, ends in drawn for end in (*ends, found["mean"])], left, 83.0
    )
    zero = axis.at(0.0)
    bars = []
    for name, found, ends in drawn:
        sides = (found["ci95"] is not None) * ((ends[0] > 0) - (ends[1] < 0))
        bars.append(
            GainBar(
                label=cut(name, LABEL_CHARS),
                text=signed(repr(found["mean"])),
                at=axis.at(found["mean"]),
                low=axis.at(ends[0]),
                high=axis.at(ends[1]),
                outside=0,
                tone=("even", "good", "bad")[sides],
                usual=zero,
            )
        )
    return {
        "bars": bars,
        "ticks": [(axis.at(tick), tick_text(tick)) for tick in axis.ticks],
        "zero": zero,
        "left": left,
        "left_out": len(known) - len(drawn),
        "without": len(held) - len(known),
    }


@dataclass(frozen=True)
class Dot:
    """A forecast in a strip: `x` in percent, `level` its height; `out` where it does not count."""

    x: float
    level: int
    name: str
    text: str
    out: bool


STRIP = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), 4.0, 96.0)
STRIP_BUCKETS = 40


def dot_strip(forecasts: Sequence[tuple[float, str, str, bool]]) -> tuple[list[Dot], int]:
    """`(probability, name, text, out)` as dots, near ones stacked; and the highest stack."""
    buckets: dict[int, list[tuple[float, str, str, bool]]] = {}
    for forecast in sorted(forecasts):
        buckets.setdefault(round(forecast[0] * STRIP_BUCKETS), []).append(forecast)
    dots = []
    for bucket, held in buckets.items():
        middle = held[0][0] if len(held) == 1 else bucket / STRIP_BUCKETS
        for level, (_, name, text, out) in enumerate(held):
            dots.append(Dot(STRIP.at(middle), level, name, text, out))
    return dots, max((len(held) for held in buckets.values()), default=0)


@dataclass(frozen=True)
class BinMark:
    """A calibration bin as drawn: its dot, its Wilson bar, its share of all forecasts."""

    x: float
    y: float
    low: float
    high: float
    radius: float
    bar: float
    left: float
    width: float
    n: int


SIDE = 280.0
COUNTS = 44.0


def calibration_marks(bins: Sequence[dict[str, Any]]) -> list[BinMark]:
    """The bins that hold something, in a square of SIDE pixels, counts below it."""
    most = max((item["n"] for item in bins), default=0)
    marks = []
    for item in bins:
        if not item["n"]:
            continue
        low, high = float(item["low"]), float(item["high"])
        marks.append(
            BinMark(
                x=round(SIDE * float(item["mean_stated"]), 1),
                y=round(SIDE * (1 - float(item["share"])), 1),
                low=round(SIDE * (1 - float(item["wilson_low"])), 1),
                high=round(SIDE * (1 - float(item["wilson_high"])), 1),
                radius=round(3 + 4 * math.sqrt(item["n"] / most), 1),
                bar=round(COUNTS * item["n"] / most, 1),
                left=round(SIDE * low + 1, 1),
                width=round(SIDE * (high - low) - 2, 1),
                n=item["n"],
            )
        )
    return marks


def interval_text(estimate: dict[str, Any], signs: bool = False) -> str:
    """`low to high` of an estimate, a dash where it has no interval."""
    if estimate["low"] is None:
        return NOTHING
    form = signed if signs else number
    return f"{form(estimate['low'])} to {form(estimate['high'])}"
