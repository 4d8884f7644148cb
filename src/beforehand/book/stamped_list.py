"""Stamped lists: a short text that names books by their first N lines, to be stamped as a file.

The form is that of the seed "Sealed Before the Open", 3.2 and Appendix B, step 2,
one line a book, and a line of ours for the tree over the same lines:

    PATH: N lines, sha256 HEX, last link HEX
    ORIGIN: size N, root BASE64

What stands around these lines is prose, among it the rule that fixes the
bytes. A reader takes any prose and any order, and hashes the list as a file.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Self

from beforehand.book.checkpoint import Checkpoint, is_size, strict_base64
from beforehand.book.tree import Frontier, line_leaf
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import MAX_LINE_BYTES, decode_json, is_digest

MAX_LIST_BYTES = 256 << 10
MAX_LISTED_BOOKS = 1000

BYTE_RULE = (
    "Each file is taken as stored (UTF-8, no byte-order mark, nothing re-encoded or\n"
    "normalised) and each line ends with LF. The hash of N lines covers lines 1 to N, each\n"
    "with its LF; a last line without LF is not yet counted. A mirror that rewrites line\n"
    "endings fails the check.\n"
)

_BOOK_LINE = re.compile(
    r"(?P<path>\S+): (?P<lines>[0-9]+) lines, sha256 (?P<sha256>[0-9a-f]{64}), "
    r"last link (?P<link>[0-9a-f]{64})"
)
_TREE_LINE = re.compile(r"(?P<origin>\S+): size (?P<size>[0-9]+), root (?P<root>[A-Za-z0-9+/=]+)")
_NO_SPACE = re.compile(r"\S+")


@dataclass(frozen=True)
class ListedBook:
    """The first `lines` lines of the book at `path`: their SHA-256, and the link of the last."""

    path: str
    lines: int
    sha256: str
    last_link: str

    def text(self) -> str:
        """The line, with its LF; FormatError where it would not be read back as this."""
        if not _NO_SPACE.fullmatch(self.path):
            raise FormatError(f"{self.path!r:.80} cannot stand in a stamped list: it has a space")
        if self.lines < 1 or not is_digest(self.sha256) or not is_digest(self.last_link):
            raise FormatError("a stamped list names at least one line, by two SHA-256 in hex")
        return (
            f"{self.path}: {self.lines} lines, sha256 {self.sha256}, last link {self.last_link}\n"
        )


@dataclass(frozen=True)
class StampedList:
    """The books a list names, and the trees over them. `data()` is what is stamped."""

    books: tuple[ListedBook, ...]
    trees: tuple[Checkpoint, ...] = ()

    def data(self) -> bytes:
        """The list's bytes as we write it: the books, the trees, then the rule of the bytes."""
        text = "".join(book.text() for book in self.books)
        text += "".join(_tree_text(tree) for tree in self.trees)
        data = f"{text}\n{BYTE_RULE}".encode()
        if StampedList.parse(data) != self:
            raise FormatError("a stamped list names each book and each tree once")
        return data

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The list in a file's bytes; lines that are of neither form are prose.

        FormatError where it names no book, or one book or tree twice: a reader
        could then choose which of the two to believe.
        """
        if len(data) > MAX_LIST_BYTES:
            raise FormatError(f"a stamped list of {len(data)} bytes; the limit is {MAX_LIST_BYTES}")
        if b"\r" in data:
            raise FormatError("it holds a carriage return: a stamped list has LF alone")
        try:
            lines = data.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"not UTF-8 at byte {error.start}") from None
        books = [_listed_book(found) for found in map(_BOOK_LINE.fullmatch, lines) if found]
        trees = [_listed_tree(found) for found in map(_TREE_LINE.fullmatch, lines) if found]
        if not books:
            raise FormatError("it names no book: no line of the form PATH: N lines, sha256 …")
        if len(books) + len(trees) > MAX_LISTED_BOOKS:
            raise FormatError(f"more than {MAX_LISTED_BOOKS} books and trees")
        for what, names in (
            ("book", [book.path for book in books]),
            ("tree", [tree.origin for tree in trees]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise FormatError(f"it names the {what} {twice!r:.80} twice")
        return cls(tuple(books), tuple(trees))

    def book_at(self, path: str | None = None) -> ListedBook:
        """The book at `path`, or the only one; FormatError names those that are listed."""
        if path is None and len(self.books) == 1:
            return self.books[0]
        for book in self.books:
            if book.path == path:
                return book
        listed = ", ".join(f"{book.path!r:.80}" for book in self.books[:10])
        raise FormatError(f"which book: the list names {listed}, not {path!r:.80}")


def list_book(
    stream: BinaryIO, path: str, origin: str | None = None, lines: int | None = None
) -> StampedList:
    """The list of one book: its first `lines` lines, all whole ones by default.

    With `origin` the tree over the same lines stands in it too.
    """
    walked = _Walk(stream).to(lines)
    if lines is not None and walked.lines < lines:
        raise FormatError(f"the book has {walked.lines} whole lines, not {lines}")
    book = ListedBook(path, walked.lines, walked.sha256, walked.last_link)
    trees = () if origin is None else (Checkpoint(origin, walked.lines, walked.root),)
    return StampedList((book,), trees)


def check_listed(
    stream: BinaryIO, stamped: StampedList, path: str | None = None, origin: str | None = None
) -> ListedBook:
    """The line of the list that a book's bytes keep to: it begins with just those lines.

    `path` chooses the line where the list names several books. A tree is
    compared where `origin` names one of the list, or the list names but one
    tree of that size. IntegrityError says what differs.
    """
    return Prefixes(stream).check(stamped, path, origin)


class Prefixes:
    """A book for many lists: it is walked once, where each list is over more lines than the last.

    `stream` can be sought: a list over fewer lines begins anew.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._walk = _Walk(stream)

    def check(
        self, stamped: StampedList, path: str | None = None, origin: str | None = None
    ) -> ListedBook:
        """The same as `check_listed` of one list."""
        book = stamped.book_at(path)
        if self._walk.broken or book.lines < self._walk.lines:
            self._stream.seek(0)
            self._walk = _Walk(self._stream)
        _check_walked(stamped, book, self._walk.to(book.lines), origin)
        return book


