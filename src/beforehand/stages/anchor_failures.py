"""Anchors that gave nothing for long: what the book then says of them, and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from beforehand.anchors.queue import SUBMIT, Item
from beforehand.clock import instant_key

# A checkpoint without evidence for so long is said in the book, once for each anchor.
FAILED_AFTER = timedelta(hours=24)
MAX_SAID = 300
PROMISED = "a promise yet"  # in the queue, of what was given and is waited for

_ADDRESS = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://)(\S+)")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"(?<![\w/:])~?(?:/[^\s/:,;]+)+/?")


def lasting(items: Iterable[Item], now: str) -> Iterator[Item]:
    """What was tried and failed and waits for a day: a promise only where asking for it failed."""
    limit = instant_key(now) - FAILED_AFTER
    for item in items:
        broken = item.task == SUBMIT or item.reason != PROMISED
        if broken and item.attempts and instant_key(item.since) <= limit:
            yield item


def plain_reason(reason: str) -> str:
    """A failure's words as they may stand in a public book: no secret, no path, no control code.

    An address may hold a password or a key in any of its parts, so its host alone stays.

    >>> plain_reason("https://u:p@node.example:8545/v3/KEY: timed out\\n")
    'https://node.example: timed out'
    >>> plain_reason("/home/me/list.txt is over the limit")
    'PATH is over the limit'
    """
    said = _PATH.sub("PATH", _ADDRESS.sub(_host_alone, reason))
    said = "".join(c if " " <= c <= "~" else " " for c in said)
    return " ".join(said.split())[:MAX_SAID].strip() or "no reason was given"


def _host_alone(found: re.Match[str]) -> str:
    rest = found[2]
    end = rest[-1] if rest[-1] in ":;,)" else ""
    host = _HOST.match(rest.rpartition("@")[2])
    return f"{found[1]}{host[0] if host else 'ADDRESS'}{end}"
