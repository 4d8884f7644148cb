"""Forecasters that other people's packages bring: found by entry point, named by hash, then made.

A package declares, in its `pyproject.toml`::

    [project.entry-points."beforehand.forecaster"]
    my-scaffold = "my_package.forecasting:make"

and `make(model)` returns a `Forecaster` for the model's table, which holds the
league's `deny_sites` too. The package's name, version and the hash of its
RECORD are sealed with the declaration. A plugin that is named and does not
load stops whoever names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    entry_points,
)
from typing import Any

from beforehand.errors import RuleError
from beforehand.forecasters.command import CommandForecaster
from beforehand.forecasters.forecaster import Forecaster

GROUP = "beforehand.forecaster"
Factory = Callable[[Mapping[str, Any]], Forecaster]

# Those that this package brings itself.
OWN: Mapping[str, Factory] = {"command": CommandForecaster.of}


@dataclass(frozen=True)
class Plugin:
    """A factory and the installed package it comes from. `sha256` is of the package's RECORD."""

    name: str
    factory: Factory
    distribution: str
    version: str
    sha256: str

    def sealed(self) -> dict[str, str]:
        """What stands of it in the league's first line."""
        return {
            "name": f"{self.distribution}:{self.name}"[:100],
            "version": self.version[:60],
            "sha256": self.sha256,
        }


def find_plugin(name: str) -> Plugin:
    """The plugin of a name, loaded; RuleError where none, several or a broken one has it."""
    if name in OWN:
        return _plugin(name, OWN[name], _own_distribution())
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if len(found) != 1:
        known = sorted({*OWN, *(point.name for point in entry_points(group=GROUP))})
        several = f"{len(found)} packages bring it" if found else "no installed package brings it"
        raise RuleError(f"the plugin {name!r}: {several}; there are {', '.join(known)}")
    return _plugin(name, _factory(found[0]), found[0].dist)


def load_forecaster(model: Mapping[str, Any], deny_sites: Sequence[str] = ()) -> Forecaster:
    """The forecaster of a table with `via = "plugin"`; RuleError where it cannot be made.

    `deny_sites` are the league's: an answer that cites one is flagged.
    """
    plugin = find_plugin(model["plugin"])
    try:
        made = plugin.factory({**model, "deny_sites": tuple(deny_sites)})
    except RuleError:
        raise
    except Exception as error:  # whatever a plugin raises, the operator must see whose it is
        raise RuleError(f"the plugin {plugin.name!r} failed: {type(error).__name__}") from error
    missing = [
        part for part in ("request", "ask", "close") if not callable(getattr(made, part, None))
    ]
    if missing:
        raise RuleError(f"the plugin {plugin.name!r} made no forecaster: no {', '.join(missing)}")
    if made.name != model["forecaster"]:
        raise RuleError(
            f"the plugin {plugin.name!r} made {made.name!r} where {model['forecaster']!r} is seated"
        )
    return made


def sealed_plugins(models: Iterable[Mapping[str, Any]]) -> tuple[dict[str, str], ...]:
    """The plugins that models name, each once, as they are sealed with a declaration."""
    names = dict.fromkeys(model["plugin"] for model in models if model["via"] == "plugin")
    return tuple(find_plugin(name).sealed() for name in names)


def _factory(point: EntryPoint) -> Factory:
    try:
        factory = point.load()
    except Exception as error:
        raise RuleError(
            f"the plugin {point.name!r} ({point.value}) does not load: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(factory):
        raise RuleError(f"the plugin {point.name!r} ({point.value}) is nothing that can be called")
    made: Factory = factory
    return made


def _own_distribution() -> Distribution | None:
    try:
        return distribution("beforehand")
    except PackageNotFoundError:
        return None


def _plugin(name: str, factory: Factory, package: Distribution | None) -> Plugin:
    record = package.read_text("RECORD") if package is not None else None
    if package is None or record is None:
        raise RuleError(
            f"the plugin {name!r} comes from no installed package with a RECORD, so that what "
            "runs could not be named; install it with pip"
        )
    digest = hashlib.sha256(record.encode()).hexdigest()
    return Plugin(name, factory, package.name, package.version, digest)
