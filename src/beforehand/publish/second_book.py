"""Looking for a second book under one origin: every list and checkpoint that others kept.

A list or checkpoint of the same book that names other lines than the book
shows is a conflict. Two checkpoints signed by the book's own key are a fraud
proof; a list is not signed, and whoever may write to where it was found could
have made it. What was looked in is counted: nothing is said of other channels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from beforehand.book.checkpoint import Checkpoint, VerifierKey
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import note_parts
from beforehand.book.fraud import FraudProof, fraud_between, is_shown
from beforehand.book.stamped_list import MAX_LIST_BYTES, StampedList
from beforehand.book.tree import Frontier, line_leaf
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.conformance.result import counted
from beforehand.publish.run_facts import read_fields

MAX_PIECE_BYTES = MAX_LIST_BYTES
MAX_CONFLICTS = 20


@dataclass(frozen=True)
class Piece:
    """A small file that somebody kept, and where it was found."""

    place: str
    data: bytes


@dataclass(frozen=True)
class Conflict:
    """What contradicts the book, and the fraud proof where the book's key signed it."""

    place: str
    words: str
    fraud: FraudProof | None = None


@dataclass
class Searched:
    """What was looked in: files, and among them lists and checkpoints of this very book.

    `longer` are those over more lines than the book has, which nothing here
    can compare; `unsigned` are checkpoints of its origin without its signature,
    `nameless` lists without any origin that name its path and other lines.
    """

    channels: list[str] = field(default_factory=list)
    files: int = 0
    lists: int = 0
    notes: int = 0
    longer: list[str] = field(default_factory=list)
    unsigned: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    def text(self) -> str:
        """What was found, and what that leaves open."""
        lists, notes = counted(self.lists, "list"), counted(self.notes, "signed checkpoint")
        told = f"looked in {lists} and {notes} of this book"
        result = "none conflicting" if not self.conflicts else f"{len(self.conflicts)} conflicting"
        return f"{told} ({counted(self.files, 'file')} of {', '.join(self.channels)}), {result}"


@dataclass(frozen=True)
class ShownBook:
    """The book that was shown: its lines, origin, keys, and own signed checkpoints.

    `paths` are what its stamped lists call it. A book in the seed's format has
    neither origin nor keys, and is known by its path alone.
    """

    lines: Sequence[bytes]
    paths: frozenset[str]
    origin: str | None = None
    keys: tuple[VerifierKey, ...] = ()
    notes: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class _Said:
    """One statement on the first `size` lines, and whether it fits what they are."""

    place: str
    size: int
    fits: Callable[[_Prefix], bool]
    words: str
    note: bytes | None = None
    key: VerifierKey | None = None
    nameless: bool = False


@dataclass(frozen=True)
class _Prefix:
    root: bytes
    sha256: str
    link: str


def look_for_second(book: ShownBook, pieces: Iterable[Piece], searched: Searched) -> None:
    """Compare every piece with the book; what is found is added to `searched`."""
    said: list[_Said] = []
    for piece in pieces:
        searched.files += 1
        if len(piece.data) <= MAX_PIECE_BYTES:
            said += _statements(book, piece, searched)
    shown = dict(_prefixes(book.lines, {each.size for each in said}))
    for each in said:
        if each.size > len(book.lines):
            searched.longer.append(f"{each.place}, over {each.size} lines")
        elif each.nameless and not each.fits(shown[each.size]):
            searched.nameless.append(each.place)
        elif not each.fits(shown[each.size]) and len(searched.conflicts) < MAX_CONFLICTS:
            searched.conflicts.append(_conflict(book, each))


def _statements(book: ShownBook, piece: Piece, searched: Searched) -> list[_Said]:
    try:
        stamped = StampedList.parse(piece.data)
    except FormatError:
        return _of_note(book, piece, searched)
    found = _of_list(book, piece.place, stamped)
    searched.lists += bool(found)
    return found


def _of_list(book: ShownBook, place: str, stamped: StampedList) -> list[_Said]:
    """What a list says of this book; its own lines by path where its tree has our origin.

    A list without any tree names no origin: by its path it may be of this book.
    """
    trees = [tree for tree in stamped.trees if tree.origin == book.origin]
    if book.origin is not None and stamped.trees and not trees:
        return []
    nameless = book.origin is not None and not trees
    unsigned = "a list is not signed: whoever may write there could have put it there"
    found = [
        _Said(
            place,
            tree.size,
            lambda prefix, root=tree.root: prefix.root == root,  # type: ignore[misc]
            f"a list of this origin names another tree over {tree.size} lines; {unsigned}",
        )
        for tree in trees
        if tree.size
    ]
    return found + [
        _Said(
            place,
            listed.lines,
            lambda prefix, want=(listed.sha256, listed.last_link): (  # type: ignore[misc]
                (prefix.sha256, prefix.link) == want
            ),
            f"a list of {listed.path:.80} names other first {listed.lines} lines; {unsigned}",
            nameless=nameless,
        )
        for listed in stamped.books
        if listed.path in book.paths
    ]


def _of_note(book: ShownBook, piece: Piece, searched: Searched) -> list[_Said]:
    """What a checkpoint of this origin says, where the book's own key signed it."""
    try:
        point = Checkpoint.parse(note_parts(piece.data)[0])
    except (FormatError, IntegrityError):
        return []
    if book.origin is None or point.origin != book.origin or not point.size:
        return []
    for key in book.keys:
        try:
            Checkpoint.open(piece.data, key)
        except (FormatError, IntegrityError):
            continue
        searched.notes += 1
        words = f"the book's own key {key.text():.120} signed another tree over {point.size} lines"
        return [
            _Said(piece.place, point.size, lambda p: p.root == point.root, words, piece.data, key)
        ]
    searched.unsigned.append(piece.place)
    return []


def _prefixes(lines: Sequence[bytes], sizes: set[int]) -> Iterator[tuple[int, _Prefix]]:
    frontier, hasher = Frontier(), hashlib.sha256()
    for size, raw in enumerate(lines[: max(sizes, default=0)], 1):
        frontier.append(line_leaf(raw))
        hasher.update(raw + b"\n")
        if size in sizes:
            link = str(read_fields(raw).get("link"))
            yield size, _Prefix(frontier.root(), hasher.copy().hexdigest(), link)


def _conflict(book: ShownBook, said: _Said) -> Conflict:
    fraud = None if said.note is None or said.key is None else _fraud(book, said.note, said.key)
    return Conflict(said.place, said.words, fraud)


def _fraud(book: ShownBook, note: bytes, key: VerifierKey) -> FraudProof | None:
    """The proof that one key signed two books; None where no note of its own is at hand."""
    for own in book.notes:
        try:
            tree = LeafTree.of_lines(book.lines, Checkpoint.open(own, key).size)
            found = fraud_between(note, own, key, tree=tree)
        except (FormatError, IntegrityError):
            continue
        if found is not None and is_shown(found):
            return found
    return None
