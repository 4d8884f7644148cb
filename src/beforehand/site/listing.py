"""Tables as pages print them, and the parts of the Brier score in both vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beforehand.site.text import NOTHING, count, number, signed

# Each term: its sign in the sum, our word, Murphy's word and symbol, what it says.
MURPHY_TERMS: Mapping[str, tuple[int, str, str, str]] = {
    "unc": (1, "Uncertainty", "uncertainty, unc", "what the base rate alone leaves open"),
    "rel": (
        1,
        "Miscalibration",
        "reliability, rel",
        "how far what was said lies from what happened then; less is better",
    ),
    "res": (
        -1,
        "Discrimination",
        "resolution, res",
        "how far apart the bins are in what happened; more is better",
    ),
    "wbv": (
        1,
        "Spread within bins",
        "within-bin variance, wbv",
        "how much the stated probabilities of one bin differ",
    ),
    "wbc": (
        -1,
        "Covariance within bins",
        "within-bin covariance, wbc",
        "whether those differences knew what happened; more is better",
    ),
}
CORP_TERMS: Mapping[str, tuple[int, str, str, str]] = {
    "mcb": (1, "Miscalibration", "mcb", "what the best recalibration would gain; less is better"),
    "dsc": (
        -1,
        "Discrimination",
        "dsc",
        "what the recalibrated forecasts gain over the base rate; more is better",
    ),
    "unc": (1, "Uncertainty", "unc", "the base rate’s own score"),
}


@dataclass(frozen=True)
class Cell:
    """Words in a table that lead somewhere, or nowhere where `href` is empty.

    `more` is a second, smaller line; `mark` the name of the place.
    """

    words: str
    href: str = ""
    more: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Listing:
    """A table: its name (one of a kind on its page), caption, heads and rows.

    The first cell of a row is its head. `left` names the columns that hold
    words; all others hold numbers. `kind` is `sortable` or `plain`; with a
    script, rows can be chosen by the columns in `choose`. Columns in `whole`
    keep their words on one line.
    """

    name: str
    caption: str
    heads: tuple[str, ...]
    rows: Sequence[Sequence[str | Cell]]
    left: frozenset[int] = frozenset({0})
    kind: str = "plain"
    choose: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()


def figure(value: float | None, places: int = 4) -> str:
    """A float as pages print numbers, a dash for nothing.

    >>> figure(0.25), figure(None), figure(1e-7)
    ('0.2500', '—', '0.0000')
    """
    return number(None if value is None else repr(value), places)


def gap(value: float | None, places: int = 4) -> str:
    """The same with its sign."""
    return signed(None if value is None else repr(value), places)


def span(ends: Sequence[float] | None, *, signs: bool = False) -> str:
    """`low to high`, a dash where there is no interval.

    >>> span([0.1, 0.25]), span(None)
    ('0.1000 to 0.2500', '—')
    """
    form = gap if signs else figure
    return NOTHING if ends is None else f"{form(ends[0])} to {form(ends[1])}"


def murphy_listing(terms: Mapping[str, float], bins: int, n: int, name: str) -> Listing:
    """The five terms with both names."""
    caption = (
        f"Murphy’s decomposition on {bins} equal bins, n = {count(n)}, with the two terms within "
        "bins that let the sum close."
    )
    return _terms(MURPHY_TERMS, terms, caption, "Also called", name)


def corp_listing(terms: Mapping[str, float], n: int, name: str) -> Listing:
    """CORP's three terms."""
    caption = (
        "CORP: the same question without bins, by the best rising recalibration "
        f"(isotonic regression), n = {count(n)}."
    )
    return _terms(CORP_TERMS, terms, caption, "Symbol", name)


def _terms(
    words: Mapping[str, tuple[int, str, str, str]],
    terms: Mapping[str, float],
    caption: str,
    other: str,
    name: str,
) -> Listing:
    rows = [
        (ours, figure(terms[key], 6), "+" if sign > 0 else "−", theirs, told)
        for key, (sign, ours, theirs, told) in words.items()
    ]
    heads = ("Part", "Value", "Sign", other, "What it says")
    return Listing(name, caption, heads, rows, frozenset({0, 3, 4}))


def identity(
    words: Mapping[str, tuple[int, str, str, str]], terms: Mapping[str, float], brier: float
) -> str:
    """The sum written out, and by how much it misses the score in floating point.

    >>> identity(CORP_TERMS, {"mcb": 0.075, "dsc": 0.125, "unc": 0.25}, 0.2)
    'Brier 0.200000 = mcb 0.075000 − dsc 0.125000 + unc 0.250000; the sides differ by 0.0e+00.'
    """
    parts: list[str] = []
    for key, (sign, *_) in words.items():
        joined = (" + " if sign > 0 else " − ") if parts else ("" if sign > 0 else "−")
        parts.append(f"{joined}{key} {figure(terms[key], 6)}")
    total = sum(sign * terms[key] for key, (sign, *_) in words.items())
    return (
        f"Brier {figure(brier, 6)} = {''.join(parts)}; "
        f"the sides differ by {abs(total - brier):.1e}."
    )
