"""Chance that is a function of its name, so that a replica needs no memory.

Every draw is a hash of a seed and of what is drawn. Two processes, or one
before and after a restart, see the same world, and asking for one thing never
shifts another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")

_NORMAL = NormalDist()
_ROOT_HALF = math.sqrt(0.5)


def digest(*name: object) -> bytes:
    """32 bytes that belong to a name, whose parts are told apart by their places."""
    return hashlib.blake2b("\x1f".join(map(str, name)).encode(), digest_size=32).digest()


def uniform(*name: object) -> float:
    """A number strictly between 0 and 1.

    >>> uniform("seed", 1) == uniform("seed", 1) != uniform("seed", 2)
    True
    """
    return (int.from_bytes(digest(*name)[:7], "big") + 0.5) / 2.0**56


def integer(low: int, high: int, *name: object) -> int:
    """A whole number from `low` to `high`, both included."""
    return low + int(uniform(*name) * (high - low + 1))


def pick(among: Sequence[T], *name: object) -> T:
    """One of several, each as likely as the others."""
    return among[int(uniform(*name) * len(among))]


def normal(*name: object) -> float:
    """A draw from the standard normal distribution."""
    return _NORMAL.inv_cdf(uniform(*name))


def normals(count: int, *name: object) -> list[float]:
    """`count` independent draws, from one long digest because a path needs hundreds."""
    raw = hashlib.shake_256(digest(*name)).digest(4 * count)
    words = (int.from_bytes(raw[at : at + 4], "big") for at in range(0, 4 * count, 4))
    return [_NORMAL.inv_cdf((word + 0.5) / 2.0**32) for word in words]


def below(value: float) -> float:
    """The standard normal distribution function.

    >>> below(0.0)
    0.5
    """
    return 0.5 * math.erfc(-value * _ROOT_HALF)


def quantile(share: float) -> float:
    """The value below which `share` of the standard normal lies."""
    return _NORMAL.inv_cdf(share)
