"""The Frictionless data package of a league: dictionary, licence, attribution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beforehand.publish.attempts_table import ATTEMPT_COLUMNS
from beforehand.publish.fold import LeagueFold
from beforehand.publish.tables import COLUMNS, Column
from beforehand.records.codec import digest

LICENCES = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
}


def data_package(fold: LeagueFold, base: Path) -> dict[str, Any]:
    """`datapackage.json` (Data Package 1, Table Schema) for the tables written at `base`."""
    declared = fold.declaration
    title, path = LICENCES.get(declared.licence, (declared.licence, ""))
    licence = {"name": declared.licence, "title": title, **({"path": path} if path else {})}
    return {
        "profile": "data-package",
        "name": re.sub(r"[^a-z0-9._-]", "-", fold.league.league.lower()),
        "title": declared.title,
        "description": f"{declared.title}: {fold.lines} lines of {fold.league.origin}.",
        "licenses": [licence],
        "attribution": declared.attribution,
        "resources": [
            _table(base, "forecasts.csv", COLUMNS, ["run", "forecaster", "question", "line"]),
            _table(base, "attempts.csv", ATTEMPT_COLUMNS, ["ask_line", "answer_line"]),
            _resource(base, "forecasts.parquet", "parquet", "application/vnd.apache.parquet"),
            _resource(base, "leaderboard.json", "json", "application/json"),
            _resource(base, "league.sqlite", "sqlite", "application/vnd.sqlite3"),
            _resource(base, "book.jsonl", "jsonl", "application/jsonl"),
        ],
    }


def _table(
    base: Path, name: str, columns: Sequence[Column[Any]], key: Sequence[str]
) -> dict[str, Any]:
    """A CSV file with its data dictionary (Table Schema)."""
    return {
        **_resource(base, name, "csv", "text/csv"),
        "profile": "tabular-data-resource",
        "encoding": "utf-8",
        "schema": {
            "fields": [
                {"name": column.name, "type": column.type, "description": column.meaning}
                for column in columns
            ],
            "missingValues": [""],
            "primaryKey": list(key),
        },
    }


def _resource(base: Path, name: str, form: str, media: str) -> dict[str, Any]:
    data = (base / name).read_bytes()
    return {
        "name": name.replace(".", "-"),
        "path": name,
        "format": form,
        "mediatype": media,
        "bytes": len(data),
        "hash": f"sha256:{digest(data)}",
    }
