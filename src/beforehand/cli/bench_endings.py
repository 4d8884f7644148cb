"""How a league ended, read from its book and from its models' own record, and what must hold.

Nothing is lost where every call that a model was paid for has an ask line
with its very bytes, every repeated ask says which one it repeats, and every
ask has its end. The cap is looked at after every line, not only the last.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from beforehand.book.bodies import open_sealed
from beforehand.book.reader import BookReader
from beforehand.cli.league_folder import LeagueFolder
from beforehand.cli.telling import read_situation
from beforehand.clock import instant_key
from beforehand.errors import IntegrityError
from beforehand.records.codec import BOOKKEEPING, decode_json
from beforehand.records.kinds import decode
from beforehand.stages.ledger import ZERO, Ledger
from beforehand.stages.situation import Attempt, OpenRun, Situation
from beforehand.stages.status import money

MISSING = "missing"
Call = tuple[str, str]


@dataclass
class Ending:
    """What a league came to.

    `said` is every counted answer by run, question and forecaster; `most` the
    most that was ever committed in one period; `served` the calls that the
    models received, `unserved` the asks that never reached them; `turned` the
    lines that were written while the clock stood behind the book.
    """

    said: dict[str, str] = field(default_factory=dict)
    stopped: int = 0
    cap: Decimal = ZERO
    most: Decimal = ZERO
    spent: Decimal = ZERO
    reserved_a_run: Decimal = ZERO
    reserved_a_call: Decimal = ZERO
    asks: int = 0
    served: int = 0
    unserved: int = 0
    resumed: int = 0
    repeated: int = 0
    turned: int = 0

    def unlike(self, wanted: Ending) -> list[str]:
        """The counted answers in which two endings differ, or why this one cannot be compared."""
        if self.most > self.cap:
            return [f"{money(self.most)} was committed under a cap of {money(self.cap)}"]
        if self.stopped:
            return [f"{self.stopped} runs were stopped by a cap that holds them all"]
        odd = sorted(set(self.said.items()) ^ set(wanted.said.items()))
        return [f"{key}: {said}" for key, said in odd]

    def unlike_part(self, wanted: Ending) -> list[str]:
        """The same under a cap that stops the asking: what was counted is counted alike."""
        if self.most > self.cap:
            return [f"{money(self.most)} was committed under a cap of {money(self.cap)}"]
        if not self.stopped:
            return ["a cap of half the money stopped nothing"]
        counted = {key: said for key, said in self.said.items() if said != MISSING}
        return [f"{key}: {said}" for key, said in counted.items() if wanted.said.get(key) != said]


def ending_of(folder: Path, log: Path) -> Ending:
    """The ending of the league in `folder`, `log` being its models' record; IntegrityError
    where something was lost, was repeated in silence, or has no end."""
    situation = read_situation(LeagueFolder.at(folder))
    reader = BookReader(LeagueFolder.at(folder).book)
    cap, total = situation.ledger.cap, situation.ledger.total()
    ending = Ending(cap=cap or ZERO, spent=total.spent, asks=total.asks)
    _walk_lines(reader, situation, ending)
    sealed: Counter[Call] = Counter()
    for run in situation.runs.values():
        _take_run(run, reader, ending, sealed)
    _compare(sealed, _served(log), ending)
    return ending


def _take_run(run: OpenRun, reader: BookReader, ending: Ending, sealed: Counter[Call]) -> None:
    name = run.run.run
    if run.close is None or any(run.open_attempts()):
        raise IntegrityError(f"run {name} was left open")
    ending.stopped += run.close.status == "stopped_budget"
    seats = {seat.forecaster: seat.model or "" for seat in run.roster.seats}
    asked = [seat.forecaster for seat in run.roster.seats if seat.entry == "asked"]
    reserved = ZERO
    for (question, forecaster), held in run.attempts.items():
        if any((question, each) not in run.attempts for each in asked):
            raise IntegrityError(f"run {name}: a question was asked of some models only")
        if [each.ask.attempt for each in held] != list(range(1, len(held) + 1)):
            raise IntegrityError(f"run {name}: an attempt is missing")
        if any(after.ask.again != before.line for before, after in pairwise(held)):
            raise IntegrityError(f"run {name}: a call was repeated and its ask does not say so")
        ending.resumed += sum(each.ask.why == "resumed" for each in held)
        ending.repeated += len(held) - 1
        for each in held:
            amount = Decimal(each.ask.reserved or "0")
            reserved += amount
            ending.reserved_a_call = max(ending.reserved_a_call, amount)
            sealed.update((seats[forecaster], b.sha256) for b in each.ask.bodies if b.role == "ask")
        ending.said[f"{name} {question[:14]} {forecaster}"] = _said(held, reader)
    ending.reserved_a_run = max(ending.reserved_a_run, reserved)


def _said(held: list[Attempt], reader: BookReader) -> str:
    for each in held:
        if each.valid and each.answer is not None:
            body = next(b for b in each.answer.bodies if b.role == "answer")
            return str(
                decode_json(open_sealed(reader.read_body(body.sha256)).content)["cells"][0]["p"]
            )
    return MISSING


def _walk_lines(reader: BookReader, situation: Situation, ending: Ending) -> None:
    """The most that any period had committed after any line; times may not turn back."""
    ledger, last = Ledger.begin(situation.declaration.content), ""
    for n, raw in enumerate(reader.lines(), 1):
        value = decode_json(raw)
        record = decode({key: item for key, item in value.items() if key not in BOOKKEEPING})
        if last and instant_key(value["at"]) < instant_key(last):
            raise IntegrityError(f"line {n} is earlier than the one before it")
        last = value["at"]
        ending.turned += "clock" in value
        ledger.take(n, record)
        for account in ledger.accounts.values():
            ending.most = max(ending.most, account.committed)


def _served(log: Path) -> Counter[Call]:
    """The calls that the models received, by model and by the SHA-256 of their bytes."""
    lines = (json.loads(line) for line in log.read_text(encoding="ascii").splitlines())
    return Counter((str(line["model"]), str(line["body"])) for line in lines)


def _compare(sealed: Counter[Call], served: Counter[Call], ending: Ending) -> None:
    for call, times in served.items():
        if times > sealed[call]:
            raise IntegrityError(
                f"{call[0]} was called {times} times and {sealed[call]} are sealed"
            )
    ending.served = served.total()
    ending.unserved = sealed.total() - ending.served
