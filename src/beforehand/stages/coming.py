"""What a league does next: the slot, the settling, what is to be disclosed, what is awaited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from beforehand.clock import instant_key
from beforehand.stages.situation import Situation
from beforehand.stages.slots import next_slot
from beforehand.stages.tick import due_slots, settling_due


def coming(
    situation: Situation,
    now: str,
    folder: Path,
    is_shown: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """As JSON values. `folder` is the league's; what is due already is said to be due now.

    `is_shown` says whether a body, by its hash, is where it should be once it
    is due; without it nothing is said of overdue ones.
    """
    waiting = due_slots(situation, now)
    slot = now if waiting else next_slot(situation.declaration.content["schedule"], now)
    return {
        "slot": slot,
        "settlement": max(settling_due(situation, folder), now, key=instant_key),
        "disclosure": _disclosure(situation, now, is_shown),
        "resolutions": _awaited(situation, now),
    }


def _disclosure(
    situation: Situation, now: str, is_shown: Callable[[str], bool] | None
) -> dict[str, Any]:
    """The bodies that are withheld now, and those that are due and not shown yet."""
    moment = instant_key(now)
    due = {sha256: body.due or "" for sha256, body in situation.withheld.items()}
    later = [sha256 for sha256 in due if instant_key(due[sha256]) > moment]
    overdue = None
    if is_shown is not None:
        overdue = sum(not is_shown(sha256) for sha256 in due.keys() - set(later))
    return {
        "bodies": len(later),
        "answers": sum(situation.withheld[sha256].role == "answer" for sha256 in later),
        "next": min((due[sha256] for sha256 in later), key=instant_key, default=None),
        "overdue": overdue,
    }


def _awaited(situation: Situation, now: str) -> dict[str, Any]:
    """The questions without an outcome, and how many of them have ended by their own date."""
    moment = instant_key(now)
    held = [q for name, q in situation.questions.items() if name not in situation.outcomes]
    ends = [end for question in held if (end := question.contract.get("closes"))]
    return {
        "awaited": len(held),
        "ended": sum(instant_key(end) <= moment for end in ends),
        "next_end": min(
            (end for end in ends if instant_key(end) > moment), key=instant_key, default=None
        ),
    }
