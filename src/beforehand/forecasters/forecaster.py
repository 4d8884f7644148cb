"""What a forecaster is: a question without a price in, a reply with its cost out.

A refusal, a timeout or an unreadable answer is a value here: a `Reply` whose
status is one of `records.forecast.FAILURES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol


@dataclass(frozen=True)
class BlindQuestion:
    """What a blind forecaster is shown. There is no field for a price, and none is added."""

    question: str
    description: str
    end_date: str | None = None


@dataclass(frozen=True)
class Request:
    """The exact bytes to be sent for one question, and the most that may cost.

    `body` is sealed before it is sent. `reserved` is at list price: the whole
    prompt, the longest completion, and every search.
    """

    body: bytes
    reserved: Decimal


@dataclass(frozen=True)
class Reply:
    """One attempt's end.

    `status` is "answered", and then `probability` is the decimal text that
    was given, or a word of FAILURES. `raw` are the bytes that came back, as
    far as they came. `cost` is None where nobody said what it cost: the
    reservation then stands. `retryable` says whether the same request may
    succeed later; `retry_after` how many seconds the far side asked for.
    `leaks` names what the text gave away of the hidden price. `detail` is the
    precise code behind a failure; `out_of_credit` that nothing more can be
    paid for at this endpoint (402), so that the run stops.
    """

    status: str
    probability: str | None = None
    raw: bytes = b""
    rationale: str = ""
    served_model: str | None = None
    provider: str | None = None
    cost: Decimal | None = None
    citations: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    latency_ms: int = 0
    retryable: bool = False
    retry_after: float | None = None
    detail: str = ""
    out_of_credit: bool = False


class Forecaster(Protocol):
    """A model, a scaffold or an agent that is asked. `name` is its seat's forecaster."""

    name: str

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """The request for one question; pure. `reask` marks a second ask after junk."""
        ...

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Send exactly `request.body` once, and wait `seconds` at most; never retries."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
