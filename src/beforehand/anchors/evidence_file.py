"""Evidence as a file beside the list that it stamps: its name, and what it says of itself.

list.txt.ots is OpenTimestamps', list.txt.NAME.tsr and list.txt.NAME.json are NAME's.
"""

from __future__ import annotations

from dataclasses import dataclass

LIST_NAME = "list.txt"
PENDING_SUFFIX = ".pending"


def anchor_of(name: str) -> tuple[str, bool] | None:
    """The anchor that a file name says, and whether it is pending; None for the list and others.

    >>> anchor_of("list.txt.ots.pending"), anchor_of("list.txt.digicert.tsr")
    (('opentimestamps', True), ('digicert', False))
    """
    if not name.startswith(f"{LIST_NAME}."):
        return None
    pending = name.endswith(PENDING_SUFFIX)
    stem, _, end = name.removeprefix(f"{LIST_NAME}.").removesuffix(PENDING_SUFFIX).rpartition(".")
    return (stem or ("opentimestamps" if end == "ots" else end)), pending


@dataclass(frozen=True)
class StatedTime:
    """An instant that evidence states (UTC), and whose clock it is by the evidence's own words."""

    at: str
    clock: str


@dataclass(frozen=True)
class Stated:
    """What evidence says of itself; nothing of it is verified.

    `fits` is whether it names the list; None where that was not read. Without
    `times` it states none: `words` say where one is to be had, or why nothing
    was read. `promise` is whether it is a promise by its own bytes, whatever
    its name says.
    """

    fits: bool | None
    times: tuple[StatedTime, ...] = ()
    words: str = ""
    promise: bool = False
