"""Writing the record of a second pipeline: its own figures of a frozen release, signed.

What the record holds, and who compares it, `conformance/replication.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from beforehand.book.checkpoint import Signer, VerifierKey, sign_note
from beforehand.book.folder import DirectoryFolder
from beforehand.errors import FormatError
from beforehand.publish.conformance.replication import REPLICATION_FORMAT, replication_text
from beforehand.publish.conformance.tables import read_table
from beforehand.records.codec import digest, is_digest

COLUMNS = ("forecaster", "n_counted", "brier")


def read_figures(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV with the columns forecaster, n_counted (an integer) and brier (a decimal).

    FormatError names the row that is none, or a forecaster that stands twice.
    """
    header, rows = read_table(DirectoryFolder(path.parent), path.name)
    lacking = [column for column in COLUMNS if column not in header]
    if lacking:
        raise FormatError(f"{path.name} lacks the columns {', '.join(lacking)}")
    figures: dict[str, dict[str, Any]] = {}
    for number, row in rows:
        place = f"{path.name} row {number}"
        figure = _figure(row, place)
        if figures.setdefault(figure["forecaster"], figure) is not figure:
            raise FormatError(f"{place}: {figure['forecaster']!r:.80} stands twice")
    if not figures:
        raise FormatError(f"{path.name} holds no figure")
    return list(figures.values())


def _figure(row: Mapping[str, str], place: str) -> dict[str, Any]:
    forecaster, counted, brier = (row[column] for column in COLUMNS)
    if not forecaster:
        raise FormatError(f"{place}: no forecaster")
    if not (counted.isascii() and counted.isdigit() and len(counted) < 16):
        raise FormatError(f"{place}: n_counted is {counted!r:.40}, not a number of forecasts")
    try:
        score = Decimal(brier)
    except InvalidOperation:
        score = Decimal("NaN")
    if not (score.is_finite() and 0 <= score <= 1):
        raise FormatError(f"{place}: brier is {brier!r:.40}, not decimal text from 0 to 1")
    return {"forecaster": forecaster, "n_counted": int(counted), "brier": brier}


def replication_record(
    release: Mapping[str, Any],
    figures: list[dict[str, Any]],
    code: tuple[str, bytes],
    by: str,
    key: tuple[VerifierKey, Signer],
) -> dict[str, Any]:
    """The signed record of a release's `release.json`; FormatError where that names no manifest.

    `code` is the second pipeline's file, by its name and bytes.
    """
    verifier, sign = key
    named = {name: release.get(name) for name in ("release", "manifest_sha256")}
    if not isinstance(named["release"], str) or not is_digest(named["manifest_sha256"]):
        raise FormatError("release.json does not name a release and the hash of its manifest")
    value: dict[str, Any] = {
        "format": REPLICATION_FORMAT,
        "release": named,
        "by": by,
        "key": verifier.text(),
        "code": {"file": code[0], "sha256": digest(code[1])},
        "figures": figures,
    }
    return {**value, "note": sign_note(replication_text(value), verifier, sign)}
