"""The hidden state behind an event's prices, and why those prices are calibrated.

An event has one hidden number X: 0 when it is listed, a Gaussian random walk
of equal hourly steps, of variance 1 at the close. Each of its markets wins
where X ends in the market's own stretch (low, high]. The price at a share s
of the life is the chance of that given X now,

    p = F((high - X) / sqrt(1 - s)) - F((low - X) / sqrt(1 - s)),

with F the standard normal distribution function. So p is a martingale that
ends at the outcome, exactly: of all moments at which it is 0.7, 7 in 10 end
in YES. Stretches that cover the line side by side make prices that sum to 1;
nested ones make a ladder of thresholds.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property

from beforehand.testing.chance import below, normals

HOUR = 3600


class Walk:
    """The path of X for one event: from `start` (seconds), `hours` steps long."""

    __slots__ = ("__dict__", "_name", "hours", "start")

    def __init__(self, start: int, hours: int, *name: object) -> None:
        self.start = start
        self.hours = hours
        self._name = name

    @cached_property
    def _path(self) -> list[float]:
        size = 1 / math.sqrt(self.hours)
        steps = normals(self.hours, "walk", *self._name)
        return list(itertools.accumulate((size * step for step in steps), initial=0.0))

    def step(self, now: int) -> int:
        """How many whole hours of the life are over; never beyond it."""
        return min(max((now - self.start) // HOUR, 0), self.hours)

    def chance(self, low: float, high: float, now: int) -> float:
        """The chance that X ends in (low, high], given the path up to `now`; 0 or 1 at the end."""
        step = self.step(now)
        value = self._path[step]
        if step == self.hours:
            return 1.0 if low < value <= high else 0.0
        spread = math.sqrt(1 - step / self.hours)
        return below((high - value) / spread) - below((low - value) / spread)

    def ends_in(self, low: float, high: float) -> bool:
        """Whether X ends in (low, high]."""
        return low < self._path[self.hours] <= high
