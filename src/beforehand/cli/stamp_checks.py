"""The stamps of a published league, opened over the lists that they stamp.

They lie beside the book in `stamps/`, and are sealed in its own proof lines: a
folder without the former still has the latter, and a book that was rewritten
contradicts the lists that it sealed itself.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from beforehand.anchors.anchor import CHECKS, MAX_EVIDENCE_BYTES, REFUSED, Subject
from beforehand.anchors.lone import check_bytes
from beforehand.book.bodies import body_path, check_body
from beforehand.book.report import Report
from beforehand.book.stamped_list import MAX_LIST_BYTES, Prefixes, StampedList
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.conformance.said import listed, number, text
from beforehand.publish.levels import Checked
from beforehand.publish.run_facts import read_fields
from beforehand.publish.stamps import WITNESS_NAME
from beforehand.records.codec import digest, is_digest
from beforehand.stages.anchoring import LIST_NAME, PENDING_SUFFIX, STAMPS, kept_stamps

_WITNESS = "witness"


@dataclass(frozen=True)
class _Stamped:
    """A list and what vouches for it; no evidence where a proof line has none that is complete."""

    place: str
    anchor: str
    size: int
    listed: bytes
    data: bytes | None


def check_stamps(
    report: Report,
    base: Path,
    path: str,
    lines: Sequence[bytes],
    reader: ReaderTrust,
    as_of: str,
) -> list[Checked]:
    """The verdict on every piece of evidence whose list the book keeps to.

    A list that the book does not keep to is a finding, detached or sealed.
    Evidence that stands in both places is judged once.
    """
    check = _StampCheck(report, lines, reader, as_of)
    for stamp in kept_stamps(base):
        place = f"{path}/{STAMPS}/{stamp.size}/{stamp.path.name}"
        if stamp.path.name.endswith(PENDING_SUFFIX):
            report.not_checked.append(f"{place}: pending, a promise and no proof")
            continue
        if stamp.path.name == WITNESS_NAME:
            continue  # its lines stand on the checkpoint
        try:
            listed_bytes, data = _list_beside(stamp.path), stamp.data()
        except (OSError, FormatError) as error:
            report.find(10, place, str(error))
            continue
        check.take(_Stamped(place, stamp.anchor, stamp.size, listed_bytes, data))
    for piece in _sealed(base, path, lines):
        check.take(piece)
    return check.checked


def _list_beside(evidence: Path) -> bytes:
    path = evidence.with_name(LIST_NAME)
    if path.stat().st_size > MAX_LIST_BYTES:
        raise FormatError(f"a stamped list over {MAX_LIST_BYTES} bytes")
    return path.read_bytes()


class _StampCheck:
    """Lists compared with the book, and evidence judged over them, each pair once."""

    def __init__(
        self, report: Report, lines: Sequence[bytes], reader: ReaderTrust, as_of: str
    ) -> None:
        self.checked: list[Checked] = []
        self._report, self._reader, self._as_of = report, reader, as_of
        # Walked once: lists come with the sizes that they are over, the smallest first.
        self._book = Prefixes(io.BytesIO(b"".join(line + b"\n" for line in lines)))
        self._lists: dict[str, int | str] = {}
        self._judged: set[tuple[str, str]] = set()

    def take(self, piece: _Stamped) -> None:
        """One piece; nothing is judged over a list that the book does not keep to."""
        name = digest(piece.listed)
        pair = name, digest(piece.data or b"")
        held = self._lines_of(name, piece.listed)
        if held == piece.size:
            if piece.data is not None and pair not in self._judged:
                self._judge(piece, piece.data)
        elif pair not in self._judged:
            said = f"the list is over {held} lines and lies with those over {piece.size}"
            self._report.find(10, piece.place, held if isinstance(held, str) else said)
        self._judged.add(pair)

    def _lines_of(self, name: str, listed_bytes: bytes) -> int | str:
        """Over how many lines of this book the list is, or why it is not."""
        if name not in self._lists:
            try:
                stamped = StampedList.parse(listed_bytes)
                self._lists[name] = self._book.check(stamped).lines
            except (FormatError, IntegrityError) as error:
                self._lists[name] = str(error)
        return self._lists[name]

    def _judge(self, piece: _Stamped, data: bytes) -> None:
        subject = Subject.of_bytes(piece.listed)
        try:
            verdict = check_bytes(data, subject, self._reader.trust, self._as_of)
        except (FormatError, IntegrityError) as error:
            self._report.find(10, piece.place, str(error))
            return
        if verdict.result == REFUSED and self._reader.given:
            self._report.find(10, piece.place, verdict.words)
        elif verdict.result != CHECKS:
            said = f"{piece.place}: present, not checked: {verdict.words}"
            self._report.not_checked.append(said)
        self.checked.append(Checked(piece.anchor, piece.size, verdict))


def _sealed(base: Path, path: str, lines: Sequence[bytes]) -> Iterator[_Stamped]:
    """What the book's proof lines seal, as far as its bodies are there: one lacking is a finding
    of step 6."""
    for n, raw in enumerate(lines, 1):
        if b'"proof"' not in raw and b"\\u" not in raw:
            continue
        value = read_fields(raw)
        if value.get("kind") != "proof":
            continue
        named = {
            text(body, "role"): text(body, "sha256")
            for body in listed(value, "bodies")
            if isinstance(body, dict)
        }
        held = _body(base, named.get("list", ""), MAX_LIST_BYTES)
        if held is None:
            continue
        anchor, complete = text(value, "anchor"), value.get("state") == "complete"
        wanted = named.get("proof", "") if complete and anchor != _WITNESS else ""
        yield _Stamped(
            f"{path}/book.jsonl line {n}",
            anchor,
            number(value, "checkpoint_size") or 0,
            held,
            _body(base, wanted, MAX_EVIDENCE_BYTES),
        )


def _body(base: Path, sha256: str, most: int) -> bytes | None:
    if not is_digest(sha256):
        return None
    file = base / body_path(sha256)
    try:
        if file.stat().st_size > most:
            return None
        data = file.read_bytes()
        check_body(data, sha256)
    except (OSError, IntegrityError):
        return None
    return data
