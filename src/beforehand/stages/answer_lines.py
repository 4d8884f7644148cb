"""The answer lines of a run: a reply as a line and bodies, withheld where the league withholds."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from beforehand.book.bodies import SALT_BYTES, SealedBody
from beforehand.clock import instant_key
from beforehand.forecasters.forecaster import Reply
from beforehand.forecasters.leaks import CROWD_NUMBER, audit
from beforehand.records.codec import digest
from beforehand.records.forecast import Answer, Cell
from beforehand.records.record import BodyRef
from beforehand.stages.situation import OpenRun, Situation
from beforehand.stages.withheld import withheld_answer, withheld_root


@dataclass(frozen=True)
class Ended:
    """An attempt that came back: whose, under which ask line, the reply and when it arrived."""

    question: str
    forecaster: str
    line: int
    reply: Reply
    received_at: str


class AnswerLines:
    """What becomes of the replies of one run."""

    def __init__(self, situation: Situation, run: OpenRun) -> None:
        self.situation, self.run = situation, run
        self.declaration = situation.declaration
        self._models = {seat.forecaster: seat.model for seat in run.roster.seats}

    def deadline(self, question: str) -> str:
        """The instant until which an answer counts: the run's, or the market's end if sooner."""
        closes = self.situation.questions[question].contract.get("closes")
        ends = self.run.roster.deadline
        return ends if not closes else min(ends, closes, key=instant_key)

    def late(self, question: str, at: str) -> bool:
        """Whether what is received at `at` is too late."""
        return instant_key(at) > instant_key(self.deadline(question))

    def status(self, each: Ended) -> str:
        """The reply's own status; an answer that arrived too late is late."""
        late = each.reply.status == "answered" and self.late(each.question, each.received_at)
        return "late" if late else each.reply.status

    def bodies(self, each: Ended) -> dict[str, bytes]:
        """The bodies of one reply, by role; the cells of a withheld answer are among them."""
        parts: dict[str, bytes] = {}
        if each.reply.raw:
            parts["reply"] = each.reply.raw
        if self.status(each) == "answered" and not self.is_open("answer"):
            cells = [Cell(each.question, p=each.reply.probability)]
            parts["answer"] = withheld_answer(
                self.declaration, cells, rationale=each.reply.rationale
            )
        return {role: self.body(each.forecaster, role, data) for role, data in parts.items()}

    def line(self, at: str, each: Ended, bodies: Mapping[str, bytes]) -> Answer:
        """The answer line; a withheld answer shows no cells."""
        reply, status = each.reply, self.status(each)
        # A seat that was asked and names no model is hidden: nothing here may name it.
        hidden = self._models.get(each.forecaster) is None
        valid = status == "answered"
        leaks = self._leaks(each) if valid else ()
        shown: tuple[Cell, ...] | None = None
        if not valid:
            shown = (Cell(each.question, missing=status),)
        elif "answer" not in bodies:
            shown = (Cell(each.question, p=reply.probability),)
        return Answer(
            at=at,
            bodies=tuple(self.ref(role, data, at) for role, data in bodies.items()),
            run=self.run.run.run,
            forecaster=each.forecaster,
            status=status,
            ask_line=each.line,
            requested_model=self._models.get(each.forecaster),
            served_model=None if hidden else reply.served_model,
            received_at=each.received_at,
            cost=None if reply.cost is None else format(reply.cost, "f"),
            leak_flag=bool(leaks) if valid else None,
            leaks=leaks,
            citations=len(reply.citations) if valid else None,
            latency_ms=reply.latency_ms,
            provider=None if hidden else reply.provider,
            detail=None if hidden else reply.detail or None,
            retryable=True if reply.retryable and not valid else None,
            cells=shown,
            cells_root=withheld_root(bodies.get("answer")),
        )

    def _leaks(self, each: Ended) -> tuple[str, ...]:
        """What the forecaster found, and whether the text names the price that was hidden."""
        quote = self.run.quotes.get(each.question)
        if quote is None or quote.bid is None or quote.ask is None:
            return each.reply.leaks
        crowd = (Decimal(quote.bid) + Decimal(quote.ask)) / 2
        found = audit(each.reply.rationale, crowd=crowd, stated=each.reply.probability)
        more = CROWD_NUMBER in found and CROWD_NUMBER not in each.reply.leaks
        return (*each.reply.leaks, CROWD_NUMBER) if more else each.reply.leaks

    def is_open(self, role: str) -> bool:
        """Whether the league shows bodies of this role at once."""
        return self.declaration.bodies.get(role, "line") == "line"

    def body(self, forecaster: str, role: str, data: bytes) -> bytes:
        """The bytes as they are, or behind a fresh salt where the league withholds the role."""
        if self.is_open(role):
            return data
        salt = secrets.token_hex(SALT_BYTES)
        origin, run = self.declaration.origin, self.run.run.run
        return SealedBody(origin, run, forecaster, role, salt, data).data()

    def ref(self, role: str, data: bytes, at: str) -> BodyRef:
        """The reference of a body, due as the league declares."""
        rule = self.declaration.bodies.get(role, "line")
        due = {"line": at, "deadline": self.run.roster.deadline, "never": None}[rule]
        return BodyRef(role, digest(data), due)
