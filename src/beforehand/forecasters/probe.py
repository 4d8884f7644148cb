"""Whether a model can be asked at all: before a league declares it, and before a round.

A wrong parameter is found here, where it costs one call, and not in a round,
where it would fail every question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beforehand.errors import RuleError
from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.connections import Exchange
from beforehand.forecasters.forecaster import BlindQuestion, Forecaster, Reply

TRIAL_QUESTION = BlindQuestion(
    "Will a fair coin that is tossed once show heads?",
    "Resolves YES for heads and NO for tails.",
)
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Probe:
    """What was found out. None: the endpoint does not say, or was not asked.

    `credit` is what is left to spend, in the endpoint's currency; `listed`
    whether it lists the model's id; `trial` the reply to one real ask, whose
    cost was spent; `problems` are sentences for the operator.
    """

    forecaster: str
    reachable: bool | None = None
    authorised: bool | None = None
    credit: Decimal | None = None
    listed: bool | None = None
    trial: Reply | None = None
    problems: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against asking it."""
        return not self.problems


async def probe(forecaster: Forecaster, *, seconds: float = 30.0, trial: bool = True) -> Probe:
    """Look at credit and models, and make one real ask where `trial` says so.

    RuleError where the endpoint refuses a parameter: that is the lineup's
    fault and no later time will mend it.
    """
    if not isinstance(forecaster, ChatForecaster):
        reply = await _trial(forecaster, seconds) if trial else None
        return Probe(forecaster.name, trial=reply, problems=_of_trial(reply))
    models = await forecaster.look("models", seconds)
    credit = await _credit(forecaster, seconds)
    reply = await _trial(forecaster, seconds) if trial else None
    listed = _listed(models, forecaster.model["model"])
    problems = [*_of_listing(models, listed), *_of_credit(credit), *_of_trial(reply)]
    return Probe(
        forecaster.name,
        reachable=models.code is not None,
        authorised=None if models.code is None else models.code not in (401, 403),
        credit=credit,
        listed=listed,
        trial=reply,
        problems=tuple(dict.fromkeys(problems)),
    )


async def _trial(forecaster: Forecaster, seconds: float) -> Reply:
    reply = await forecaster.ask(forecaster.request(TRIAL_QUESTION), seconds=seconds)
    if reply.detail == "temperature":
        raise RuleError(
            f'{forecaster.name}: its endpoint refuses the temperature; put temperature = "omitted" '
            "into its table"
        )
    if reply.status == "internal" and reply.detail.startswith(("http_", "body_", "redirect")):
        told = reply.raw.decode("utf-8", "replace")[:_SHOWN_CHARACTERS]
        raise RuleError(
            f"{forecaster.name}: its endpoint refuses the request ({reply.detail}); its table "
            f"declares something that it does not take: {told!r}"
        )
    return reply


async def _credit(forecaster: ChatForecaster, seconds: float) -> Decimal | None:
    """What is left: of the key's own limit, else of the account; None where nobody says."""
    if not forecaster.routes:
        return None
    limit = _table(_body(await forecaster.look("key", seconds)).get("data"))
    left = _amount(limit.get("limit_remaining"))
    account = _table(_body(await forecaster.look("credits", seconds)).get("data"))
    total, used = _amount(account.get("total_credits")), _amount(account.get("total_usage"))
    if total is None or used is None:
        return left
    return total - used if left is None else min(left, total - used)


def _of_listing(models: Exchange, listed: bool | None) -> list[str]:
    if models.code is None:
        return [f"the endpoint does not answer ({models.failure}: {models.detail})"]
    if models.code in (401, 403):
        return ["the endpoint does not accept the key"]
    return ["the endpoint does not list the model"] if listed is False else []


def _of_credit(credit: Decimal | None) -> list[str]:
    return [f"no credit left ({credit})"] if credit is not None and credit <= 0 else []


def _of_trial(reply: Reply | None) -> tuple[str, ...]:
    if reply is None or reply.status == "answered":
        return ()
    if reply.status == "model_mismatch":
        return (
            f"it answers as {reply.served_model!r} of {reply.provider!r}: list that id in "
            "served_as if it is the same model",
        )
    return (f"a trial ask ended as {reply.status} ({reply.detail})",)


def _listed(models: Exchange, name: str) -> bool | None:
    data = _body(models).get("data")
    if models.code != 200 or not isinstance(data, list):
        return None
    return any(_table(each).get("id") == name for each in data)


def _body(exchange: Exchange) -> dict[str, Any]:
    if exchange.failure or exchange.code != 200:
        return {}
    try:
        return _table(json.loads(exchange.data, parse_float=Decimal))
    except (ValueError, ArithmeticError, RecursionError):
        return {}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    amount = Decimal(value)
    return amount if amount.is_finite() else None
