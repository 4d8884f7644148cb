"""The checkpoint that a reader kept from before, and the book of today."""

from __future__ import annotations

from beforehand.book.checkpoint import Checkpoint, VerifierKey
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk
from beforehand.errors import FormatError, IntegrityError


def kept_checkpoint(note: bytes) -> Checkpoint:
    """The checkpoint of a kept note, unopened; FormatError where it is none, or covers nothing."""
    try:
        text = note.decode("utf-8").rpartition("\n\n")[0] + "\n"
    except UnicodeDecodeError as error:
        raise FormatError(f"--since is not UTF-8: {error}") from None
    point = Checkpoint.parse(text)
    if point.size == 0:
        raise FormatError("--since is a checkpoint of 0 lines: it proves nothing")
    return point


def check_kept(report: Report, label: str, note: bytes, key: str) -> None:
    """A finding of step 8 unless `key` signed the note."""
    try:
        Checkpoint.open(note, VerifierKey.parse(key))
    except (FormatError, IntegrityError) as error:
        report.find(8, label, str(error))


def compare_kept(report: Report, label: str, kept: Checkpoint, chain: ChainWalk) -> None:
    """A finding of step 8 unless the book begins with what was kept."""
    has = chain.frontier.size
    if kept.size > has:
        message = f"you hold {kept.size} lines, the book has {has}: cut or rolled back"
        report.find(8, label, message)
    elif chain.roots[kept.size] != kept.root:
        report.find(8, label, f"the first {kept.size} lines are not those you hold: rewritten")
