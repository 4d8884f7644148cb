"""Stamped lists: the seed's text form and byte rule, and what each way of cheating runs into."""

from __future__ import annotations

import contextlib
import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.checkpoint import Checkpoint
from beforehand.book.stamped_list import (
    BYTE_RULE,
    MAX_LIST_BYTES,
    MAX_LISTED_BOOKS,
    ListedBook,
    Prefixes,
    StampedList,
    check_listed,
    list_book,
)
from beforehand.errors import FormatError, IntegrityError

PATH = "api/v1/vector/book.jsonl"
ORIGIN = "example.org/vector/book"

# The line that the seed prints (Appendix B, step 2), letter for letter.
SEED_LINE = (
    "daily/council/book.jsonl: 159 lines, sha256 "
    "59673b9e21ac6d358e7dc3b811dc3d78f5286390094f7133e3704f57cac1a7d9, last link "
    "378273fd057fcbf364746b032f67f42cd811d281da80f39ff0792c4047175b2c"
)


@pytest.fixture(scope="module")
def book(book_vector: dict[str, Any]) -> bytes:
    return str(book_vector["book"]).encode("utf-8")


def stamped(book: bytes, lines: int | None = None) -> StampedList:
    return list_book(io.BytesIO(book), PATH, ORIGIN, lines)


def check(book: bytes, listed: StampedList, path: str | None = None) -> ListedBook:
    return check_listed(io.BytesIO(book), StampedList.parse(listed.data()), path)


# ---- the form


def test_every_prefix_is_the_vectors(book: bytes, book_vector: dict[str, Any]) -> None:
    for line in book_vector["lines"]:
        n = line["n"]
        text = stamped(book, n).data().decode("utf-8")
        assert text.startswith(
            f"{PATH}: {n} lines, sha256 {line['prefix_sha256']}, last link {line['link']}\n"
            f"{ORIGIN}: size {n}, root {line['root_b64']}\n"
        )
        assert text.endswith(BYTE_RULE)


def test_the_lines_of_the_seed_are_read_among_prose_and_other_books() -> None:
    prose = (
        "Stamped list of 2026-10-20T13:00:25Z\n\n"
        f"{SEED_LINE}\n"
        f"daily/pro/book.jsonl: 7 lines, sha256 {'ab' * 32}, last link {'cd' * 32}\n"
        "The file is taken as stored – nothing re-encoded.\n"
        f"not a line: 3 lines, sha256 {'AB' * 32}, last link {'cd' * 32}\n"
    )
    listed = StampedList.parse(prose.encode("utf-8"))
    assert [book.lines for book in listed.books] == [159, 7]
    assert listed.book_at("daily/council/book.jsonl").text() == SEED_LINE + "\n"
    with pytest.raises(FormatError, match="which book"):
        listed.book_at()


