"""A league's folder with its replicas, for tests of commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from beforehand.cli.rehearsal import START
from beforehand.cli.rehearsed_league import write_league
from beforehand.clock import SimulatedClock
from beforehand.testing.replicas import Replicas

MODELS = 3


@contextmanager
def written_league(place: Path) -> Iterator[tuple[Path, Replicas]]:
    """A league of three models that is not declared yet, and its replicas at work."""
    folder = place / "league"
    folder.mkdir()
    SimulatedClock(folder / "clock", START)
    with Replicas(
        place / "replicas",
        clock=folder / "clock",
        venue_options=("--no-limits",),
        model_options=("--no-limits",),
    ) as replicas:
        write_league(folder, MODELS, replicas)
        yield folder, replicas
