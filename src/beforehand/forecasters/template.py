"""A forecaster to copy: the least that a package of one's own needs.

Copy this file into the package, rename what is named here, answer in
`estimate`, and declare the entry point (`forecasters/plugin.py` says how).
Then run the contract on it, in a test of the package::

    from beforehand.testing.forecaster_contract import check_forecaster

    def test_contract():
        check_forecaster(lambda: make(MODEL))
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from beforehand.forecasters.forecaster import BlindQuestion, Reply, Request
from beforehand.forecasters.money import rounded_up
from beforehand.forecasters.scaffold import question_bytes, question_of, scaffold_reply


class TemplateForecaster:
    """Replace `estimate`. `request` stays pure: its bytes are sealed before `ask` is called."""

    def __init__(self, name: str, price: Decimal, deny_sites: Sequence[str] = ()) -> None:
        self.name = name
        self._price = rounded_up(price)
        self._deny_sites = tuple(deny_sites)

    def request(self, question: BlindQuestion, *, reask: bool = False) -> Request:
        """What will be asked, and the most it may cost."""
        return Request(question_bytes(question, reask=reask), self._price)

    async def ask(self, request: Request, *, seconds: float) -> Reply:
        """Answer once. What goes wrong is a Reply with a word of FAILURES, not an exception."""
        started = time.monotonic()
        question, _ = question_of(request.body)
        answer = await self.estimate(question, seconds)
        raw = json.dumps(answer, ensure_ascii=False).encode()
        latency = int((time.monotonic() - started) * 1000)
        return scaffold_reply(raw, latency_ms=latency, deny_sites=self._deny_sites)

    async def estimate(self, question: BlindQuestion, seconds: float) -> Mapping[str, Any]:
        """Here goes the scaffold. Say what the answer cost: a cost not named keeps its price."""
        return {"rationale": "Nothing is known.", "probability": 0.5, "cost": "0"}

    async def close(self) -> None:
        """Give back what was opened."""


def make(model: Mapping[str, Any]) -> TemplateForecaster:
    """What the entry point names.

    `model["options"]` are texts of the operator's choice; `model["deny_sites"]`
    the league's sites that no search may read.
    """
    price = Decimal(model["price_ask"])
    return TemplateForecaster(model["forecaster"], price, model.get("deny_sites", ()))
