"""Stored replies read again by the newest parser, offline; nothing is changed.

A verdict that was sealed stands. Where a newer parser reads the same bytes
differently, that is a list for people to look at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from beforehand.forecasters.completion import answer_of, read_completion
from beforehand.forecasters.parse import Parsed, parse
from beforehand.forecasters.transcript import last_received

# Verdicts that come from reading a body. The others (a timeout, a wrong model, ...)
# rest on more than the bytes, and no parser changes them.
READ = ("answered", "refused", "empty", "truncated", "unparseable", "out_of_range")


@dataclass(frozen=True)
class Stored:
    """A sealed verdict beside the raw bytes that it was read from."""

    name: str
    raw: bytes
    status: str
    probability: str | None = None


@dataclass(frozen=True)
class Difference:
    """A reply that the newest parser reads otherwise: the sealed verdict and the new one."""

    name: str
    status: str
    probability: str | None
    now: Parsed


def reparse(raw: bytes) -> Parsed:
    """The verdict on stored bytes: a completion, the record of a search, or an output's text."""
    body = last_received(raw)
    completion = read_completion(body)
    if completion is not None and (completion.choices or completion.error is not None):
        return answer_of(completion)
    return parse(body.decode("utf-8", "replace"))


def differences(stored: Iterable[Stored]) -> list[Difference]:
    """Every stored reply whose verdict or number the newest parser would give otherwise."""
    found = []
    for each in stored:
        if each.status not in READ or not each.raw:
            continue
        now = reparse(each.raw)
        if now.status != each.status or not _equal(now.probability, each.probability):
            found.append(Difference(each.name, each.status, each.probability, now))
    return found


def _equal(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one is other
    return Decimal(one) == Decimal(other)
