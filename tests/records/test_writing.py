"""What may be written to a book: `check_content`, which names the place of what may not."""

from __future__ import annotations

import enum
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.records.codec import (
    BOOKKEEPING,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_KEY_CHARS,
    MAX_TEXT_CHARS,
    check_content,
    decode_json,
    seal_json,
)

keys = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=8)
good_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
good_contents = st.dictionaries(
    keys.filter(lambda key: key not in BOOKKEEPING), good_values, max_size=4
)


def refused(content: Any, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        check_content(content)
    assert place in str(caught.value)


@given(good_contents)
def test_good_content_is_accepted_and_reads_back(content: dict[str, Any]) -> None:
    check_content(content)
    assert decode_json(seal_json(content)) == content


WRONG: dict[str, Any] = {
    "a float": 0.5,
    "a whole float": 1.0,
    "minus zero": -0.0,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "an integer beyond 2^53": 2**53 + 1,
    "an integer below -2^53": -(2**53) - 1,
    "a huge integer": 10**5000,
    "a lone surrogate": "\ud800",
    "a low surrogate": "x\udc00",
    "bytes": b"x",
    "a decimal": Decimal("0.5"),
    "a fraction": Fraction(1, 2),
    "a set": {1},
    "an object": object(),
    "a complex number": 1j,
    "a key that is a number": {1: 2},
    "a key that is None": {None: 2},
    "a key that is not ASCII": {"é": 1},
    "a key beyond the BMP": {"𝄞": 1},
    "a key with a line feed": {"a\n": 1},
    "a key with NUL": {"a\x00": 1},
    "a key with DEL": {"a\x7f": 1},
    "an empty key": {"": 1},
    "a key too long": {"k" * (MAX_KEY_CHARS + 1): 1},
    "a text too long": "x" * (MAX_TEXT_CHARS + 1),
    "too many items": [0] * (MAX_ITEMS + 1),
    "too many keys": {f"k{i}": 0 for i in range(MAX_ITEMS + 1)},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_and_its_place_named(name: str) -> None:
    value = WRONG[name]
    refused({"kind": "note", "here": value}, ".here")
    refused({"kind": "note", "a": [{"b": 1}, {"here": value}]}, ".a[1].here")
    refused({"kind": "note", "a": [0, 1, value]}, ".a[2]")


@pytest.mark.parametrize("name", [name for name in WRONG if name.startswith("a key")])
def test_a_wrong_key_is_refused_at_the_top_too(name: str) -> None:
    refused({"kind": "note", "x": 1, **WRONG[name]}, "key")


@pytest.mark.parametrize("key", BOOKKEEPING)
def test_bookkeeping_keys_are_refused_at_the_top_and_only_there(key: str) -> None:
    refused({"kind": "note", key: None}, f".{key}")
    check_content({"kind": "note", "a": {key: 1}, "b": [{key: 1}]})


@pytest.mark.parametrize("content", [None, [], "x", 1, b"{}", [("a", 1)]])
def test_content_is_an_object(content: Any) -> None:
    refused(content, "object")


def test_a_number_is_not_a_truth_and_a_truth_is_not_a_number() -> None:
    check_content({"a": True, "b": 1, "c": False, "d": 0})
    assert seal_json({"a": True, "b": 1}) == b'{"a": true, "b": 1}'


def test_the_limits_themselves_are_within_them() -> None:
    check_content({"a": 2**53, "b": -(2**53)})
    check_content({"a": "x" * MAX_TEXT_CHARS})
    check_content({"a": [0] * MAX_ITEMS})
    check_content({"k" * MAX_KEY_CHARS: 1})


def nested(depth: int, kind: type) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_depth_is_limited(kind: type) -> None:
    check_content({"a": nested(MAX_DEPTH - 1, kind)})
    refused({"a": nested(MAX_DEPTH, kind)}, "deep")
    refused({"a": nested(500, kind)}, "deep")


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    refused({"a": loop}, "deep")


def test_kinds_of_dict_list_and_int_are_written_as_what_they_are() -> None:
    class Count(enum.IntEnum):
        TWO = 2

    content = {"a": OrderedDict(b=1), "c": (1, 2), "d": Count.TWO}
    check_content(content)
    assert decode_json(seal_json(content)) == {"a": {"b": 1}, "c": [1, 2], "d": 2}


def test_a_kind_of_int_that_prints_otherwise_is_not_let_through() -> None:
    # json prints any int by int's own repr, so a line can be checked by anybody
    class Odd(int):
        def __repr__(self) -> str:
            return '"sneaky"'

    content = {"a": Odd(7)}
    check_content(content)
    assert seal_json(content) == b'{"a": 7}'
