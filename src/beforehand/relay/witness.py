"""A witness that others use: it cosigns one history of each log it follows, over HTTP.

The protocol is c2sp.org/tlog-witness (version 1.1: another root for the size
that was cosigned is a 422). Beside it are served the newest checkpoint of each
log, and every conflict that was seen, as files that anybody checks offline.
Nothing is asked of a client but a checkpoint that its log signed.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import cast

from aiohttp import web

from beforehand.anchors.add_checkpoint import MAX_REQUEST_BYTES, SIZE_MEDIA, AddCheckpoint
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.cosignature import WitnessKey, cosignature_instant
from beforehand.clock import Clock, instant_key
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.records.codec import is_digest
from beforehand.relay.door import Buckets, Door
from beforehand.relay.intake import Handler, Intake, Limits
from beforehand.relay.problem import expect, harden, plain
from beforehand.relay.server import serve_intake
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.relay.witness_outcome import Outcome, Refused, Retired, Signed, Stale, Waiting
from beforehand.relay.witness_state import WitnessState
from beforehand.stages.key import SigningKey

MAX_RETRY_SECONDS = 300


class WitnessServer:
    """The witness of a folder; `key` is its own, and never a log's."""

    def __init__(self, folder: Path, clock: Clock, key: SigningKey, limits: Limits) -> None:
        self.clock, self.limits = clock, limits
        self.key = WitnessKey(key.verifier.name, key.verifier.public)
        self._sign = key.sign
        self.state, self.logs = WitnessState(folder, self.key), FollowedLogs(folder)
        try:
            for origin, log in self.logs.now().items():
                self.state.pin(origin, log)
        except BaseException:
            self.state.close()
            raise
        self.door: Door | None = None
        self.by_address = Buckets(limits.address_burst, limits.address_seconds)
        self._one = asyncio.Semaphore(1)

    def application(self) -> web.Application:
        """The routes, behind the checks that all of them share."""
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_REQUEST_BYTES)
        app.on_response_prepare.append(harden)
        app.router.add_post("/add-checkpoint", self.add_checkpoint, expect_handler=expect)
        for path, handler in (
            ("/", self.about),
            ("/logs", self.followed),
            ("/log/{hash}/checkpoint", self.newest),
            ("/fraud/", self.frauds),
            ("/fraud/{name}.fraud", self.fraud),
            ("/healthz", self.health),
        ):
            app.router.add_get(path, handler, allow_head=False, expect_handler=expect)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Bound how often, and turn whatever goes wrong into a plain line."""
        wait = self.by_address.wait(self._address(request))
        if wait:
            return _refusal(429, "too many requests", retry=int(wait) + 1)
        try:
            return await handler(request)
        except web.HTTPMethodNotAllowed:
            return _refusal(405, "the method is not allowed here")
        except web.HTTPRequestEntityTooLarge:
            return _refusal(413, f"the limit is {MAX_REQUEST_BYTES} bytes")
        except web.HTTPNotFound:
            return _refusal(404, "there is nothing here")
        except (web.HTTPException, web.RequestPayloadError):
            return _refusal(400, "the request is not well formed")
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the client learns nothing of it, and gets no cosignature
            request.app.logger.error("the witness failed: %s", type(error).__name__)
            return _refusal(500, "the witness failed")

    def _address(self, request: web.Request) -> str:
        if self.limits.behind_proxy:
            # The proxy in front appends the address it saw; what stands before is the client's.
            return request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()[:64]
        return str(request.remote)

    # ---- the protocol

    async def add_checkpoint(self, request: web.Request) -> web.Response:
        """POST /add-checkpoint"""
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                data = await request.read()
        except TimeoutError:
            return _refusal(408, "the request took too long")
        # One at a time: a signature costs milliseconds, and the state is one file. A
        # client that leaves does not stop what was begun: the state is what counts.
        async with self._one:
            return await asyncio.shield(asyncio.to_thread(self._judge, data))

    def _judge(self, data: bytes) -> web.Response:
        """In the protocol's order: form, origin, signature, sizes, consistency."""
        try:
            asked = AddCheckpoint.parse(data)
            point = asked.point()
        except FormatError as error:
            return _refusal(400, str(error))
        try:
            key = self.logs.now().get(point.origin)
        except (FormatError, OSError):
            return _refusal(503, "the list of logs cannot be read", retry=MAX_RETRY_SECONDS)
        if key is None:
            return _refusal(404, "this witness does not follow that origin")
        try:
            Checkpoint.open(asked.note, key)
        except IntegrityError as error:
            return _refusal(403, str(error))
        except FormatError as error:
            return _refusal(400, str(error))
        if asked.old > point.size:
            return _refusal(400, "the old size is above the checkpoint's: a book only grows")
        now = int(instant_key(self.clock.now()).timestamp())
        try:
            outcome = self.state.cosign(asked, point, key, self._sign, now)
        except (RuleError, sqlite3.Error) as error:
            return _refusal(503, str(error), retry=MAX_RETRY_SECONDS)
        return _outcome_reply(outcome)

    # ---- what anybody may read

    async def about(self, request: web.Request) -> web.Response:
        """GET /"""
        lines = (
            f"{self.key.name}: a witness (c2sp.org/tlog-witness). Its key, also had elsewhere:",
            self.key.text(),
            "POST /add-checkpoint · GET /logs · GET /log/SHA256-OF-ORIGIN/checkpoint · GET /fraud/",
        )
        return _text(200, "\n".join(lines) + "\n")

    async def followed(self, request: web.Request) -> web.Response:
        """GET /logs: key and origin of each log, one a line."""
        lines = [f"{key.text()} {origin}\n" for origin, key in self.logs.now().items()]
        return _text(200, "".join(lines))

    async def newest(self, request: web.Request) -> web.Response:
        """GET /log/HASH/checkpoint: the newest one that was cosigned."""
        hashed = request.match_info["hash"]
        note = await asyncio.to_thread(self.state.newest, hashed) if is_digest(hashed) else None
        if note is None:
            return _refusal(404, "nothing of that log was cosigned")
        return _text(200, note.decode("utf-8"))

    async def frauds(self, request: web.Request) -> web.Response:
        """GET /fraud/: the conflicts that were seen, and whether each shows itself."""
        held = await asyncio.to_thread(self.state.frauds)
        value = [
            {
                "file": f"{each.name}.fraud",
                "origin": each.origin,
                "shown": each.shown,
                "seen_at": cosignature_instant(each.at),
            }
            for each in held
        ]
        return web.Response(text=json.dumps({"conflicts": value}), content_type="application/json")

    async def fraud(self, request: web.Request) -> web.Response:
        """GET /fraud/NAME.fraud"""
        name = request.match_info["name"]
        data = await asyncio.to_thread(self.state.fraud, name) if is_digest(name) else None
        if data is None:
            return _refusal(404, "there is no such conflict")
        return web.Response(body=data, content_type="application/json", charset="utf-8")

    async def health(self, request: web.Request) -> web.Response:
        """GET /healthz"""
        retired = await asyncio.to_thread(self.state.retired)
        return _refusal(503, f"retired: {retired}") if retired else _text(200, "ok\n")


