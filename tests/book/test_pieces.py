"""Cutting a book into pieces of whole lines: nothing lost, nothing joined, limits kept."""

from __future__ import annotations

import random
from io import BytesIO
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.chain import cut_pieces
from beforehand.errors import FormatError
from beforehand.records.codec import MAX_LINE_BYTES


class Trickle:
    """A stream that gives less than it was asked for, as sockets and pipes do."""

    def __init__(self, data: bytes, seed: int, most: int) -> None:
        self.rest, self.rng, self.most = BytesIO(data), random.Random(seed), most

    def read(self, size: int = -1) -> bytes:
        return self.rest.read(min(size, self.rng.randint(1, self.most)))


lines = st.lists(st.binary(max_size=9).filter(lambda raw: b"\n" not in raw), max_size=20)


def check(pieces: list[tuple[int, int, bytes]], data: bytes) -> None:
    """What holds of the pieces of any book."""
    assert b"".join(piece for _, _, piece in pieces) == data
    offset, first_n = 0, 1
    for start, n, piece in pieces:
        assert start == offset
        assert piece
        if n == 0:
            assert (start, piece) == (data.rfind(b"\n") + 1, data[data.rfind(b"\n") + 1 :])
        else:
            assert n == first_n
            assert piece.endswith(b"\n")
        offset += len(piece)
        first_n += piece.count(b"\n")
    assert [n for _, n, _ in pieces].count(0) == bool(data) * (not data.endswith(b"\n"))


@given(lines, st.binary(max_size=5).filter(lambda raw: b"\n" not in raw), st.integers(1, 25))
def test_the_pieces_are_the_book(book: list[bytes], tail: bytes, count: int) -> None:
    data = b"".join(raw + b"\n" for raw in book) + tail
    pieces = list(cut_pieces(BytesIO(data), count))
    check(pieces, data)
    whole = [piece for _, n, piece in pieces if n]
    assert all(piece.count(b"\n") == count for piece in whole[:-1])


@given(lines, st.integers(1, 7), st.integers(0, 2**32), st.integers(1, 30))
def test_a_stream_that_trickles_changes_nothing(
    book: list[bytes], count: int, seed: int, most: int
) -> None:
    data = b"".join(raw + b"\n" for raw in book) + b"tail"
    trickle = cast("BinaryIO", Trickle(data, seed, most))
    assert list(cut_pieces(trickle, count)) == list(cut_pieces(BytesIO(data), count))


@pytest.mark.parametrize("length", [(1 << 16) + d for d in (-2, -1, 0, 1)] + [(1 << 20) - 1])
def test_lines_around_the_size_of_a_block(length: int) -> None:
    data = (b"x" * (length - 1) + b"\n") * 12
    for count in (1, 2, 5, 12, 4096):
        check(list(cut_pieces(BytesIO(data), count)), data)


def test_an_empty_book_has_no_pieces() -> None:
    assert list(cut_pieces(BytesIO(b""))) == []


@pytest.mark.parametrize("before", [0, 1, 2, 1000, (1 << 16) - 1, 1 << 16, (1 << 20) - 5, 1 << 20])
def test_the_limit_of_a_line_does_not_depend_on_where_it_stands(before: int) -> None:
    # the writer's limit counts the LF: MAX_LINE_BYTES is the longest line there is
    first = b"".join(b"a" * 99 + b"\n" for _ in range(before // 100)) + b"b" * (before % 100)
    first += b"\n" if before % 100 else b""
    longest = b"x" * (MAX_LINE_BYTES - 1) + b"\n"
    check(list(cut_pieces(BytesIO(first + longest + b"y\n"))), first + longest + b"y\n")
    for over in (1, 2, 1000, 100_000):
        line = b"x" * (MAX_LINE_BYTES - 1 + over) + b"\n"
        with pytest.raises(FormatError, match="limit"):
            list(cut_pieces(BytesIO(first + line + b"y\n")))


def test_an_endless_line_is_given_up_early() -> None:
    class Endless:
        given = 0

        def read(self, size: int) -> bytes:
            self.given += size
            assert self.given < 16 * MAX_LINE_BYTES, "still reading"
            return b"x" * size

    with pytest.raises(FormatError, match="line 1 "):
        list(cut_pieces(cast("BinaryIO", Endless())))
