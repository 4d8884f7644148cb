"""What a live league reaches: its venue and its models, opened for one tick and given back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from beforehand.anchors.beacon import BeaconSource
from beforehand.cli.league_folder import LeagueFolder
from beforehand.clock import Clock
from beforehand.errors import RuleError
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import Forecaster
from beforehand.forecasters.sealed import seated_plugin
from beforehand.forecasters.search import HttpSearch, SearchTool
from beforehand.forecasters.searching import chat_forecaster
from beforehand.records.declaration import Declaration
from beforehand.records.lineup import Lineup
from beforehand.sources.http import HttpRules
from beforehand.sources.market import MarketSource
from beforehand.sources.venues import open_source
from beforehand.stages.draining import drain_inbox
from beforehand.stages.slots import later
from beforehand.stages.tick import World

DEFAULT_BACKOFF_MILLISECONDS = 1000


@asynccontextmanager
async def open_world(
    folder: LeagueFolder,
    declaration: Declaration,
    clock: Clock,
    progress: Callable[[str, int, int], None] | None = None,
    plugins: Sequence[Mapping[str, Any]] | None = None,
) -> AsyncIterator[World]:
    """The world of a league for as long as the block runs.

    `plugins` are those of the league's first line, which what is installed is compared with.
    """
    source = venue_of(folder, declaration, clock)
    connections = Connections()
    asking: Mapping[str, Any] = folder.settings.get("asking", {})
    backoff = asking.get("backoff_milliseconds", DEFAULT_BACKOFF_MILLISECONDS) / 1000

    told: list[str] = []

    def seat(lineup: Lineup) -> Mapping[str, Forecaster]:
        tool = search_tool(lineup, declaration, connections, clock)
        return forecasters_of(
            lineup, declaration, connections, tool=tool, plugins=plugins, tell=told.append
        )

    world = World(
        source,
        seat,
        backoff=backoff,
        progress=progress,
        beacon=beacon_of(folder, declaration),
        told=told,
    )
    world.inbox = lambda pen: drain_inbox(pen, folder.path, world.stamp_answer).sealed
    try:
        yield world
    finally:
        await connections.close()
        await source.close()


def beacon_of(
    folder: LeagueFolder, declaration: Declaration
) -> Callable[[], dict[str, Any]] | None:
    """What reads the declared beacon, at the address of the settings; None for none."""
    source = declaration.content.get("anchors", {}).get("beacon")
    if source is None:
        return None
    return BeaconSource(source, folder.settings.get("anchors", {}).get("beacon", "")).read


def venue_of(folder: LeagueFolder, declaration: Declaration, clock: Clock) -> MarketSource:
    """The venue that the declaration names, at the addresses of the settings."""
    settings: Mapping[str, Any] = folder.settings.get("venue", {})
    urls = {key: url for key, url in settings.items() if key in ("gamma", "clob", "kalshi")}
    rate = settings.get("requests_per_second")
    rules = HttpRules() if rate is None else HttpRules(rate=float(rate), burst=int(rate))
    name = str(declaration.content["questions"]["from"])
    options: dict[str, Any] = {}
    hours = declaration.content["questions"]["select"].get("max_hours")
    if name == "polymarket" and hours is not None and not clock.simulated:
        # A tenth of the venue's pages; what ends later is not chosen anyway.
        options["narrow"] = {"end_date_max": later(clock.now(), hours=hours)}
    return open_source(name, clock=clock, urls=urls, rules=rules, **options)


def forecasters_of(
    lineup: Lineup,
    declaration: Declaration,
    connections: Connections,
    *,
    keys: Callable[[Mapping[str, Any]], str | None] | None = None,
    tool: SearchTool | None = None,
    plugins: Sequence[Mapping[str, Any]] | None = None,
    tell: Callable[[str], None] = lambda said: None,
) -> dict[str, Forecaster]:
    """A forecaster for every model of a lineup; RuleError where a declared key is not set.

    `keys` gives a model's key, from the environment where it is left out;
    `tool` is what models search with that declare `search = "tool"`.
    `plugins` were sealed, and `tell` is told where one is another now.
    """
    rules = declaration.content["answers"]
    deny = tuple(rules.get("deny_sites", ()))
    made: dict[str, Forecaster] = {}
    for model in lineup.models:
        if model["via"] == "plugin":
            made[model["forecaster"]] = seated_plugin(model, plugins, tell, deny)
            continue
        made[model["forecaster"]] = chat_forecaster(
            model,
            key=(keys or key_of)(model),
            connections=connections,
            deny_sites=deny,
            temperature=rules.get("temperature"),
            tool=tool,
        )
    return made


def search_tool(
    lineup: Lineup, declaration: Declaration, connections: Connections, clock: Clock
) -> SearchTool | None:
    """The league's own search, as of now, where a model of the lineup searches with it."""
    if not any(model.get("search") == "tool" for model in lineup.models):
        return None
    deny = tuple(declaration.content["answers"].get("deny_sites", ()))
    return SearchTool(HttpSearch.of(os.environ, connections), clock, clock.now(), deny)


def key_of(model: Mapping[str, Any]) -> str | None:
    """The key of a model, from the variable it names; RuleError where that is not set."""
    name = model.get("key_env")
    if name is None:
        return None
    value = os.environ.get(name, "")
    if not value:
        raise RuleError(
            f"{model['forecaster']} needs its key in the environment variable {name}: "
            f"export {name}=… before you start"
        )
    return value