def _outcome_reply(outcome: Outcome) -> web.Response:
    match outcome:
        case Signed(line):
            return _text(200, line.text())
        case Stale(size):
            # The very media type: clients compare it with no parameter behind it.
            media = {"Content-Type": SIZE_MEDIA}
            return web.Response(body=f"{size}\n".encode("ascii"), status=409, headers=media)
        case Refused(words):
            return _refusal(422, words)
        case Waiting(seconds):
            words = "the clock stands before the last cosignature, and none is dated back"
            return _refusal(503, words, retry=min(seconds, MAX_RETRY_SECONDS))
        case Retired(words):
            return _refusal(503, f"this witness signs no more: {words}")


def _text(status: int, text: str) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/plain")


def _refusal(status: int, words: str, *, retry: int | None = None) -> web.Response:
    reply = _text(status, plain(words) + "\n")
    if retry is not None:
        reply.headers["Retry-After"] = str(retry)
    return reply


async def serve_witness(
    witness: WitnessServer, host: str, port: int, ready: Callable[[str, int], None]
) -> None:
    """Serve until cancelled; `ready` is told the address that was bound."""
    # The serving of the intake asks for `application`, `limits` and `door`, and for no more.
    try:
        await serve_intake(cast(Intake, witness), host, port, ready)
    finally:
        witness.state.close()
