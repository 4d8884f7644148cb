"""Finding one market of Polymarket again, by the id that was sealed and by nothing else."""

from __future__ import annotations

from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http
from beforehand.sources.http_urls import place, printable
from beforehand.sources.market import Evidence
from beforehand.sources.polymarket_market import VENUE
from beforehand.sources.venue_fields import Row, text

_GONE = 404


async def find_row(
    http: Http, gamma: str, market_id: str
) -> tuple[Row | None, tuple[Evidence, ...]]:
    """Gamma's row of a market, by id and then among the closed; None where it is in neither.

    Never another child of its event, never by title: an answer about another
    id is a RemoteError, and an id of another kind a FormatError.
    """
    if not market_id.isascii() or not market_id.isdigit():
        raise FormatError(
            f"{printable(market_id)!r} is no market id of {VENUE}: give Gamma's whole number, "
            "not a slug, condition id or token id"
        )
    response = await http.get(f"{gamma}/markets/{market_id}", allow=(_GONE,))
    evidence = [response.evidence()]
    if response.status != _GONE:
        content = response.json()
        if isinstance(content, dict) and text(content.get("id")) == market_id:
            return content, tuple(evidence)
        raise RemoteError(f"{place(response.url)}: the answer is another market than asked for")
    query = {"id": market_id, "closed": "true"}
    response = await http.get(f"{gamma}/markets", query, allow=(_GONE,))
    evidence.append(response.evidence())
    content = response.json() if response.status != _GONE else []
    for row in content if isinstance(content, list) else []:
        if isinstance(row, dict) and text(row.get("id")) == market_id:
            return row, tuple(evidence)
    return None, tuple(evidence)
