"""What a league's public files say, in the checks' own words, whatever form they were read from.

Nothing here is trusted: a value that does not have its type is kept as None
or "", and what is missing is a gap for the check that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.conformance.result import Pointer

# Statuses of a row whose forecast was stated in time, whatever became of the question.
IN_TIME = ("counted", "open", "stale", "void")
POOL_RULES = ("mean", "median", "consensus", "shadow_consensus")


@dataclass(frozen=True)
class Body:
    """A body that a line names by hash."""

    n: int
    at: str
    kind: str
    role: str
    sha256: str
    due: str | None
    run: str
    forecaster: str


@dataclass(frozen=True)
class Contract:
    """An event contract under the id it is published by; `line` is the line of one of ours."""

    place: Pointer
    n: int
    at: str
    id: str
    fields: Mapping[str, Any]
    cluster: str = ""
    type: str = ""
    line: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Seat:
    """An expected forecaster."""

    forecaster: str
    entry: str
    model: str
    version: str
    mode: str


@dataclass(frozen=True)
class Roster:
    """Who is expected in a run, by when."""

    n: int
    at: str
    run: str
    seats: tuple[Seat, ...]
    deadline: str
    retry: str


@dataclass(frozen=True)
class Run:
    """One occasion of asking. `counted` is None where nothing says."""

    n: int
    at: str
    run: str
    segment: str
    slot: str
    counted: bool | None
    why: str
    snapshot_line: int | None
    roster_line: int | None
    questions: tuple[str, ...]
    ask_sha256: str = ""
    snapshot_sha256: str = ""
    beacon: Any = None


@dataclass(frozen=True)
class Ask:
    """What one forecaster was sent, by hash."""

    n: int
    at: str
    run: str
    forecaster: str
    attempt: int
    questions: tuple[str, ...]
    why: str
    sha256: str
    file: str = ""


@dataclass(frozen=True)
class Answer:
    """What came back. `cells` is None while it is withheld; a cell without a number is None."""

    n: int
    at: str
    run: str
    forecaster: str
    ask_line: int | None
    received_at: str
    status: str
    model: str
    version: str
    mode: str
    cells: Mapping[str, str | None] | None


@dataclass(frozen=True)
class Outcome:
    """A settled outcome, or a reference price with its instant."""

    n: int
    at: str
    question: str
    outcome: str
    instant: str
    source: str = ""


@dataclass(frozen=True)
class Confirmation:
    """A second source's word on the outcome of line `line`."""

    n: int
    question: str
    value: str
    source: str
    line: int


@dataclass(frozen=True)
class Replication:
    """A record of a second pipeline as it is published: its file, its bytes, its code's hashes."""

    place: Pointer
    data: bytes
    beside: Mapping[str, str]


@dataclass(frozen=True)
class Correction:
    """A later word on earlier lines."""

    n: int
    at: str
    lines: tuple[Any, ...]
    outcome: str
    reason: str
    source: str


@dataclass(frozen=True)
class Segment:
    """A span under one methodology."""

    n: int
    at: str
    segment: str
    methodology: str
    time: str
    counted: bool | None


@dataclass(frozen=True)
class ProofSaid:
    """A proof line: which anchor, up to which size, pending or complete."""

    n: int
    at: str
    anchor: str
    size: int
    state: str


@dataclass(frozen=True)
class Stamp:
    """One line of a stamped list: how many lines of which file had which hash."""

    place: Pointer
    path: str
    lines: int
    sha256: str
    last_link: str
    proofs: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """A piece of evidence from outside over the first `size` lines.

    `at` is when it was sealed, "" where it lies detached. `stamp` is the line
    of the list that it stamps, None where that list is not published or is
    over other lines. `kind` is what its bytes are, "" where they are nothing
    known; `misnamed`, that a promise was sealed as complete.
    """

    place: Pointer
    anchor: str
    size: int
    at: str
    stamp: Stamp | None
    kind: str
    sha256: str
    pending: bool
    misnamed: bool
    read: Callable[[], bytes | None]
    read_list: Callable[[], bytes | None]


@dataclass(frozen=True)
class Row:
    """A row of the published forecasts. `line` is the book line it stands in."""

    place: Pointer
    run: str
    forecaster: str
    kind: str
    question: str
    line: int | None
    at: str
    p: str
    outcome: str
    status: str
    why: str
    brier: str
    members: int | None
    contract: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)


def text(value: Any, key: str) -> str:
    """A text of an object, "" where none stands there."""
    held = value.get(key) if isinstance(value, dict) else None
    return held if isinstance(held, str) else ""


def number(value: Any, key: str) -> int | None:
    """An integer of an object, None where none stands there."""
    held = value.get(key) if isinstance(value, dict) else None
    return held if type(held) is int else None


def listed(value: Any, key: str) -> list[Any]:
    """A list of an object, empty where none stands there."""
    held = value.get(key) if isinstance(value, dict) else None
    return held if isinstance(held, list) else []


def texts(value: Any, key: str) -> tuple[str, ...]:
    """The texts of a list of an object."""
    return tuple(item for item in listed(value, key) if isinstance(item, str))


def moment(instant: str) -> datetime | None:
    """The moment of an instant or of a day's first second; None where it is neither."""
    try:
        return instant_key(instant if "T" in instant else f"{instant}T00:00:00Z")
    except FormatError:
        return None


def before(first: str, second: str) -> bool | None:
    """Whether an instant is strictly before another; None where one of them is none."""
    one, other = moment(first), moment(second)
    return None if one is None or other is None else one < other
