"""A league's plugins as they were sealed: a seat whose code is another one now answers nothing.

Scores go by names, so what was declared under a name may not become something
else. Such a seat is not asked: each of its attempts ends as `model_mismatch`
with the detail `plugin_changed`, which stands in the book, and the other seats
go on. It answers again once the declared package is installed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from beforehand.forecasters.forecaster import BlindQuestion, Forecaster, Reply, Request
from beforehand.forecasters.plugin import OWN, Plugin, find_plugin, load_forecaster
from beforehand.forecasters.scaffold import question_bytes

CHANGED = "plugin_changed"

Sealed = Iterable[Mapping[str, Any]]
Tell = Callable[[str], None]


class ChangedPlugin:
    """In the place of a plugin that is not the declared one: it runs none of its code."""

    def __init__(self, name: str) -> None:
        self.name = name

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """The question as a scaffold would get it; nothing is reserved for it."""
        return Request(question_bytes(question, reask=reask), Decimal(0))

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """No answer, at no cost, and why."""
        return Reply("model_mismatch", cost=Decimal(0), detail=CHANGED)

    async def close(self) -> None:
        """Nothing to give back."""


def seated_plugin(
    model: Mapping[str, Any], sealed: Sealed | None, tell: Tell, deny_sites: Sequence[str] = ()
) -> Forecaster:
    """The forecaster of a table with `via = "plugin"`; `sealed` are the league line's plugins.

    Where `sealed` is None nothing is compared. What this package brings itself
    changes with every version of it: that is told, and the seat is asked.
    """
    plugin = find_plugin(model["plugin"])
    said = "" if sealed is None else difference(plugin, sealed)
    if said:
        tell(f"{model['forecaster']}: {said}")
    if said and plugin.name not in OWN and _named(plugin, sealed or ()):
        return ChangedPlugin(model["forecaster"])
    return load_forecaster(model, deny_sites)


def difference(plugin: Plugin, sealed: Sealed) -> str:
    """What makes an installed plugin another one than was sealed; "" where it is the same.

    One that was never sealed, as it came with a later roster, cannot be compared.
    """
    held = _named(plugin, sealed)
    if plugin.sealed() in held:
        return ""
    now = f"{plugin.distribution} {plugin.version}, RECORD {plugin.sha256[:12]}"
    if not held:
        return f"the plugin {plugin.name!r} ({now}) was not sealed with the declaration"
    package = str(held[0]["name"]).rpartition(":")[0]
    was = f"{package} {held[0]['version']}, RECORD {str(held[0]['sha256'])[:12]}"
    return f"the plugin {plugin.name!r} is {now}; {was} was declared"


def _named(plugin: Plugin, sealed: Sealed) -> list[dict[str, Any]]:
    """What was sealed under the plugin's name, by whichever package."""
    # A name that was cut at its end names its package and no plugin.
    own = plugin.sealed()["name"]
    return [
        dict(each)
        for each in sealed
        if each["name"] == own or str(each["name"]).rpartition(":")[2] == plugin.name
    ]
