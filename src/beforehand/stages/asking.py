"""Asking the models of a run: sealed before it is sent, sealed when it comes back.

One coroutine holds the pen. Calls run beside it; whatever has come back
meanwhile is sealed in one batch, and the next attempts go out in another, so
that no answer waits for another one's disk. An ask line without an answer
line is exactly the window in which the process may have died.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from beforehand.clock import instant_key
from beforehand.forecasters.forecaster import Forecaster, Reply
from beforehand.records.codec import digest
from beforehand.records.forecast import Answer, Cell
from beforehand.records.run import Ask
from beforehand.stages.answer_lines import AnswerLines, Ended
from beforehand.stages.flying import Flying
from beforehand.stages.jobs import ZERO, Job, Jobs
from beforehand.stages.opening import max_age_minutes
from beforehand.stages.pen import Pen
from beforehand.stages.policy import backoff_seconds
from beforehand.stages.replies import OUT_OF_CREDIT, kept
from beforehand.stages.situation import OpenRun, Situation

Progress = Callable[[str, int, int], None]
DEFAULT_TIMEOUT_SECONDS = 120
MOST_IN_FLIGHT = 1000
BETWEEN_SECONDS = 20.0
# The first question goes out alone for this long: an endpoint without credit says so at once.
PROBE_SECONDS = 0.5
# A line's time never goes back; beyond this, times would say too little to ask under.
MOST_BEHIND_SECONDS = 60.0
NO_CREDIT = "the endpoint of {} is out of credit (402)"


@dataclass
class Asked:
    """How the asking of one run ended.

    `stopped` is why it stopped early, `short` why an attempt was not made,
    "" where it was not so; `paused` that it waits for the clock and goes on later.
    """

    stopped: str = ""
    short: str = ""
    paused: bool = False
    calls: int = 0
    skipped: dict[str, str] = field(default_factory=dict)


def seconds_behind(pen: Pen) -> float:
    """How far the clock stands behind the book's last line, 0 where it does not."""
    at, read = pen.now()
    return 0.0 if read is None else (instant_key(at) - instant_key(read)).total_seconds()


