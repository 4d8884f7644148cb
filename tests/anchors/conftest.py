"""Stand-ins of far sides, served on this machine, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from beforehand.clock import SystemClock
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served

NOTE = ("league.example/book\n7\n" + "A" * 43 + "=\n\n— k AAAAAAA=\n").encode()
OTHER_NOTE = NOTE.replace(b"\n7\n", b"\n8\n")


class StillClock:
    """A clock that shows one instant."""

    simulated = False

    def __init__(self, instant: str) -> None:
        self.instant = instant

    def now(self) -> str:
        return self.instant


@pytest.fixture
def clock() -> StillClock:
    return StillClock("2026-11-30T12:00:00Z")


@pytest.fixture(scope="session")
def now() -> str:
    """The real time: openssl reads no other."""
    return SystemClock().now()


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> LocalTsa:
    return LocalTsa(tmp_path_factory.mktemp("tsa"))


@pytest.fixture(scope="module")
def tsa_url(tsa: LocalTsa) -> Iterator[str]:
    with Served(tsa.serve) as served:
        yield served.url


@pytest.fixture
def calendar(clock: StillClock) -> Iterator[LocalCalendar]:
    calendar = LocalCalendar(clock)
    with Served(calendar.serve) as served:
        calendar.url = served.url
        yield calendar


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def rekor(request: pytest.FixtureRequest, clock: StillClock) -> LocalRekor:
    return LocalRekor(clock, version=request.param)


@pytest.fixture
def rekor_url(rekor: LocalRekor) -> Iterator[str]:
    with Served(rekor.serve) as served:
        yield served.url
