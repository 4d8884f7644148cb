"""Opening a venue by name: the real endpoints, or replicas of them under other URLs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from beforehand.clock import Clock
from beforehand.errors import RuleError
from beforehand.sources.http import Http, HttpRules
from beforehand.sources.market import MarketSource

GROUP = "beforehand.source"

# Each venue with the names of its endpoints, as `urls` has them.
ENDPOINTS: Mapping[str, tuple[str, ...]] = {"polymarket": ("gamma", "clob"), "kalshi": ("kalshi",)}


def open_source(
    name: str,
    *,
    clock: Clock,
    urls: Mapping[str, str] | None = None,
    http: Http | None = None,
    rules: HttpRules | None = None,
    **options: Any,
) -> MarketSource:
    """The venue `name`, at its real endpoints where `urls` names no other.

    `urls` maps an endpoint to a base URL: "gamma" and "clob" for polymarket,
    "kalshi" for kalshi. Several venues may share one `http`, and so one rate
    for each host. `options` go to the venue. A name that is not shipped is
    looked for among the entry points of `beforehand.source`. RuleError for an
    unknown venue or endpoint, and where aiohttp is not installed.
    """
    given = dict(urls or {})
    known = ENDPOINTS.get(name)
    if known is not None and (unknown := sorted(set(given) - set(known))):
        raise RuleError(f"{name} has no endpoint {unknown[0]!r:.40}; it has {', '.join(known)}")
    client = http or Http(clock, rules or HttpRules())
    named: dict[str, Any] = {f"{endpoint}_url": url for endpoint, url in given.items()}
    if name == "polymarket":
        from beforehand.sources.polymarket import Polymarket

        return Polymarket(client, clock, **named, **options)
    if name == "kalshi":
        from beforehand.sources.kalshi import Kalshi

        return Kalshi(client, clock, **named, **options)
    source: MarketSource = _plugin(name)(http=client, clock=clock, urls=given, **options)
    return source


def _plugin(name: str) -> Any:
    found = [each for each in entry_points(group=GROUP) if each.name == name]
    if len(found) != 1:
        several = "several plugins bring" if found else "no plugin brings"
        raise RuleError(
            f"{several} a venue {name!r:.40}; shipped are {', '.join(ENDPOINTS)}, others come as "
            f"entry points of {GROUP!r}"
        )
    try:
        return found[0].load()
    except Exception as error:
        raise RuleError(f"the plugin of venue {name!r:.40} does not load: {error}") from None
