"""Refusals over HTTP: RFC 9457 problem documents that give nobody's text back as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from aiohttp import web

PROBLEM_TYPE = "application/problem+json"
MAX_DETAIL = 600
TITLES = {
    "not_json": (400, "The body is not JSON"),
    "bad_request": (400, "The request is not well formed"),
    "not_a_submission": (422, "The body is not a submission"),
    "wrong_origin": (409, "Signed for another league"),
    "unknown_run": (404, "There is no such run"),
    "not_registered": (403, "Not an entrant of this run"),
    "wrong_signature": (403, "The signature does not hold"),
    "not_asked": (409, "The run does not ask this"),
    "no_room": (429, "Too much has been sent"),
    "too_fast": (429, "Too many requests"),
    "not_found": (404, "There is nothing here"),
    "unknown_receipt": (404, "There is no such receipt"),
    "not_allowed": (405, "The method is not allowed"),
    "too_slow": (408, "The request took too long"),
    "too_large": (413, "The body is too large"),
    "not_json_type": (415, "Send application/json, uncompressed"),
    "failed": (500, "The intake failed"),
    "not_expected": (417, "The expectation cannot be met"),
    "not_ready": (503, "The league cannot be read now"),
}

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "beforehand",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

# What a sentence of ours is made of; anything else in it came from outside.
_OUTSIDE = re.compile(r"[^ -%'-;=?-_a-z{|}~]")


def plain(text: str) -> str:
    """A sentence as printable ASCII without `<`, `>`, `&` and backticks, and not too long.

    >>> plain("run: '<b>π</b>' is none")
    "run: '?b???/b?' is none"
    """
    return _OUTSIDE.sub("?", text)[:MAX_DETAIL]


def problem(
    code: str, detail: str = "", *, headers: Mapping[str, str] | None = None
) -> web.Response:
    """The response of a refusal."""
    status, title = TITLES[code]
    body = {
        "type": f"urn:beforehand:problem:{code}",
        "title": title,
        "status": status,
        "code": code,
        "detail": plain(detail) or title,
    }
    return web.Response(
        text=json.dumps(body), status=status, content_type=PROBLEM_TYPE, headers=headers
    )


async def harden(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """The headers of every reply; each connection carries one request."""
    response.headers.update(HEADERS)
    response.force_close()


async def expect(request: web.Request) -> web.StreamResponse | None:
    """What an Expect header asks for: to be told to go on, or nothing that we know."""
    if request.headers.get("Expect", "").lower() != "100-continue":
        return problem("not_expected")
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0
    return None
