"""What a forecast was traded at; an account is computed from these, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from beforehand.records.record import Record
from beforehand.records.shape import Integer, Name, Number, Shape


@dataclass(frozen=True, kw_only=True)
class Fill(Record):
    """A simulated execution against sealed depth: shares bought (sold below zero), money paid."""

    kind: ClassVar[str] = "fill"
    own: ClassVar[Mapping[str, Shape]] = {
        "account": Name(),
        "order": Name(),
        "depth_line": Integer(1),
        "shares": Number(),
        "money": Number(),
    }

    account: str
    order: str
    depth_line: int
    shares: str
    money: str


@dataclass(frozen=True, kw_only=True)
class Mark(Record):
    """The value of an account's positions at sealed depth."""

    kind: ClassVar[str] = "mark"
    own: ClassVar[Mapping[str, Shape]] = {
        "account": Name(),
        "order": Name(),
        "depth_line": Integer(1),
        "shares": Number(),
        "money": Number(),
    }

    account: str
    order: str
    depth_line: int
    shares: str
    money: str
