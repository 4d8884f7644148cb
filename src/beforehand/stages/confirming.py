"""Sealing what a second source says of outcomes that are settled."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from beforehand.errors import FormatError, RuleError
from beforehand.records.codec import digest
from beforehand.records.record import BodyRef
from beforehand.records.resolution import Confirmation, Resolution
from beforehand.stages.pen import Pen

COLUMNS = ("question", "value", "instant")
MAX_CONFIRMING_BYTES = 16 << 20
EVIDENCE = "evidence"


@dataclass(frozen=True)
class Said:
    """One row of a second source's table: a question's outcome, and when it was so."""

    question: str
    value: str
    instant: str


def read_table(data: bytes, name: str) -> list[Said]:
    """The rows of a CSV with the columns question, value (yes, no, void) and instant."""
    if len(data) > MAX_CONFIRMING_BYTES:
        raise FormatError(f"{name} is over the limit of {MAX_CONFIRMING_BYTES} bytes")
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        header = list(reader.fieldnames or ())
        if not set(COLUMNS) <= set(header):
            wanted, found = ", ".join(COLUMNS), ", ".join(header)
            raise FormatError(f"{name}: its columns are {found:.200}; needed: {wanted}")
        rows = [Said(*(row[column] or "" for column in COLUMNS)) for row in reader]
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise FormatError(f"{name}: {error}") from None
    if not rows:
        raise FormatError(f"{name} has no row")
    return rows


def confirm(pen: Pen, rows: list[Said], evidence: bytes, source: str) -> int:
    """Seal a confirmation line a row, `evidence` as what the source said; how many are new.

    A source that changes its word has a line more: both stand. RuleError where
    a question is not settled, where its own source is the same one, or where
    the table says two things of it.
    """
    settled: dict[str, tuple[int, Resolution]] = {}
    held: dict[tuple[str, str], str] = {}
    for n, record in pen.records():
        if isinstance(record, Resolution):
            settled.setdefault(record.question, (n, record))
        elif isinstance(record, Confirmation):
            held[record.question, _plain(record.source)] = record.value
    said: dict[str, Said] = {}
    for row in rows:
        if said.setdefault(row.question, row).value != row.value:
            raise RuleError(f"{row.question:.80} stands twice in the table, with two values")
    fresh = [row for row in said.values() if held.get((row.question, _plain(source))) != row.value]
    for row in fresh:
        _check(row, settled.get(row.question), source)

    def build(at: str) -> list[Confirmation]:
        return [
            Confirmation(
                at=at,
                bodies=(BodyRef(EVIDENCE, digest(evidence), at),),
                question=row.question,
                value=row.value,
                instant=row.instant,
                source=source,
                line=settled[row.question][0],
            )
            for row in fresh
        ]

    if fresh:
        for record in build(pen.now()[0]):
            Confirmation.of(record.content())  # refused before anything is written
        pen.write(build, [evidence])
    return len(fresh)


def _check(row: Said, first: tuple[int, Resolution] | None, source: str) -> None:
    if first is None:
        raise RuleError(f"{row.question:.80} is not settled: a second source confirms an outcome")
    if _plain(first[1].source) == _plain(source):
        raise RuleError(f"{row.question:.80} was settled by {source:.80}: name another source")


def _plain(source: str) -> str:
    return " ".join(source.casefold().split())
