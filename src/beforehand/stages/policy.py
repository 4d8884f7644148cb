"""What follows an attempt: nothing, a retry, or one marked re-ask, as the league declares it.

Rule A3: transport, rate limit and server errors are tried again before the
deadline; an answer that cannot be read is asked for once more, marked; a
refusal never; and never anything after a valid answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.stages.situation import Attempt

RETRIED = ("timeout", "transport", "rate_limited")
# An ask whose process died before a reply was kept.
LOST = "not_answered"
REASKED = ("unparseable", "out_of_range", "empty", "truncated")


def next_step(attempts: Sequence[Attempt], rules: Mapping[str, Any]) -> str | None:
    """`first`, `retry`, `reask`, `resumed`, or None where nothing more is asked.

    `attempts` are those of one forecaster on one question, in order, the last
    one ended; `rules` is the declaration's [answers]. The attempt after one
    that was lost with its process is marked `resumed`.
    """
    if not attempts:
        return "first"
    last = attempts[-1].answer
    if last is None or any(attempt.valid for attempt in attempts):
        return None
    reasks = sum(attempt.ask.why == "reask" for attempt in attempts)
    tried = len(attempts) - reasks
    if last.status in REASKED:
        return "reask" if reasks < rules["reasks"] else None
    lost, again = last.status == LOST, last.status in RETRIED and last.retryable is True
    if (lost or again) and tried < rules["attempts"]:
        return "resumed" if lost else "retry"
    return None


def backoff_seconds(attempt: int, retry_after: float | None, base: float) -> float:
    """How long to wait before the next attempt: what the far side asked, else doubling, to 60 s.

    >>> [backoff_seconds(n, None, 1.0) for n in (1, 2, 3)]
    [1.0, 2.0, 4.0]
    """
    doubled = min(60.0, base * 2.0 ** (attempt - 1))
    return doubled if retry_after is None else min(300.0, max(doubled, retry_after))
