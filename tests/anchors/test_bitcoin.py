"""Block headers: the real one, its work, and what is chained around one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.anchors.bitcoin import Header, blocks_above, median_time_past
from beforehand.anchors.node import node_headers
from beforehand.errors import FormatError, IntegrityError, RemoteError
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_chain import LocalChain
from beforehand.testing.served import Served, Told
from tests.anchors.shipped import hello_header


def chain_of(blocks: int) -> LocalChain:
    chain = LocalChain()
    for number in range(blocks):
        chain.mine(number.to_bytes(32, "big"), 1_800_000_000 + 600 * number)
    return chain


def test_a_real_header_meets_its_difficulty_and_tells_its_time() -> None:
    header = Header.parse(hello_header())
    header.check_work()
    assert header.shown_hash == "000000000000000003e892881a8cdcdc117c06d444057c98b6f04a9ee75a2319"
    assert header.instant == "2015-05-28T15:41:18Z"
    assert header.difficulty == 48_807_487_244  # public: difficulty of that period


@pytest.mark.parametrize("at", [0, 4, 36, 68, 76])
def test_a_changed_header_does_not_meet_its_difficulty(at: int) -> None:
    raw = bytearray(hello_header())
    raw[at] ^= 1
    with pytest.raises(IntegrityError, match="own difficulty"):
        Header.parse(bytes(raw)).check_work()


@pytest.mark.parametrize("bits", [0, 0x1D800001, 0x01000000, 0x217FFFFF | 0xFF000000, 0x00FFFF])
def test_bits_that_state_no_target_are_refused(bits: int) -> None:
    raw = hello_header()
    with pytest.raises(IntegrityError, match="target"):
        Header.parse(raw[:72] + bits.to_bytes(4, "little") + raw[76:]).check_work()


def test_a_header_has_80_bytes() -> None:
    with pytest.raises(FormatError, match="80 bytes"):
        Header.parse(hello_header()[:-1])


def test_the_median_time_needs_eleven_chained_headers() -> None:
    headers = chain_of(14).headers
    times = sorted(Header.parse(headers[height]).time for height in range(3, 14))
    assert median_time_past(headers, 14) == Header.parse(headers[8]).instant
    assert times[5] == Header.parse(headers[8]).time
    assert median_time_past({h: r for h, r in headers.items() if h != 5}, 14) is None
    assert median_time_past({**headers, 9: headers[8]}, 14) is None
    assert median_time_past(headers, 99) is None


def test_blocks_above_are_counted_while_they_are_chained_and_worked() -> None:
    headers = chain_of(6).headers
    assert blocks_above(headers, 2) == 4
    assert blocks_above({**headers, 4: headers[5]}, 2) == 1
    unworked = bytearray(headers[3])
    while True:
        unworked[76] = (unworked[76] + 1) % 256
        try:
            Header.parse(bytes(unworked)).check_work()
        except IntegrityError:
            break
    assert blocks_above({**headers, 3: bytes(unworked)}, 2) == 0


def test_a_node_gives_headers(calendar: LocalCalendar) -> None:
    calendar.mine()
    url = calendar.url.replace("http://", "http://user:secret@")
    assert node_headers(url, [1, 0, 1]) == {
        0: calendar.chain.headers[0],
        1: calendar.chain.headers[1],
    }


def test_a_node_without_the_block_is_a_far_side_that_failed(calendar: LocalCalendar) -> None:
    with pytest.raises(RemoteError) as caught:
        node_headers(calendar.url.replace("http://", "http://user:secret@"), [5])
    assert "secret" not in str(caught.value)


ZEROS = b'{"result": "' + b"00" * 80 + b'"}'


@pytest.mark.parametrize("body", [b"", b"[]", b'{"result": 1}', b'{"result": "zz"}', ZEROS])
def test_a_node_that_answers_otherwise_is_refused(body: bytes) -> None:
    with (
        Served(lambda asked: Told(200, body, "application/json")) as served,
        pytest.raises((RemoteError, FormatError)),
    ):
        node_headers(served.url, [0])


def test_no_height_is_asked_that_cannot_be() -> None:
    with pytest.raises(FormatError, match="height"):
        node_headers("http://127.0.0.1:9", [-1])


@given(st.binary(min_size=80, max_size=80))
def test_any_80_bytes_are_read_or_refused(raw: bytes) -> None:
    header = Header.parse(raw)
    assert header.instant.endswith("Z")
    with pytest.raises(IntegrityError):
        header.check_work()
        raise IntegrityError("random bytes rarely meet a target, and may")
