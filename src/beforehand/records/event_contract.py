"""Event contracts of another league: their short ids under a profile, and our own id beside them.

The seed names a contract by `ev2-` and the first 16 hex digits of the SHA-256
of its nine keys as compact sorted JSON, and by `ev1-` over the first five. The
names of the keys are not public, so they are configuration: a profile. Sixteen
hex digits can be made to collide in about 2^32 steps, so whoever pools
forecasts compares contracts, never short ids alone; `evc1:` is the full hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import contract_json, digest
from beforehand.records.question import question_id

# What the nine keys mean, in the seed's order. The names are our guess and no more.
SEED_ROLES = (
    "asset",
    "horizon",
    "reference time",
    "end time",
    "rule",
    "resolver version",
    "reference rule",
    "price provider",
    "price symbol",
)
GUESSED_KEYS = (
    *("asset", "horizon", "reference_at", "end_at", "rule"),
    *("resolver_version", "reference_rule", "price_provider", "price_symbol"),
)
MAX_CONTRACT_KEYS = 64
MAX_HEX = 64


@dataclass(frozen=True)
class ContractProfile:
    """How a league names its contracts: its keys in order, and how an id is cut from the hash.

    `first` is how many of the keys the older id is made of; `hex` how many
    digits an id keeps.
    """

    keys: tuple[str, ...] = GUESSED_KEYS
    first: int = 5
    prefix: str = "ev2-"
    first_prefix: str = "ev1-"
    hex: int = 16

    def __post_init__(self) -> None:
        if not self.keys or len(self.keys) > MAX_CONTRACT_KEYS:
            raise FormatError(f"contract.keys: 1 to {MAX_CONTRACT_KEYS} names")
        if len(set(self.keys)) != len(self.keys):
            raise FormatError("contract.keys: a name stands twice")
        if not 0 < self.first <= len(self.keys):
            raise FormatError(f"contract.first: 1 to {len(self.keys)}, the number of keys")
        if not 4 <= self.hex <= MAX_HEX:
            raise FormatError(f"contract.hex: 4 to {MAX_HEX} digits")

    def contract_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The contract that a row holds; FormatError names the keys it lacks."""
        lacking = [key for key in self.keys if row.get(key) in (None, "")]
        if lacking:
            raise FormatError(f"the event contract lacks {', '.join(lacking)}")
        return {key: row[key] for key in self.keys}

    def event_id(self, contract: Mapping[str, Any]) -> str:
        """The id over all keys, such as `ev2-0123456789abcdef`."""
        return self.prefix + self._cut(contract, self.keys)

    def first_event_id(self, contract: Mapping[str, Any]) -> str:
        """The older id, over the first keys only."""
        return self.first_prefix + self._cut(contract, self.keys[: self.first])

    def own_id(self, contract: Mapping[str, Any]) -> str:
        """Our id of the same contract in full length, `evc1:` and 64 hex digits."""
        return question_id({key: contract[key] for key in self.keys})

    def _cut(self, contract: Mapping[str, Any], keys: Iterable[str]) -> str:
        held = {key: contract[key] for key in keys}
        return digest(contract_json(held))[: self.hex]

    def schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12) of a contract under this profile."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "An event contract, fixed before the question goes out",
            "type": "object",
            "properties": {
                key: {"type": "string", "minLength": 1, "maxLength": 4000} for key in self.keys
            },
            "required": list(self.keys),
            "additionalProperties": False,
        }


def two_contracts(
    named: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Every id that names more than one contract, with the first two of them.

    >>> two_contracts([("ev2-00", {"asset": "A"}), ("ev2-00", {"asset": "B"})])
    {'ev2-00': ({'asset': 'A'}, {'asset': 'B'})}
    """
    first: dict[str, Mapping[str, Any]] = {}
    doubled: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for name, contract in named:
        held = first.setdefault(name, contract)
        if held != contract:
            doubled.setdefault(name, (held, contract))
    return doubled
