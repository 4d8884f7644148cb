"""What every test may use: the vectors, and one hypothesis profile for laptop and CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

VECTORS = Path(__file__).parent / "vectors"

# No deadline: a loaded machine is no fault. Derandomized: a red run can be run again.
settings.register_profile(
    "beforehand",
    deadline=None,
    derandomize=True,
    max_examples=100,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("beforehand")


@pytest.fixture(scope="session")
def book_vector() -> dict[str, Any]:
    """`vectors/book.json`: a book by an independent implementation."""
    return json.loads((VECTORS / "book.json").read_text(encoding="utf-8"))
