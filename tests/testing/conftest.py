"""A venue replica in the test's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.asking import Venue


@pytest.fixture
def venue(tmp_path: Path) -> Venue:
    return Venue(tmp_path)
