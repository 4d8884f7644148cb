"""Probabilities as decimal text onto the grid: exact, and what is none of them named.

Plain decimals and such as 2.5e-3, nearly all there are, are read as 64-bit
integers in steps of 10^-18 with a mark for digits beyond; every other text
once, as a `Decimal`. Neither passes through a binary fraction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.errors import FormatError
from beforehand.records.forecast import FAILURES
from beforehand.sources.faults import Faults, Mask, shown

# Faults of a text; `FINE` is a probability.
FINE, EMPTY, NOT_A_NUMBER, DECLARED, ABOVE, BELOW, PERCENT, COMMA, TEXT, TOO_LONG = range(10)

# A probability cell may say itself that there is none, in one of these words.
MISSING_WORDS = frozenset({*FAILURES, "missing", "refusal", "failed", "no_answer", "no_forecast"})
EMPTY_WORDS = frozenset({"", "na", "n/a", "null", "none", "nat", "<na>"})

PLACES = 18
ONE = 10**PLACES
MAX_STEPS = 65_535
MAX_CHARS = 400
_PLAIN = r"^(?:0?\.[0-9]{1,300}|[01](?:\.[0-9]{0,300})?)$"
_EXPONENT = r"^([0-9])(?:\.([0-9]{1,300}))?[eE]-0*([1-9][0-9]?)$"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)
_EXACT = Context(prec=2 * MAX_CHARS)


@dataclass(frozen=True)
class Probabilities:
    """`units` on the grid, `fault` codes and `side`, the sign of p - 1/2: one entry a row.

    `amount` is |p - units/steps| in whole 10^-18, and `inexact` says where
    digits beyond these were cut off. Where `fault` is not FINE the others say
    nothing. `texts` are the cells, `steps` the grid's.
    """

    units: NDArray[np.int64]
    fault: NDArray[np.uint8]
    side: NDArray[np.int8]
    amount: NDArray[np.int64]
    inexact: Mask
    texts: pl.Series
    steps: int

    def inside(self) -> Mask:
        """Where the probability is neither 0 nor 1 nor a fault."""
        ends = (self.units == 0) | (self.units == self.steps)
        whole = ends & (self.amount == 0) & ~self.inexact
        return np.asarray((self.fault == FINE) & ~whole)

    def rounding(self, rows: Mask) -> tuple[int, str]:
        """How many of these rows the grid moved, and by how much at most, as decimal text."""
        moved = rows & ((self.amount != 0) | self.inexact)
        count = int(np.count_nonzero(moved))
        if not count:
            return 0, "0"
        most = int(self.amount[moved].max())
        largest = Decimal(most).scaleb(-PLACES)
        # What was cut off is less than one: only rows within one of the most can exceed it.
        near = moved & self.inexact & (self.amount >= most - 1)
        for text in self.texts.filter(pl.Series(near)).unique().to_list():
            largest = max(largest, _exactly(Decimal(text), self.steps)[1])
        return count, plain_decimal(largest)


def plain_decimal(value: Decimal) -> str:
    """Decimal text without superfluous zeros; with exponent, to 12 digits, beyond 30 places.

    >>> plain_decimal(Decimal("0.00005000"))
    '0.00005'
    """
    value = value.normalize(_EXACT)
    short = value == 0 or -int(value.as_tuple().exponent) <= 30
    return f"{value:f}" if short else f"{value:.11e}"


def read_probabilities(texts: pl.Series, steps: int) -> Probabilities:
    """The column on the grid of `steps` steps, half to even, as `scoring.exact.Grid` has it.

    `texts` holds strings, blanks around them allowed. `steps` is at most 65,535.

    >>> held = read_probabilities(pl.Series(["0.97505", "62", "1e-3"]), 10_000)
    >>> held.units.tolist(), held.fault.tolist(), held.rounding(held.fault == 0)
    ([9750, 0, 10], [0, 4, 0], (1, '0.00005'))
    """
    if not 1 <= steps <= MAX_STEPS:
        raise FormatError(f"a grid of {steps} steps; from 1 to {MAX_STEPS} fit")
    stripped = texts.str.strip_chars(" \t")
    whole = ONE % steps == 0  # else 10^-18 is no part of a step
    plain = np.zeros(len(texts), dtype=np.bool_)
    if whole:
        plain = stripped.str.contains(_PLAIN).to_numpy()
    digits = stripped.str.extract(r"\.([0-9]*)$").fill_null("")
    held = _on_grid(stripped, digits, stripped.str.starts_with("1").to_numpy(), plain, steps)
    rest = np.flatnonzero(~plain)
    if len(rest) and whole:
        rest = _fill_small(held, stripped.gather(rest), rest)
    if len(rest):
        _fill_others(held, stripped.gather(rest), rest)
    return held


def _fill_small(
    held: Probabilities, texts: pl.Series, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Puts numbers such as 2.5e-3 into these rows of `held`; gives the rows of other texts."""
    form = texts.str.extract_groups(_EXPONENT).struct.unnest()
    power = form.to_series(2).cast(pl.Int64)
    small = power.is_not_null().to_numpy()
    if small.any():
        digits = form.to_series(0).fill_null("") + form.to_series(1).fill_null("")
        # Beyond 40 zeros nothing is left of the first 18 places anyway.
        length = digits.str.len_bytes().cast(pl.Int64) + power.fill_null(1).clip(1, 40) - 1
        moved = pl.select(pl.lit(digits).str.zfill(pl.lit(length))).to_series()
        none = np.zeros(len(rows), dtype=np.bool_)
        found = _on_grid(texts, moved, none, small, held.steps)
        for into, out in zip(_arrays(held), _arrays(found), strict=True):
            into[rows[small]] = out[small]
    return np.asarray(rows[~small])


