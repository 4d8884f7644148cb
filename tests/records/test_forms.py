"""The three canonical forms: J, J with ASCII escapes, and the compact form of contracts."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.records.codec import (
    ascii_json,
    contract_json,
    decode_json,
    digest,
    seal_json,
    seal_text,
)

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)

# One value, three forms: they differ in spaces and in escapes and are never one.
VALUE = {"b": [1, True, None], "a": "π — 𝄞", "é": {"z": "", "y": 0}}


def test_j() -> None:
    wanted = '{"a": "π — 𝄞", "b": [1, true, null], "é": {"y": 0, "z": ""}}'
    assert seal_json(VALUE) == wanted.encode("utf-8")
    assert seal_text(VALUE) == wanted


def test_ascii_form() -> None:
    wanted = (
        rb'{"a": "\u03c0 \u2014 \ud834\udd1e", "b": [1, true, null], "\u00e9": {"y": 0, "z": ""}}'
    )
    assert ascii_json(VALUE) == wanted


def test_contract_form() -> None:
    wanted = '{"a":"π — 𝄞","b":[1,true,null],"é":{"y":0,"z":""}}'
    assert contract_json(VALUE) == wanted.encode("utf-8")


@given(json_values)
def test_the_forms_are_those_of_the_standard(value: Any) -> None:
    # sealed-standard 2.1, in its own words
    assert seal_json(value) == json.dumps(value, sort_keys=True, ensure_ascii=False).encode()
    assert ascii_json(value) == json.dumps(value, sort_keys=True).encode("ascii")
    compact = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert contract_json(value) == compact.encode()


@given(json_values)
def test_every_form_reads_back_to_the_value(value: Any) -> None:
    for form in (seal_json, ascii_json, contract_json):
        assert decode_json(form(value)) == value


@given(json_values)
def test_j_of_what_was_read_is_j(value: Any) -> None:
    text = seal_text(value)
    assert seal_text(decode_json(text.encode())) == text


def test_toy_seal_of_the_standard() -> None:
    content = {"at": "2026-01-01T00:00:00Z", "kind": "note", "text": "first — π"}
    seal = "2e2f6d25e76360f5f1395281724ce45e44dfde6f833429e55b7437bc67c07347"
    assert digest(seal_json(content)) == seal
    answer = {
        "at": "2026-01-01T00:00:01Z",
        "kind": "answer",
        "items": {"SPX": {"1d": {"prob_up": 54, "target": 7678.59}}},
    }
    seal = "4039f2f66cc882aad149b7e3845efa31373bf311b297cdebf2aa51179e57b1f2"
    assert digest(seal_json(answer)) == seal


def test_keys_sort_by_code_point_beyond_the_bmp() -> None:
    # as UTF-16 units, 𝄞 (d834 dd1e) would come before ﬀ (fb00) and \uffff
    keys = ["\uffff", "𝄞", "ﬀ", "z", "é", "\U0010ffff", "Z", "", "\x7f"]
    order = ["", "Z", "z", "\x7f", "é", "ﬀ", "\uffff", "𝄞", "\U0010ffff"]
    for form in (seal_json, ascii_json, contract_json):
        assert list(json.loads(form(dict.fromkeys(keys, 0)))) == order


def test_numbers_among_keys_sort_as_texts() -> None:
    assert seal_text({"10": 1, "9": 1, "1": 1}) == '{"1": 1, "10": 1, "9": 1}'


def test_no_unicode_normalisation() -> None:
    composed, decomposed = {"a": "é"}, {"a": "e\u0301"}
    assert seal_json(composed) != seal_json(decomposed)
    assert seal_json({"a": "\u212b"}) != seal_json({"a": "\u00c5"})  # Å and Å
    assert decode_json(seal_json(decomposed)) == decomposed


@pytest.mark.parametrize(
    "text", ["\u2028", "\u2029", "\u0085", "\u00a0", "\u200b", "\ufeff", "\x7f"]
)
def test_characters_that_other_printers_escape_stand_as_they_are(text: str) -> None:
    assert seal_json({"a": text}) == b'{"a": "' + text.encode("utf-8") + b'"}'


def test_what_json_must_escape_is_escaped_the_short_way() -> None:
    assert seal_text('\b\t\n\f\r"\\/\x00\x1f') == r'"\b\t\n\f\r\"\\/\u0000\u001f"'


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        *((54, "54"), (54.0, "54.0"), (1e5, "100000.0"), (1e16, "1e+16"), (1e-7, "1e-07")),
        *((-0.0, "-0.0"), (0.1, "0.1"), (7678.59, "7678.59"), (1e22, "1e+22"), (True, "true")),
        *((2**53 + 1, "9007199254740993"), (10**30, "1" + "0" * 30)),
    ],
)
def test_numbers_print_as_python_does(value: Any, printed: str) -> None:
    assert seal_text({"a": value}) == '{"a": ' + printed + "}"


@pytest.mark.parametrize("value", ["\ud800", "a\udfff", {"\ud834": 1}, [{"a": ["\udc00"]}]])
@pytest.mark.parametrize("form", [seal_json, contract_json])
def test_a_lone_surrogate_has_no_bytes(value: Any, form: Any) -> None:
    with pytest.raises(FormatError):
        form(value)


def test_digest_is_sha256_in_lower_hex() -> None:
    assert digest(b"") == hashlib.sha256(b"").hexdigest()
    assert digest(b"abc").startswith("ba7816bf8f01cfea")


# ---- reading


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("nothing", b""),
        ("NaN", b"NaN"),
        ("Infinity", b"[Infinity]"),
        ("-Infinity", b'{"a": -Infinity}'),
        ("1e400", b"1e400"),
        ("-1e400", b'{"a": [-1e999]}'),
        ("a key twice", b'{"a": 1, "a": 1}'),
        ("a key twice, deep", b'[{"b": {"a": 1, "c": 2, "a": 3}}]'),
        ("a key twice, escaped", b'{"\\u0061": 1, "a": 1}'),
        ("4301 digits", b"1" * 4301),
        ("a million digits", b'{"a": ' + b"9" * 1_000_000 + b"}"),
        ("deep lists", b"[" * 200_000),
        ("deep objects", b'{"a":' * 200_000),
        ("deep and closed", b"[" * 200_000 + b"]" * 200_000),
        ("byte order mark", b"\xef\xbb\xbf1"),
        ("not UTF-8", b'"\xff"'),
        ("UTF-16", '"a"'.encode("utf-16")),
        ("half an escape", b'"\\u12"'),
        ("bad escape", b'"\\x41"'),
        ("leading zero", b"01"),
        ("plus", b"+1"),
        ("hexadecimal", b"0x1"),
        ("two values", b"1 2"),
        ("control character", b'"\x00"'),
    ],
)
def test_what_is_no_usable_json_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(FormatError):
        decode_json(data)


def test_an_integer_of_many_digits_within_the_limit_is_read() -> None:
    assert decode_json(b"1" * 4300) == int("1" * 4300)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_format_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        decode_json(data)


@given(st.text(alphabet='{}[]",:\\u0189de+-. tfnNI', max_size=30))
def test_any_json_like_text_is_a_value_or_a_format_error(text: str) -> None:
    try:
        value = decode_json(text.encode())
    except FormatError:
        return
    assert decode_json(seal_text(value).encode()) == value
