"""Event contracts: their short ids under a profile, and our own id in full length beside them.

The seed names a contract by `ev2-` and the first 16 hex digits of the SHA-256
of its nine keys as compact sorted JSON, and by `ev1-` over the first five. The
names of the keys are not public, so they are configuration: a profile. Sixteen
hex digits can be made to collide in about 2^32 steps, so whoever pools
forecasts compares contracts, never short ids alone; `evc1:` is the full hash.

A league that declares a profile says where each key's text comes from: a field
of the question's own contract, another fact of its sealed line, or a constant
of the declaration. Nothing else fills a key, and nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import contract_json, digest
from beforehand.records.question import Question, question_id
from beforehand.records.shape import Integer, Keyed, Listed, Optional, Table, Text

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
MAX_CONTRACT_TEXT = 4000
MAX_CONTRACT_FILE = 1 << 20

# Facts of a question's line beside its own contract, as `[contract.from]` names them.
LINE_FACTS = tuple(
    f"line.{name}" for name in ("cluster", "horizon", "source", "type", "text_sha256")
)

_KEY_NAME = Text(80)
CONTRACT_TABLE = Table(
    {
        "keys": Listed(_KEY_NAME, most=MAX_CONTRACT_KEYS),
        "first": Optional(Integer(1, MAX_CONTRACT_KEYS)),
        "prefix": Optional(Text(20)),
        "first_prefix": Optional(Text(20)),
        "hex": Optional(Integer(4, MAX_HEX)),
        "null": Optional(Listed(_KEY_NAME, most=MAX_CONTRACT_KEYS)),
        "from": Optional(Keyed(Text(80))),
        "constant": Optional(Keyed(Text(MAX_CONTRACT_TEXT))),
    }
)


@dataclass(frozen=True)
class EventIds:
    """The ids of one contract; the two short ones are empty where no profile is declared."""

    contract: Mapping[str, Any]
    contract_id: str
    event_id: str = ""
    event_id_v2: str = ""


@dataclass(frozen=True)
class ContractProfile:
    """How a league names its contracts: its keys in order, and how an id is cut from the hash.

    `first` is how many of the keys the older id is made of; `hex` how many
    digits an id keeps. A key of `nullable` is null where nothing states it; any
    other must be stated. `sources` says which sealed fact a key is read from,
    its own name where it stands in neither; `constants` are the declaration's.
    """

    keys: tuple[str, ...] = GUESSED_KEYS
    first: int = 5
    prefix: str = "ev2-"
    first_prefix: str = "ev1-"
    hex: int = 16
    nullable: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.keys or len(self.keys) > MAX_CONTRACT_KEYS:
            raise FormatError(f"contract.keys: 1 to {MAX_CONTRACT_KEYS} names")
        if len(set(self.keys)) != len(self.keys):
            raise FormatError("contract.keys: a name stands twice")
        if not 0 < self.first <= len(self.keys):
            raise FormatError(f"contract.first: 1 to {len(self.keys)}, the number of keys")
        if not 4 <= self.hex <= MAX_HEX:
            raise FormatError(f"contract.hex: 4 to {MAX_HEX} digits")
        if self.prefix == self.first_prefix:
            raise FormatError("contract.prefix and contract.first_prefix are the same")
        for name, held in (
            ("null", self.nullable),
            ("from", self.sources),
            ("constant", self.constants),
        ):
            unknown = [key for key in held if key not in self.keys]
            if unknown:
                raise FormatError(f"contract.{name}: {unknown[0]!r:.80} is none of contract.keys")
        twice = [key for key in self.constants if key in self.sources]
        if twice:
            raise FormatError(f"contract.{twice[0]:.80}: both a constant and read from a fact")
        for source in self.sources.values():
            if source.startswith("line.") and source not in LINE_FACTS:
                raise FormatError(
                    f"contract.from: {source!r:.80} is no fact of a line; "
                    f"these are: {', '.join(LINE_FACTS)}"
                )

    def contract_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The contract that a row holds; FormatError names the keys it lacks."""
        held = {key: row.get(key) or None for key in self.keys}
        lacking = [key for key in self.keys if held[key] is None and key not in self.nullable]
        if lacking:
            raise FormatError(f"the event contract lacks {', '.join(lacking)}")
        return held

    def contract_from(self, question: Question) -> dict[str, Any]:
        """The contract of a sealed question; FormatError names the keys that nothing states."""
        return self.contract_of({key: self._stated(key, question) for key in self.keys})

    def _stated(self, key: str, question: Question) -> str:
        if key in self.constants:
            return self.constants[key]
        source = self.sources.get(key, key)
        if source not in LINE_FACTS:
            return question.contract.get(source, "")
        if source == "line.text_sha256":
            return next((body.sha256 for body in question.bodies if body.role == "text"), "")
        return str(getattr(question, source.removeprefix("line.")))

    def check(self, contract: Any) -> dict[str, Any]:
        """The contract where it keeps to the schema; FormatError says where it does not."""
        if not isinstance(contract, dict):
            raise FormatError("an event contract is one JSON object")
        unknown = [key for key in contract if key not in self.keys]
        if unknown:
            raise FormatError(f"the event contract holds {unknown[0]!r:.80}, which is no key of it")
        missing = [key for key in self.keys if key not in contract]
        if missing:
            raise FormatError(
                f"the event contract lacks {', '.join(missing)}: what is open is null, by its name"
            )
        for key, value in contract.items():
            if value is None and key in self.nullable:
                continue
            if not isinstance(value, str) or not 0 < len(value) <= MAX_CONTRACT_TEXT:
                wanted = f"a text of 1 to {MAX_CONTRACT_TEXT} characters"
                wanted += ", or null" if key in self.nullable else ""
                raise FormatError(f"{key}: {value!r:.60} is not {wanted}")
        return {key: contract[key] for key in self.keys}

    def ids(self, contract: Mapping[str, Any]) -> EventIds:
        """All ids of a contract."""
        held = {key: contract[key] for key in self.keys}
        return EventIds(held, self.own_id(held), self.first_event_id(held), self.event_id(held))

    def named_by(self, ids: EventIds) -> dict[str, Mapping[str, Any]]:
        """What each id of a contract stands for: all of it, or its first keys only."""
        first = {key: ids.contract[key] for key in self.keys[: self.first]}
        return {
            ids.contract_id: ids.contract,
            ids.event_id_v2: ids.contract,
            ids.event_id: first,
        }

    def content(self) -> dict[str, Any]:
        """The profile as the table that `contract_profile` reads."""
        return {
            "keys": list(self.keys),
            "first": self.first,
            "prefix": self.prefix,
            "first_prefix": self.first_prefix,
            "hex": self.hex,
            **({"null": list(self.nullable)} if self.nullable else {}),
            **({"from": dict(self.sources)} if self.sources else {}),
            **({"constant": dict(self.constants)} if self.constants else {}),
        }

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
                key: {
                    "type": ["string", "null"] if key in self.nullable else "string",
                    "minLength": 1,
                    "maxLength": MAX_CONTRACT_TEXT,
                }
                for key in self.keys
            },
            "required": list(self.keys),
            "additionalProperties": False,
        }


