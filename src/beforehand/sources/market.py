"""Markets of a venue as typed values: what is listed, what it costs, how it ended.

Prices and money are `Decimal`, ids are texts, instants are UTC text. A value
that the venue does not give is None, never 0 and never a half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol


@dataclass(frozen=True)
class Evidence:
    """The bytes a venue answered with, where from, and when they were read."""

    url: str
    data: bytes
    read_at: str


@dataclass(frozen=True)
class Market:
    """A binary market. `topic` is the venue's category, `event` what groups its siblings.

    `closes` is the venue's scheduled end, a hint that may lie; `accepting`
    and `closed` are its flags. `yes_token` is the id that YES trades under.

    Times are kept apart: `expected` is when the venue expects the result,
    `expires` the latest it may come, `event_at` when what is asked about
    begins. `fee_rate` is None where the fee is not known, 0 where there is
    none; a taker pays shares x rate x (p(1-p)) to the power `fee_exponent`.
    """

    venue: str
    id: str
    event: str
    topic: str
    question: str
    description: str
    yes_token: str
    closes: str
    accepting: bool
    closed: bool
    tags: tuple[str, ...] = ()
    bid: Decimal | None = None
    ask: Decimal | None = None
    last: Decimal | None = None
    volume: Decimal | None = None
    volume_24h: Decimal | None = None
    liquidity: Decimal | None = None
    neg_risk: bool = False
    fee_rate: Decimal | None = None
    url: str = ""
    condition: str = ""
    no_token: str = ""
    expected: str = ""
    expires: str = ""
    event_at: str = ""
    fee_exponent: int | None = None


@dataclass(frozen=True)
class Refused:
    """A listed thing that is no eligible binary market, and why."""

    id: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """Every market of a venue that may be asked, what was refused, and the raw pages.

    `complete` is False where the pages ended in an error: what was read is
    kept and what is missing is said in `problems`. `warnings` are about the
    venue's health and its own contradictions; nothing is missing for them.
    """

    markets: tuple[Market, ...]
    refused: tuple[Refused, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    problems: tuple[str, ...] = ()
    complete: bool = True
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Level:
    """A price and how many shares wait at it."""

    price: Decimal
    size: Decimal


@dataclass(frozen=True)
class Depth:
    """The order book of YES at one instant: bids from the best down, asks from the best up.

    `flags` name what makes it unfit to price from (crossed, stale, ghost);
    `notes` say what could not be checked, which is never taken for a pass.
    `tick` and `least` are the venue's price step and smallest order,
    `changed_at` its own time of the last change.
    """

    market: str
    read_at: str
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    last: Decimal | None
    evidence: tuple[Evidence, ...]
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tick: Decimal | None = None
    least: Decimal | None = None
    changed_at: str = ""

    @property
    def bid(self) -> Decimal | None:
        """The best price somebody pays for YES."""
        return self.bids[0].price if self.bids else None

    @property
    def ask(self) -> Decimal | None:
        """The best price somebody sells YES at."""
        return self.asks[0].price if self.asks else None


@dataclass(frozen=True)
class Settlement:
    """How a market stands: `state` is open, closed, proposed, disputed or final.

    `outcome` ("yes", "no", "void") stands only with "final"; `payout` is what
    a share of YES and of NO was paid. `why` says what the state rests on.
    """

    market: str
    state: str
    why: str
    evidence: tuple[Evidence, ...]
    outcome: str | None = None
    payout: tuple[Decimal, Decimal] | None = None
    instant: str | None = None
    problems: tuple[str, ...] = field(default=())


class MarketSource(Protocol):
    """A venue. Every call may raise RemoteError, whose `.retryable` says whether to try again."""

    name: str

    async def listing(self) -> Listing:
        """All open binary markets."""
        ...

    async def depth(self, market: Market) -> Depth:
        """The order book of YES now."""
        ...

    async def settlement(self, market_id: str) -> Settlement:
        """How one market stands now, looked up by the id that was sealed."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