def _fill_others(held: Probabilities, texts: pl.Series, rows: NDArray[np.int64]) -> None:
    """Puts texts of any form into these rows of `held`, each different one worked out once."""
    known: dict[str, tuple[int, int, int, int, bool]] = {}
    for row, text in zip(rows.tolist(), texts.to_list(), strict=True):
        if text not in known:
            known[text] = _one(text, held.steps)
        for into, value in zip(_arrays(held), known[text], strict=True):
            into[row] = value


def _arrays(held: Probabilities) -> tuple[NDArray[Any], ...]:
    return held.units, held.fault, held.side, held.amount, held.inexact


def _on_grid(
    texts: pl.Series, digits: pl.Series, one: Mask, known: Mask, steps: int
) -> Probabilities:
    """What the `digits` after the point say, and a 1 before it, where `known`; else zeros."""
    first = digits.str.slice(0, PLACES).str.pad_end(PLACES, "0").cast(pl.Int64, strict=False)
    inexact = digits.str.slice(PLACES).str.contains("[1-9]").to_numpy() & known
    # ONE + the largest fraction is below 2^63.
    value = first.fill_null(0).to_numpy() + np.where(one, ONE, 0)
    value[~known] = 0
    step = max(ONE // steps, 1)
    units, beyond = np.divmod(value, step)
    up = (2 * beyond > step) | ((2 * beyond == step) & (inexact | (units % 2 == 1)))
    # Rounded up, the rest to the next step is shorter by what was cut off.
    amount = np.where(up, step - beyond - inexact, beyond)
    side = np.sign(value - ONE // 2)
    return Probabilities(
        units=units + up,
        fault=np.where((value > ONE) | ((value == ONE) & inexact), ABOVE, FINE).astype(np.uint8),
        side=np.where((side == 0) & inexact, 1, side).astype(np.int8),
        amount=amount,
        inexact=inexact,
        texts=texts,
        steps=steps,
    )


def _one(text: str, steps: int) -> tuple[int, int, int, int, bool]:
    """units, fault, side, amount and inexact of one text."""
    fault = _fault(text)
    if fault != FINE:
        return 0, fault, 0, 0, False
    value = Decimal(text)
    units, amount = _exactly(value, steps)
    side = (value > Decimal("0.5")) - (value < Decimal("0.5"))
    scaled = amount.scaleb(PLACES, _EXACT)
    whole = int(scaled)
    return units, FINE, side, whole, scaled != whole


def _exactly(value: Decimal, steps: int) -> tuple[int, Decimal]:
    """The nearest step, half to even, and how far it is, to 800 digits."""
    units = int(_EXACT.multiply(value, steps).to_integral_value(ROUND_HALF_EVEN))
    return units, abs(_EXACT.subtract(value, _EXACT.divide(Decimal(units), Decimal(steps))))


def _fault(text: str) -> int:
    word = text.casefold()
    if word in EMPTY_WORDS:
        return EMPTY
    if word.lstrip("+-") in ("nan", "inf", "infinity"):
        return NOT_A_NUMBER
    if word.replace(" ", "_").replace("-", "_") in MISSING_WORDS:
        return DECLARED
    if text.endswith("%"):
        return PERCENT
    if not _NUMBER.fullmatch(text):
        return COMMA if _NUMBER.fullmatch(text.replace(",", ".", 1)) else TEXT
    value = Decimal(text)
    if value > 1:
        return ABOVE
    if value < 0:
        return BELOW
    fine = value == 0 or (len(text) <= MAX_CHARS and value.adjusted() >= -MAX_CHARS)
    return FINE if fine else TOO_LONG


def missing_word(text: str) -> str:
    """The reason that a probability cell itself gives, as it is counted.

    >>> missing_word(" Rate-limited ")
    'rate_limited'
    """
    return text.strip().casefold().replace(" ", "_").replace("-", "_")


def mark_probabilities(
    faults: Faults, held: Probabilities, texts: pl.Series, column: str, absent: Mask
) -> None:
    """Every row of `held` that is no probability becomes a fault; `absent` rows are excused."""
    above = held.fault == ABOVE
    mixed = _mixture(above, held.inside(), texts, faults)

    def say_above(row: int) -> tuple[str, str]:
        return f"percent? found {texts[row]:.40}, above 1{mixed}", "divide by 100 yourself"

    words: Mapping[int, tuple[str, str, str]] = {
        EMPTY: (
            "no probability",
            "empty, and nothing declares a missing answer",
            "write 'missing' there, or give a status column with the reason",
        ),
        NOT_A_NUMBER: ("not a finite number", "{}", "write 'missing' if there is no forecast"),
        DECLARED: ("a missing answer", "{} where a crowd price was expected", "leave it empty"),
        BELOW: ("below 0", "found {}, below 0", ""),
        PERCENT: ("percent sign", "{} is a percent", "write it as a fraction from 0 to 1"),
        COMMA: ("decimal comma", "{} has a decimal comma", "write a point"),
        TEXT: ("not a number", "{} is not a number from 0 to 1", ""),
        TOO_LONG: ("too many places", "{} has more than 400 places", ""),
    }
    faults.mark(above & ~absent, "above 1", column, say_above)
    for code, (reason, what, todo) in words.items():
        faults.mark(
            (held.fault == code) & ~absent,
            reason,
            column,
            lambda row, what=what, todo=todo: (  # type: ignore[misc]
                what.format(shown(texts[row])),
                todo,
            ),
        )


def _mixture(above: Mask, inside: Mask, texts: pl.Series, faults: Faults) -> str:
    """What says that percents and fractions stand in one column; empty where they do not."""
    if not above.any() or not inside.any():
        return ""
    row = int(np.flatnonzero(inside)[0])
    return f", and percents and fractions are mixed ({texts[row]:.40} in {faults.place(row)})"
