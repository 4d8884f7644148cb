"""`beforehand verify` on a book in the seed's format: chain, stamped lists, outside evidence.

The recipe's steps that such a book has: 3 and 4 over its lines, those of its
chain of asks, and 10: what others saw. Its lists are compared with the books
that they name, and the evidence beside them is opened with the reader's trust.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from beforehand.anchors.anchor import CHECKS, REFUSED, Subject, Verdict
from beforehand.anchors.lone import check_bytes
from beforehand.book.folder import DirectoryFolder, Folder, read_file
from beforehand.book.manifest import MANIFEST_PATH
from beforehand.book.options import Options
from beforehand.book.parallel import in_processes
from beforehand.book.report import Report
from beforehand.book.verify import verify_book
from beforehand.book.walk import Pieces
from beforehand.cli.exclusivity import search_for_second
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.clock import instant_text
from beforehand.errors import FormatError
from beforehand.publish.conformance.book_form import is_list_of
from beforehand.publish.conformance.conform import read_exhibit
from beforehand.publish.conformance.evidence import MAX_EVIDENCE_BYTES
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.said import Stamp, moment, text
from beforehand.publish.conformance.standard_file import StandardFile
from beforehand.publish.conformance.walk_lines import MAX_STAMP_BYTES, read_stamps
from beforehand.publish.levels import Checked, least_levels, levels_of_facts
from beforehand.publish.second_book import ShownBook
from beforehand.publish.seed_facts import SeedFacts
from beforehand.records.codec import MAX_LINE_BYTES, decode_json

OTHER_BOOKS = "/book.jsonl"
CLOCK = (
    "whether its time is live: no line of the seed's format says it, and the ends of events are "
    "those of the published table"
)
UNREAD = (
    "scores, tables, texts, and whether the counted run follows the rule: `beforehand conform` "
    "judges them"
)


def seed_book_in(path: Path) -> str | None:
    """The book in the seed's format that a folder holds; None where it is another folder."""
    folder = DirectoryFolder(path)
    if folder.has(MANIFEST_PATH):
        return None
    standard = StandardFile.read(folder)
    if standard is not None:
        mapped = standard.one("book")
        return mapped if mapped is not None and folder.has(mapped) else None
    books = [name for name in folder.names() if name.endswith("book.jsonl")]
    ours = [name for name in books if name.startswith("api/v1/") and name.endswith(OTHER_BOOKS)]
    if len(books) != 1 or ours or _kind_of_first(folder, books[0]) == "league":
        return None
    return books[0]


def _kind_of_first(folder: Folder, book: str) -> str:
    with folder.open(book) as stream:
        raw = stream.readline(MAX_LINE_BYTES)
    try:
        return text(decode_json(raw), "kind")
    except FormatError:
        return ""


def verify_seed(
    path: Path, book: str, options: Options, reader: ReaderTrust, processes: int = 1
) -> Report:
    """The report on a folder that holds `book`; FormatError where it could not be checked."""
    walk = in_processes(processes) if processes > 1 else None
    folder = DirectoryFolder(path)
    report = verify_book(folder, book, options, walk)
    standard = StandardFile.read(folder)
    exhibit = read_exhibit(folder, options.as_of, standard=standard)
    facts = SeedFacts(exhibit)
    if facts.asks_file:
        _add_asks(report, folder, facts.asks_file, options, walk)
    stamps = _stamps(folder, standard)
    lists = {stamp.place.file for stamp in stamps}
    for place, said in exhibit.chain:
        if place.file in lists:
            report.find(10, place.file, said)
    verdicts = _Verdicts(report, folder, reader, options.as_of)
    over = {
        name: list(verdicts.over(name, stamps, exhibit))
        for name in dict.fromkeys((book, facts.asks_file or book))
    }
    _check_brackets(report, book, facts, over[book])
    searched = search_for_second(report, book, _shown(folder, book, stamps), reader)
    levels = levels_of_facts(
        facts,
        over[book],
        sound=not report.findings,
        ruled=over.get(facts.rule_file, []),
        searched=searched,
    )
    league = report.leagues[book]
    league["stamped_lists"] = len(lists)
    league["levels"] = {
        run: {key: level.content() for key, level in held.items()} for run, held in levels.items()
    }
    league["least_levels"] = least_levels(levels)
    report.not_checked += [CLOCK, UNREAD]
    if facts.own_references:
        report.notes.append(
            f"{facts.own_references} rows are scored from references of their own, which stand "
            "outside P1b: their first price is none that was there before"
        )
    return report


