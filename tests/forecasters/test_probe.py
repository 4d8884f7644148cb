"""Faults B10 and B33: what would fail a round is found out before it."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import RuleError
from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.function import FunctionForecaster
from beforehand.forecasters.probe import Probe, probe
from tests.forecasters.chat_server import KEY, Act, asking, completion, model, says

MODELS = says({"data": [{"id": "maker/model-1"}, {"id": "maker/other"}]})


def probed(
    act: Act, *, trial: bool = True, gets: dict[str, Act] | None = None, **more: Any
) -> Probe:
    async def asked() -> Probe:
        async with asking(act, **more) as (forecaster, server):
            server.gets = {"/v1/models": MODELS} if gets is None else gets
            return await probe(forecaster, seconds=5, trial=trial)

    found = asyncio.run(asked())
    assert KEY not in repr(found)
    return found


def test_b33_a_sound_model() -> None:
    found = probed(says(completion()))
    assert (found.reachable, found.authorised, found.listed) == (True, True, True)
    assert found.credit is None
    assert found.sound and found.trial is not None and found.trial.status == "answered"
    assert found.trial.cost == Decimal("0.0006")


def test_b33_an_empty_account_is_seen_before_the_round() -> None:
    gets = {
        "/v1/models": MODELS,
        "/v1/key": says({"data": {"limit_remaining": 3.5}}),
        "/v1/credits": says({"data": {"total_credits": 10, "total_usage": 10.25}}),
    }
    found = probed(says(completion()), trial=False, gets=gets, provider="p")
    assert found.credit == Decimal("-0.25") and found.trial is None
    assert found.problems == ("no credit left (-0.25)",)
    gets["/v1/credits"] = says({"error": "management keys only"}, 403)
    assert probed(says(completion()), trial=False, gets=gets, provider="p").credit == Decimal("3.5")
    spent = probed(says({"error": {"message": "no credit"}}, 402))
    assert "a trial ask ended as auth_or_credit (http_402)" in spent.problems


def test_b10_a_refused_temperature_stops_before_the_round() -> None:
    body = {"error": {"message": "temperature is not supported", "param": "temperature"}}
    with pytest.raises(RuleError, match='put temperature = "omitted"'):
        probed(says(body, 400))
    with pytest.raises(RuleError, match=r"does not take: .*response_format"):
        probed(says({"error": {"message": f"response_format {KEY}"}}, 400))


def test_b9_an_alias_that_is_not_declared_is_named() -> None:
    found = probed(says(completion(model="maker/model-1-2026")))
    assert "'maker/model-1-2026'" in found.problems[0] and "served_as" in found.problems[0]


def test_b33_problems_of_the_models_list() -> None:
    absent = probed(says(completion()), gets={"/v1/models": says({"data": [{"id": "x"}]})})
    assert (absent.listed, absent.problems) == (False, ("the endpoint does not list the model",))
    closed = probed(says({}, 401), gets={"/v1/models": says({}, 401)})
    assert closed.authorised is False and "does not accept the key" in closed.problems[0]
    none = probed(says(completion()), gets={})
    assert (none.listed, none.sound) == (None, True)
    odd = probed(says(completion()), gets={"/v1/models": says(b"[[")})
    assert odd.listed is None


def test_b33_nobody_there() -> None:
    async def asked() -> Probe:
        connections = Connections()
        try:
            forecaster = ChatForecaster(model(), key=None, connections=connections)
            return await probe(forecaster, seconds=2)
        finally:
            await connections.close()

    found = asyncio.run(asked())
    assert (found.reachable, found.authorised, found.sound) == (False, None, False)


def test_b33_any_forecaster_can_be_tried() -> None:
    good = asyncio.run(probe(FunctionForecaster("f", lambda _: 0.5)))
    assert good.sound and good.trial is not None and good.trial.probability == "0.5"
    bad = asyncio.run(probe(FunctionForecaster("f", lambda _: "no")))
    assert bad.problems == ("a trial ask ended as unparseable (words)",)
    assert asyncio.run(probe(FunctionForecaster("f", lambda _: 1), trial=False)).trial is None
