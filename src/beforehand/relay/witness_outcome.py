"""What a witness makes of a checkpoint: signed, or why not."""

from __future__ import annotations

from dataclasses import dataclass

from beforehand.book.cosignature import NoteLine


@dataclass(frozen=True)
class Signed:
    """The checkpoint is consistent: here is the cosignature."""

    line: NoteLine


@dataclass(frozen=True)
class Stale:
    """The log takes the witness to be at another size than it is."""

    size: int


@dataclass(frozen=True)
class Refused:
    """The checkpoint is not shown to continue what was cosigned."""

    words: str


@dataclass(frozen=True)
class Waiting:
    """The clock stands before the last cosignature: ask again in so many seconds."""

    seconds: int


@dataclass(frozen=True)
class Retired:
    """This witness must not sign again."""

    words: str


Outcome = Signed | Stale | Refused | Waiting | Retired
