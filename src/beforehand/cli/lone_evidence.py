"""One file and one piece of evidence beside it, for `beforehand verify FILE EVIDENCE`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from beforehand.anchors.anchor import CHECKS, Verdict, refused, unchecked
from beforehand.anchors.lone import check_evidence
from beforehand.anchors.tile_log import ask_log
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.errors import FormatError, IntegrityError, RemoteError
from beforehand.stages.anchoring import PENDING_SUFFIX


def lone_evidence(
    file: Path, evidence: Path, reader: ReaderTrust, as_of: str, log: str | None = None
) -> tuple[int, str]:
    """The exit code, and the words for it.

    `log` is the address of a log that is asked whether its tree still holds
    the entry; no connection is opened without it.
    """
    if evidence.name.endswith(PENDING_SUFFIX):
        verdict = unchecked("pending: a promise and no proof")
    else:
        verdict = check_evidence(file, evidence, reader.trust, as_of)
        if log is not None and verdict.result == CHECKS:
            verdict = _asked(verdict, evidence, log, reader)
    return verdict.exit_code, verdict.text()


def _asked(verdict: Verdict, evidence: Path, url: str, reader: ReaderTrust) -> Verdict:
    """The verdict after the log was asked: what it shows now can only take away from it."""
    try:
        said = ask_log(evidence.read_bytes(), url, reader.trust)
    except IntegrityError as error:
        return refused(str(error), f"without asking the log: {verdict.words}")
    except (RemoteError, FormatError) as error:
        return unchecked(f"the log: {error}", f"without asking the log: {verdict.words}")
    return replace(verdict, notes=(*verdict.notes, said))
