"""Prices of the past, as Polymarket's CLOB keeps them for one token."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from beforehand.clock import instant_key
from beforehand.errors import RemoteError
from beforehand.sources.http import Http, Response
from beforehand.sources.http_urls import place
from beforehand.sources.market import Evidence
from beforehand.sources.venue_fields import amount, unix_instant

# The CLOB answers longer windows with an error, or cuts them.
_WINDOW_SECONDS = 15 * 86_400


@dataclass(frozen=True)
class PricePoint:
    """A price of YES at an instant of the past."""

    at: str
    price: Decimal


@dataclass(frozen=True)
class PriceHistory:
    """Prices of the past. No points means that nothing is known, never that the price was 0."""

    points: tuple[PricePoint, ...]
    evidence: tuple[Evidence, ...]


async def read_history(
    http: Http, clob: str, token: str, start: str, end: str, minutes: int
) -> PriceHistory:
    """Prices of a token from `start` to `end`, in windows that the CLOB answers; one an instant."""
    first, last = (int(instant_key(each).timestamp()) for each in (start, end))
    points: dict[str, PricePoint] = {}
    evidence = []
    for begin in range(first, max(last, first + 1), _WINDOW_SECONDS):
        query = {
            "market": token,
            "startTs": str(begin),
            "endTs": str(min(last, begin + _WINDOW_SECONDS)),
            "fidelity": str(minutes),
        }
        response = await http.get(f"{clob}/prices-history", query)
        evidence.append(response.evidence())
        for point in _points(response):
            points.setdefault(point.at, point)
    kept = sorted(points.values(), key=lambda point: instant_key(point.at))
    return PriceHistory(tuple(kept), tuple(evidence))


def _points(response: Response) -> list[PricePoint]:
    content = response.json()
    history = content.get("history") if isinstance(content, dict) else None
    if not isinstance(history, list):
        raise RemoteError(f"{place(response.url)}: no list under 'history'; its form changed")
    points = []
    for each in history:
        at = unix_instant(each.get("t")) if isinstance(each, dict) else ""
        price = amount(each.get("p")) if isinstance(each, dict) else None
        if at and price is not None and price <= 1:
            points.append(PricePoint(at, price))
    return points
