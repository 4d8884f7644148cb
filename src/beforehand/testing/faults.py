"""Faults on demand: which there are, how they are written, and whom they hit.

As text, for a command line: `error500:rate=0.02,path=/book;slow:seconds=0.3`.
As JSON, for the control endpoint: `[{"kind": "slow", "seconds": 0.3}]`.
Where simulated time is known, whether a request is hit depends on the seed, the
fault, the request and the moment: whoever asks again at that moment, after a
crash or not, comes to the same end. Of what a client tries again (PASSING) at
most MOST_PASSING tries are hit, so that a patient client always gets through;
anything else stands for the whole moment. Without a known moment it depends on
how often that very request was made before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from beforehand.errors import FormatError
from beforehand.testing.chance import integer, uniform

# Each kind with the options it takes beside rate, path and times.
KINDS: Mapping[str, tuple[str, ...]] = {
    # on the wire
    "error500": ("status",),
    "rate429": ("seconds",),
    "missing": (),
    "garbage": (),
    "half": (),
    "huge": ("bytes",),
    "slow": ("seconds",),
    "stall": ("seconds",),
    "drift": ("field", "to"),
    "sunset": ("date",),
    "limit": ("per_second", "burst"),
    # of a venue's outcomes
    "reversal": ("market", "hours"),
    "overturn": ("market",),
    # of a model's answers
    "behaviour": ("name", "model"),
}
# What a client tries again at once, and how many tries of one request at one moment are hit.
PASSING = ("error500", "rate429", "half", "stall")
MOST_PASSING = 2
_NEEDED = {"drift": ("field",), "overturn": ("market",), "behaviour": ("name",)}
_COMMON = ("kind", "rate", "path", "times")
_NUMBERS = ("rate", "times", "seconds", "bytes", "per_second", "burst", "hours", "status")


@dataclass(frozen=True)
class Fault:
    """One fault: the share `rate` of the requests whose path contains `path`, `times` at most."""

    kind: str
    rate: float = 1.0
    path: str = ""
    times: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The fault in a JSON object; FormatError names what is wrong with it."""
        kind = str(given.get("kind"))
        if kind not in KINDS:
            raise FormatError(f"no fault is called {kind!r:.40}; there are {', '.join(KINDS)}")
        unknown = set(given) - {*_COMMON, *KINDS[kind]}
        if unknown:
            raise FormatError(f"{kind} takes no {min(unknown)!r:.40}; it takes {_takes(kind)}")
        for name in _NEEDED.get(kind, ()):
            if name not in given:
                raise FormatError(f"{kind} needs {name}")
        values = {key: _number(key, value) for key, value in given.items() if key != "kind"}
        return cls(
            kind,
            rate=float(values.pop("rate", 1.0)),
            path=str(values.pop("path", "")),
            times=int(values.pop("times")) if "times" in values else None,
            options=values,
        )

    def number(self, name: str, default: float) -> float:
        """An option that is a number."""
        return float(self.options.get(name, default))


def _takes(kind: str) -> str:
    return ", ".join((*_COMMON[1:], *KINDS[kind]))


def _number(key: str, value: Any) -> Any:
    if key not in _NUMBERS:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FormatError(f"{key} must be a number, not {value!r:.40}") from None


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Faults as a command line writes them, or a JSON list of them.

    >>> [fault.kind for fault in parse_faults("half:rate=0.1;slow:seconds=1,path=/book")]
    ['half', 'slow']
    """
    if text.lstrip().startswith("["):
        try:
            return read_faults(json.loads(text))
        except ValueError as error:
            raise FormatError(f"the faults are not JSON: {error}") from None
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        kind, _, rest = part.partition(":")
        pairs = [pair.partition("=") for pair in rest.split(",") if pair]
        found.append(Fault.of({"kind": kind, **{key: value for key, _, value in pairs}}))
    return tuple(found)


def read_faults(given: Any) -> tuple[Fault, ...]:
    """Faults from a JSON list of objects."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise FormatError("faults are a list of objects")
    return tuple(Fault.of(each) for each in given)


class Faults:
    """The faults now in force, and how often each request was asked whether it is hit."""

    def __init__(self, seed: int, given: Iterable[Fault] = ()) -> None:
        self._seed = seed
        self.met: Counter[str] = Counter()
        self.replace(given)

    def replace(self, given: Iterable[Fault]) -> None:
        """Put other faults in force, as if nothing had been asked before."""
        self.all = tuple(given)
        self._asked: Counter[tuple[int, str, int | None]] = Counter()
        self._hits: Counter[int] = Counter()

    def of_kind(self, *kinds: str) -> list[Fault]:
        """Those of some kinds, for parts that are hit otherwise than by request."""
        return [fault for fault in self.all if fault.kind in kinds]

    def hitting(
        self, request: str, *, skip: tuple[str, ...] = (), moment: int | None = None
    ) -> list[Fault]:
        """The faults that hit this request (its path and query, or another name for it).

        `moment` is the simulated second in which it is made, None where that is not known.
        """
        return [
            fault
            for number, fault in enumerate(self.all)
            if fault.kind not in skip
            and fault.path in request
            and self._hits_now(number, request, moment)
        ]

    def _hits_now(self, number: int, request: str, moment: int | None) -> bool:
        fault = self.all[number]
        key = (number, request, moment)
        self._asked[key] += 1
        if fault.times is not None and self._hits[number] >= fault.times:
            return False
        if fault.rate >= 1 or self._drawn(number, request, moment, self._asked[key]):
            self._hits[number] += 1
            self.met[fault.kind] += 1
            return True
        return False

    def _drawn(self, number: int, request: str, moment: int | None, asked: int) -> bool:
        """Whether chance hits a request that is made for the `asked`-th time at its moment."""
        fault = self.all[number]
        if moment is None:
            return uniform(self._seed, "fault", number, request, asked) < fault.rate
        name = (self._seed, "fault", number, request, "at", moment)
        if uniform(*name) >= fault.rate:
            return False
        return fault.kind not in PASSING or asked <= integer(1, MOST_PASSING, *name, "tries")
