"""The line format written down a second time, from DESIGN 3 and the seed's Appendix B."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.verify import verify_book

BOOKKEEPING = ("n", "prev", "seal", "link")


def j(value: Any) -> bytes:
    """J, as the standard defines it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sealed(content: dict[str, Any], n: int, prev: str) -> dict[str, Any]:
    """The whole line with this content."""
    linked = {**content, "n": n, "prev": prev, "seal": sha(j(content))}
    return {**linked, "link": sha(j(linked))}


def chained(contents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a book with these contents, floats and all."""
    lines: list[dict[str, Any]] = []
    for n, content in enumerate(contents, 1):
        lines.append(sealed(content, n, lines[-1]["link"] if lines else ""))
    return lines


def stored(lines: Iterable[dict[str, Any]]) -> bytes:
    """A book's bytes: J(line) + LF."""
    return b"".join(j(line) + b"\n" for line in lines)


def note(k: int, **more: Any) -> dict[str, Any]:
    """The content of the `k`-th of many plain lines, one second after the one before."""
    hours, minutes, seconds = k // 3600, k // 60 % 60, k % 60
    at = f"2026-01-{5 + hours // 24:02d}T{hours % 24:02d}:{minutes:02d}:{seconds:02d}Z"
    return {"at": at, "kind": "note", "k": k, **more}


def notes(count: int) -> list[dict[str, Any]]:
    return [note(k) for k in range(count)]


def seed_script(path: Path) -> int:
    """What the seed's Appendix B, step 4 does to a book; the number of its lines."""
    with path.open(encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    prev = ""
    for i, line in enumerate(lines, 1):
        assert line["n"] == i
        assert line["prev"] == prev
        assert line["seal"] == sha(j({k: v for k, v in line.items() if k not in BOOKKEEPING}))
        assert line["link"] == sha(j({k: v for k, v in line.items() if k != "link"}))
        prev = line["link"]
    return len(lines)


class OneBook:
    """A published folder that holds one book, in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def names(self) -> list[str]:
        return ["book.jsonl"]

    def has(self, name: str) -> bool:
        return name == "book.jsonl"

    def open(self, name: str) -> BinaryIO:
        assert name == "book.jsonl"
        return BytesIO(self.data)


def walked(data: bytes) -> Report:
    """What verification says of a bare book."""
    return verify_book(OneBook(data), "book.jsonl", Options(as_of="2026-12-31T00:00:00Z"))


def places(report: Report) -> list[str]:
    """Where the findings are."""
    return [finding.place for finding in report.findings]