class Asking:
    """The asking of one open run; `run` goes on where a killed process left off."""

    def __init__(
        self,
        pen: Pen,
        situation: Situation,
        run: OpenRun,
        forecasters: Mapping[str, Forecaster],
        *,
        timeouts: Mapping[str, int] | None = None,
        backoff: float = 1.0,
        progress: Progress | None = None,
        between: Callable[[], object] | None = None,
        renew: Callable[[], Awaitable[None]] | None = None,
        stamp: Callable[[], None] | None = None,
    ) -> None:
        self.pen, self.situation, self.run = pen, situation, run
        self._renew, self._stamp = renew, stamp
        self.forecasters = forecasters
        self.timeouts = timeouts or {}
        self.backoff, self.progress, self.between = backoff, progress, between
        self._looked = time.monotonic()
        self._delayed: list[tuple[float, Job]] = []
        self._probe_until: float | None = None
        self._answers = AnswerLines(situation, run)
        self.declaration = situation.declaration
        self._jobs = Jobs(pen, situation, run, forecasters)
        self.seats = [seat.forecaster for seat in run.roster.seats if seat.entry == "asked"]
        self.asked = Asked()

    async def ask_all(self) -> Asked:
        """Ask everything that is due in this run; returns when nothing is in flight."""
        self._seal_lost()
        self._stop_where_stopped()
        waiting = self._due()
        flying = Flying()
        try:
            while waiting or flying or self._delayed:
                if self.asked.stopped:
                    waiting.clear()
                    self._delayed.clear()
                self._take_ready(waiting)
                if (waiting or self._delayed) and self._clock_is_behind():
                    self.asked.paused = True
                    waiting.clear()
                    self._delayed.clear()
                if waiting and not self._probing(flying):
                    await self._launch(waiting, flying)
                if flying:
                    await self._wait(flying)
                elif self._delayed:
                    await asyncio.sleep(self._patience())
        finally:
            flying.cancel()
        return self.asked

    async def _wait(self, flying: Flying) -> None:
        """Wait for the next replies, seal them, and note what follows."""
        ended = await flying.landed(self._patience())
        await self._look_around()
        if ended:
            await self._seal_replies(ended)
            self._probe_until = 0.0
            for each in ended:
                self._follow(each)

    def _probing(self, flying: Flying) -> bool:
        """Whether the first question is out alone and has yet some time to be refused."""
        return (
            bool(flying)
            and self._probe_until is not None
            and (time.monotonic() < self._probe_until)
        )

    def _patience(self) -> float:
        """How long may be waited before something is to be looked at again, in seconds."""
        now, times = time.monotonic(), [BETWEEN_SECONDS]
        times += [ready - now for ready, _ in self._delayed]
        if self._probe_until is not None and self._probe_until > now:
            times.append(self._probe_until - now)
        return max(0.0, min(times))

    def _take_ready(self, waiting: list[list[Job]]) -> None:
        """Put what has waited long enough behind what nobody was asked yet.

        Where money is short, another question is worth more than another try.
        """
        now = time.monotonic()
        ready = [job for at, job in self._delayed if at <= now]
        self._delayed = [(at, job) for at, job in self._delayed if at > now]
        waiting += [[job] for job in ready]

    def _follow(self, each: Ended) -> None:
        """Note the next attempt after a reply, as the declared policy gives it."""
        job = self._jobs.job(each.question, each.forecaster)
        if job is None:
            return
        wait = 0.0
        if job.why == "retry":
            wait = backoff_seconds(job.attempt - 1, each.reply.retry_after, self.backoff)
        self._delayed.append((time.monotonic() + wait, job))

    async def _look_around(self) -> None:
        """Seal what others have sent meanwhile: receipts promise a line within minutes."""
        if self.between is None or time.monotonic() - self._looked < BETWEEN_SECONDS:
            return
        self._looked = time.monotonic()
        await asyncio.to_thread(self.between)
        self.situation.catch_up(self.pen.records())

    # ---- what is due

    def _seal_lost(self) -> None:
        """End the asks of a process that died: what they cost is not known, so it stands."""
        lost = list(self.run.open_attempts())
        if not lost:
            return

        def build(at: str) -> list[Answer]:
            return [
                Answer(
                    at=at,
                    run=self.run.run.run,
                    forecaster=attempt.ask.forecaster,
                    status="not_answered",
                    ask_line=attempt.line,
                    cells=tuple(
                        Cell(str(question), missing="not_answered")
                        for question in attempt.ask.questions
                    ),
                )
                for attempt in lost
            ]

        self._write(build)

    def _stop_where_stopped(self) -> None:
        """Not go on where the asking had stopped for want of credit before the process died."""
        for held in self.run.attempts.values():
            for attempt in held:
                if attempt.answer is not None and attempt.answer.detail == OUT_OF_CREDIT:
                    self.asked.stopped = NO_CREDIT.format(attempt.ask.forecaster)

    def _due(self) -> list[list[Job]]:
        """Groups of jobs, each to be launched whole or not at all, in the declared order.

        A question nobody was asked yet makes one group: it goes to all models
        or to none. What remains of one that was begun goes first, job by job.
        """
        begun: list[list[Job]] = []
        fresh: list[list[Job]] = []
        now = self._now()
        for question in self._ordered():
            if question in self.situation.outcomes or self._answers.late(question, now):
                continue
            known = self._begun(question)
            if not known and (stale := self._stale(question, now)):
                self.asked.skipped[question] = stale
                continue
            jobs = [
                job for name in self.seats if (job := self._jobs.job(question, name)) is not None
            ]
            if known:
                begun += [[job] for job in jobs]
            elif jobs:
                fresh.append(jobs)
        return begun + fresh

    def _ordered(self) -> list[str]:
        """The questions as chosen, or in an order drawn from the run's name for anyone to redo."""
        questions = list(self.run.questions)
        if self.declaration.content.get("budget", {}).get("order") == "seeded_random":
            run = self.run.run.run
            questions.sort(key=lambda name: digest(f"{run} {name}".encode()))
        return questions

    def _stale(self, question: str, now: str) -> str:
        """Why a question's price is too old for a first ask, or ""."""
        quote = self.run.quotes.get(question)
        if quote is None:
            return "no price at the start"
        most = max_age_minutes(self.declaration)
        age = instant_key(now) - instant_key(quote.read_at)
        if most is not None and age.total_seconds() > 60 * most:
            return f"its price was read more than {most} minutes before and cannot be read now"
        return ""

    async def _renewed(self, question: str, now: str) -> bool:
        """Look once more at the price of a question nobody was asked yet, where it is too old.

        Where money is short a question waits for others to come back, and its
        price grows old meanwhile.
        """
        old = not self._begun(question) and self._stale(question, now)
        if not old or self._renew is None:
            return False
        await self._renew()
        return True

    def _begun(self, question: str) -> bool:
        """Whether any model was asked this question in this run."""
        return any((question, name) in self.run.attempts for name in self.seats)

    # ---- out

    async def _launch(self, waiting: list[list[Job]], flying: Flying) -> None:
        """Seal the asks of as many groups as fit the budget and the room, then send them."""
        room = MOST_IN_FLIGHT - len(flying)
        taken: list[Job] = []
        held: list[Decimal] = []
        now = self._now()
        while waiting and len(taken) < room:
            group = waiting[0]
            if self._answers.late(group[0].question, now):
                waiting.pop(0)
                continue
            if await self._renewed(group[0].question, now):
                now = self._now()
            stale = not self._begun(group[0].question) and self._stale(group[0].question, now)
            if stale:
                waiting.pop(0)
                self.asked.skipped[group[0].question] = stale
                continue
            amounts = [job.request.reserved for job in group]
            if not self.situation.ledger.fits(self.run.run.slot, held + amounts):
                if flying or taken:
                    break  # what is out may cost less than it reserves
                if group[0].why == "first":
                    self.asked.stopped = "the budget does not hold another question"
                    break
                waiting.pop(0)  # what was begun ends with the answer it has
                self.asked.short = "the budget does not hold another attempt"
                continue
            taken += waiting.pop(0)
            held += amounts
            if self._probe_until is None:
                self._probe_until = time.monotonic() + PROBE_SECONDS
                break
        if not taken:
            return
        first = await asyncio.to_thread(self._seal_asks, taken)
        self.asked.calls += len(taken)
        for line, job in enumerate(taken, first):
            flying.start(self._send(job, line))

    def _seal_asks(self, jobs: Sequence[Job]) -> int:
        """One ask line a job, with the exact bytes as a body; the number of the first line."""
        bodies = [self._answers.body(job.forecaster, "ask", job.request.body) for job in jobs]
        first = self.pen.store.size + 1

        def build(at: str) -> list[Ask]:
            return [
                Ask(
                    at=at,
                    bodies=() if job.unaskable else (self._answers.ref("ask", body, at),),
                    run=self.run.run.run,
                    forecaster=job.forecaster,
                    attempt=job.attempt,
                    questions=(job.question,),
                    reserved=format(job.request.reserved, "f"),
                    why=job.why,
                    again=job.again,
                )
                for job, body in zip(jobs, bodies, strict=True)
            ]

        sent = [body for job, body in zip(jobs, bodies, strict=True) if not job.unaskable]
        self._write(build, list(dict.fromkeys(sent)))
        return first

    async def _send(self, job: Job, line: int) -> Ended:
        if job.unaskable:
            reply = Reply("internal", cost=ZERO, detail=job.unaskable)
        else:
            reply = await self._reply(job)
        return Ended(job.question, job.forecaster, line, kept(reply), self._now())

    async def _reply(self, job: Job) -> Reply:
        seconds = float(self.timeouts.get(job.forecaster, DEFAULT_TIMEOUT_SECONDS))
        if not self.pen.clock.simulated:
            deadline = instant_key(self._answers.deadline(job.question))
            seconds = max(1.0, min(seconds, (deadline - instant_key(self._now())).total_seconds()))
        try:
            return await self.forecasters[job.forecaster].ask(job.request, seconds=seconds)
        except Exception as error:  # a forecaster that breaks fails its answer, never the run
            return Reply("internal", detail=f"broke: {type(error).__name__}")

    def _clock_is_behind(self) -> bool:
        """Whether the clock stands too far behind the book's last line to ask under."""
        return seconds_behind(self.pen) > MOST_BEHIND_SECONDS

    def _now(self) -> str:
        """The time of the next line: never before the last one, whatever the clock says."""
        return self.pen.now()[0]

    # ---- back

    async def _seal_replies(self, ended: Sequence[Ended]) -> None:
        """One answer line a reply, with its raw bytes as a body, in one batch.

        Where each answer is stamped by itself, each is sealed by itself.
        """
        for batch in [ended] if self._stamp is None else [[each] for each in ended]:
            await asyncio.to_thread(self._seal_batch, batch)
        for each in ended:
            if each.reply.out_of_credit:
                self.asked.stopped = NO_CREDIT.format(each.forecaster)
        if self.progress is not None:
            self.progress(f"run {self.run.run.run}", self.asked.calls, self.asked.calls)

    def _seal_batch(self, ended: Sequence[Ended]) -> None:
        built = [(each, self._answers.bodies(each)) for each in ended]
        self._write(
            lambda at: [self._answers.line(at, *each) for each in built],
            [data for _, held in built for data in held.values()],
        )
        if self._stamp is not None:
            self._stamp()

    # ---- the book

    def _write(self, build: Callable[[str], Sequence[Any]], bodies: Sequence[bytes] = ()) -> None:
        self.pen.write(build, bodies)
        self.situation.catch_up(self.pen.records())