def _check_walked(
    stamped: StampedList, book: ListedBook, walked: _Walked, origin: str | None
) -> None:
    if walked.lines < book.lines:
        raise IntegrityError(
            f"the book has {walked.lines} whole lines, and the list was made over {book.lines}: "
            "its tail was dropped"
        )
    if walked.sha256 != book.sha256:
        hint = "; it has CR line ends: a mirror rewrote them" if walked.returns else ""
        raise IntegrityError(
            f"the first {book.lines} lines hash to {walked.sha256}, "
            f"and the list says {book.sha256}{hint}"
        )
    if walked.last_link != book.last_link:
        raise IntegrityError(
            f"the link of line {book.lines} is {walked.last_link:.64}, "
            f"and the list says {book.last_link}"
        )
    tree = _tree_beside(stamped, book, origin)
    if tree is not None and (tree.size, tree.root) != (walked.lines, walked.root):
        raise IntegrityError(
            f"the tree {tree.origin!r:.80} of the list is not the one over these {book.lines} lines"
        )


@dataclass(frozen=True)
class _Walked:
    lines: int
    sha256: str
    last_link: str
    root: bytes
    returns: bool


class _Walk:
    """The first lines of a book, each with its LF; a tail without one is not counted."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._hasher, self._frontier = stream, hashlib.sha256(), Frontier()
        self._last, self._returns = b"", False
        self.broken = False

    @property
    def lines(self) -> int:
        """How many were walked."""
        return self._frontier.size

    def to(self, most: int | None) -> _Walked:
        """What stands at line `most`, or at the last whole one before; None for all."""
        self.broken = True  # unless it comes to its end
        for raw in _whole_lines(self._stream, self.lines, most):
            self._hasher.update(raw)
            self._frontier.append(line_leaf(raw[:-1]))
            self._last, self._returns = raw, self._returns or raw.endswith(b"\r\n")
        self.broken = most is None or self.lines < most
        link = _link_of(self._last) if self._last else ""
        root = self._frontier.root()
        return _Walked(self.lines, self._hasher.hexdigest(), link, root, self._returns)


def _whole_lines(stream: BinaryIO, seen: int, most: int | None) -> Iterator[bytes]:
    while most is None or seen < most:
        raw = stream.readline(MAX_LINE_BYTES + 1)
        if not raw.endswith(b"\n"):
            if len(raw) > MAX_LINE_BYTES:
                raise FormatError(f"line {seen + 1} is over the limit of {MAX_LINE_BYTES} bytes")
            return
        seen += 1
        yield raw


def _link_of(raw: bytes) -> str:
    """The link that the last line carries; "" where it has none, so that no list fits it."""
    try:
        value = decode_json(raw)
    except FormatError:
        return ""
    link = value.get("link") if isinstance(value, dict) else None
    return link if isinstance(link, str) else ""


def _listed_book(found: re.Match[str]) -> ListedBook:
    lines = found["lines"]
    if not is_size(lines) or lines == "0":
        raise FormatError(f"{found['path']!r:.80}: {lines:.40} is not a number of lines")
    return ListedBook(found["path"], int(lines), found["sha256"], found["link"])


def _listed_tree(found: re.Match[str]) -> Checkpoint:
    if not is_size(found["size"]):
        raise FormatError(f"{found['origin']!r:.80}: {found['size']:.40} is not a tree size")
    root = strict_base64(found["root"])
    if len(root) != 32:
        raise FormatError(f"{found['origin']!r:.80}: a root of {len(root)} bytes, not 32")
    return Checkpoint(found["origin"], int(found["size"]), root)


def _tree_text(tree: Checkpoint) -> str:
    if not _NO_SPACE.fullmatch(tree.origin):
        raise FormatError(f"{tree.origin!r:.80} cannot stand in a stamped list: it has a space")
    root = base64.b64encode(tree.root).decode("ascii")
    return f"{tree.origin}: size {tree.size}, root {root}\n"


def _tree_beside(stamped: StampedList, book: ListedBook, origin: str | None) -> Checkpoint | None:
    if origin is not None:
        return next((tree for tree in stamped.trees if tree.origin == origin), None)
    sizes = [tree for tree in stamped.trees if tree.size == book.lines]
    return sizes[0] if len(sizes) == 1 and len(stamped.books) == 1 else None
