"""Writing the record of a second pipeline: its own figures of a frozen release, signed.

What the record holds, and who compares it, `conformance/replication.py` says.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from beforehand.book.checkpoint import Signer, VerifierKey, sign_note
from beforehand.errors import FormatError
from beforehand.publish.conformance.replication import REPLICATION_FORMAT, replication_text
from beforehand.records.codec import decode_json, digest, is_digest

COLUMNS = ("forecaster", "n_counted", "brier")
MAX_FIGURES_BYTES = 4 << 20
MAX_RELEASE_BYTES = 64 << 20


def read_figures(data: bytes, name: str) -> list[dict[str, Any]]:
    """The rows of a CSV with the columns forecaster, n_counted (an integer) and brier (a decimal).

    FormatError names the row that is none, or a forecaster that stands twice.
    """
    if len(data) > MAX_FIGURES_BYTES:
        raise FormatError(f"{name} is over the limit of {MAX_FIGURES_BYTES} bytes")
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        lacking = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if lacking:
            raise FormatError(f"{name} lacks the columns {', '.join(lacking)}")
        figures = [_figure(row, f"{name} row {n}") for n, row in enumerate(reader, 1)]
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise FormatError(f"{name}: {error}") from None
    names = [figure["forecaster"] for figure in figures]
    twice = [each for each in names if names.count(each) > 1]
    if twice:
        raise FormatError(f"{name}: {twice[0]!r:.80} stands twice")
    if not figures:
        raise FormatError(f"{name} holds no figure")
    return figures


def _figure(row: Mapping[str, str | None], place: str) -> dict[str, Any]:
    forecaster, counted, brier = (row[column] or "" for column in COLUMNS)
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


def release_named(path: Path) -> dict[str, str]:
    """The release of a folder, by its name and the hash of its manifest, as `release.json` says."""
    file = path / "release.json"
    if not file.is_file():
        raise FormatError(f"{path} holds no release.json: give the folder of a release")
    with file.open("rb") as stream:
        data = stream.read(MAX_RELEASE_BYTES + 1)
    if len(data) > MAX_RELEASE_BYTES:
        raise FormatError(f"{file} is over the limit of {MAX_RELEASE_BYTES} bytes")
    value = decode_json(data)
    held = value if isinstance(value, dict) else {}
    name, sha256 = held.get("release"), held.get("manifest_sha256")
    if not isinstance(name, str) or not is_digest(sha256):
        raise FormatError(f"{file} does not name a release and the hash of its manifest")
    return {"release": name, "manifest_sha256": str(sha256)}


def replication_record(
    release: Mapping[str, str],
    figures: list[dict[str, Any]],
    code: tuple[str, bytes],
    by: str,
    key: tuple[VerifierKey, Signer],
) -> dict[str, Any]:
    """The signed record; `code` is the second pipeline's file, by its name and bytes."""
    verifier, sign = key
    value: dict[str, Any] = {
        "format": REPLICATION_FORMAT,
        "release": dict(release),
        "by": by,
        "key": verifier.text(),
        "code": {"file": code[0], "sha256": digest(code[1])},
        "figures": figures,
    }
    return {**value, "note": sign_note(replication_text(value), verifier, sign)}
