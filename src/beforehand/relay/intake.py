"""The intake: an HTTP server that takes signed submissions and gives receipts.

It reads the book and writes the inbox; the pen is somebody else's. Every
request is bounded in size, time and number, and nothing that a client sent
comes back as anything but a plain word in a problem document.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from beforehand.clock import Clock, instant_key, instant_text
from beforehand.errors import BeforehandError, FormatError, RuleError
from beforehand.records.codec import decode_json, is_digest
from beforehand.relay.door import Buckets, Door
from beforehand.relay.following import Following
from beforehand.relay.metrics import CONTENT_TYPE, Family, exposition, read_metrics
from beforehand.relay.openapi import openapi_document
from beforehand.relay.problem import expect, harden, problem
from beforehand.stages.health import read_health
from beforehand.stages.inbox import Inbox
from beforehand.stages.key import SigningKey
from beforehand.stages.occasion import Occasion, Occasions
from beforehand.stages.receipt import PROMISE_SECONDS, Receipt
from beforehand.stages.submission import MAX_SUBMISSION_BYTES, Submission

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Limits:
    """What one client may take. `behind_proxy` believes the last X-Forwarded-For address."""

    promise_seconds: int = PROMISE_SECONDS
    body_seconds: float = 15.0
    connection_seconds: float = 30.0
    connections: int = 512
    connections_an_address: int = 32
    address_burst: int = 60
    address_seconds: float = 1.0
    entrant_burst: int = 10
    entrant_seconds: float = 30.0
    behind_proxy: bool = False


class Intake:
    """The intake of the league in `folder`, whose book is in `book`; `key` signs its receipts."""

    def __init__(
        self, folder: Path, book: Path, clock: Clock, key: SigningKey, limits: Limits
    ) -> None:
        self.folder, self.clock, self.key, self.limits = folder, clock, key, limits
        self.inbox, self.following = Inbox(folder), Following(book)
        self.by_address = Buckets(limits.address_burst, limits.address_seconds)
        self.by_entrant = Buckets(limits.entrant_burst, limits.entrant_seconds)
        self.document = json.dumps(openapi_document())
        self.replies: dict[tuple[str, int], int] = {}
        self.door: Door | None = None
        self._one, self._lock = asyncio.Semaphore(1), threading.Lock()

    def application(self) -> web.Application:
        """The routes, behind the checks that all of them share."""
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_SUBMISSION_BYTES)
        app.on_response_prepare.append(harden)
        app.router.add_post("/v1/submissions", self.submit, expect_handler=expect)
        for path, handler in (
            ("/v1/runs", self.runs),
            ("/v1/receipts/{sha256}", self.receipt),
            ("/v1/openapi.json", self.openapi),
            ("/metrics", self.metrics),
            ("/healthz", self.health),
        ):
            app.router.add_get(path, handler, allow_head=False, expect_handler=expect)
        return app

    # ---- what all routes share

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Bound how often, and turn whatever goes wrong into a problem document."""
        reply = await self._answer(request, handler)
        resource = request.match_info.route.resource
        key = ("other" if resource is None else resource.canonical, reply.status)
        self.replies[key] = self.replies.get(key, 0) + 1
        return reply

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        wait = self.by_address.wait(self._address(request))
        if wait:
            return _too_fast(wait)
        try:
            return await handler(request)
        except web.HTTPMethodNotAllowed as error:
            allowed = ", ".join(sorted(error.allowed_methods))
            return problem("not_allowed", headers={"Allow": allowed})
        except web.HTTPRequestEntityTooLarge:
            return problem("too_large", f"the limit is {MAX_SUBMISSION_BYTES} bytes")
        except web.HTTPNotFound:
            return problem("not_found")
        except (web.HTTPException, web.RequestPayloadError):
            return problem("bad_request")
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the client learns nothing of it
            request.app.logger.error("the intake failed: %s", type(error).__name__)
            return problem("failed")

    def _address(self, request: web.Request) -> str:
        if self.limits.behind_proxy:
            # The proxy in front appends the address it saw; what stands before is the client's.
            return request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()[:64]
        return str(request.remote)

    async def _at_the_book(self, work: Callable[[Occasions], web.Response]) -> web.Response:
        """One at a time: a signature costs milliseconds, and the disk is one."""
        async with self._one:
            return await asyncio.to_thread(self._with_occasions, work)

    def _with_occasions(self, work: Callable[[Occasions], web.Response]) -> web.Response:
        with self._lock:  # a request that was given up may still be at work in its thread
            try:
                occasions = self.following.now()
            except (BeforehandError, OSError):
                return problem("not_ready")
            return problem("not_ready") if occasions.league is None else work(occasions)

    # ---- submissions

    async def submit(self, request: web.Request) -> web.Response:
        """POST /v1/submissions"""
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            return problem("not_json_type")
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                data = await request.read()
        except TimeoutError:
            return problem("too_slow")
        return await self._at_the_book(partial(self._take, data))

    def _take(self, data: bytes, occasions: Occasions) -> web.Response:
        try:
            value = decode_json(data)
        except FormatError as error:
            return problem("not_json", str(error))
        try:
            submission = Submission.of(value)
        except FormatError as error:
            return problem("not_a_submission", str(error))
        refusal = occasions.judge(submission)
        if refusal is not None:
            return problem(refusal.code, refusal.words)
        wait = self.by_entrant.wait(submission.forecaster)
        if wait:
            return _too_fast(wait)
        try:
            note, fresh = self.inbox.accept(
                submission,
                self.key,
                self.clock.now(),
                promise_seconds=self.limits.promise_seconds,
            )
        except RuleError as error:
            return problem("no_room", str(error), headers={"Retry-After": "300"})
        return _json(_receipt_value(note, occasions), 201 if fresh else 200)

    async def receipt(self, request: web.Request) -> web.Response:
        """GET /v1/receipts/SHA256"""
        return await self._at_the_book(partial(self._receipt, request.match_info["sha256"]))

    def _receipt(self, sha256: str, occasions: Occasions) -> web.Response:
        note = self.inbox.receipt(sha256) if is_digest(sha256) else None
        if note is None:
            return problem("unknown_receipt")
        return _json(_receipt_value(note, occasions))

    # ---- what is open

    async def runs(self, request: web.Request) -> web.Response:
        """GET /v1/runs"""
        return await self._at_the_book(self._runs)

    def _runs(self, occasions: Occasions) -> web.Response:
        now = self.clock.now()
        return _json(
            {
                "origin": occasions.origin,
                "key": self.key.verifier.text(),
                "now": now,
                "promise_seconds": self.limits.promise_seconds,
                "runs": [self._run_value(occasions, run) for run in occasions.open_runs(now)],
            }
        )

    def _run_value(self, occasions: Occasions, run: Occasion) -> dict[str, Any]:
        """An open run. By `closes` what comes in is promised to stand in the book in time."""
        closes = instant_key(run.deadline) - timedelta(seconds=self.limits.promise_seconds)
        questions = []
        for name in run.questions:
            question = occasions.questions[name]
            text = self.following.text_of(question)
            value = {"question": name, "contract": dict(question.contract)}
            questions.append(value if text is None else {**value, "text": text})
        return {
            "run": run.run,
            "slot": run.slot,
            "deadline": run.deadline,
            "closes": instant_text(closes),
            "questions": questions,
        }

    # ---- about the intake itself

    async def openapi(self, request: web.Request) -> web.Response:
        """GET /v1/openapi.json"""
        return web.Response(text=self.document, content_type="application/json")

    async def health(self, request: web.Request) -> web.Response:
        """GET /healthz: 503 only where this server cannot do its own work."""
        return await self._at_the_book(self._health)

    def _health(self, occasions: Occasions) -> web.Response:
        waiting = len(self.inbox.waiting())
        return _json(
            {"status": read_health(self.folder), "lines": occasions.lines, "waiting": waiting}
        )

    async def metrics(self, request: web.Request) -> web.Response:
        """GET /metrics: the league's figures as its last tick left them, then the intake's own."""
        league = await asyncio.to_thread(read_metrics, self.folder)
        door = self.door
        own = [
            Family(
                "beforehand_intake_replies_total",
                "Replies of the intake, by route and status.",
                "counter",
                [
                    ({"route": route, "status": str(status)}, count)
                    for (route, status), count in sorted(self.replies.items())
                ],
            ),
            Family(
                "beforehand_intake_turned_away_total",
                "Connections closed because there were too many.",
                "counter",
                [({}, 0 if door is None else door.turned_away)],
            ),
        ]
        return web.Response(text=league + exposition(own), headers={"Content-Type": CONTENT_TYPE})


def _too_fast(wait: float) -> web.Response:
    seconds = str(int(wait) + 1)
    return problem("too_fast", f"try again in {seconds} s", headers={"Retry-After": seconds})


def _json(value: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(text=json.dumps(value), status=status, content_type="application/json")


def _receipt_value(note: str, occasions: Occasions) -> dict[str, Any]:
    """A receipt with what it means: in time where a kept promise is a line by the deadline."""
    receipt = Receipt.unchecked(note.encode("utf-8"))
    deadline = occasions.runs[receipt.run].deadline
    value: dict[str, Any] = {
        "sha256": receipt.submission,
        "run": receipt.run,
        "forecaster": receipt.forecaster,
        "received_at": receipt.received_at,
        "promised_by": receipt.promised_by,
        "deadline": deadline,
        "in_time": instant_key(receipt.promised_by) <= instant_key(deadline),
        "receipt": note,
    }
    line = occasions.submissions.get(receipt.submission)
    return value if line is None else {**value, "line": line}