def contract_profile(table: Mapping[str, Any]) -> ContractProfile:
    """The profile that a table `[contract]` declares; FormatError names what is wrong in it.

    Left out, `first` is 5 (or all keys where there are fewer), and prefixes and
    digits are those of the seed. The keys are never assumed.
    """
    CONTRACT_TABLE.check(table, "contract")
    keys = tuple(table["keys"])
    if not keys:
        raise FormatError("contract.keys: at least one name")
    named = {name: table[name] for name in ("prefix", "first_prefix", "hex") if name in table}
    return ContractProfile(
        keys=keys,
        first=table.get("first", min(5, len(keys))),
        nullable=tuple(table.get("null", ())),
        sources=dict(table.get("from", {})),
        constants=dict(table.get("constant", {})),
        **named,
    )


def plain_ids(contract: Mapping[str, str]) -> EventIds:
    """The id of a contract under no profile: all of its texts, hashed in full length."""
    return EventIds(dict(contract), question_id(contract))


def check_plain(contract: Any) -> dict[str, str]:
    """A contract under no profile: an object of texts; FormatError says where it is none."""
    Question.own["contract"].check(contract, "contract")
    return dict(contract)


def plain_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a contract under no profile."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event contract, fixed before the question goes out",
        **Question.own["contract"].schema(),
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
