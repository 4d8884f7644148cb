"""Better, equivalent or undecided: what a comparison allows to be said, and what is missing.

Both tests use one variance. A is better (or worse) where the interval at the
comparison's level leaves out 0; A and B are equivalent where the difference is
shown to be within a declared margin, by two one-sided tests, which is an
interval of 1 - 2 alpha inside the margin (Schuirmann 1987). Otherwise nothing
is decided, which is not the same as equivalent, and the verdict says how large
a difference could have been seen and how many more clusters it would take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from beforehand.errors import FormatError
from beforehand.scoring.compare import Comparison, freedom
from beforehand.scoring.distribution import t_above
from beforehand.scoring.paired import MIN_CLUSTERS
from beforehand.scoring.power import clusters_needed, detectable

Word = Literal["identical", "better", "worse", "equivalent", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """`word` is said of A. A difference shown and shown to be small is both: see `within_margin`.

    `detectable` is the least true difference that these clusters find with the
    power asked for. `needed` clusters in all, `more` than there are, would find
    a true difference of `effect`: the margin where one is declared, else the
    gain that was seen. None where a number does not exist; `reason` as in the
    comparison.
    """

    word: Word
    margin: float | None
    within_margin: bool | None
    tost_p: float | None
    power: float
    detectable: float | None
    effect: float | None
    needed: int | None
    more: int | None
    reason: str | None


def tost(gain: float, se: float, df: int, margin: float) -> float:
    """The p-value of equivalence: the larger of the two one-sided tests against the margin.

    Below alpha exactly where the interval of level 1 - 2 alpha is inside
    (-margin, margin). `gain`, `se` > 0 and `margin` > 0 in one unit.

    >>> round(tost(0.001, 0.003, 30, 0.01), 6)
    0.002695
    """
    if not (margin > 0 and se > 0):
        raise FormatError("an equivalence test needs a margin and a standard error above 0")
    return max(t_above((gain + margin) / se, df), t_above((margin - gain) / se, df))


def verdict(found: Comparison, margin: float | None = None, power: float = 0.8) -> Verdict:
    """What the comparison allows to be said; `margin` is the declared zone of equivalence.

    >>> from beforehand.scoring.compare import paired
    >>> found = paired([10, 30] * 10, [20, 30] * 10, range(20), per_one=100)
    >>> told = verdict(found, margin=0.02)
    >>> told.word, round(told.detectable, 4), told.needed
    ('better', 0.0339, 54)
    >>> verdict(paired([5] * 20, [5] * 20, range(20), per_one=100)).word
    'identical'
    """
    if margin is not None and not 0 < margin < math.inf:
        raise FormatError(f"a margin of equivalence is above 0, not {margin}")
    if found.identical:
        inside = None if margin is None else True
        return Verdict("identical", margin, inside, None, power, None, None, None, None, None)
    gain, se, df = found.gain, found.se, found.df
    low, high, deviation = found.low, found.high, found.deviation
    if gain is None or not se or df is None or low is None or high is None or deviation is None:
        told = found.reason or "nothing to compare"
        return Verdict("undecided", margin, None, None, power, None, None, None, None, told)
    tost_p = None if margin is None else tost(gain, se, df, margin)
    inside = None if tost_p is None else tost_p < 1 - found.level
    word: Word = "undecided"
    if low > 0 or high < 0:
        word = "better" if gain > 0 else "worse"
    elif inside:
        word = "equivalent"
    effect = margin if margin is not None else abs(gain)
    needed = None
    if effect > 0:
        allowed = partial(freedom, horizon=found.horizon)
        needed = clusters_needed(deviation, effect, allowed, found.level, power)
        needed = max(needed, MIN_CLUSTERS)
    return Verdict(
        word=word,
        margin=margin,
        within_margin=inside,
        tost_p=tost_p,
        power=power,
        detectable=detectable(se, df, found.level, power),
        effect=effect if effect > 0 else None,
        needed=needed,
        more=None if needed is None else max(0, needed - found.clusters),
        reason=None,
    )
