"""Searching the web for a model, with our own hands.

The model may say what to look for and nothing else: the cutoff and the sites
that are denied belong to the harness, and the tool has no field for them. A
result without a date is dropped, and so is one after the cutoff: a page whose
day alone is known counts as written at that day's end. What was dropped is
kept in the record, with its reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from beforehand.clock import Clock, instant_key
from beforehand.errors import FormatError, RuleError
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.leaks import denied
from beforehand.forecasters.money import NOTHING, rounded_up

SEARCH_URL_VARIABLE = "BEFOREHAND_SEARCH_URL"
SEARCH_KEY_VARIABLE = "BEFOREHAND_SEARCH_KEY"

MAX_QUERY_CHARACTERS = 400
MAX_RESULTS = 5
MAX_EXCERPT_BYTES = 1500
# What one search may add to a prompt, as it stands there.
RESULTS_BYTES = 10_000
MAX_ANSWER_BYTES = 1 << 20

TOOL = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search the web. Returns dated excerpts of pages.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for."}},
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True)
class Page:
    """One result as a backend gives it; `published` is an instant, a day, or "" where unknown."""

    url: str
    title: str
    text: str
    published: str


@dataclass(frozen=True)
class Found:
    """What a backend answered: pages, its raw bytes, and its cost (None: not stated)."""

    pages: tuple[Page, ...] = ()
    raw: bytes = b""
    cost: Decimal | None = None
    failure: str = ""


class SearchBackend(Protocol):
    """Something that finds pages. What fails is a `Found` with its `failure`."""

    async def find(
        self, query: str, *, as_of: str, deny_sites: Sequence[str], most: int, seconds: float
    ) -> Found:
        """Pages on a query that were there at `as_of`."""
        ...


@dataclass(frozen=True)
class Shown:
    """What one search shows the model, and the record of everything it found.

    `text` is the tool's message; `kept` has url, published, fetched time and
    content hash of every page, and of a dropped one the reason.
    """

    text: str
    kept: tuple[Mapping[str, Any], ...] = ()
    urls: tuple[str, ...] = ()
    raw: bytes = b""
    cost: Decimal | None = None
    failure: str = ""


@dataclass(frozen=True)
class SearchTool:
    """A backend under the league's rules. `as_of` is the instant after which nothing is shown.

    `queries` is how many searches one ask may make. FormatError where `as_of`
    is no instant.
    """

    backend: SearchBackend
    clock: Clock
    as_of: str
    deny_sites: tuple[str, ...] = ()
    queries: int = 3

    def __post_init__(self) -> None:
        instant_key(self.as_of)

    async def search(self, query: str, seconds: float) -> Shown:
        """Search once; what the rules forbid is dropped before the model sees it."""
        found = await self.backend.find(
            query[:MAX_QUERY_CHARACTERS],
            as_of=self.as_of,
            deny_sites=self.deny_sites,
            most=MAX_RESULTS,
            seconds=seconds,
        )
        fetched = self.clock.now()
        kept: list[Mapping[str, Any]] = []
        shown: list[dict[str, str]] = []
        left = RESULTS_BYTES - 100
        for page in found.pages[: 4 * MAX_RESULTS]:
            excerpt = _excerpt(page)
            size = len(json.dumps(excerpt, ensure_ascii=False).encode()) + 2
            reason = self.reason_against(page)
            if not reason and (len(shown) == MAX_RESULTS or size > left):
                reason = "no room"
            kept.append(_record(page, fetched, reason))
            if not reason:
                shown.append(excerpt)
                left -= size
        note = {"error": "the search failed"} if found.failure else {"results": shown}
        return Shown(
            json.dumps(note, ensure_ascii=False),
            tuple(kept),
            tuple(each["url"] for each in shown),
            found.raw,
            found.cost,
            found.failure,
        )

    def reason_against(self, page: Page) -> str:
        """Why a page is not shown, or ""."""
        if not page.url.startswith(("http://", "https://")):
            return "no address"
        if denied(page.url, self.deny_sites):
            return "denied site"
        written = written_at(page.published)
        if written is None:
            return "no date"
        return "after the cutoff" if instant_key(written) > instant_key(self.as_of) else ""


def written_at(published: str) -> str | None:
    """The instant by which a page was there; None where its date says nothing certain.

    >>> written_at("2026-01-05"), written_at("January"), written_at("2026-01-05T10:00:00Z")
    ('2026-01-05T23:59:59Z', None, '2026-01-05T10:00:00Z')
    """
    text = f"{published}T23:59:59Z" if _DAY.fullmatch(published) else published
    try:
        instant_key(text)
    except FormatError:
        return None
    return text


def _record(page: Page, fetched: str, reason: str) -> dict[str, Any]:
    record = {
        "url": _cut(page.url, 2000),
        "published": _cut(page.published, 40),
        "fetched": fetched,
        "sha256": hashlib.sha256(page.text.encode("utf-8", "replace")).hexdigest(),
    }
    return {**record, "dropped": reason} if reason else record


def _excerpt(page: Page) -> dict[str, str]:
    """A page as the model sees it, in well formed text of bounded length."""
    return {
        "url": _cut(page.url, 1000),
        "title": _cut(page.title, 400),
        "published": _cut(page.published, 40),
        "text": _cut(page.text, MAX_EXCERPT_BYTES),
    }


def _cut(text: str, most: int) -> str:
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


class HttpSearch:
    """A backend that speaks plain JSON over HTTP.

    It is sent `{"query", "max_results", "as_of", "exclude_domains"}` and
    answers `{"results": [{"url", "title", "text", "published"}], "cost"}`;
    `published` is an instant in UTC or a day, `cost` a number and optional.
    """

    def __init__(self, url: str, key: str | None, connections: Connections) -> None:
        self._url = url
        self._key = key
        self._connections = connections

    def __repr__(self) -> str:
        return f"HttpSearch({self._url!r})"

    @classmethod
    def of(cls, environment: Mapping[str, str], connections: Connections) -> HttpSearch:
        """The backend that two variables name; RuleError where they do not."""
        url = environment.get(SEARCH_URL_VARIABLE, "")
        if not url.startswith(("http://", "https://")):
            raise RuleError(f"a model searches by tool: set {SEARCH_URL_VARIABLE} to a search API")
        return cls(url, environment.get(SEARCH_KEY_VARIABLE) or None, connections)

    async def find(
        self, query: str, *, as_of: str, deny_sites: Sequence[str], most: int, seconds: float
    ) -> Found:
        asked = {
            "query": query,
            "max_results": most,
            "as_of": as_of,
            "exclude_domains": list(deny_sites),
        }
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        exchange = await self._connections.exchange(
            "POST",
            self._url,
            headers=headers,
            seconds=seconds,
            body=json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace"),
            most_bytes=MAX_ANSWER_BYTES,
        )
        raw = exchange.data
        if self._key and len(self._key) > 11:
            raw = raw.replace(self._key.encode(), b"[key]")
        if exchange.failure or exchange.code != 200:
            return Found(
                raw=raw,
                cost=None if exchange.sent else NOTHING,
                failure=exchange.failure or f"http_{exchange.code}",
            )
        return read_found(raw)


def read_found(raw: bytes) -> Found:
    """The pages in a backend's answer; a field of another type is absent."""
    try:
        body = json.loads(raw.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return Found(raw=raw, failure="not_json")
    if not isinstance(body, dict) or not isinstance(body.get("results"), list):
        return Found(raw=raw, failure="no_results")
    pages = [
        Page(*(str(each[key]) if isinstance(each.get(key), str) else "" for key in _PAGE_KEYS))
        for each in body["results"]
        if isinstance(each, dict)
    ]
    return Found(tuple(pages), raw, _stated(body.get("cost")))


_PAGE_KEYS = ("url", "title", "text", "published")


def _stated(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    amount = Decimal(value)
    return rounded_up(amount) if amount.is_finite() and 0 <= amount < 1_000_000 else None
