"""Where data lie that are not shipped: `$BEFOREHAND_SHARED`, or `../shared` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SHIPPED = Path(__file__).resolve().parent / "data"


def shared_file(*parts: str) -> Path:
    """A file under the shared data; the test is skipped, saying so, where it is not there."""
    root = Path(os.environ.get("BEFOREHAND_SHARED") or CHECKOUT.parent / "shared")
    path = root.joinpath("data", *parts)
    if not path.is_file():
        pytest.skip(f"shared data: {'/'.join(parts)} is not there (set BEFOREHAND_SHARED)")
    return path
