"""All simulated events of one seed: by day, by id, and those that are open at a moment."""

from __future__ import annotations

from collections.abc import Iterator

from beforehand.testing.simulated import DAY, LONGEST_HOURS, SimEvent, SimMarket, make_event
from beforehand.testing.walk import HOUR

BIRTHS = {"polymarket": 24, "kalshi": 7}
# Events older than this are found by id and no longer listed.
LISTED_DAYS = 90
_LIFE_DAYS = LONGEST_HOURS * HOUR // DAY + 1
_CODES = {
    "Politics": "POL",
    "Economy": "ECO",
    "Tech": "TEC",
    "Culture": "CUL",
    "World": "WLD",
    "Crypto": "CRY",
    "Sports": "SPO",
    "Weather": "WEA",
}


def polymarket_id(day: int, number: int, topic: str, place: int | None = None) -> str:
    """The Gamma id of an event, or of a market where `place` is given.

    >>> polymarket_id(20600, 3, "World"), polymarket_id(20600, 3, "World", 1)
    ('2060003', '206000301')
    """
    return f"{day}{number:02d}" + ("" if place is None else f"{place:02d}")


def kalshi_id(day: int, number: int, topic: str, place: int | None = None) -> str:
    """The ticker of an event, or of a market where `place` is given.

    >>> kalshi_id(20600, 3, "World"), kalshi_id(20600, 3, "World", 1)
    ('KXSIMWLD-2060003', 'KXSIMWLD-2060003-M1')
    """
    return f"KXSIM{_CODES[topic]}-{day}{number:02d}" + ("" if place is None else f"-M{place}")


class World:
    """The events of a seed. Nothing is stored: each is made when first looked at, and kept."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._days: dict[tuple[str, int], tuple[SimEvent, ...]] = {}

    def day(self, venue: str, day: int) -> tuple[SimEvent, ...]:
        """The events that a venue lists anew on one day (counted from 1970)."""
        key = (venue, day)
        if key not in self._days:
            ids = kalshi_id if venue == "kalshi" else polymarket_id
            self._days[key] = tuple(
                make_event(self.seed, venue, day, number, ids) for number in range(BIRTHS[venue])
            )
        return self._days[key]

    def listed(self, venue: str, now: int, days: int = LISTED_DAYS) -> Iterator[SimEvent]:
        """Events that began within so many days before `now`, oldest first."""
        for day in range(now // DAY - days, now // DAY + 1):
            for event in self.day(venue, day):
                if event.start <= now:
                    yield event

    def open(self, venue: str, now: int) -> Iterator[SimEvent]:
        """Events that trade at `now`, oldest first."""
        for day in range(now // DAY - _LIFE_DAYS, now // DAY + 1):
            for event in self.day(venue, day):
                if event.start <= now < event.fate.closes:
                    yield event

    def event(self, venue: str, event_id: str, now: int) -> SimEvent | None:
        """The event of an id, where it has begun."""
        digits = event_id.rpartition("-")[2] if venue == "kalshi" else event_id
        if not (digits.isascii() and digits.isdecimal() and 5 <= len(digits) <= 9):
            return None
        day, number = int(digits[:-2]), int(digits[-2:])
        if number >= BIRTHS[venue] or day > now // DAY:
            return None
        found = self.day(venue, day)[number]
        return found if found.id == event_id and found.start <= now else None

    def market(self, venue: str, market_id: str, now: int) -> SimMarket | None:
        """The market of an id, where its event has begun."""
        event_id = market_id.rpartition("-")[0] if venue == "kalshi" else market_id[:-2]
        event = self.event(venue, event_id, now)
        return (
            next((each for each in event.markets if each.id == market_id), None) if event else None
        )

    def by_condition(self, condition: str, now: int) -> SimMarket | None:
        """The market of a condition id."""
        if len(condition) != 66 or not condition.startswith("0x"):
            return None
        market = self._numbered(condition[-16:], now)
        return market if market is not None and market.condition == condition else None

    def by_token(self, token: str, now: int) -> tuple[SimMarket, int] | None:
        """The market of a token id, and which outcome (0 or 1) it pays on."""
        if not (token.isascii() and token.isdecimal() and 70 <= len(token) <= 78):
            return None
        text = f"{int(token):x}"
        market = self._numbered(text[-17:-1], now)
        if market is None or token not in market.tokens or market.kind == "placeholder":
            return None
        return market, market.tokens.index(token)

    def _numbered(self, digits: str, now: int) -> SimMarket | None:
        try:
            return self.market("polymarket", str(int(digits, 16)), now)
        except ValueError:
            return None
