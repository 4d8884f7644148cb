"""Salted cells: the root against a plain second reading, and one cell shown without the others."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.cells import CellProof, cell_salt, cells_root, opened_cells
from beforehand.errors import FormatError, IntegrityError

KEY = bytes(range(32))
CELLS = [{"question": f"evc1:{n:064x}", "p": f"0.{n}"} for n in range(1, 8)]


def plain_root(cells: list[dict[str, Any]], key: bytes) -> bytes:
    """The definition, written down a second time."""
    leaves = []
    for cell in cells:
        path = cell["question"].encode()
        salt = hmac.new(key, path, hashlib.sha256).digest()
        text = json.dumps(cell, sort_keys=True, ensure_ascii=False).encode()
        data = b"\x00"
        for part in (b"beforehand-cell/1", path, salt, text):
            data += len(part).to_bytes(4, "big") + part
        leaves.append(hashlib.sha256(data).digest())
    return plain_tree(leaves)


def plain_tree(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    both = plain_tree(leaves[:split]) + plain_tree(leaves[split:])
    return hashlib.sha256(b"\x01" + both).digest()


@pytest.mark.parametrize("size", range(1, 8))
def test_the_root_is_that_of_the_definition(size: int) -> None:
    assert cells_root(CELLS[:size], KEY) == plain_root(CELLS[:size], KEY).hex()


@given(
    st.lists(st.text("qπ1😀", min_size=1, max_size=6), min_size=1, max_size=9, unique=True),
    st.binary(min_size=32, max_size=32),
)
def test_any_cells_and_any_key(names: list[str], key: bytes) -> None:
    cells = [{"question": name, "p": "0.5", "more": ["π"]} for name in names]
    root = cells_root(cells, key)
    assert root == plain_root(cells, key).hex()
    for name in names:
        proof = CellProof.make(cells, key, name)
        proof.check(root)
        assert CellProof.of(json.loads(json.dumps(proof.content()))) == proof


def test_the_root_binds_cells_order_and_key() -> None:
    roots = {
        cells_root(CELLS, KEY),
        cells_root(CELLS[::-1], KEY),
        cells_root(CELLS[:-1], KEY),
        cells_root([{**CELLS[0], "p": "0.11"}, *CELLS[1:]], KEY),
        cells_root(CELLS, bytes(32)),
    }
    assert len(roots) == 5


def test_lengths_keep_parts_apart() -> None:
    """Without them, what ends a path could begin a salt."""
    one = cells_root([{"question": "ab", "p": "0.5"}], KEY)
    assert one != cells_root([{"question": "a", "p": "0.5"}], KEY)


def test_one_cell_shown_tells_nothing_of_another() -> None:
    """Not its salt: that needs the key, and without it a cell cannot be found by trying."""
    shown = json.dumps(CellProof.make(CELLS, KEY, CELLS[2]["question"]).content())
    assert KEY.hex() not in shown
    for cell in (*CELLS[:2], *CELLS[3:]):
        assert cell["question"] not in shown
        assert cell_salt(KEY, cell["question"]).hex() not in shown


def test_attack_another_value_salt_path_or_place() -> None:
    """Caught by: the root in the sealed line."""
    root = cells_root(CELLS, KEY)
    good = CellProof.make(CELLS, KEY, CELLS[2]["question"])
    good.check(root)
    for bad in (
        replace(good, cell={**good.cell, "p": "0.99"}),
        replace(good, salt=bytes(32)),
        replace(good, path="q"),
        replace(good, index=3),
        replace(good, index=99),
        replace(good, size=2),
        replace(good, steps=good.steps[:-1]),
        replace(good, steps=(*good.steps, bytes(32))),
    ):
        with pytest.raises(IntegrityError):
            bad.check(root)
    with pytest.raises(IntegrityError):
        good.check("ab" * 32)
    # A root does not say over how many leaves it is, so no count is read from a proof.
    replace(good, size=6).check(root)


@pytest.mark.parametrize(
    "cells",
    [[], [CELLS[0], CELLS[0]], [{}], [{"question": 1}], ["x"], [{"question": "\ud800"}]],
)
def test_what_are_no_cells_have_no_root(cells: list[Any]) -> None:
    with pytest.raises(FormatError):
        cells_root(cells, KEY)


def test_keys_and_questions_that_are_none() -> None:
    with pytest.raises(FormatError, match="32 bytes"):
        cells_root(CELLS, b"short")
    with pytest.raises(FormatError, match="no cell on"):
        CellProof.make(CELLS, KEY, "evc1:other")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"cells": CELLS},
        {"cells_key": KEY.hex()},
        {"cells": 1, "cells_key": KEY.hex()},
        {"cells": CELLS, "cells_key": KEY.hex().upper()},
        {"cells": CELLS, "cells_key": 3},
    ],
)
def test_a_body_without_salted_cells(answer: Any) -> None:
    with pytest.raises(FormatError):
        opened_cells(answer)


GOOD = CellProof.make(CELLS, KEY, CELLS[2]["question"]).content()


@pytest.mark.parametrize(
    "change",
    [
        {"path": "other"},
        {"path": 3},
        {"salt": "ab"},
        {"cell": []},
        {"cell": {"question": "other"}},
        {"cell": {**GOOD["cell"], "note": "\ud800"}},
        {"index": -1},
        {"index": True},
        {"index": 1 << 60},
        {"size": "7"},
        {"steps": "x"},
        {"steps": ["x"]},
        {"steps": ["ab" * 32] * 65},
        {"more": 1},
    ],
    ids=str,
)
def test_a_proof_of_another_form_is_refused(change: dict[str, Any]) -> None:
    CellProof.of(GOOD)
    with pytest.raises(FormatError):
        CellProof.of({**GOOD, **change})

    for key in change.keys() & GOOD.keys():
        with pytest.raises(FormatError):
            CellProof.of({name: item for name, item in GOOD.items() if name != key})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), json_values))
def test_any_json_is_a_proof_or_a_format_error(change: dict[str, Any]) -> None:
    with suppress(FormatError, IntegrityError):
        CellProof.of({**GOOD, **change}).check(cells_root(CELLS, KEY))
