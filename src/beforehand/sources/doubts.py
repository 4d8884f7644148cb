"""What is odd about a whole table, said in its notes: twins among the names, a crowd with gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from beforehand.sources.table import ForecastTable


def doubts(table: ForecastTable) -> list[str]:
    """What a person should look at, though no single row is bad; none of it stops a score."""
    found = []
    lowered: dict[str, str] = {}
    for name in table.forecasters:
        other = lowered.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            found.append(f"forecasters {other!r} and {name!r} are counted as two")
    found += _doubts_of_crowd(table)
    above = sum(left.count for left in table.skipped if left.reason == "above 1")
    if above > len(table):
        found.append(
            f"{above} of {above + len(table)} probabilities were above 1: the column may hold "
            "percents, and what is left of it too"
        )
    return found


def _doubts_of_crowd(table: ForecastTable) -> list[str]:
    """A crowd that some rows lack, or that says two things of one question at one time."""
    if table.crowd is None:
        return []
    found = []
    priced = np.flatnonzero(table.crowd >= 0)
    if len(priced) < len(table):
        found.append(
            f"a crowd's probability stands in {len(priced)} of {len(table)} forecasts; skill is "
            "over these alone"
        )
    asked, price = table.question_index[priced], table.crowd[priced]
    last = np.zeros(len(table.questions), dtype=price.dtype)
    last[asked] = price
    varies = np.isin(asked, asked[price != last[asked]])
    rows, asked, price = priced[varies], asked[varies], price[varies]
    time = np.zeros(len(rows), np.int64) if table.time is None else table.time[rows]
    order = np.lexsort((price, time, asked))
    apart = (np.diff(asked[order]) == 0) & (np.diff(time[order]) == 0) & (np.diff(price[order]) > 0)
    places = np.flatnonzero(apart)
    if len(places):
        low, high = (price[order[places[0] + more]] / table.steps for more in (0, 1))
        name, count = table.questions[asked[order[places[0]]]], len(np.unique(asked[order[places]]))
        found.append(
            f"{count} question{'s have' if count > 1 else ' has'} more than one crowd's "
            f"probability {'in different rows' if table.time is None else 'at one time'}, the "
            f"first {name!r:.60} ({low:g} and {high:g}); skill compares each row with its own"
        )
    return found
