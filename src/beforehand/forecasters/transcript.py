"""The record of an ask that took several round trips: one JSON line for each, nothing left out.

An ask of one exchange keeps the bytes of that exchange as they came. Where a
tool is called between, every request and every answer is a line of its own,
in the order in which they were made.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

FORMAT = "beforehand-exchange/1"
_START = b'{"exchange": "' + FORMAT.encode() + b'"'


class Transcript:
    """Lines as they are added."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, to: str, sent: bytes, received: bytes, **more: Any) -> None:
        """One round trip: to whom, what was sent, what came back, and what else is known."""
        line = {
            "exchange": FORMAT,
            "n": len(self._lines) + 1,
            "to": to,
            **more,
            "sent": text_of(sent),
            "received": text_of(received),
        }
        self._lines.append(json.dumps(line, ensure_ascii=True).encode())

    def data(self) -> bytes:
        """The bytes of the record."""
        return b"".join(line + b"\n" for line in self._lines)


def text_of(data: bytes) -> str | dict[str, str]:
    """Bytes as text, or in base 64 where they are no UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def bytes_of(value: Any) -> bytes:
    """The bytes that `text_of` was given; empty for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and isinstance(value.get("base64"), str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except ValueError:
            return b""
    return b""


def round_trips(raw: bytes) -> Iterator[Mapping[str, Any]]:
    """The round trips in a record; none where the bytes are of another kind."""
    if not raw.startswith(_START):
        return
    for line in raw.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def last_received(raw: bytes) -> bytes:
    """What the model sent last: the body to judge. Bytes of one exchange are that themselves."""
    trips = [trip for trip in round_trips(raw) if trip.get("to") == "model"]
    return bytes_of(trips[-1].get("received")) if trips else raw
