"""A profile: how another league's export spells what the checks need. Configuration, no code.

A TOML or JSON file. `[contract]` names the keys of its event contract and how
ids are cut from it, `[columns]` the columns of its table of forecasts,
`[rules]` the bounds that it declares elsewhere.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.event_contract import ContractProfile, contract_profile

MAX_PROFILE_BYTES = 64 << 10
MAX_ARRIVAL_SECONDS = 86_400

# What the checks ask of a table of forecasts, with the usual names of each column.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "session", "round"),
    "forecaster": ("forecaster", "seat", "model", "agent", "participant", "user"),
    "kind": ("kind",),
    "question": ("question", "event_id_v2", "event_id", "question_id", "market", "event"),
    "line": ("line", "book_line"),
    "at": ("sealed_at", "at", "submitted_at", "timestamp", "time", "created_at"),
    "reference_at": ("reference_at", "event_reference_at"),
    "end_at": ("end_at", "event_end_at", "closes", "resolved_at", "resolved_on"),
    "p": ("p", "probability", "prob_up", "forecast", "prob", "p_yes", "chance"),
    "p_scored": ("p_scored",),
    "outcome": ("outcome", "resolution", "resolved_to", "result"),
    "status": ("status", "cell_status"),
    "why": ("why", "why_missing", "reason"),
    "brier": ("brier", "brier_score"),
    "members": ("members", "of"),
    "methodology": ("methodology_version", "methodology", "version_of_rules"),
    "mode": ("mode",),
    "model": ("model", "model_name"),
    "crowd": ("crowd", "crowd_up", "market_price"),
    "same_event": ("same_event",),
    "run_role": ("run_role",),
    "ref": ("ref", "reference_price"),
    "close": ("close", "end_price"),
    "full_contract_id": ("contract_id",),
    "contract_id": ("event_id_v2",),
    "first_contract_id": ("event_id",),
}
_TABLES = {"contract", "columns", "rules", "league"}
_RULES = {"scale", "arrival_seconds", "simulated", "uncounted"}


@dataclass(frozen=True)
class Profile:
    """Names and bounds. `scale` is what 1 is written as: 1, or 100 for percent.

    `has_contract` says whether the contract's keys were named, or are a guess.
    """

    contract: ContractProfile = field(default_factory=ContractProfile)
    columns: Mapping[str, str] = field(default_factory=dict)
    scale: Decimal | None = None
    arrival_seconds: int = 60
    simulated: bool = False
    uncounted: tuple[str, ...] = ("not_counted",)
    title: str = ""
    has_contract: bool = False

    @classmethod
    def read(cls, path: Path) -> Profile:
        """The profile in a TOML or JSON file; FormatError names what is wrong in it."""
        if not path.is_file():
            raise FormatError(f"--profile {path} is not a file: give a profile in TOML or JSON")
        with path.open("rb") as stream:
            return cls.parse(stream.read(MAX_PROFILE_BYTES + 1), str(path))

    @classmethod
    def parse(cls, data: bytes, name: str) -> Profile:
        """The profile in a file's bytes: JSON where its name ends so, else TOML."""
        if len(data) > MAX_PROFILE_BYTES:
            raise FormatError(f"{name} is over the limit of {MAX_PROFILE_BYTES} bytes")
        try:
            said = data.decode("utf-8")
            value = json.loads(said) if name.endswith(".json") else tomllib.loads(said)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{name}: {error}") from None
        try:
            return cls.of(value)
        except FormatError as error:
            raise FormatError(f"{name}: {error}") from None

    @classmethod
    def of(cls, value: Any) -> Profile:
        """The profile of a TOML or JSON value."""
        if not isinstance(value, dict):
            raise FormatError("a profile is a table")
        _known(value, _TABLES, "the profile")
        for name in value:
            if not isinstance(value[name], dict):
                raise FormatError(f"{name} is not a table")
        rules = value.get("rules", {})
        _known(rules, _RULES, "[rules]")
        columns = value.get("columns", {})
        _known(columns, set(COLUMN_NAMES), "[columns]")
        if not all(isinstance(name, str) for name in columns.values()):
            raise FormatError("[columns]: every name is a text")
        return cls(
            contract=contract_profile(value["contract"])
            if "contract" in value
            else ContractProfile(),
            has_contract="contract" in value,
            columns=columns,
            scale=_scale(rules.get("scale")),
            arrival_seconds=_seconds(rules.get("arrival_seconds", 60)),
            simulated=rules.get("simulated") is True,
            uncounted=tuple(map(str, rules.get("uncounted", ["not_counted"]))),
            title=str(value.get("league", {}).get("title", ""))[:200],
        )

    def columns_in(self, header: list[str]) -> dict[str, str]:
        """Which column of a header plays which role."""
        found = {}
        for role, usual in COLUMN_NAMES.items():
            names = [self.columns[role]] if role in self.columns else usual
            held = next((name for name in names if name in header), None)
            if held is not None:
                found[role] = held
        return found


def _known(table: Mapping[str, Any], names: set[str], where: str) -> None:
    unknown = sorted(set(table) - names)
    if unknown:
        raise FormatError(
            f"{where} does not know {', '.join(unknown)[:200]}; it knows {', '.join(sorted(names))}"
        )


def _scale(value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        scale = Decimal(str(value))
    except InvalidOperation:
        scale = Decimal(0)
    if scale not in (1, 100):
        raise FormatError("rules.scale is 1, or 100 where probabilities are percent")
    return scale


def _seconds(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_ARRIVAL_SECONDS:
        raise FormatError(f"rules.arrival_seconds is a number of 0 to {MAX_ARRIVAL_SECONDS}")
    return value