@given(
    st.lists(
        st.builds(
            ListedBook,
            st.text("abc/._-π:,", min_size=1, max_size=20),
            st.integers(1, 10**18),
            st.just("ab" * 32),
            st.just("cd" * 32),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda book: book.path,
    ),
    st.lists(
        st.builds(Checkpoint, st.text("abc/.", min_size=1), st.integers(0, 99), st.just(bytes(32))),
        max_size=3,
        unique_by=lambda tree: tree.origin,
    ),
)
def test_what_is_written_is_read_back(books: list[ListedBook], trees: list[Checkpoint]) -> None:
    listed = StampedList(tuple(books), tuple(trees))
    assert StampedList.parse(listed.data()) == listed


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_nothing_read_ends_in_anything_but_a_list_or_a_format_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        StampedList.parse(data)


HEX = "ab" * 32
GOOD = f"a: 3 lines, sha256 {HEX}, last link {HEX}\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "names no book"),
        ("prose only\n", "names no book"),
        (GOOD.replace("\n", "\r\n"), "carriage return"),
        (GOOD.replace(" 3 ", " 0 "), "not a number of lines"),
        (GOOD.replace(" 3 ", " 03 "), "not a number of lines"),
        (GOOD.replace(" 3 ", f" {'9' * 20} "), "not a number of lines"),
        (GOOD + GOOD, "twice"),
        (GOOD + GOOD.replace(" 3 ", " 4 "), "twice"),
        (GOOD + "o: size 1, root AAAA\n", "a root of 3 bytes"),
        (GOOD + "o: size 1, root A\n", "not base64"),
        (GOOD + f"o: size 01, root {'A' * 43}=\n", "not a tree size"),
        (GOOD + f"o: size 1, root {'A' * 43}=\n" * 2, "twice"),
        ("x" * MAX_LIST_BYTES + GOOD, "limit"),
    ],
)
def test_what_is_ambiguous_or_over_a_limit_is_refused(text: str, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        StampedList.parse(text.encode())


def test_limits_and_bytes() -> None:
    with pytest.raises(FormatError, match="UTF-8"):
        StampedList.parse(b"\xff" + GOOD.encode())
    many = "".join(GOOD.replace("a:", f"{n}:") for n in range(MAX_LISTED_BOOKS + 1))
    with pytest.raises(FormatError, match="more than"):
        StampedList.parse(many.encode())
    for made in (
        ListedBook("a b", 1, HEX, HEX),
        ListedBook("a", 0, HEX, HEX),
        ListedBook("a", 1, HEX.upper(), HEX),
    ):
        with pytest.raises(FormatError):
            StampedList((made,)).data()
    with pytest.raises(FormatError, match="space"):
        StampedList((ListedBook("a", 1, HEX, HEX),), (Checkpoint("o o", 1, bytes(32)),)).data()


def test_a_path_with_a_later_colon_is_one_path() -> None:
    path = f"x:y: 1 lines, sha256 {HEX}, last link {HEX}"
    with pytest.raises(FormatError, match="names no book"):
        StampedList.parse(path.replace("x:y: 1", "x: y: 1").encode())
    assert StampedList.parse(path.encode()).books[0].path == "x:y"


# ---- a book against its list


def test_the_book_and_every_longer_one_keep_to_the_list(book: bytes) -> None:
    for lines in range(1, 8):
        assert check(book, stamped(book, lines)).lines == lines
    assert check(book + b'{"tail": "without a line feed"}', stamped(book)).lines == 7


def test_an_unterminated_last_line_is_not_counted(book: bytes) -> None:
    assert stamped(book[:-1]).books[0].lines == 6
    with pytest.raises(IntegrityError, match="6 whole lines"):
        check(book[:-1], stamped(book))


def test_attack_line_endings_rewritten_by_a_mirror(book: bytes) -> None:
    """Caught by: the hash of the first N lines, whose bytes the rule fixes."""
    with pytest.raises(IntegrityError, match="a mirror rewrote them"):
        check(book.replace(b"\n", b"\r\n"), stamped(book))


def test_attack_a_byte_order_mark_or_other_spelling(book: bytes) -> None:
    """Caught by: the hash, though seals and links stay as they are."""
    for changed in (b"\xef\xbb\xbf" + book, book.replace(b'": "', b'":"', 1)):
        with pytest.raises(IntegrityError, match="hash to"):
            check(changed, stamped(book))


def test_attack_dropped_tail_after_a_stamp(book: bytes) -> None:
    """Caught by: the number of lines that the list names."""
    lines = book.splitlines(keepends=True)
    with pytest.raises(IntegrityError, match=r"5 whole lines.* tail was dropped"):
        check(b"".join(lines[:5]), stamped(book))


def test_attack_rewritten_line(book: bytes) -> None:
    with pytest.raises(IntegrityError, match="hash to"):
        check(book.replace(b"0.62", b"0.63"), stamped(book, 4))
    assert check(book.replace(b"0.62", b"0.63"), stamped(book, 3)).lines == 3


def test_attack_another_books_line(book: bytes) -> None:
    """Caught by: the path, and by the hash where the path is given wrongly."""
    own = stamped(book, 3)
    other = ListedBook("daily/pro/book.jsonl", 3, HEX, HEX)
    both = StampedList((other, *own.books), own.trees)
    assert check(book, both, PATH).path == PATH
    with pytest.raises(IntegrityError, match="hash to"):
        check(book, both, other.path)
    for path in (None, "book.jsonl", "/" + PATH, PATH.upper()):
        with pytest.raises(FormatError, match="which book"):
            check(book, both, path)


def test_attack_a_list_whose_parts_contradict(book: bytes) -> None:
    """Caught by: every part of the line is compared, not the hash alone."""
    own = stamped(book, 4)
    link = StampedList((ListedBook(PATH, 4, own.books[0].sha256, HEX),))
    with pytest.raises(IntegrityError, match="the link of line 4"):
        check(book, link)
    for tree in (
        Checkpoint(ORIGIN, 4, bytes(32)),
        Checkpoint(ORIGIN, 3, stamped(book, 3).trees[0].root),
    ):
        listed = StampedList(own.books, (tree,))
        with pytest.raises(IntegrityError, match="the tree"):
            check_listed(io.BytesIO(book), listed, origin=ORIGIN)
    with pytest.raises(IntegrityError, match="the tree"):
        check(book, StampedList(own.books, (Checkpoint("other", 4, bytes(32)),)))


def test_a_tree_of_another_book_is_not_compared(book: bytes) -> None:
    listed = StampedList(stamped(book).books, (Checkpoint("other", 99, bytes(32)),))
    assert check(book, listed).lines == 7
    assert check_listed(io.BytesIO(book), listed, origin=ORIGIN).lines == 7


def test_a_last_line_without_a_link_fits_no_list() -> None:
    for raw in (b"not json\n", b"[]\n", b'{"link": 3}\n'):
        listed = ListedBook("b", 1, hashlib.sha256(raw).hexdigest(), HEX)
        with pytest.raises(IntegrityError, match="the link of line 1"):
            check_listed(io.BytesIO(raw), StampedList((listed,)))


def test_a_list_over_lines_that_are_not_there_cannot_be_made(book: bytes) -> None:
    with pytest.raises(FormatError, match="7 whole lines, not 8"):
        stamped(book, 8)
    with pytest.raises(FormatError):
        list_book(io.BytesIO(b""), PATH).data()


def test_the_shell_agrees(book: bytes, tmp_path: Path) -> None:
    """The seed's step 3, `head -n N | shasum -a 256`, in Python's plain words."""
    head = b"".join(book.splitlines(keepends=True)[:4])
    assert stamped(book, 4).books[0].sha256 == hashlib.sha256(head).hexdigest()


class Counted(io.BytesIO):
    """A book that counts how often a line of it is read."""

    reads = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        return super().readline(size)


def test_attack_a_stamp_a_line_that_has_the_book_walked_again_for_each() -> None:
    """A list of every line, which a token an answer makes: the book is walked once for them all."""
    book = b"".join(b'{"link": "%064x", "n": %d}\n' % (n, n) for n in range(1, 301))
    made = [list_book(io.BytesIO(book), "a/book.jsonl", "example.org/a", n) for n in range(1, 301)]
    stream = Counted(book)
    prefixes = Prefixes(stream)
    for stamped in made:
        assert prefixes.check(stamped) == stamped.books[0]
        prefixes.check(stamped)
    assert stream.reads == 300
    assert prefixes.check(made[4]).lines == 5, "an earlier one begins anew"
    for bad, said in (
        (replace(made[9], books=(replace(made[9].books[0], sha256="0" * 64),)), "hash to"),
        (replace(made[9], books=(replace(made[9].books[0], lines=900),)), "tail was dropped"),
    ):
        with pytest.raises(IntegrityError, match=said):
            prefixes.check(bad)
        assert prefixes.check(made[20]).lines == 21, "one that is false hides no other"
