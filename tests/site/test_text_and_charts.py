"""Numbers as words, the geometry of pictures, and the contrast of the colours."""

from __future__ import annotations

import doctest
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.site import charts, text
from beforehand.site.pages import _asset
from beforehand.site.text import cut, number, percent, plain, signed


@pytest.mark.parametrize("module", [text, charts])
def test_examples_in_the_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@given(st.text(max_size=300), st.integers(8, 60))
def test_a_cut_text_is_one_line_and_short_enough(words: str, most: int) -> None:
    short = cut(words, most)
    assert len(short) <= most
    assert "\n" not in short


@given(st.text(max_size=200))
def test_plain_is_idempotent_and_encodable(words: str) -> None:
    once = plain(words)
    assert plain(once) == once
    once.encode("utf-8")


@given(st.decimals(-1, 1, places=6))
def test_a_number_reads_back_within_half_a_place(value: Decimal) -> None:
    back = Decimal(signed(f"{value:f}").replace("\u2212", "-"))
    assert abs(back - value) <= Decimal("0.00005")


def test_nothing_is_a_dash_and_zero_has_no_sign() -> None:
    assert [number(None), signed(None), percent(None)] == ["—"] * 3
    assert signed("-0.00001") == "0.0000"
    assert number("-0.5", 2) == "\u22120.50"


@given(st.lists(st.floats(-1, 1), max_size=20))
def test_an_axis_holds_its_values_and_zero(values: list[float]) -> None:
    axis = charts.axis_over(values, 10.0, 90.0)
    for value in [0.0, *values]:
        assert axis.outside(value) == 0 or abs(value) < 1e-8
        assert 10.0 <= axis.at(value) <= 90.0
    assert 2 <= len(axis.ticks) <= 8
    assert 0.0 in axis.ticks


@given(st.lists(st.floats(0, 1), max_size=60))
def test_a_strip_shows_every_forecast_once_and_near_its_place(values: list[float]) -> None:
    dots, tallest = charts.dot_strip([(value, str(k), "", False) for k, value in enumerate(values)])
    assert sorted(dot.name for dot in dots) == sorted(str(k) for k in range(len(values)))
    for dot in dots:
        assert abs(dot.x - charts.STRIP.at(values[int(dot.name)])) <= 92 / 40 / 2 + 0.01
        assert dot.level < tallest
    assert len({(dot.x, dot.level) for dot in dots}) == len(dots)


def test_a_bin_of_nothing_is_not_drawn() -> None:
    empty = {"n": 0, "low": "0", "high": "0.1", "mean_stated": None, "share": None,
             "wilson_low": None, "wilson_high": None}  # fmt: skip
    assert charts.calibration_marks([empty]) == []


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, two: str) -> float:
    low, high = sorted((_luminance(one), _luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_colour_has_a_contrast_of_at_least_four_and_a_half(scheme: str) -> None:
    head, dark = _asset("style.css").split("@media screen and (prefers-color-scheme: dark)", 1)
    block = head if scheme == "light" else dark.split("}", 1)[0]
    colour = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    inks = ("ink", "soft", "link", "good", "bad", "even", "crowd", "median")
    pairs = [(ink, ground) for ink in inks for ground in ("paper", "panel")]
    pairs += [("on-deep", "deep"), ("warn-ink", "warn"), ("paper", "link"), ("ink", "warn"),
              ("soft", "warn"), ("link", "warn")]  # fmt: skip
    thin = {pair: round(_contrast(colour[pair[0]], colour[pair[1]]), 2) for pair in pairs}
    assert {pair: value for pair, value in thin.items() if value < 4.5} == {}
