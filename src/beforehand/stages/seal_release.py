"""Sealing a release: the hash of what was published returns to the book."""

from __future__ import annotations

from beforehand.errors import RuleError
from beforehand.records.evidence import Release
from beforehand.stages.pen import Pen


def seal_release(pen: Pen, name: str, manifest_sha256: str, lines: int) -> bool:
    """Append the release's line and sign a checkpoint; False where it was done before."""
    for _, record in pen.records():
        if isinstance(record, Release) and record.release == name:
            if (record.manifest_sha256, record.lines) != (manifest_sha256, lines):
                raise RuleError(f"the book seals another release under the name {name}")
            return False
    pen.write(
        lambda at: [Release(at=at, release=name, manifest_sha256=manifest_sha256, lines=lines)]
    )
    pen.checkpoint()
    return True
