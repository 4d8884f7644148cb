"""Whether others hold a second book of a league: a reader's clones, and what the reader kept.

`clones.json` of the reader's trust names clones of foreign repositories;
`seen/` holds lists and checkpoints that the reader got elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from beforehand.anchors.git_blobs import small_blobs
from beforehand.book.checkpoint import VerifierKey
from beforehand.book.folder import DirectoryFolder, read_file
from beforehand.book.key_history import key_history
from beforehand.book.report import Report
from beforehand.book.stamped_list import StampedList
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
from beforehand.publish.run_facts import read_fields
from beforehand.publish.second_book import (
    MAX_PIECE_BYTES,
    Piece,
    Searched,
    ShownBook,
    look_for_second,
)
from beforehand.stages.anchoring import LIST_NAME, STAMPS

SEEN = "seen"
MAX_SEEN = 100_000


def search_for_second(
    report: Report, name: str, book: ShownBook, reader: ReaderTrust
) -> Searched | None:
    """Look through all that the reader holds; a conflict is a finding of step 10.

    None where the reader holds nothing to look in.
    """
    clones = reader.trust.clones
    if not clones and reader.seen is None:
        return None
    searched = Searched()
    for address, clone in clones.items():
        try:
            held = list(_of_clone(address, clone.path))
        except (FormatError, RemoteError, RuleError) as error:
            report.not_checked.append(f"{name}: a second book in {address:.200}: {error}")
            continue
        searched.channels.append(address[:200])
        look_for_second(book, held, searched)
    if reader.seen is not None:
        searched.channels.append(f"{SEEN}/")
        look_for_second(book, _of_folder(report, reader.seen), searched)
    if not searched.channels:
        return None
    _tell(report, name, searched)
    return searched


def _of_clone(address: str, path: Path) -> Iterator[Piece]:
    for place, data in small_blobs(path, MAX_PIECE_BYTES):
        yield Piece(f"{address:.200}: {place:.200}", data)


def _of_folder(report: Report, path: Path) -> Iterator[Piece]:
    folder = DirectoryFolder(path)
    names = folder.names()
    if len(names) > MAX_SEEN:
        raise FormatError(f"{path} holds over {MAX_SEEN} files")
    for name in names:
        try:
            yield Piece(f"{SEEN}/{name}", read_file(folder, name, MAX_PIECE_BYTES))
        except FormatError as error:
            report.not_checked.append(f"{SEEN}/{name}: {error}")


def _tell(report: Report, name: str, searched: Searched) -> None:
    for conflict in searched.conflicts:
        said = f"a second book: {conflict.words}"
        if conflict.fraud is not None:
            said += "; both are signed, which is a fraud proof (--fraud OUT keeps it)"
        report.find(10, conflict.place, said)
    if searched.longer:
        report.not_checked.append(
            f"{name}: {searched.longer[0]}: more than this book has (and "
            f"{len(searched.longer) - 1} more such): fetch it again, or its tail is withheld"
        )
    if searched.unsigned:
        report.not_checked.append(
            f"{name}: {searched.unsigned[0]} is a checkpoint of this origin without its signature "
            f"(and {len(searched.unsigned) - 1} more such): anybody may have written it"
        )
    if searched.nameless:
        report.not_checked.append(
            f"{name}: {searched.nameless[0]} is a list of this book's path over other lines, and "
            f"names no origin (and {len(searched.nameless) - 1} more such): another league's, or a "
            "second book"
        )
    report.notes.append(f"{name}: {searched.text()}; other channels are not excluded")
    frauds = [each.fraud.data().decode("utf-8") for each in searched.conflicts if each.fraud]
    if frauds:
        report.leagues[name]["fraud_proofs"] = frauds


def shown_league(base: Path, lines: Sequence[bytes]) -> ShownBook:
    """A published league as its folder shows it: its keys, lists and signed checkpoints."""
    try:
        keys: tuple[VerifierKey, ...] = tuple(key for _, key in key_history(lines).changes)
    except (FormatError, IntegrityError):
        keys = ()
    notes = [base / "checkpoint", *sorted((base / "checkpoints").glob("[0-9]*"))]
    return ShownBook(
        lines,
        frozenset(_paths(base)),
        str(read_fields(lines[0]).get("origin")) if lines else None,
        keys,
        tuple(path.read_bytes() for path in notes if path.is_file()),
    )


def _paths(base: Path) -> Iterator[str]:
    """What the league's own lists, detached or sealed, call its book."""
    for path in sorted((base / STAMPS).glob(f"*/{LIST_NAME}")):
        try:
            yield from (book.path for book in StampedList.parse(path.read_bytes()).books)
        except FormatError:
            continue  # a finding of the list itself


def kept_fraud(report: Report) -> str | None:
    """The first fraud proof of a report, as the file that keeps it."""
    for league in report.leagues.values():
        for text in league.get("fraud_proofs", ()):
            return str(text)
    return None
