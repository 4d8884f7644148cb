"""The sealed text of an answer that is withheld, its cells salted where the league declares it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

from beforehand.book.bodies import open_sealed
from beforehand.book.cells import CELLS_KEY_BYTES, cells_root, opened_cells
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Cell

SALTED = "salted"
_KEY_PURPOSE = b"beforehand-cells-key/1"


def withheld_answer(
    declaration: Declaration, cells: Sequence[Cell], salt: str | None = None, **more: Any
) -> bytes:
    """What the sealed body of role `answer` holds: the cells, more, and the key of their salts.

    The key is fresh, or, for a writer that may have to write the same body
    again, drawn from the body's own random `salt`, which is as secret as it.
    """
    content: dict[str, Any] = {"cells": [cell.content() for cell in cells], **more}
    if declaration.content["answers"].get("cells") == SALTED:
        content["cells_key"] = _cells_key(salt).hex()
    return seal_json(content) + b"\n"


def withheld_root(data: bytes | None) -> str | None:
    """What the line carries as `cells_root` for a sealed answer body; None for plain cells."""
    if data is None:
        return None
    content = decode_json(open_sealed(data).content)
    return cells_root(*opened_cells(content)) if "cells_key" in content else None


def _cells_key(salt: str | None) -> bytes:
    if salt is None:
        return secrets.token_bytes(CELLS_KEY_BYTES)
    return hmac.new(bytes.fromhex(salt), _KEY_PURPOSE, hashlib.sha256).digest()
