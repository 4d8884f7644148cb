"""Models on loopback: the OpenAI chat protocol, with prices, habits and failures.

    python -m beforehand.testing.model_replica --port 0 --port-file F --seed N \\
        [--truth FILE] [--credit 5.00] [--reply-seconds 0] [--log FILE] [--faults SPEC]

`sim/sharp-1` and its like are statistical (`personalities`), `script/NAME`
always behaves in one way (`replies`). An answer is a function of the seed, the
model, the question, its hidden probability at the time, and the attempt. An
attempt is a request received: attempts are counted here, for each model and
body, so a client that is killed and asks again makes the next attempt, and one
that never asked makes none. With --log they outlive this process too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.testing.chance import normal, uniform
from beforehand.testing.completion import completion, completion_tokens, models_list
from beforehand.testing.faults import Fault, read_faults
from beforehand.testing.personalities import (
    Personality,
    habit_of,
    personality_of,
    probability,
)
from beforehand.testing.purse import Purse, cost_of
from beforehand.testing.replica import Answer, Call, Replica, answer_of
from beforehand.testing.replies import BEHAVIOURS, Ask, Reply, read_ask
from beforehand.testing.serve import arguments, run
from beforehand.testing.truth import Truth

SEARCH_COST = Decimal("0.004")


class ModelReplica(Replica):
    """The chat endpoint and the account behind it."""

    def __init__(
        self,
        seed: int,
        truth: Truth,
        purse: Purse,
        faults: Iterable[Fault] = (),
        *,
        reply_seconds: float = 0.0,
        reply_spread: float = 0.0,
    ) -> None:
        super().__init__(seed, faults)
        _check_behaviours(self.faults.all)
        self.purse = purse
        self._truth = truth
        self._reply_seconds = reply_seconds
        self._reply_spread = reply_spread

    def endpoint(self, call: Call) -> str:
        """The method and the path, below /v1 or /api/v1."""
        return f"{call.method} {call.path.removeprefix('/api')}"

    async def respond(self, call: Call) -> Answer:
        """The answer to a request."""
        name = self.endpoint(call)
        if name == "POST /v1/chat/completions":
            return self._chat(call)
        if name == "GET /v1/models":
            return answer_of(models_list())
        if name == "GET /v1/credits":
            return answer_of({"data": self._credits()})
        if name in ("GET /v1/key", "GET /v1/auth/key"):
            return answer_of({"data": self._key()})
        return _error(404, "not found")

    def ended(self, answer: Answer, delivered: bool) -> None:
        """Book a charge as undelivered where its answer did not go out whole."""
        if not delivered and isinstance(answer.note, Decimal):
            self.purse.lost(answer.note)

    def stats(self) -> dict[str, Any]:
        """Requests, and every cent that was charged."""
        return {**super().stats(), **self.purse.stats()}

    def control(self, given: dict[str, Any]) -> None:
        """Take faults, a credit (decimal text, or null for no end of it), or a delay.

        `forget` begins a new account, in which nothing was ever asked.
        """
        given = dict(given)
        if given.pop("forget", False):
            self.purse.forget()
        if "credit" in given:
            amount = given.pop("credit")
            self.purse.credit = None if amount is None else Decimal(str(amount))
        if "reply_seconds" in given:
            self._reply_seconds = float(given.pop("reply_seconds"))
        _check_behaviours(read_faults(given.get("faults", [])))
        super().control(given)

    def problem(self, message: str, status: int) -> bytes:
        """The body of an error as a router of models writes it."""
        return _error(status, message).body

    def _chat(self, call: Call) -> Answer:
        try:
            body = json.loads(call.body)
            model = body["model"]
            who = personality_of(model)
            if who is None or not set(who.habits) <= set(BEHAVIOURS):
                return _error(404, f"No endpoints found for {model}")
            ask = read_ask(body, who.schema)
        except (ValueError, TypeError, KeyError, AttributeError):
            return _error(400, "Invalid request")
        sha = hashlib.sha256(call.body).hexdigest()
        attempt = self.purse.received(model, sha)
        if call.refused:
            status = 429 if call.refused == "rate429" else 500
            self.purse.record(
                model, status, Decimal(0), body=sha, attempt=attempt, behaviour=call.refused
            )
            return _error(status, "refused")
        habit = self._habit(ask, who, sha, attempt)
        known = self._truth.find(ask.text)
        question = known.question if known is not None else ask.text
        said = probability(self.seed, model, who, question, known)
        reply = BEHAVIOURS[habit](ask, said)
        market = known.market if known is not None else None
        return self._charged(ask, who, reply, sha, attempt, habit, market)

    def _habit(self, ask: Ask, who: Personality, sha: str, attempt: int) -> str:
        """The behaviour of this attempt: one put on from outside, or one of the model's own."""
        for fault in self.faults.of_kind("behaviour"):
            if fault.options.get("model", ask.model) != ask.model:
                continue
            name = str(fault.options["name"])
            if uniform(self.seed, "put on", name, ask.model, sha, attempt) < fault.rate:
                self.faults.met["behaviour"] += 1
                return name
        return habit_of(who, self.seed, ask.model, sha, attempt)

    def _charged(
        self,
        ask: Ask,
        who: Personality,
        reply: Reply,
        sha: str,
        attempt: int,
        habit: str,
        market: str | None,
    ) -> Answer:
        tokens = (len(ask.text) // 4 + 8, completion_tokens(reply))
        cost = cost_of(*tokens, (who.prompt_price, who.completion_price))
        if ask.search:
            cost += SEARCH_COST
        if reply.status != 200 or reply.whole is not None:
            cost = Decimal(0)
        if not self.purse.can_pay(cost):
            reply, cost, habit = BEHAVIOURS["no_credit"](ask, 0.5), Decimal(0), "no_credit"
        self.purse.record(
            ask.model,
            reply.status,
            cost,
            body=sha,
            attempt=attempt,
            behaviour=habit,
            market=market,
        )
        if reply.status != 200:
            found = _error(reply.status, reply.error)
            found.headers.update(reply.headers)
        else:
            shape = completion(ask, reply, f"{sha}/{attempt}", tokens, cost)
            found = answer_of(shape)
        found.note = cost
        found.stall = reply.stall
        found.delay = 0.0 if reply.stall else self._delay(sha, attempt)
        return found

    def _delay(self, sha: str, attempt: int) -> float:
        if not self._reply_seconds or not self._reply_spread:
            return self._reply_seconds
        return self._reply_seconds * math.exp(
            self._reply_spread * normal("delay", self.seed, sha, attempt)
        )

    def _credits(self) -> dict[str, Any]:
        total = 1000 if self.purse.credit is None else float(self.purse.credit)
        return {"total_credits": total, "total_usage": float(self.purse.charged)}

    def _key(self) -> dict[str, Any]:
        credit = self.purse.credit
        return {
            "label": "simulated",
            "usage": float(self.purse.charged),
            "limit": None if credit is None else float(credit),
            "limit_remaining": None if credit is None else float(credit - self.purse.charged),
            "is_free_tier": False,
            "rate_limit": {"requests": 1000, "interval": "10s"},
        }


def _check_behaviours(faults: Iterable[Fault]) -> None:
    for fault in faults:
        if fault.kind == "behaviour" and fault.options["name"] not in BEHAVIOURS:
            raise FormatError(f"no behaviour is called {fault.options['name']!r:.40}")


def _error(status: int, message: str) -> Answer:
    return answer_of({"error": {"message": message, "code": status}}, status)


def main(given: list[str] | None = None) -> None:
    """Serve until told to stop."""
    parser = arguments("Models on loopback, with prices, habits and failures.")
    _add_options(parser)
    options = parser.parse_args(given)
    replica = ModelReplica(
        options.seed,
        Truth(options.truth),
        Purse(options.credit, options.log),
        options.faults,
        reply_seconds=options.reply_seconds,
        reply_spread=options.reply_spread,
    )
    run(replica, options)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--truth", type=Path, help="truth.json of a venue replica")
    parser.add_argument("--credit", type=Decimal, help="402 once this much was charged")
    parser.add_argument("--log", type=Path, help="one JSON line for each request")
    parser.add_argument("--reply-seconds", type=float, default=0.0, help="how long a reply takes")
    parser.add_argument(
        "--reply-spread", type=float, default=0.0, help="spread of its logarithm, e.g. 0.5"
    )


if __name__ == "__main__":
    main()
