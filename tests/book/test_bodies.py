"""Bodies: content-addressed files, open or sealed behind a salted header."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.bodies import (
    MAX_BODY_BYTES,
    SealedBody,
    body_path,
    check_body,
    is_sealed,
    open_sealed,
)
from beforehand.errors import FormatError

from .plain_chain import j, sha

SALT = "0f" * 32
BODY = SealedBody("example.org/blind/book", "r1", "model-a", "answer", SALT, b'{"p": "0.62"}\n')
FORMAT = b"beforehand-body/1\n"
HEADER = {
    "origin": BODY.origin,
    "run": BODY.run,
    "forecaster": BODY.forecaster,
    "role": BODY.role,
    "salt": SALT,
}


def test_a_sealed_body_is_format_header_and_content() -> None:
    assert BODY.data() == FORMAT + j(HEADER) + b"\n" + BODY.content


words = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(words, words, words, words, st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_a_sealed_body_opens_to_what_was_sealed(
    origin: str, run: str, forecaster: str, role: str, salt: bytes, content: bytes
) -> None:
    body = SealedBody(origin, run, forecaster, role, salt.hex(), content)
    assert is_sealed(body.data())
    assert open_sealed(body.data()) == body


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", b"\x00\xff", FORMAT, BODY.data()])
def test_content_is_bytes_and_is_not_looked_at(content: bytes) -> None:
    body = replace(BODY, content=content)
    assert open_sealed(body.data()) == body


@pytest.mark.parametrize("length", [4000, 5000, 100_000])
def test_a_header_that_can_be_written_can_be_opened(length: int) -> None:
    body = replace(BODY, run="r" * length)
    try:
        data = body.data()
    except FormatError:
        return
    assert open_sealed(data) == body


@pytest.mark.parametrize(
    "salt",
    [
        "",
        "0f" * 31,
        "0f" * 33,
        "0F" * 32,
        "zz" * 32,
        "0f" * 31 + "0 ",
        "０f" * 32,
        "0f" * 31 + "é0",
    ],
)
def test_a_salt_has_32_bytes_in_lower_case_hex(salt: str) -> None:
    with pytest.raises(FormatError):
        replace(BODY, salt=salt).data()
    with pytest.raises(FormatError):
        open_sealed(FORMAT + j({**HEADER, "salt": salt}) + b"\nx")


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        FORMAT,
        FORMAT + j(HEADER),  # no line feed, no content
        FORMAT[:-1] + b"\r\n" + j(HEADER) + b"\r\n",
        b"beforehand-body/2\n" + j(HEADER) + b"\nx",
        b" " + FORMAT + j(HEADER) + b"\nx",
        b"\xef\xbb\xbf" + FORMAT + j(HEADER) + b"\nx",
        FORMAT + b"\n" + j(HEADER) + b"\nx",
        FORMAT + compact(HEADER) + b"\nx",  # the same values, not J
        FORMAT + json.dumps(HEADER).encode() + b"\nx",  # not sorted
        FORMAT + j(HEADER) + b" \nx",
        FORMAT + j(HEADER)[:-1] + b', "salt": "' + SALT.encode() + b'"}\nx',  # a key twice
        FORMAT + j({**HEADER, "more": "x"}) + b"\nx",
        FORMAT + j({k: v for k, v in HEADER.items() if k != "role"}) + b"\nx",
        FORMAT + j({**HEADER, "run": 1}) + b"\nx",
        FORMAT + j({**HEADER, "run": None}) + b"\nx",
        FORMAT + j({**HEADER, "run": "é"}).replace("é".encode(), b"\\u00e9") + b"\nx",
        FORMAT + j(list(HEADER)) + b"\nx",
        FORMAT + b"[" * 100_000 + b"\nx",
        FORMAT + j({**HEADER, "run": "r" * 100_000}) + b"\nx",
        FORMAT + j(HEADER).replace(b"r1", b"\xff") + b"\nx",
    ],
)
def test_a_header_not_exactly_as_written_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        open_sealed(data)


def test_one_text_under_two_salts_has_two_hashes() -> None:
    other = replace(BODY, salt="f0" * 32)
    assert sha(BODY.data()) != sha(other.data())


@pytest.mark.parametrize("field", ["origin", "run", "forecaster", "role"])
def test_the_hash_binds_whose_body_it_is(field: str) -> None:
    # so that one seat's sealed answer cannot be passed off as another's
    assert sha(replace(BODY, **{field: "other"}).data()) != sha(BODY.data())


def test_fields_do_not_run_into_each_other() -> None:
    # plain concatenation would give both the same bytes (sealed-standard 2.1)
    one, two = replace(BODY, run="ab", forecaster="c"), replace(BODY, run="a", forecaster="bc")
    assert one.data() != two.data()


def test_a_lone_surrogate_in_a_header_is_refused() -> None:
    with pytest.raises(FormatError):
        replace(BODY, run="\ud800").data()


def test_open_bodies_are_not_sealed() -> None:
    assert not is_sealed(b"")
    assert not is_sealed(b"What will happen?\n")
    assert not is_sealed(b"beforehand-body/1")
    assert not is_sealed(b"beforehand-body/10\n")


def test_a_body_lies_under_its_hash() -> None:
    assert body_path("ab" + "0" * 62) == "bodies/ab/ab" + "0" * 62


def test_bytes_that_do_not_hash_to_the_name_are_refused() -> None:
    check_body(b"x", sha(b"x"))
    for wrong in (sha(b"y"), sha(b"x").upper(), sha(b"x")[:-1], ""):
        with pytest.raises(FormatError):
            check_body(b"x", wrong)


def test_a_body_over_the_limit_is_refused() -> None:
    huge = bytes(MAX_BODY_BYTES + 1)
    with pytest.raises(FormatError, match="limit"):
        check_body(huge, sha(huge))
