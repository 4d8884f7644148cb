"""Who is asked and who may submit: the models and entrants of a league, as its operator lists them.

They stand in the declaration, or in a roster file beside it that takes effect
with the next cohort. Prices are decimal text, money per million tokens; the
name of the variable that holds a key stands here, never the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from beforehand.errors import FormatError
from beforehand.records.declared import DECLARED_AMOUNT, DECLARED_COUNT, DeclaredVariant
from beforehand.records.run import Seat
from beforehand.records.shape import Choice, Flag, Listed, Name, Optional, Shape, Table, Text

ROSTER_FORMAT = "beforehand-roster/1"
MAX_ROSTER_BYTES = 256 << 10

SEALED_IDENTITY = "sealed"

_IDENTITY: Mapping[str, Shape] = {
    "forecaster": Name(),
    "model": Text(200),
    "version": Optional(Text(200)),
    "mode": Optional(Text(60)),
    "provider": Optional(Text(200)),
    "family": Optional(Text(100)),
    "side": Optional(Text(60)),
    "company": Optional(Text(100)),
    "quantisation": Optional(Text(40)),
    "open_weights": Optional(Flag()),
    # Sealed: the seat stands on the roster under its name alone, and what it is
    # waits in a body of role `identity`.
    "identity": Optional(Choice(("open", SEALED_IDENTITY))),
}

MODEL_TABLE = DeclaredVariant(
    "via",
    {
        # Any endpoint that speaks the OpenAI chat completions protocol.
        "chat": {
            **_IDENTITY,
            "endpoint": Text(300, 8, r"https?://[^\s]+", "the base URL of a chat endpoint"),
            "key_env": Optional(Text(60, 1, r"[A-Z_][A-Z0-9_]*", "the name of a variable")),
            # Ids the endpoint may answer with; any other is a mismatch.
            "served_as": Optional(Listed(Text(200), most=50)),
            "temperature": Choice(("sent", "omitted")),
            "structured": Choice(("json_schema", "json_object", "none")),
            "search": Choice(("none", "plugin", "tool")),
            "max_tokens": DECLARED_COUNT,
            "token_limit": Optional(Choice(("max_tokens", "max_completion_tokens"))),
            "timeout_seconds": Optional(DECLARED_COUNT),
            "price_prompt": DECLARED_AMOUNT,
            "price_completion": DECLARED_AMOUNT,
            "price_search": Optional(DECLARED_AMOUNT),
        },
        # An operator's own scaffold, found by the entry point `beforehand.forecaster`.
        "plugin": {
            **_IDENTITY,
            "plugin": Name(),
            "price_ask": DECLARED_AMOUNT,
            "timeout_seconds": Optional(DECLARED_COUNT),
            "options": Optional(Listed(Text(400), most=50)),
        },
    },
)

ENTRANT_TABLE = Table(
    {
        "forecaster": Name(),
        "key": Text(400),
        "model": Optional(Text(200)),
        "family": Optional(Text(100)),
        "company": Optional(Text(100)),
        "side": Optional(Text(60)),
    }
)

_ROSTER_TABLE = Table(
    {
        "format": Choice((ROSTER_FORMAT,)),
        "models": Optional(Listed(MODEL_TABLE, most=200)),
        "entrants": Optional(Listed(ENTRANT_TABLE, most=5000)),
    }
)


def is_hidden(model: Mapping[str, Any]) -> bool:
    """Whether a model takes part under a name that does not say what it is."""
    return bool(model.get("identity") == SEALED_IDENTITY)


@dataclass(frozen=True)
class Lineup:
    """The models to ask, each a checked `MODEL_TABLE`, and the entrants who may submit."""

    models: tuple[Mapping[str, Any], ...] = ()
    entrants: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any], where: str = "") -> Self:
        """The lineup in the `models` and `entrants` of a declaration or a roster file."""
        lineup = cls(tuple(content.get("models", ())), tuple(content.get("entrants", ())))
        seen: set[str] = set()
        for each in (*lineup.models, *lineup.entrants):
            if each["forecaster"] in seen:
                raise FormatError(f"{where}: {each['forecaster']!r} stands twice")
            seen.add(each["forecaster"])
        return lineup

    @classmethod
    def parse(cls, data: bytes, label: str) -> Self:
        """The lineup in a roster file's bytes; FormatError names `label` and what is wrong."""
        if len(data) > MAX_ROSTER_BYTES:
            raise FormatError(f"{label}: {len(data)} bytes; the limit is {MAX_ROSTER_BYTES}")
        try:
            content = tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{label}: not TOML in UTF-8: {error}") from None
        try:
            _ROSTER_TABLE.check(content, "")
        except FormatError as error:
            raise FormatError(f"{label}: {str(error).removeprefix('.')}") from None
        return cls.of(content, label)

    def seats(self) -> tuple[Seat, ...]:
        """The seats of a run: models asked, entrants accepted, in the order they are listed."""
        known = set(_IDENTITY) & set(Seat.shape.fields)
        asked = [
            Seat(
                entry="asked",
                **{
                    key: value
                    for key, value in model.items()
                    if key in (("forecaster", "side") if is_hidden(model) else known)
                },
            )
            for model in self.models
        ]
        accepted = [Seat(entry="accepted", **entrant) for entrant in self.entrants]
        return (*asked, *accepted)
