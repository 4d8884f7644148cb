"""A stamped list beside the file that it names: whether the file still keeps to it."""

from __future__ import annotations

from pathlib import Path

from beforehand.anchors.anchor import CHECKS, Verdict, refused, unchecked
from beforehand.book.stamped_list import ListedBook, StampedList, check_listed
from beforehand.errors import FormatError, IntegrityError

KIND = "list"
# A list may name many books, and each is hashed in turn until one fits.
MOST_TRIED = 16

_GAPS = (
    "a list made afterwards: alone it proves no time",
    "another list over another book, made beside this one",
)
_NEXT = "check the evidence over the list too: its .ots, .tsr, … lie beside it"


def check_list(stamped: StampedList, file: Path) -> Verdict:
    """Whether a file begins with the lines that a list names; a list alone proves no time.

    Of several books the one with the file's name is meant, else any that fits.
    """
    named = [book for book in stamped.books if book.path.rpartition("/")[2] == file.name]
    tried = named or list(stamped.books)
    if len(tried) > MOST_TRIED:
        return unchecked(f"the list names {len(tried)} books, and none by the name {file.name!r}")
    faults = []
    for book in tried:
        try:
            return _fits(_checked(stamped, file, book))
        except IntegrityError as error:
            faults.append(str(error) if len(tried) == 1 else f"{book.path:.80}: {error}")
        except (FormatError, OSError) as error:
            return unchecked(f"{file}: {error}")
    return refused(faults[0], *faults[1:])


def _checked(stamped: StampedList, file: Path, book: ListedBook) -> ListedBook:
    with file.open("rb") as stream:
        return check_listed(stream, stamped, book.path)


def _fits(book: ListedBook) -> Verdict:
    return Verdict(
        CHECKS,
        f"the file begins with the {book.lines} lines that the list names as {book.path}",
        excludes_not=_GAPS,
        notes=(_NEXT,),
        kind=KIND,
        bound=False,
    )
