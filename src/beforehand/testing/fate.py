"""How an event ends: when it closes, is proposed, perhaps disputed, and settled.

Polymarket's states follow UMA: a closed market is proposed after some hours
and settled two hours later, unless somebody disputes. A dispute takes days,
and half of the disputed proposals were wrong. A few events pay a half to
both sides, and a few never settle.
"""

from __future__ import annotations

from dataclasses import dataclass

from beforehand.testing.chance import integer, uniform
from beforehand.testing.walk import HOUR

LIVENESS = 2 * HOUR

# What happens after the close, and how often.
POLYMARKET = (
    ("usual", 0.90),
    ("disputed", 0.05),
    ("fifty", 0.02),
    ("unproposed", 0.015),
    ("unsettled", 0.015),
)
KALSHI = (("usual", 0.93), ("scalar", 0.05), ("unsettled", 0.02))


@dataclass(frozen=True, slots=True)
class Fate:
    """The end of an event in seconds; a moment that never comes is None.

    `wrong_first` says that the first proposal names the wrong side.
    """

    kind: str
    closes: int
    proposed: int | None
    disputed: int | None
    settled: int | None
    wrong_first: bool

    def state(self, now: int) -> str:
        """`open`, `closed`, `proposed`, `disputed` or `resolved`."""
        if now < self.closes:
            return "open"
        for name, moment in (
            ("resolved", self.settled),
            ("disputed", self.disputed),
            ("proposed", self.proposed),
        ):
            if moment is not None and now >= moment:
                return name
        return "closed"

    def states(self, now: int) -> list[str]:
        """The states of UMA it has gone through, in their order."""
        passed = [
            (moment, name)
            for name, moment in (
                ("proposed", self.proposed),
                ("disputed", self.disputed),
                ("resolved", self.settled),
            )
            if moment is not None and now >= moment
        ]
        return [name for _, name in sorted(passed)]


def fate_of(closes: int, kinds: tuple[tuple[str, float], ...], *name: object) -> Fate:
    """The fate of the event of that name."""
    kind = _drawn(kinds, *name)
    if kind == "unproposed":
        return Fate(kind, closes, None, None, None, False)
    proposed = closes + integer(1, 6, "proposed", *name) * HOUR
    if kind == "unsettled":
        return Fate(kind, closes, proposed, None, None, False)
    if kind == "disputed":
        disputed = proposed + HOUR
        settled = disputed + integer(48, 120, "settled", *name) * HOUR
        wrong = uniform("wrong", *name) < 0.5
        return Fate(kind, closes, proposed, disputed, settled, wrong)
    return Fate(kind, closes, proposed, None, proposed + LIVENESS, False)


def _drawn(kinds: tuple[tuple[str, float], ...], *name: object) -> str:
    left = uniform("fate", *name)
    for kind, share in kinds:
        if left < share:
            return kind
        left -= share
    return kinds[0][0]
