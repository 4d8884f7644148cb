"""What a reader brings to a verification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

REQUIREMENTS = ("operator", "since", "live")


def _silent(step: str) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Options:
    """The instant to judge at, and what the reader holds: origin, key, an old checkpoint.

    `require` names levels (of REQUIREMENTS) without which the result is
    "could not check". `progress` is called with the name of each step.
    """

    as_of: str
    origin: str | None = None
    key: str | None = None
    since: bytes | None = None
    require: tuple[str, ...] = ()
    progress: Callable[[str], None] = field(default=_silent)
