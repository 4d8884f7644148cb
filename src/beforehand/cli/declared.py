"""What the declarations of a published league ask of it, applied by its reader.

Margin, quorum and beacon of its anchors, and the rule by which its runs count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from beforehand.book.bodies import body_path, check_body
from beforehand.book.report import Report
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.run_facts import BookFacts, Declared, read_fields
from beforehand.records.codec import is_digest
from beforehand.records.declaration import Declaration
from beforehand.stages.status import counted


def find_mislabelled(report: Report, lines: Sequence[bytes], path: str, declared: Declared) -> None:
    """Every run whose label is not what the declared rule makes of its slot; or is not judged."""
    runs = BookFacts(lines, declared).runs.values()
    for run in runs:
        if run.mislabelled:
            report.find(10, f"{path}/book.jsonl line {run.line}", f"the run is {run.mislabelled}")
    unjudged = [run for run in runs if run.unjudged]
    if unjudged:
        report.not_checked.append(
            f"{path}: the labels of {counted(len(unjudged), 'run')} (the first is line "
            f"{unjudged[0].line}), counted or not, against the rule: {unjudged[0].unjudged}"
        )


def declared_content(report: Report, base: Path, path: str, lines: Sequence[bytes]) -> Declared:
    """What each segment's declaration says, and under "" the first one.

    Nothing of one that is not there: that is a finding elsewhere. Of one that
    this version cannot read nothing is applied, and that is said.
    """
    held = (
        {"": _declaration_in(report, base, f"{path}/book.jsonl line 1", lines[0])} if lines else {}
    )
    for n, raw in enumerate(lines, 1):
        # A name may be spelled with escapes, and is the same name.
        if b"declaration_sha256" not in raw and b"\\u" not in raw:
            continue
        value = read_fields(raw)
        if value.get("kind") == "segment" and isinstance(value.get("segment"), str):
            place = f"{path}/book.jsonl line {n}"
            held[value["segment"]] = _declaration_in(report, base, place, raw)
    return held


def _declaration_in(report: Report, base: Path, place: str, raw: bytes) -> Mapping[str, Any]:
    sha256 = read_fields(raw).get("declaration_sha256")
    if not is_digest(sha256):
        return {}
    try:
        data = (base / body_path(str(sha256))).read_bytes()
        check_body(data, str(sha256))
    except (OSError, FormatError, IntegrityError):
        return {}
    try:
        return Declaration.parse(data, "its declaration").content
    except FormatError as error:
        report.not_checked.append(
            f"{place}: {error!s:.200}; no margin, quorum, beacon or counted-run rule of it was "
            "applied"
        )
        return {}


def with_margin(reader: ReaderTrust, declared: Mapping[str, Any]) -> ReaderTrust:
    """The reader's trust with the declared margin of a block's time, where that is the longer."""
    margin = timedelta(minutes=declared.get("margin_minutes", 0))
    bitcoin, evm = reader.trust.bitcoin, reader.trust.evm
    trust = replace(
        reader.trust,
        bitcoin=replace(bitcoin, margin=max(bitcoin.margin, margin)),
        evm=replace(evm, margin=max(evm.margin, margin)),
    )
    return replace(reader, trust=trust)
