"""The attempts of a run: who is to be asked which question next, and the request that is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beforehand.errors import RuleError
from beforehand.forecasters.forecaster import BlindQuestion, Forecaster, Request
from beforehand.records.codec import decode_json
from beforehand.stages.pen import Pen
from beforehand.stages.policy import next_step
from beforehand.stages.situation import OpenRun, Situation

ZERO = Decimal(0)
MOST_RESERVED = Decimal(10) ** 15


@dataclass(frozen=True)
class Job:
    """An attempt that is due: who is asked what, why, and which ask line it repeats.

    `unaskable` is why the forecaster could not even make a request; nothing is
    sent then, and the attempt fails in the book.
    """

    question: str
    forecaster: str
    why: str
    attempt: int
    request: Request
    again: int | None = None
    unaskable: str = ""


class Jobs:
    """The attempts of one run by what its book holds. `forecasters` are those that can be asked."""

    def __init__(
        self,
        pen: Pen,
        situation: Situation,
        run: OpenRun,
        forecasters: Mapping[str, Forecaster],
    ) -> None:
        self.pen, self.situation, self.run, self.forecasters = pen, situation, run, forecasters
        self.rules: Mapping[str, Any] = situation.declaration.content["answers"]
        self._texts: dict[str, BlindQuestion] = {}

    def job(self, question: str, forecaster: str) -> Job | None:
        """The next attempt of a forecaster on a question, as the policy gives it; None for none."""
        attempts = self.run.attempts.get((question, forecaster), [])
        why = next_step(attempts, self.rules)
        if why is None or forecaster not in self.forecasters:
            return None
        again = attempts[-1].line if attempts else None
        try:
            request = self.forecasters[forecaster].request(
                self._text(question), reask=why == "reask"
            )
            if not isinstance(request.body, bytes) or not 0 <= request.reserved < MOST_RESERVED:
                raise RuleError("a request is bytes and an amount from 0")
        except Exception as error:  # it fails its answer, never the run
            said = f"no request: {type(error).__name__}"
            return Job(
                question, forecaster, why, len(attempts) + 1, Request(b"", ZERO), again, said
            )
        return Job(question, forecaster, why, len(attempts) + 1, request, again)

    def _text(self, question: str) -> BlindQuestion:
        """What is shown of a question: the text that was sealed with it, and no price."""
        if question not in self._texts:
            record = self.situation.questions[question]
            ref = next(body for body in record.bodies if body.role == "text")
            held = decode_json(self.pen.store.read_body(ref.sha256))
            shown = self.rules["shows"]
            self._texts[question] = BlindQuestion(
                held["question"],
                held["description"] if "description" in shown else "",
                record.contract.get("closes") if "end_date" in shown else None,
            )
        return self._texts[question]
