"""An operator's folder: the declaration, the book, what is published, and what is only state.

::

    DIR/declaration.toml   the league's rules; sealed by `beforehand declare`
    DIR/roster.toml        may be left out: models and entrants from the next cohort on
    DIR/settings.toml      may be left out: addresses and habits, nothing that scores
    DIR/league/            the book, its bodies, its checkpoints, its keys
    DIR/inbox/             submissions from outside that wait to be sealed
    DIR/public/            what anyone may read
    DIR/state/             marks that may be lost without losing a fact
    DIR/clock              simulated time, where the league's time is simulated
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from beforehand.book.reader import BOOK_NAME
from beforehand.book.store import FileStore
from beforehand.clock import Clock, SimulatedClock, SystemClock
from beforehand.errors import FormatError, RuleError
from beforehand.records.declaration import Declaration
from beforehand.records.shape import Integer, Keyed, Listed, Optional, Table, Text
from beforehand.stages.declare import declaration_of, reopen_league
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation

DECLARATION_NAME = "declaration.toml"
SETTINGS_NAME = "settings.toml"
MAX_SETTINGS_BYTES = 64 << 10
EXAMPLE_DOMAIN = ".example/"  # nobody's, by RFC 2606

_URL = Text(300, 8, r"https?://[^\s]+", "a URL")
_SETTINGS = Table(
    {
        "venue": Optional(
            Table(
                {
                    "gamma": Optional(_URL),
                    "clob": Optional(_URL),
                    "kalshi": Optional(_URL),
                    "requests_per_second": Optional(Integer(1, 10_000)),
                }
            )
        ),
        "asking": Optional(Table({"backoff_milliseconds": Optional(Integer(1, 60_000))})),
        "anchors": Optional(
            Table(
                {
                    "calendars": Optional(Listed(_URL, most=20, least=1)),
                    "authorities": Optional(Keyed(_URL)),
                    "rekor": Optional(_URL),
                    "beacon": Optional(_URL),
                    "rekor_version": Optional(Integer(1, 2)),
                    "rekor_key": Optional(Text(2000)),
                    "git": Optional(Text(400)),
                    "archive": Optional(_URL),
                    "archive_of": Optional(_URL),
                    "evm": Optional(_URL),
                    "evm_chain": Optional(Integer(1, 2**53)),
                    "evm_depth": Optional(Integer(1, 10_000)),
                    "evm_most_gwei": Optional(Integer(1, 1_000_000)),
                    "witness_quorum": Optional(Integer(1, 50)),
                    "witnesses": Optional(
                        Listed(Table({"url": _URL, "key": Text(400)}), most=50, least=1)
                    ),
                }
            )
        ),
    }
)


@dataclass(frozen=True)
class LeagueFolder:
    """The folder of one league and its settings."""

    path: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path) -> Self:
        """The folder at `path`; FormatError where its settings are none."""
        file = path / SETTINGS_NAME
        if not file.is_file():
            return cls(path)
        data = file.read_bytes()
        if len(data) > MAX_SETTINGS_BYTES:
            raise FormatError(f"{file}: {len(data)} bytes; the limit is {MAX_SETTINGS_BYTES}")
        try:
            content = tomllib.loads(data.decode("utf-8"))
            _SETTINGS.check(content, "")
        except (ValueError, FormatError) as error:
            raise FormatError(f"{file}: {str(error).removeprefix('.')}") from None
        return cls(path, content)

    @property
    def book(self) -> Path:
        """Where the book lies."""
        return self.path / "league"

    @property
    def public(self) -> Path:
        """Where it is published."""
        return self.path / "public"

    @property
    def declaration_file(self) -> Path:
        """The declaration, as the operator writes it."""
        return self.path / DECLARATION_NAME

    @property
    def declared(self) -> bool:
        """Whether the book was begun."""
        return (self.book / BOOK_NAME).is_file()

    def clock(self) -> Clock:
        """Simulated time where the folder holds one, else the machine's."""
        file = self.path / "clock"
        return SimulatedClock(file) if file.exists() else SystemClock()

    def declaration(self) -> Declaration:
        """The declaration as written in the folder."""
        file = self.declaration_file
        if not file.is_file():
            raise RuleError(
                f"{self.path} holds no {DECLARATION_NAME}: begin with "
                "beforehand init NAME --template blind"
            )
        return Declaration.parse(file.read_bytes(), str(file))

    def edited(self, sealed: Declaration) -> str | None:
        """What to say where the folder's declaration is not the one that was sealed."""
        file = self.declaration_file
        if not file.is_file() or file.read_bytes() == sealed.data:
            return None
        return (
            f"{file} was changed after it was sealed, and the change has no effect: rules change "
            "in a new segment, see beforehand declare --segment"
        )

    def open(self, clock: Clock | None = None, *, wait: float = 0.0) -> tuple[Pen, Situation]:
        """The pen of the declared league and where it stands; the pen is the caller's to close.

        Where another has it, it is waited for so many seconds; then ConflictError.
        """
        if not self.declared:
            raise RuleError(f"{self.path} is not declared yet: beforehand declare {self.path}")
        pen = reopen_league(self.book, clock or self.clock(), wait=wait)
        try:
            situation = Situation(declaration_of(pen))
            situation.catch_up(pen.records())
        except BaseException:
            pen.store.close()
            raise
        return pen, situation

    def reopen(self, pen: Pen, situation: Situation) -> tuple[Pen, Situation]:
        """The pen that was laid down, and where the league stands now.

        Nothing is read anew but the chain where nobody wrote meanwhile.
        """
        left = pen.store.size, pen.store.last_link
        store = FileStore(self.book)
        if (store.size, store.last_link) == left:
            pen.store = store
            return pen, situation
        store.close()
        return self.open(pen.clock)
