"""A small published league, in memory, made once a test run and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.publish.public import Publication, seal_public, write_data
from beforehand.stages.key import SigningKey
from beforehand.testing.memory_folder import MemoryFolder
from tests.small_league import play_small_league

AS_OF = "2026-02-01T00:00:00Z"


@dataclass(frozen=True)
class Published:
    """A published league: its private and public folders, its key, and all public bytes."""

    league: Path
    public: Path
    key: SigningKey
    data: Publication
    files: dict[str, bytes]


def publish_small(folder: Path, as_of: str = AS_OF) -> Published:
    pen = play_small_league(folder / "league")
    pen.store.close()
    public = folder / "public"
    data = write_data(BookReader(folder / "league"), pen.key.verifier, public, as_of)
    seal_public(public, [(data, pen.key.verifier, pen.key.sign)], as_of)
    return Published(folder / "league", public, pen.key, data, MemoryFolder.of(public).files)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def options() -> Options:
    return Options(as_of=AS_OF)
