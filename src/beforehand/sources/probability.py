"""Probabilities as decimal text onto the grid: exact, and what is none of them named.

Plain decimals with at most 18 places, nearly all there are, are read as
64-bit integers in steps of 10^-18; every other text once, as a `Decimal`.
Neither passes through a binary fraction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal

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
_PLAIN = r"^(?:0?\.[0-9]{1,18}|[01](?:\.[0-9]{0,18})?)$"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)
_EXACT = Context(prec=2 * MAX_CHARS)


@dataclass(frozen=True)
class Probabilities:
    """`units` on the grid, `fault` codes, `side` (the sign of p - 1/2), and rounding amounts.

    All are arrays with one entry a row. `amount` is |p - units/steps| in
    10^-18, or -k where it is entry k-1 of `exact`. Where `fault` is not FINE
    the others say nothing.
    """

    units: NDArray[np.int64]
    fault: NDArray[np.uint8]
    side: NDArray[np.int8]
    amount: NDArray[np.int64]
    exact: tuple[Decimal, ...]
    steps: int

    def inside(self) -> Mask:
        """Where the probability is neither 0 nor 1 nor a fault."""
        whole = ((self.units == 0) | (self.units == self.steps)) & (self.amount == 0)
        return np.asarray((self.fault == FINE) & ~whole)

    def rounding(self, rows: Mask) -> tuple[int, str]:
        """How many of these rows the grid moved, and by how much at most, as decimal text."""
        amounts = self.amount[rows]
        moved = amounts[amounts != 0]
        if not len(moved):
            return 0, "0"
        largest = Decimal(int(max(moved.max(), 0))).scaleb(-PLACES)
        for code in np.unique(moved[moved < 0]):
            largest = max(largest, self.exact[-int(code) - 1])
        return len(moved), plain_decimal(largest)


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
    plain = (
        stripped.str.contains(_PLAIN)
        if ONE % steps == 0
        else pl.repeat(False, len(texts), eager=True)
    )
    held = _plain_column(stripped, plain, steps)
    rest = np.flatnonzero(~plain.to_numpy())
    return _with_rest(held, stripped.gather(rest), rest, steps) if len(rest) else held


def _plain_column(texts: pl.Series, plain: pl.Series, steps: int) -> Probabilities:
    places = texts.str.extract(r"\.([0-9]*)$").fill_null("").str.pad_end(PLACES, "0")
    fraction = places.str.slice(0, PLACES).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    # ONE + the largest fraction is below 2^63.
    value = fraction + np.where(texts.str.starts_with("1").to_numpy(), ONE, 0)
    value[~plain.to_numpy()] = 0
    step = max(ONE // steps, 1)
    units, beyond = np.divmod(value, step)
    up = (2 * beyond > step) | ((2 * beyond == step) & (units % 2 == 1))
    return Probabilities(
        units=units + up,
        fault=np.where(value > ONE, ABOVE, FINE).astype(np.uint8),
        side=np.sign(value - ONE // 2).astype(np.int8),
        amount=np.where(up, step - beyond, beyond),
        exact=(),
        steps=steps,
    )


def _with_rest(
    held: Probabilities, texts: pl.Series, rows: NDArray[np.int64], steps: int
) -> Probabilities:
    exact: list[Decimal] = []
    known: dict[str, tuple[int, int, int, int]] = {}
    table = np.zeros((len(rows), 4), dtype=np.int64)
    for place, text in enumerate(texts.to_list()):
        if text not in known:
            known[text] = _one(text, steps, exact)
        table[place] = known[text]
    held.units[rows], held.fault[rows], held.side[rows], held.amount[rows] = table.T
    return replace(held, exact=tuple(exact))


def _one(text: str, steps: int, exact: list[Decimal]) -> tuple[int, int, int, int]:
    """units, fault, side and amount of one text; a new amount goes into `exact`."""
    fault = _fault(text)
    if fault != FINE:
        return 0, fault, 0, 0
    value = Decimal(text)
    units = int(_EXACT.multiply(value, steps).to_integral_value(ROUND_HALF_EVEN))
    amount = abs(_EXACT.subtract(value, _EXACT.divide(Decimal(units), Decimal(steps))))
    side = (value > Decimal("0.5")) - (value < Decimal("0.5"))
    if not amount:
        return units, FINE, side, 0
    exact.append(amount)
    return units, FINE, side, -len(exact)


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

    def say_above(row: int) -> str:
        return f"percent? found {texts[row]:.40}, above 1; divide by 100 yourself{mixed}"

    words: Mapping[int, tuple[str, str]] = {
        EMPTY: (
            "no probability",
            "empty, and nothing declares a missing answer; write 'missing' there, or give a "
            "status column with the reason",
        ),
        NOT_A_NUMBER: ("not a finite number", "{}; write 'missing' if there is no forecast"),
        DECLARED: ("a missing answer", "{}; there is no crowd price where a word stands"),
        BELOW: ("below 0", "found {}, below 0"),
        PERCENT: ("percent sign", "{} is a percent; write it as a fraction from 0 to 1"),
        COMMA: ("decimal comma", "{} has a decimal comma; write a point"),
        TEXT: ("not a number", "{} is not a number from 0 to 1"),
        TOO_LONG: ("too many places", "{} has more than 400 places"),
    }
    faults.mark(above & ~absent, "above 1", column, say_above)
    for code, (reason, said) in words.items():
        faults.mark(
            (held.fault == code) & ~absent,
            reason,
            column,
            lambda row, said=said: said.format(shown(texts[row])),  # type: ignore[misc]
        )


def _mixture(above: Mask, inside: Mask, texts: pl.Series, faults: Faults) -> str:
    """What says that percents and fractions stand in one column; empty where they do not."""
    if not above.any() or not inside.any():
        return ""
    row = int(np.flatnonzero(inside)[0])
    return f"; percents and fractions are mixed ({texts[row]:.40} in {faults.place(row)})"
