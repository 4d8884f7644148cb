"""A proof file read from disk; parts that are not what it says of them are findings.

Reading a proof stops at the first such part. A reader is told which file, which
part, and that they differ: somebody changed it, or a copy went wrong. What has
not the form of a proof is no proof, and could not be checked.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beforehand.book.proof_file import MAX_PROOF_BYTES, ProofFile
from beforehand.book.report import Report
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, digest

_HASHED_PARTS = (("bodies", "role", "body"), ("evidence", "anchor", "evidence"))


def read_proof(path: Path, as_of: str) -> ProofFile | Report:
    """The proof of a file, or the findings on one whose enclosed parts do not match.

    FormatError, with the file's name, where it is no proof file at all.
    """
    with path.open("rb") as stream:
        data = stream.read(MAX_PROOF_BYTES + 1)
    try:
        return ProofFile.parse(data)
    except FormatError as error:
        report = Report(as_of)
        for what, said in _unlike_parts(data):
            report.find(6, f"{path.name}: the enclosed {what}", said)
        if not report.findings:
            raise FormatError(f"{path}: {error}") from None
        report.not_checked.append("everything else in it: a proof is checked whole or not at all")
        return report


def _unlike_parts(data: bytes) -> Iterator[tuple[str, str]]:
    """Each enclosed part that does not hash to what the file says beside it."""
    try:
        content = decode_json(data)
    except FormatError:
        return
    for key, name, word in _HASHED_PARTS:
        for part in _part_objects(content, key):
            held = _part_bytes(part.get("data"))
            if held is not None and digest(held) != part.get("sha256"):
                said = f"hashes to {digest(held)}, and the file says {part.get('sha256')!s:.80}"
                yield f"{word} {part.get(name)!r:.80}", said


def _part_objects(content: Any, key: str) -> list[dict[str, Any]]:
    parts = content.get(key) if isinstance(content, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _part_bytes(coded: Any) -> bytes | None:
    """What a part encloses, however badly it is spelled; None where that is no base64."""
    try:
        return base64.b64decode(coded, validate=True) if isinstance(coded, str) else None
    except (binascii.Error, ValueError):
        return None