def _shown(folder: Folder, book: str, stamps: Sequence[Stamp]) -> ShownBook:
    """The book that is shown, by the paths that its own lists give it."""
    with folder.open(book) as stream:
        lines = stream.read().split(b"\n")[:-1]
    return ShownBook(lines, frozenset(s.path for s in stamps if is_list_of(s.path, book)))


def _add_asks(
    report: Report, folder: Folder, name: str, options: Options, walk: Pieces | None
) -> None:
    """The chain of asks is walked as the book is."""
    asks = verify_book(folder, name, Options(as_of=options.as_of, progress=options.progress), walk)
    for found in asks.findings:
        report.find(found.step, found.place, found.message)
    report.unmet += asks.unmet
    report.notes.append(f"{name}: {asks.leagues[name]['lines']} lines, a chain of its own")


def _check_brackets(
    report: Report, book: str, facts: SeedFacts, checked: Sequence[Checked]
) -> None:
    """No run says that it began after others had its line already."""
    for run in facts.runs.values():
        proved = [each.proved for each in checked if each.size >= run.line and each.proved]
        begun = moment(run.at)
        if proved and begun is not None and begun > min(proved):
            said = f"at {run.at} is after {instant_text(min(proved))}, when others had it already"
            report.find(10, f"{book} line {run.line}", said)


def _stamps(folder: Folder, standard: StandardFile | None) -> list[Stamp]:
    names = folder.names() if standard is None else standard.names()
    mapped = () if standard is None else standard.files.get("stamps", ())
    return read_stamps(folder, [name for name in names if folder.has(name)], mapped)


class _Verdicts:
    """The evidence beside lists, each piece opened and told once."""

    def __init__(self, report: Report, folder: Folder, reader: ReaderTrust, as_of: str) -> None:
        self._report, self._folder, self._reader = report, folder, reader
        self._as_of = as_of
        self._held: dict[tuple[str, str], Verdict | None] = {}

    def over(self, name: str, stamps: Sequence[Stamp], exhibit: Exhibit) -> Iterator[Checked]:
        """The verdicts on evidence over lists that the file `name` keeps to."""
        for stamp in stamps:
            if not is_list_of(stamp.path, name):
                continue
            for promise in stamp.promises:
                self._say(f"{promise}: pending, a promise and no proof")
            if any(_same(stamp, misfit) for misfit in exhibit.misfits):
                continue  # a finding already: what it stamps is another book
            for proof in stamp.proofs:
                verdict = self._verdict(stamp.place.file, proof)
                if verdict is not None:
                    yield Checked(_anchor_of(proof), stamp.lines, verdict)

    def _verdict(self, listed: str, proof: str) -> Verdict | None:
        key = (listed, proof)
        if key not in self._held:
            self._held[key] = self._opened(listed, proof)
        return self._held[key]

    def _opened(self, listed: str, proof: str) -> Verdict | None:
        try:
            subject = Subject.of_bytes(read_file(self._folder, listed, MAX_STAMP_BYTES))
            data = read_file(self._folder, proof, MAX_EVIDENCE_BYTES)
            verdict = check_bytes(data, subject, self._reader.trust, self._as_of)
        except FormatError as error:
            self._report.find(10, proof, str(error))
            return None
        if verdict.result == REFUSED and self._reader.given:
            self._report.find(10, proof, verdict.words)
        elif verdict.result != CHECKS:
            self._say(f"{proof}: present, not checked: {verdict.words}")
        return verdict

    def _say(self, words: str) -> None:
        if words not in self._report.not_checked:
            self._report.not_checked.append(words)


def _same(one: Stamp, other: Stamp) -> bool:
    return (one.place, one.path) == (other.place, other.path)


def _anchor_of(proof: str) -> str:
    """What a file beside a list calls its anchor: of HHMMSSZ.txt.freetsa.tsr, freetsa."""
    words = proof.rpartition(".txt.")[2]
    return words.rpartition(".")[0] or words
