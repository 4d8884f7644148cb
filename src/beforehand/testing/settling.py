"""What a venue says a closed market pays, and its reversals on demand."""

from __future__ import annotations

from beforehand.testing.chance import uniform
from beforehand.testing.faults import Faults
from beforehand.testing.simulated import SimMarket
from beforehand.testing.walk import HOUR

# What a venue shows between the close and the first proposal: the last trades.
_PINNED = {True: ("0.9995", "0.0005"), False: ("0.0005", "0.9995")}
_PAID = {True: ("1", "0"), False: ("0", "1")}
_HALF = ("0.5", "0.5")


class Settling:
    """The payouts of one venue. The faults `reversal` and `overturn` change what is reported."""

    def __init__(self, seed: int, faults: Faults) -> None:
        self._seed = seed
        self._faults = faults

    def prices(self, market: SimMarket, now: int) -> tuple[str, str] | None:
        """The outcome prices of a closed market; None while it trades."""
        fate = market.fate
        state = fate.state(now)
        if state == "open":
            return None
        if state == "closed":
            return _PINNED[market.won]
        if fate.kind == "fifty":
            return _HALF
        if state == "resolved":
            return _PAID[market.won != self._reversed(market, now)]
        return _PAID[market.won != fate.wrong_first]

    def yes(self, market: SimMarket, now: int) -> bool:
        """Which side is reported at `now`, for venues that name one."""
        return market.won != self._reversed(market, now)

    def _reversed(self, market: SimMarket, now: int) -> bool:
        """Whether the venue now reports the other side than the true one.

        A `reversal` is wrong for `hours` after the settlement, and then
        corrected; an `overturn` is wrong for as long as it is in force.
        """
        settled = market.fate.settled
        for fault in self._faults.of_kind("reversal", "overturn"):
            named = fault.options.get("market")
            if named is not None:
                meant = str(named) == market.id
            else:
                meant = uniform(self._seed, "reversal", market.id) < fault.rate
            if meant and fault.kind == "overturn":
                return True
            if meant and settled is not None:
                return now < settled + fault.number("hours", 48) * HOUR
        return False
