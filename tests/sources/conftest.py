"""What the readers' tests may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sources.made_tables import HEADER


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a CSV file of this header and these rows."""

    def wrote(*rows: str, header: str = HEADER, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes("\n".join([header, *rows, ""]).encode())
        return path

    return wrote
