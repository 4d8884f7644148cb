"""The simulated moment as a replica reads it: from the clock's file, cheaply."""

from __future__ import annotations

import time
from pathlib import Path

from beforehand.clock import SimulatedClock, instant_key


class Moment:
    """Whole seconds since 1970, from the file of a SimulatedClock; without one, the machine's.

    The file is read again only where it was replaced, so asking costs one stat.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._clock = SimulatedClock(path) if path is not None else None
        self._seen: tuple[int, int, int] | None = None
        self._now = 0

    @property
    def simulated(self) -> bool:
        """Whether it is a clock's file that gives the time."""
        return self._clock is not None

    def now(self) -> int:
        """The present second."""
        if self._path is None or self._clock is None:
            return int(time.time())
        stat = self._path.stat()
        mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if mark != self._seen:
            self._now = int(instant_key(self._clock.now()).timestamp())
            self._seen = mark
        return self._now
