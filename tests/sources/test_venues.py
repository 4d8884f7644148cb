"""Opening a venue by name, and that nothing of it is needed where no venue is read."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from beforehand.errors import RuleError
from beforehand.sources import venues
from beforehand.sources.http import Http
from beforehand.sources.kalshi import API, Kalshi
from beforehand.sources.market import Listing, Market
from beforehand.sources.polymarket import CLOB, GAMMA, Polymarket
from beforehand.sources.venues import open_source
from tests.sources.venue_rows import Gamma, book, clob_market, gamma, market
from tests.sources.venue_server import FAST, FixedClock, Server, talk


def test_the_real_endpoints_are_the_default() -> None:
    polymarket = open_source("polymarket", clock=FixedClock())
    kalshi = open_source("kalshi", clock=FixedClock())
    assert isinstance(polymarket, Polymarket) and isinstance(kalshi, Kalshi)
    assert (polymarket._gamma, polymarket._clob, kalshi._url) == (GAMMA, CLOB, API)
    assert (polymarket.name, kalshi.name) == ("polymarket", "kalshi")


def test_a_replica_is_read_from_listing_to_settlement() -> None:
    of = market("1")
    pages = Gamma({"markets": [gamma("1")]})
    ended = gamma("1", closed=True, outcomePrices='["1", "0"]', umaResolutionStatus="resolved")

    def answer(path: str, query: dict[str, str]) -> Any:
        match path.split("/")[1:]:
            case ["markets", "keyset"]:
                return pages(path, query)
            case ["book"]:
                return book(of, [("0.40", "5")], [("0.42", "6")])
            case ["midpoint"]:
                return {"mid": "0.41"}
            case ["markets", "1"]:
                return ended
            case _:
                return clob_market(of, "Yes")

    async def work(server: Server, http: Http) -> tuple[Listing, Market, str | None]:
        urls = {"gamma": server.url, "clob": server.url}
        source = open_source("polymarket", clock=FixedClock(), urls=urls, http=http)
        listing = await source.listing()
        depth = await source.depth(listing.markets[0])
        assert not depth.flags and not depth.notes
        settlement = await source.settlement(listing.markets[0].id)
        await source.close()
        return listing, listing.markets[0], settlement.outcome

    (listing, found, outcome), _ = talk(answer, work)
    assert listing.complete and outcome == "yes"
    assert found == of


def test_venues_that_share_a_client_share_its_rate() -> None:
    http = Http(FixedClock(), FAST)
    first = open_source("polymarket", clock=FixedClock(), http=http)
    second = open_source("kalshi", clock=FixedClock(), http=http)
    assert first._http is second._http  # type: ignore[attr-defined]
    asyncio.run(http.close())


def test_unknown_venues_and_endpoints_are_refused() -> None:
    with pytest.raises(RuleError, match="no plugin brings a venue 'manifold'"):
        open_source("manifold", clock=FixedClock())
    with pytest.raises(RuleError, match="has no endpoint 'kalshi'; it has gamma, clob"):
        open_source("polymarket", clock=FixedClock(), urls={"kalshi": "http://127.0.0.1:1"})
    with pytest.raises(RuleError, match="no base URL"):
        open_source("kalshi", clock=FixedClock(), urls={"kalshi": "file:///etc/passwd"})


def test_a_plugin_is_opened_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*names: str) -> None:
        points = EntryPoints(EntryPoint("fake", name, venues.GROUP) for name in names)
        monkeypatch.setattr(venues, "entry_points", lambda group: points)

    found("tests.sources.test_venues:made_source")
    assert open_source("fake", clock=FixedClock(), urls={"x": "y"}) == {"x": "y"}  # type: ignore[comparison-overlap]
    found("tests.sources.test_venues:nothing")
    with pytest.raises(RuleError, match="does not load"):
        open_source("fake", clock=FixedClock())
    found("a:b", "c:d")
    with pytest.raises(RuleError, match="several plugins"):
        open_source("fake", clock=FixedClock())


def made_source(**given: Any) -> Any:
    """What a plugin's entry point names."""
    assert isinstance(given["http"], Http)
    return given["urls"]


def test_every_module_can_be_imported_without_aiohttp() -> None:
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "import beforehand.sources.market, beforehand.sources.selection_pool\n"
        "from beforehand.clock import SystemClock\n"
        "from beforehand.sources.venues import open_source\n"
        "try:\n    open_source('kalshi', clock=SystemClock())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "RuleError reading from venues needs aiohttp; in a clone of the repository: "
        "pip install -c constraints.txt '.[live]'\n"
    )
